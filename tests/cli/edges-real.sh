#!/usr/bin/env bash
# Event edges of real traces. The few that a trace records in full are listed one by one; and where the order of calls proves edges, they
# are found again from timing alone, in a copy of the trace that has lost every row of an event.
. "$(dirname "$0")/lib.sh"
need_traces

# device FILE: "STREAM TIME CORRELATION NAME" of its device rows, in the order in which each stream ran them.
device() {
  zcat "$1" | jq -r '.traceEvents[] | select(.cat == "kernel" or .cat == "gpu_memcpy" or .cat == "gpu_memset")
    | "\(.args.stream) \(.ts) \(.args.correlation) \(.name)"' | sort -k1,1n -k2,2n
}

# graph_edges GRAPH DEVICE-ROWS: "CORRELATION CORRELATION" of the event edges in the graph of one rank.
graph_edges() {
  grep '"lane":"s' "$1" | jq -r 'select(.type == "task" and .lane[0:1] == "s") | "\(.lane[1:]) \(.start) \(.id)"' | sort -k1,1n -k2,2n >tasks
  [ "$(wc -l <tasks)" -eq "$(wc -l <"$2")" ] || fail "$1 has $(wc -l <tasks) tasks on streams, not $(wc -l <"$2")"
  grep '"type":"dep"' "$1" | jq -r 'select(.kind == "event") | "\(.src) \(.dst)"' >dependencies
  paste -d' ' tasks "$2" | awk 'FILENAME == "-" { of[$3] = $6; next } { print of[$1], of[$2] }' - dependencies | sort
}

# recorded FILE: the edges that its synchronisation rows record, by the order of the correlation ids, which is that of the calls.
recorded() {
  zcat "$1" | jq -r '.traceEvents[] | select(.cat == "cuda_sync" and .name == "Stream Wait Event") | .args
    | "\(.wait_on_stream) \(.wait_on_cuda_event_record_corr_id) \(.stream) \(.correlation)"' >waits
  awk '
    FILENAME == "rows" { stream[NR] = $1; call[NR] = $3; rows = NR; next }
    {
      source = target = 0
      for (i = 1; i <= rows; i++) {
        if (stream[i] == $1 && call[i] < $2 && call[i] > source) source = call[i]
        if (stream[i] == $3 && call[i] > $4 && (!target || call[i] < target)) target = call[i]
      }
      if (source && target) print source, target
    }' rows waits | sort
}

name_edges() {
  awk 'FILENAME == "rows" { what[$3] = $1 " " substr($0, length($1 $2 $3) + 4, 28); next } { print what[$1] " -> " what[$2] }' rows "$1" | sort
}

set=$traces/hta-cuda-sync-A100
: >found
for trace in "$set"/*.json.gz; do
  device "$trace" >rows
  lumos-graph "$trace" -o job.graph 2>message || fail "$trace: $(head -c 300 message)"
  graph_edges job.graph rows >edges
  recorded "$trace" | diff - edges || fail "$trace: edges are not those that it records"
  name_edges edges >>found
done
cat >expected <<'END'
20 void fft2d_c2r_32x32<float,  -> 7 void at::native::elementwise
20 void fft2d_c2r_32x32<float,  -> 7 void at::native::elementwise
7 void at::native::(anonymous  -> 20 void fft2d_r2c_32x32<float, 
7 void at::native::(anonymous  -> 20 void fft2d_r2c_32x32<float, 
7 void fft2d_r2c_32x32<float,  -> 20 ampere_gcgemm_64x64_nt
7 void fft2d_r2c_32x32<float,  -> 20 ampere_gcgemm_64x64_nt
20 ampere_sgemm_128x64_nn -> 24 Memset (Device)
END
diff expected found || fail 'edges do not join what they should'

# What order proves: the host launches on one stream, calls a wait, and launches on another, which waits for what was launched before.
trace=$(echo "$traces"/df-index-V100x2-216k/*.json.gz)
device "$trace" >rows
zcat "$trace" | jq -r '.traceEvents[] | select(.cat == "cuda_runtime" or .cat == "cuda_driver")
  | "\(.ts) \(.args.correlation) \(.name)"' | sort -n >calls
awk '
  FILENAME == "rows" { stream[$3] = $1; next }
  $3 == "cudaStreamWaitEvent" { waits = 1; next }
  $2 in stream { if (waits && last && stream[last] != stream[$2]) print last, $2; last = $2; waits = 0 }' rows calls | sort >proved
zcat "$trace" | jq -c '.traceEvents |= map(select(.name != "cudaStreamWaitEvent" and .name != "cudaEventRecord"))' >hidden.json
lumos-graph hidden.json -o job.graph 2>message || fail "hidden: $(head -c 300 message)"
graph_edges job.graph rows >edges
total=$(wc -l <proved) found=$(wc -l <edges) hits=$(comm -12 proved edges | wc -l)
printf 'proved %d, found without events %d, of these proved %d\n' "$total" "$found" "$hits"
[ "$total" -ge 4000 ] || fail "order proves $total edges only"
[ $((hits * 100)) -ge $((total * 95)) ] || fail "$hits of $total edges that order proves were found"
[ $((hits * 100)) -ge $((found * 98)) ] || fail "$((found - hits)) of $found edges are not those that order proves"
proved "$hits of $total event edges that the order of calls proves are found without events, and the recorded ones one by one"
finish

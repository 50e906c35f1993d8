#!/usr/bin/env bash
# Captured graphs: one call launches the kernels of a layer, or of a pass, on several streams. What is done is what is done without them, in the
# same order; what the host does for it is gone from the trace, and with it every row that tells what waits for what.
. "$(dirname "$0")/lib.sh"
small=(--hidden 1024 --seq 1024 --vocab 8192 --layers 3 --micro-batches 2 --steps 2 --warmup 1)

# run JOB OPTION...
run() {
  local job=$1
  shift
  emulate "$job" --record annotations "${small[@]}" "$@"
  tables "$job"
  # Device work: rank, correlation, node, stream, start, end, name, phase, micro-batch, layer, part; launched in the recording.
  awk -F'\t' -v OFS='\t' -v CONVFMT=%.0f -v OFMT=%.0f '
    FILENAME ~ /tasks$/ { task[$1, $2, $7 + 0] = $3 OFS $4 OFS $5 OFS $6; next }
    $2 ~ /^cuda_(runtime|driver)$/ { called[$1, $7]; next }
    $2 ~ /^(kernel|gpu_memcpy|gpu_memset)$/ { row[++n] = $0 }
    END { for (i = 1; i <= n; i++) { split(row[i], at, FS); if ((at[1], at[7]) in called) print at[1], at[7], at[9], at[4], at[5], at[6], at[3], task[at[1], at[7], at[9]] } }' \
    "$job/tasks" "$job/rows" | sort -n -k1,1 -k2,2 -k3,3 >"$job/device"
}
work_of() { cut -f 1,4,7- "$1/device" | sort; }

run eager --ideal --tp 2
for what in layers passes; do
  run "$what" --ideal --tp 2 --graphs "$what"
  holds "$what: an ideal step takes what it takes without graphs" '
    { key = $1 OFS $2 OFS $3 } FILENAME ~ /eager/ { time[key] = $5 - $4; next } { seen++; if ($5 - $4 != time[key]) print key, $5 - $4, "not", time[key] }' eager/steps "$what/steps"
  cmp -s <(work_of eager) <(work_of "$what") || fail "$what: other work is done: $(diff <(work_of eager) <(work_of "$what") | head -n 3)"
done
[ "$(grep -c cudaGraphLaunch passes/rank0.json)" -eq 8 ] && [ "$(grep -c cudaGraphLaunch layers/rank0.json)" -eq 24 ] ||
  fail "$(grep -c cudaGraphLaunch passes/rank0.json) launches of passes, $(grep -c cudaGraphLaunch layers/rank0.json) of layers"

for what in layers passes; do
  run "$what" --tp 2 --dp 2 --graphs "$what" --without clocks
  holds "$what: a launch has all nodes from the first on, a graph always the same" '
    $3 == 0 { next }
    { at = $1 OFS $2; n[at]++; list[at] = list[at] "|" $7; if ($3 != n[at]) print at, "node", $3, "is the", n[at] "th" }
    END { for (at in list) { seen++; count[list[at]]++ } for (l in count) if (count[l] < 2) print "one launch only of", substr(l, 1, 100) }' "$what/device"
  holds "$what: nodes are on two streams, gradients outside" '$3 > 0 { on[$1, $2, $4]; launches[$1, $2]; if ($4 != 7 && $4 != 13) print "on stream", $4 } END { for (l in launches) { split(l, at, SUBSEP); seen++; if (!((at[1], at[2], 7) in on) || !((at[1], at[2], 13) in on)) print l } }' "$what/device"
  holds "$what: within its op a replay makes one call" '
    $2 == "cpu_op" && $3 ~ /^_CudagraphReplayNode(Backward)?$/ { start[++n] = $5; end[n] = $6; who[n] = $1 OFS $4 }
    $2 ~ /^cuda_(runtime|driver)$/ { c++; from[c] = $5; thread[c] = $1 OFS $4; name[c] = $3 }
    END { for (i = 1; i <= n; i++) { calls = other = 0
            for (k = 1; k <= c; k++) if (thread[k] == who[i] && from[k] >= start[i] && from[k] < end[i]) { calls++; other += name[k] != "cudaGraphLaunch" }
            seen++; if (calls != 1 || other) print who[i], calls, other } }' <(awk -F'\t' '$1 == 0' "$what/rows")
  holds "$what: nodes follow what they wait for on another stream by 1 to 3 us" '
    FILENAME ~ /device$/ { start[$1, $2, $3] = $5; end[$1, $2, $3] = $6; stream[$1, $2, $3] = $4; next }
    $2 == $3 && $4 == 1 && $5 > 0 && (($1, $2, $5) in end) && (($1, $3, $6) in start) {
      lag = start[$1, $3, $6] - end[$1, $2, $5]; seen++; ways[stream[$1, $2, $5] > 7]++
      if (lag < 1000 || lag > 3000) print $0, lag }
    END { if (ways[0] < 9 || ways[1] < 9) print "few edges", ways[0] + 0, ways[1] + 0 }' "$what/device" "$what/edges"
  holds "$what: a graph begins behind all that its stream has to do, and what that does next begins behind it" '
    $1 != rank { rank = $1; last = latest = launch = 0 }
    $2 != launch && ($3 > 0 || $4 == 7) { last = latest; launch = $2 }
    $3 > 0 || $4 == 7 { seen++; if ($5 < last) print; if ($6 > latest) latest = $6 }' "$what/device"
done

# What the launch takes: of the host, and until the first node may start.
run host --graphs passes --only host
holds 'a launch takes 8.6 us, and 2 us a node' '
  FILENAME ~ /device$/ { if ($3 > nodes[$1, $2]) nodes[$1, $2] = $3; next }
  $3 == "cudaGraphLaunch" { seen++; if ($6 - $5 != 8600 + 2000 * nodes[$1, $7]) print $6 - $5, nodes[$1, $7] }' host/device host/rows
run long --graphs passes --hidden 256 --seq 256 --layers 24 --vocab 1024 --micro-batches 1 --without clocks
holds 'long launches: the first node starts behind the beginning of the call, of some long before its end' '
  FILENAME ~ /device$/ { if ($3 == 1) first[$1, $2] = $5; next }
  $3 == "cudaGraphLaunch" && (($1, $7) in first) { seen++; if (first[$1, $7] < $5) print "too early"; early += first[$1, $7] < $6 - ($6 - $5) / 4 }
  END { if (!early) print "none" }' long/device long/rows

# Whatever the schedule, graphs wait for nobody who waits for them.
for options in '--pp 2 --layers 4 --schedule zb-h1' '--pp 2 --layers 4 --schedule interleaved --vp 2' '--tp 2 --layers 2 --sequence-parallel on --recompute full' '--pp 2 --layers 2 --recompute selective' \
  '--dp 2 --layers 2 --distributed-optimizer on --sequence-parallel on --tp 2' '--pp 2 --layers 2 --batched-p2p off'; do
  for what in layers passes; do
    read -ra words <<<"$options"
    check "$options --graphs $what" emulated-cluster --quiet --ranks none "${small[@]}" "${words[@]}" --graphs "$what" other
  done
done
expect 2 emulated-cluster --graphs layers --leave-out norm refused
proved 'graphs do what is done without them, and tell nothing of what waits for what'
finish

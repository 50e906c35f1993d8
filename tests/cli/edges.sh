#!/usr/bin/env bash
# Event edges against what truly waited for what: jobs of the emulated cluster, recorded as nearly all real traces are, with calls that wait but
# do not say for what, and some that say it. Of every job and of all together, 98 of 100 edges found are true, and 98 of 100 true edges are
# found, where waits say what they are for 99; of all edges that decided when a task started, too. Of fully sharded replicas of which waits say
# nothing, 94 of 100: what is missed are copies of inputs, for which the root's gather waits only because the stream does that it waits for.
. "$(dirname "$0")/lib.sh"

# edges NAME OPTION...: adds "NAME TRUE FOUND HITS DECIDING HITS UNSEEN FOUND-UNSEEN" to `table`. An edge counts as unseen, and need not be
# found, where what waits was launched before the recording, for then so was its wait; but none may be found there that is not true.
edges() {
  local name=$1
  shift
  rm -rf emulated && mkdir emulated
  emulated-cluster --quiet --plain "$@" emulated || fail "$name: the emulated cluster fails"
  lumos-graph emulated/rank*.json -o job.graph 2>message || fail "$name: $(head -c 300 message)"
  device_rows emulated >rows
  correlate job.graph call >correlations || fail "$name: tasks and rows of the trace differ"
  true_edges emulated >true
  only dep job.graph | grep -F '"kind":"event"' | awk "$field"'{ print field("src"), field("dst") }' >found
  awk -v name="$name" '
    FILENAME == "correlations" { of[$4] = $2; rank[$4] = $1; seen[$1 " " $2] = $5 != "-"; next }
    FILENAME == "true" && !seen[$1 " " $3] { edge[$1 " " $2 " " $3] = 3; unseen++; next }
    FILENAME == "true" { edge[$1 " " $2 " " $3] = 1 + $4; total++; deciding += $4; next }
    { kind = edge[rank[$1] " " of[$1] " " of[$2]]; found_unseen += kind == 3; found += kind < 3 }
    { hits += kind == 1 || kind == 2; deciding_hits += kind == 2 }
    END { print name, total, found, hits, deciding, deciding_hits, unseen + 0, found_unseen + 0 }' correlations true found >>table
}

bare=(--record collectives)
rarely edges data-parallel "${bare[@]}" --layers 8 --hidden 1024 --micro-batches 2 --dp 2 --bucket-mb 10
edges slow-host "${bare[@]}" --layers 8 --hidden 768 --micro-batches 2 --dp 2 --bucket-mb 5 --slow-host 1=1.5 --seed 2
rarely edges distributed-optimizer "${bare[@]}" --layers 4 --hidden 1024 --micro-batches 2 --dp 2 --bucket-mb 20 --distributed-optimizer on --recompute full --seed 3
rarely edges tensor-parallel "${bare[@]}" --layers 4 --hidden 1024 --tp 2 --seed 4
edges sequence-parallel "${bare[@]}" --layers 4 --hidden 1024 --tp 2 --sequence-parallel on --jitter 3 --seed 5
rarely edges 1f1b "${bare[@]}" --layers 8 --hidden 1024 --pp 4 --micro-batches 8 --seed 6
rarely edges interleaved "${bare[@]}" --layers 8 --hidden 768 --pp 4 --micro-batches 8 --schedule interleaved --vp 2 --seed 7
edges zero-bubble --record shapes,annotations --layers 8 --hidden 768 --pp 4 --micro-batches 8 --schedule zb-h1 --seed 8
rarely edges gpipe "${bare[@]}" --layers 4 --hidden 1024 --pp 2 --dp 2 --micro-batches 8 --schedule gpipe --batched-p2p off --overlap-gradients off --seed 9
rarely edges three-ways --record collectives,annotations,shapes --layers 4 --hidden 1024 --tp 2 --pp 2 --dp 2 --micro-batches 4 --steps 2 \
  --sequence-parallel on --distributed-optimizer on --seed 10
edges odd "${bare[@]}" --layers 6 --hidden 1024 --tp 2 --pp 2 --dp 2 --micro-batches 4 --jitter 3 --straggler 3=1.3 --slow-host 5=1.5 \
  --batched-p2p off --steps 2 --seed 11
rarely edges late "${bare[@]}" --layers 4 --hidden 1024 --tp 2 --dp 2 --micro-batches 2 --overlap-gradients off --straggler 1=1.5 --gpu a100 --seed 12

# Their collectives share a stream, so what is awaited is often not the last work there; hooks tell.
hooks=(--record shapes,annotations,collectives)
edges fully-sharded "${hooks[@]}" --layers 4 --hidden 1024 --seq 1024 --dp 2 --fsdp on --micro-batches 2 --seed 13
rarely edges fully-sharded-tensors "${hooks[@]}" --layers 4 --hidden 2048 --tp 2 --dp 2 --fsdp on --micro-batches 2 --sequence-parallel on --seed 14
rarely edges fully-sharded-nodes "${hooks[@]}" --layers 6 --hidden 4096 --dp 4 --fsdp on --micro-batches 1 --node-size 2 --seed 15
# Streams pass on what they wait for, be there work on them or not.
edges said-sharded "${hooks[@]},sync" --layers 4 --hidden 1024 --seq 1024 --dp 2 --fsdp on --micro-batches 2 --seed 16
rarely edges said-idle "${hooks[@]},sync" --layers 4 --hidden 2048 --dp 4 --fsdp on --micro-batches 1 --seed 17
rarely edges said-contexts "${hooks[@]},sync" --layers 4 --hidden 1024 --seq 2048 --cp 2 --dp 2 --micro-batches 2 --seed 18
rarely edges said-three-ways "${hooks[@]},sync" --layers 4 --hidden 1024 --tp 2 --pp 2 --dp 2 --micro-batches 4 --steps 2 --sequence-parallel on \
  --distributed-optimizer on --seed 19

awk -v least="$([ "$all_cases" = yes ] && echo 10000 || echo 3000)" '
  function share(part, whole) { return whole == 0 ? 1 : part / whole }
  function line(name, total, found, hits, deciding, deciding_hits, unseen, found_unseen) {
    printf "%-22s true %6d  found %6d  precision %.4f  recall %.4f  of deciding %5d %.4f  unseen %d, found %d\n", name, total, found,
      share(hits, found), share(hits, total), deciding, share(deciding_hits, deciding), unseen, found_unseen
    if (share(hits, found) < (name ~ /^said/ ? 0.995 : 0.98) || share(hits, total) < (name ~ /^said/ ? 0.99 : name ~ /^fully/ ? 0.94 : 0.98)) { print name " misses the aim"; bad = 1 }
  }
  { line($1, $2, $3, $4, $5, $6, $7, $8); for (i = 2; i <= 8; i++) sum[i] += $i }
  END {
    line("all", sum[2], sum[3], sum[4], sum[5], sum[6], sum[7], sum[8])
    if (sum[2] < least) { print "these are too few edges"; bad = 1 }
    if (share(sum[6], sum[5]) < 0.98) { print "edges that decide are missed"; bad = 1 }
    exit bad
  }' table || fail 'edges between streams are not those that there were'
proved "$(awk '{ true += $2; found += $3; hits += $4 } END { printf "%d of %d edges found are true, %d of %d true ones are found", hits, found, hits, true }' table), in $(wc -l <table) jobs"
finish

#!/usr/bin/env bash
# The pipeline's bubble by the closed formulas, to the nanosecond, where these hold: balanced stages, free communication, an ideal machine. Only
# the layers' matrix products and attention last; they take as long in every micro-batch.
#
#   GPipe, 1F1B   step = (m + p - 1) (F + B)                          idle to busy (p - 1) / m
#   interleaved   step = (m + (p - 1) / v) (F + B)                     (p - 1) / (v m)
#   zero-bubble   step = m (F + B + W) + (p - 1) (F + B - W), m >= p   (B: of the inputs, W: of the weights)
. "$(dirname "$0")/lib.sh"
free=()
for what in communication part-embedding part-head part-optimizer elementwise norm reduction copy memset; do free+=(--scale "$what=0"); done

# pipeline SCHEDULE P V M [OPTION...]: F, B and W are sums of what rank 0 executes for micro-batch 0 in its trace, of all chunks.
pipeline() {
  local schedule=$1 p=$2 v=$3 m=$4 job=$1-$2-$3-$4
  shift 4
  emulate "$job" --ideal "${free[@]}" --schedule "$schedule" --pp "$p" --vp "$v" --micro-batches "$m" --layers $((p * v)) \
    --warmup 1 --steps 1 --record annotations --ranks 0 "$@"
  tables "$job"
  holds "$job: the step is what the formula says" '
    FILENAME ~ /work$/ { if ($2 >= 0 && $10 == 0 && $13 !~ /^nccl/) time[$9] += $5 - $4; next }
    { f = time["forward"]; b = time["backward"]; w = time["weight"]; seen++ }
    schedule == "zb-h1" != (w > 0) { print "weights alone take", w }
    f <= 0 || b <= 0 || b < f { print "forward takes", f, "backward", b }
    {
      step = schedule == "zb-h1" ? m * (f + b + w) + (p - 1) * (f + b - w) : (m + (p - 1) / v) * (f + b)
      busy = $6 + $7; idle = $5 - $4 - busy
      if ($5 - $4 != step) print $1, "rank", $3, "takes", $5 - $4, "not", step
      if (busy != m * (f + b + w)) print $1, "rank", $3, "is busy for", busy, "not", m * (f + b + w)
      if ($10 != idle) print $1, "rank", $3, "has a bubble of", $10, "not", idle, "and else", $8 + $9 + $11 + $12
      if (schedule != "zb-h1" && idle * v * m != (p - 1) * busy) print $1, "rank", $3, "has a bubble of", idle, "to", busy
    }' schedule="$schedule" p="$p" v="$v" m="$m" "$job/work" "$job/steps"
}

for schedule in 1f1b gpipe; do
  pipeline $schedule 1 1 3
  pipeline $schedule 2 1 1
  pipeline $schedule 2 1 4
  pipeline $schedule 4 1 2
  pipeline $schedule 4 1 8
  pipeline $schedule 8 1 12
done
pipeline 1f1b 3 1 5 --tp 2 --dp 2 --batched-p2p off
pipeline 1f1b 2 1 4 --recompute full --dp 2
pipeline interleaved 2 2 2
pipeline interleaved 2 3 4
pipeline interleaved 4 2 8
pipeline interleaved 4 4 4 --tp 2
pipeline zb-h1 2 1 2
pipeline zb-h1 2 1 8
pipeline zb-h1 4 1 4 --batched-p2p off
pipeline zb-h1 4 1 9
pipeline zb-h1 8 1 16 --dp 2

# One stage that takes longer is what all others wait for. Stage 2 of 4, twice as slow: two stages fill before it and drain behind it, and it
# waits once for the last stage, since a backward pass takes longer than a forward pass.
slow=(--ideal "${free[@]}" --pp 4 --micro-batches 8 --layers 4 --warmup 1 --steps 1 --record annotations --ranks 0)
emulate even "${slow[@]}"
tables even
for changed in '--straggler 2=2' '--stage-layers 1,1,2,1'; do
  # shellcheck disable=SC2086 # options are words
  emulate slow "${slow[@]}" $changed
  truth slow
  holds "a stage that takes twice as long sets the pace ($changed)" '
    FILENAME ~ /work$/ { if ($2 >= 0 && $10 == 0 && $13 !~ /^nccl/) time[$9] += $5 - $4; next }
    { f = time["forward"]; b = time["backward"]; step = 2 * f + 8 * 2 * (f + b) + (b - f) + 2 * b; seen++ }
    $5 - $4 != step { print "rank", $3, "takes", $5 - $4, "not", step }
    $6 + $7 != ($3 == 2 ? 2 : 1) * 8 * (f + b) { print "rank", $3, "is busy for", $6 + $7 }' even/work slow/steps
done
emulate uneven "${slow[@]}" --ranks all --stage-layers 1,1,2,1
truth uneven
holds 'stages have the layers that they are to have' 'BEGIN { split("0 1 2 2 3", stage, " ") } $5 >= 0 { seen++; if (stage[$5 + 1] != $1) print "layer", $5, "is on stage", $1 }' uneven/tasks
proved 'steps and bubbles of four schedules are those of the closed formulas, to the nanosecond'
finish

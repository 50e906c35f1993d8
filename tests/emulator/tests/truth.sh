#!/usr/bin/env bash
# truth.json says what the traces say, where they can: the same sums come out of the rows of the traces and out of closed formulas.
. "$(dirname "$0")/lib.sh"
small=(--hidden 1024 --seq 1024 --vocab 8192 --layers 2 --steps 2 --warmup 1)

# Floating-point operations, of a multiply and an add two. Forward, of a token in a layer: queries, keys, values and the output's projection,
# and two products of the MLP; at the end the logits. Causal attention computes half of two products of sequence by sequence. Backward is
# twice that; what runs is half a forward attention more, as the backward pass computes the scores anew, and with recomputation another forward
# pass of the layers, or of their attention alone.
# operations LAYERS ATTENTION OPTION...: how often the backward pass computes the products of layers again, and their attention
operations() {
  local layers_again=$1 attention_again=$2
  shift 2
  emulate flops --ranks none --steps 2 --warmup 1 "$@"
  jq -r '.configuration as $c | $c.model as $m | [$m.layers, $m.hidden, $m.ffn, $m.heads, $m.head_dim, $m.sequence, $m.vocabulary,
    $m.micro_batch * $m.micro_batches * $c.parallel.data, .world, .peak_flops, .model_flops] as $job |
    .steps[] | .profiled, .unprofiled | $job + [.executed_flops, .mfu, .end - .start] | @tsv' flops/truth.json >steps
  holds "FLOPs with $*" '
    { tokens = $6 * $8; seen++
      layers = $1 * (2 * tokens * (4 * $2 * $4 * $5 + 2 * $2 * $3)); attention = $1 * 2 * 2 * $4 * $5 * $6 * $6 / 2 * $8; head = 2 * tokens * $2 * $7
      model = 3 * (layers + attention + head); executed = 3 * (layers + head) + 3.5 * attention + '"$layers_again"' * layers + '"$attention_again"' * attention
      mfu = model / $14 / $9 / $10 }
    $11 != model { print "the model has", $11, "not", model }
    $12 != executed { print "executed are", $12, "not", executed }
    mfu - $13 > 1e-6 || $13 - mfu > 1e-6 { print "MFU is", $13, "not", mfu }' steps
}
operations 0 0 "${small[@]}"
operations 1 1 "${small[@]}" --recompute full
operations 0 1 "${small[@]}" --recompute selective
operations 0 1 "${small[@]}" --tp 2 --pp 2 --schedule zb-h1 --sequence-parallel on --recompute selective
operations 0 0 "${small[@]}" --ideal --micro-batch 3 --micro-batches 2 --head-dim 48 --heads 20 --ffn 3072
operations 0 0 "${small[@]}" --tp 2 --dp 2 --pp 2 --sequence-parallel on --distributed-optimizer on
operations 1 1 "${small[@]}" --tp 4 --pp 2 --schedule gpipe --recompute full
operations 0 0 "${small[@]}" --cp 4 --dp 2 --micro-batch 2
operations 0 0 "${small[@]}" --pp 2 --schedule zb-h1 --micro-batches 5
operations 1 1 "${small[@]}" --layers 4 --pp 2 --vp 2 --schedule interleaved --recompute full --micro-batches 6

# Core attention is copies of queries, keys and values, attention, a copy of the context. Again it stands in the backward pass of each layer, between
# the last product of the projection and the copy and three kernels of attention's own way back, and nowhere else: in two steps of two
# micro-batches and three layers, 12 times.
emulate core "${small[@]}" --layers 3 --micro-batches 2 --recompute selective --without clocks
jq -r '[.traceEvents[] | select(.cat == "kernel")] | sort_by(.ts)[] | .name' core/rank0.json |
  awk '{ print /sdpa.*fprop/ ? "F" : /sdpa.*bprop|dot_do_o|convert_dq/ ? "B" : /nvjet|gemm/ ? "G" : /splitK/ ? "" : /elementwise_kernel<128, 4, at::native::gpu_kernel_imp/ ? "c" : "-" }' |
  tr -d '\n' >core/order
[ "$(grep -o GcccFccBBB core/order | wc -l)" -eq 12 ] || fail "core attention is not computed again before its backward pass: $(fold core/order | head -n 4)"
[ "$(grep -o F core/order | wc -l)" -eq 24 ] || fail 'attention is not computed twice for each layer'

# Steps tile the time of a rank and of the job; what a rank was busy with adds up.
# tiles JOB WIDTH: so many ranks are a stage
tiles() {
  holds "$1: the parts sum to the step, steps follow one another" '
    { seen++; sum = 0; for (i = 6; i <= 12; i++) { sum += $i; if ($i < 0) print $1, $2, "rank", $3, "has a negative part" } }
    sum != $5 - $4 { print $1, $2, "rank", $3, "sums to", sum, "not", $5 - $4 }
    { behind = $1 OFS $2 - 1 OFS $3; end[$1, $2, $3] = $5 }
    ($1, $2 - 1, $3) in end && end[$1, $2 - 1, $3] != $4 { print $1, $2, "rank", $3, "starts at", $4, "not", end[$1, $2 - 1, $3] }
    $14 < $13 || $5 < $13 { print $1, $2, "rank", $3, "host from", $13, "to", $14, "device to", $5 }' "$1/steps"
  jq -r '.steps[] | .step as $k | to_entries[] | select(.key != "step") | [.key, $k, .value.start, .value.end, .value.bubble, .value.bubble_ratio] | @tsv' "$1/truth.json" >whole
  holds "$1: the job's steps and bubbles are those of its ranks" '
    FILENAME ~ /steps$/ { at = $1 OFS $2; if ($5 > end[at]) end[at] = $5; bubble[at] += $10; whole[at] += $5 - $4; next }
    { at = $1 OFS $2; seen++; share = bubble[at] / whole[at]; ratio = bubble[at] / (whole[at] - bubble[at]) }
    $4 != end[at] { print at, "ends at", $4, "not", end[at] }
    ($1, $2 - 1) in last && $3 != last[$1, $2 - 1] { print at, "starts at", $3 }
    { last[$1, $2] = $4 }
    share - $5 > 1e-6 || $5 - share > 1e-6 || ratio - $6 > 1e-6 || $6 - ratio > 1e-6 { print at, "bubble", $5, $6, "not", share, ratio }' "$1/steps" whole
  jq -r '.steps[] | .step as $k | to_entries[] | select(.key != "step") | .key as $run | .value.stage_bubble | to_entries[] | [$run, $k, .key, .value] | @tsv' "$1/truth.json" >stages
  holds "$1: the bubble of a stage is that of its ranks" '
    FILENAME ~ /steps$/ { at = $1 OFS $2 OFS int($3 / width); bubble[at] += $10; whole[at] += $5 - $4; next }
    { at = $1 OFS $2 OFS $3; seen++; told[at]; share = bubble[at] / whole[at] }
    share - $4 > 1e-6 || $4 - share > 1e-6 { print at, "has a bubble of", $4, "not", share }
    END { for (at in whole) if (!(at in told)) print at, "is missing" }' width="$2" "$1/steps" stages
}

# What a rank was busy with, from the rows of its trace alone, and from the truth only when transfers were.
# partition JOB WIDTH: so many ranks are a stage
partition() {
  awk -v width="$2" -F'\t' -v OFS='\t' -v CONVFMT=%.0f -v OFMT=%.0f '
    function from_to(rank, kind, from, to) { if (to > from) { print rank, from, kind, 1; print rank, to, kind, -1 } }
    FILENAME ~ /collectives$/ {
      n = split($10, ranks, ","); split($13, tasks, ",")
      for (i = 1; i <= n; i++) { t = ranks[i] SUBSEP tasks[i]; k = ++parts[t]; begin[t, k] = $8; end[t, k] = $9; pipeline[t] = $2 == "send_receive" || int(ranks[1] / width) != int(ranks[n] / width) }
      next
    }
    FILENAME ~ /steps$/ { if ($1 == "profiled") { print $3, $4, "start", $2; print $3, $5, "end", $2 } next }
    $13 !~ /^nccl/ { from_to($1, $13 ~ /^Mem(cpy|set) \(?/ ? "copy" : "compute", $4, $5); next }
    {
      t = $1 SUBSEP $6; from = $4
      while (from < $5) { # what it does from here on, and until when
        to = $5; moves = waits = 0
        for (k = 1; k <= parts[t]; k++) {
          if (begin[t, k] <= from && from < end[t, k]) moves = 1
          if (from < end[t, k]) waits = 1
          if (begin[t, k] > from && begin[t, k] < to) to = begin[t, k]
          if (end[t, k] > from && end[t, k] < to) to = end[t, k]
        }
        from_to($1, moves || !waits ? "moving" : pipeline[t] ? "pipeline" : "group", from, to)
        from = to
      }
    }' "$1/collectives" "$1/steps" "$1/work" | sort -t$'\t' -k1,1n -k2,2n -k3,3 |
    awk -F'\t' -v OFS='\t' -v CONVFMT=%.0f -v OFMT=%.0f '
      NR == 1 || $1 != rank { rank = $1; time = 0; split("", now) }
      { communicates = now["moving"] + now["pipeline"] + now["group"]
        what = now["compute"] ? (communicates ? "overlapped" : "compute") : now["moving"] ? "transfer" : now["group"] ? "waiting" : communicates ? "bubble" : now["copy"] ? "copy" : "idle"
        sum[rank, what] += $2 - time; time = $2 }
      $3 == "start" || $3 == "end" {
        line = ""
        n = split("compute overlapped transfer waiting bubble copy idle", names, " ")
        for (i = 1; i <= n; i++) { now_sum = sum[rank, names[i]] + 0; if ($3 == "start") at[rank, $4, i] = now_sum; else line = line OFS now_sum - at[rank, $4, i] }
        if ($3 == "end") print $4, rank line
        next
      }
      { now[$3] += $4 }' | sort >again
  awk -F'\t' -v OFS='\t' '$1 == "profiled" { print $2, $3, $6, $7, $8, $9, $10, $11, $12 }' "$1/steps" | sort >told
  check "$1: there are steps" [ -s told ]
  diff told again >wrong || fail "$1: the partition out of the rows is another: $(head -n 4 wrong | tr '\n\t' '; ')"
}

# Not of an ideal machine, where the next step's launches come at the same nanosecond.
# ends JOB
ends() {
  holds "$1: a rank's step ends with the last task that it launched" '
    FILENAME ~ /work$/ { at = $1 OFS $2; if ($5 > end[at]) end[at] = $5; next }
    $1 == "profiled" { at = $3 OFS $2; seen++; if (end[at] != $5) print at, "ends at", $5, "its tasks at", end[at] }' "$1/work" "$1/steps"
}

# Kinds of rows as the truth counts them, and where its labels can be.
# labels JOB WIDTH STAGES LAYERS
labels() {
  jq -r '.recorded[] | [.rank, .counts.kernels, .counts.communication, .counts.copies, .counts.memsets, .counts.launched_before] | @tsv' "$1/truth.json" >counts
  holds "$1: rows are counted" '
    FILENAME ~ /rows$/ { n[$1, $2]++; if ($2 == "kernel" && $3 ~ /^nccl/) nccl[$1]++; next }
    FILENAME ~ /work$/ { before[$1] += $7 < 0; next }
    { seen++ } $2 != n[$1, "kernel"] || $3 != nccl[$1] + 0 || $4 != n[$1, "gpu_memcpy"] + 0 || $5 != n[$1, "gpu_memset"] + 0 || $6 != before[$1] + 0 { print }' "$1/rows" "$1/work" counts
  holds "$1: every device row has its label, and work is where it belongs" '
    { seen++; stage = int($1 / width); of = int($11 / (layers / stages)) }
    $9 == "" { print $1, $6, "has no label" }
    $11 >= layers || ($11 >= 0 && of != stage) || ($12 == "layer") != ($11 >= 0) { print $1, $6, "is of layer", $11, "and part", $12 }
    ($12 == "embedding" && $9 != "optimizer" && stage != 0) || ($12 == "head" && stage != stages - 1) { print $1, $6, "is of", $12, "on stage", stage }' width="$2" stages="$3" layers="$4" "$1/work"
}

emulate job "${small[@]}" --tp 2 --pp 2 --dp 2 --without clocks
tables job
tiles job 4
partition job 4
ends job
labels job 4 2 2
emulate apart "${small[@]}" --layers 4 --pp 4 --micro-batches 6 --batched-p2p off --schedule zb-h1 --without clocks --record annotations
tables apart
tiles apart 1
partition apart 1
ends apart
labels apart 1 4 4
emulate ideal "${small[@]}" --ideal --tp 2 --pp 2 --sequence-parallel on --distributed-optimizer on --dp 2
tables ideal
tiles ideal 4
partition ideal 4

# Clocks move every row by what the truth says and nothing else: hosts' by offset and drift, devices' by their own offset more. Kineto's images
# of annotations, a nanosecond wider, and the span of the recording are left out. The job lasts for seconds, so that drift is seen.
nodes=("${small[@]}" --hidden 8192 --seq 8192 --micro-batch 4 --warmup 2 --tp 2 --pp 2 --dp 2 --node-size 2 --record "annotations,stacks,sync")
emulate shown "${nodes[@]}"
emulate right "${nodes[@]}" --without clocks
tables shown
tables right
# The window cuts device rows where their own clock shows its start and end: a clock that is ahead shows some that had begun before it.
awk -F'\t' '
  FILENAME ~ /windows$/ { start[$1] = $2; stop[$1] = $3; next } FILENAME ~ /clocks$/ { device[$1] = $4; next }
  $2 ~ /^(gpu_user_annotation|Trace)$/ || ($2 ~ /^(kernel|gpu_mem|cuda_event)/ && ($5 + device[$1] < start[$1] || $6 + device[$1] > stop[$1])) { next } { print }' \
  right/windows shown/clocks right/rows >right/plain
awk -F'\t' '
  NF == 3 { start[$1] = $2; next } NF == 4 { first[$1] = start[$1] + $2 + $3 * int(start[$1] / 1000000000) + int($3 * (start[$1] % 1000000000) / 1000000000) + $4; next }
  $2 ~ /^(gpu_user_annotation|Trace)$/ || ($2 ~ /^(kernel|gpu_mem|cuda_event)/ && $5 < first[$1]) { next } { print }' shown/windows shown/clocks shown/rows >shown/plain
holds 'every row is shown as its clocks go' '
  function shown(t) { return t + offset[$1] + drift[$1] * int(t / 1000000000) + int(drift[$1] * (t % 1000000000) / 1000000000) + ahead }
  NF == 4 { offset[$1] = $2; drift[$1] = $3; device[$1] = $4; next }
  { seen++; ahead = $2 ~ /^(kernel|gpu_|cuda_event)/ ? device[$1] : 0 }
  $1 != $10 || $2 != $11 || $3 != $12 || $4 != $13 || $7 != $16 { print $1, $2, $3, "is", $10, $11, $12; exit }
  $5 > 2000000000 { late++ }
  $14 != shown($5) || $15 != ($2 == "cuda_event" ? $14 + 1 : shown($6)) { # an event is an instant, drawn as a nanosecond
    print $1, $2, $3, "of", $5, $6, "is shown at", $14, $15, "not", shown($5), shown($6) }
  END { if (!late) print "the job is short" }' shown/clocks <(paste right/plain shown/plain)
same <(cut -f 4- right/steps) <(cut -f 4- shown/steps) 'clocks change what happens'
holds 'clocks that are right show nothing' '{ seen++ } $2 != 0 || $3 != 0 || $4 != 0' right/clocks
holds 'a node has one host clock, a device its own' '
  { n = int($1 / 2); seen++ }
  $2 == 0 || $3 == 0 || $2 > 300000 || -$2 > 300000 || $3 > 10000 || -$3 > 10000 || $4 > 20000 || -$4 > 20000 { print "rank", $0 }
  n in offset && ($2 != offset[n] || $3 != drift[n]) { print "rank", $1, "is not like its neighbour" }
  !(n in offset) && $2 in others { print "rank", $1, "is like another node" }
  $4 in devices { print "device", $1, "is like another" } { offset[n] = $2; drift[n] = $3; others[$2]; devices[$4] }' shown/clocks

# What is recorded of the profiled run is paid for by it alone.
emulate unprofiled "${small[@]}" --tp 2 --pp 2 --dp 2 --without clocks,profiler
truth unprofiled
same <(grep '^profiled' unprofiled/steps | cut -f 2-) <(grep '^unprofiled' unprofiled/steps | cut -f 2-) 'without its cost the profiler still changes what happens'
same <(grep '^unprofiled' unprofiled/steps) <(grep '^unprofiled' job/steps) 'the run without the profiler is not that of a profiler that costs nothing'
proved 'FLOPs, parts of steps, clocks and labels of truth.json are those that its traces add up to'
finish

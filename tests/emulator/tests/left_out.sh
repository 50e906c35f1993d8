#!/usr/bin/env bash
# --leave-out and --fuse: work of some kinds is not done, and nothing else is other than it was. What is left out is found without that option: it is what
# --scale makes longer.
. "$(dirname "$0")/lib.sh"
kernel_kinds='elementwise norm reduction optimizer embedding copy memset'

# run JOB OPTION...
run() {
  local job=$1
  shift
  emulate "$job" "$@"
  tables "$job"
}
# step JOB: the mean of its steps but the first.
step() { true_steps "$1" | awk 'NR > 1 { sum += $2; n++ } END { printf "%.0f\n", sum / n }'; }
# is TEXT VALUE WANTED
is() { [ "$2" -eq "$3" ] || fail "$1: $2, not $3"; }

# ---- by hand, on an ideal machine ----

# One stream that is never idle: a step is shorter by the kernels that are left out.
busy=(--layers 3 --hidden 1024 --seq 1024 --vocab 8192 --micro-batches 2 --steps 3 --warmup 1 --record annotations --ideal)
run busy "${busy[@]}"
for kind in $kernel_kinds; do
  run without "${busy[@]}" --leave-out "$kind"
  run longer "${busy[@]}" --scale "$kind=2"
  gone=$(awk -F'\t' -v CONVFMT=%.0f -v OFMT=%.0f '
    FILENAME ~ /steps$/ { if ($1 == "profiled") { from = $4; to = $5 } next } # the last
    $3 != 7 { next }
    FILENAME ~ /^busy/ { time[$6] = from < $5 && $5 <= to ? $5 - $4 : 0; next }
    time[$6] && $5 - $4 == 2 * time[$6] { sum += time[$6] } END { print sum + 0 }' busy/steps busy/work longer/work)
  check "$kind: nothing is of that kind" [ "$gone" -gt 0 ]
  is "busy without $kind" "$(step without)" $(($(step busy) - gone))
done

# A host that is never waited for: a step is shorter by what it spent on what is left out. In ns, and regular: a call that launches takes 5000, a
# line of Python 2600, a module's 5000; a function of autograd 4200 before its own work, a node of the engine 1900, as its end in the engine; a list of tensors 9000.
late=(--layers 2 --hidden 64 --seq 64 --heads 1 --vocab 128 --micro-batches 3 --steps 3 --warmup 1 --record annotations --only host)
run late "${late[@]}"
norms=$((3 * (2 * 2 + 1)))
# without KIND NS: the step is so much shorter.
without() {
  run without "${late[@]}" --leave-out "$1"
  is "late without $1" "$(step without)" $(($(step late) - $2))
}
# Forward: the module's Python and aten::layer_norm. Backward: the node's op, not the engine's around it, which adds the residual's gradient, too;
# the final norm has none, so that the engine's op goes, and the thread's time before it.
without norm $((norms * (5000 + 4200 + 5000) + norms * (1900 + 2600 + 2 * 5000) + 3 * (1900 + 2600)))
# Lists of tensors: their norm, summed up, and clipped; the optimizer's annotation with all that is inside, and the end of the function before it.
without optimizer $((2 * (9000 + 5000) + 5000 + 2000 + 60000 + 9000 + 5000))
# aten::zero_, and the beginning of the function that calls it.
without memset $((2000 + 4600 + 3400 + 1600))

# ---- fused: what a norm's backward launches twice is launched once, and takes the time of both ----
run fused "${late[@]}" --fuse norm
is 'late with fused norms' "$(step fused)" $(($(step late) - norms * 5000))
run fused "${busy[@]}" --fuse norm
is 'busy with fused norms' "$(step fused)" "$(step busy)"
[ "$(wc -l <busy/work)" -eq "$(($(wc -l <fused/work) + 3 * 2 * (3 * 2 + 1)))" ] || fail "of $(wc -l <busy/work) kernels and copies $(wc -l <fused/work) are left with fused norms"

# A kernel that is launched in an op that stays goes with its call alone.
run without "${late[@]}" --leave-out elementwise
holds 'an op that stays is shorter by its launch' '
  $3 != "BiasGeLUFunctionBackward" { next }
  FILENAME ~ /^late/ { time[++n] = $6 - $5; next }
  { seen++; if (time[seen] - ($6 - $5) != 6000) print time[seen], $6 - $5 }
  END { if (seen != n) print n, seen }' late/rows without/rows

# ---- with all that is irregular ----

# pair KIND OPTION...: the job, without the kind, and with twice the time for it.
pair() {
  local kind=$1
  shift
  run whole "$@"
  run without "$@" --leave-out "$kind"
  run longer "$@" --scale "${kind/gradients/communication}=2"
}
# What draws chances where clocks, links and SMs are nobody else's: kernels that take the same time whatever runs beside them.
apart=(--without throttle,contention,shared-links,clocks --steps 2 --warmup 1 --seed 3)
one=(--layers 2 --hidden 512 --seq 512 --vocab 8192 --micro-batches 2 "${apart[@]}")
grid=("${one[@]}" --tp 2 --pp 2 --dp 2 --bucket-mb 2)
kernels_stay() {
  holds "$1: kernels of that kind are gone, all others are the same" '
    $2 < 0 || $13 ~ /^nccl/ { next }
    { at = $1 OFS $6; d = $5 - $4 }
    FILENAME ~ /^whole/ { time[at] = d; name[at] = $13; next }
    FILENAME ~ /^longer/ { if (at in time) { long = d > 1.9 * time[at]; if (long) gone[at]; n += long } next }
    { there[at]; if (at in time && (time[at] != d || name[at] != $13)) print at, name[at], time[at], $13, d }
    END { for (at in time) { seen++; if ((at in gone) == (at in there)) print at, name[at], "of that kind:", at in gone, "there:", at in there }
      if (('"${2:-1}"') != (n > 0)) print n, "kernels of that kind" }' whole/work longer/work without/work
}
calls_stay() {
  local job
  for job in whole without; do
    awk -F'\t' '$2 ~ /^cuda_(runtime|driver)$/ && $3 !~ /Synchronize$/' $job/rows | sort -t $'\t' -k1,1n -k7,7n >$job/calls
  done
  holds "$1: calls take as long, and so does what is between two" '
    { at = $1 OFS $7; before = $1 OFS $7 - 1 }
    FILENAME ~ /^whole/ { time[at] = $6 - $5; if (thread[before] == $4) gap[at] = $5 - end[before]; thread[at] = $4; end[at] = $6; next }
    !(at in time) { next }
    { seen++; if ($6 - $5 != time[at]) print at, $3, "takes", $6 - $5, "not", time[at] }
    at in gap && before in there { gaps++; if ($5 - there[before] != gap[at]) print at, $3, "comes", $5 - there[before], "behind the call before, not", gap[at] }
    { there[at] = $6 }
    END { if (gaps < 100) print gaps, "gaps" }' whole/calls without/calls
}
transfers_stay() { # KIND PROGRAM [NONE]: 1 where there is none of that kind
  holds "$1: transfers of that kind are gone, all others are the same" '
    { at = $1 OFS $3 OFS $6 OFS $7; if (at in time && FILENAME ~ /^whole/) print at, "is there twice"; }
    FILENAME ~ /^whole/ { time[at] = $9 - $8; gone[at] = '"$2"'; n += gone[at]; next }
    { there[at]; if (!(at in time) || time[at] != $9 - $8) print at, time[at], $9 - $8 }
    END { for (at in time) { seen++; if (gone[at] == (at in there)) print at, "of that kind:", gone[at], "there:", at in there } if (!n != '"${3:-0}"') print n, "are of that kind" }' whole/collectives without/collectives
}
for kind in $kernel_kinds; do
  pair "$kind" "${one[@]}"
  kernels_stay "$kind"
  calls_stay "$kind"
done
# Ops by name: what launches nothing else goes along, as with a kind of work; what launches nothing goes, too.
emulate without "${one[@]}" --leave-out norm
emulate ops "${one[@]}" --leave-out op=aten::layer_norm,op=aten::native_layer_norm_backward
same without/rank0.json ops/rank0.json 'left out by their names norms leave something else'
run ops "${one[@]}" --leave-out op=torch::autograd::AccumulateGrad
check 'gradients are added' grep -q 'torch::autograd::AccumulateGrad' whole/rows
! awk -F'\t' '$3 ~ /^(torch::autograd::AccumulateGrad|aten::detach)$/' ops/rows | grep . || fail 'an op that is left out is there'

# Over several ranks. Who waits for whom is another, what is waited for is not there.
for kind in elementwise norm; do
  pair $kind "${grid[@]}"
  kernels_stay $kind
  calls_stay $kind
  transfers_stay $kind 0 1
done
waits() { awk -F'\t' '$3 == "cudaStreamWaitEvent" { n++ } END { print n + 0 }' "$1/rows"; }
# communication KIND PROGRAM OPTION...: transfers of that kind are gone, and of each on each rank what waits for its input, its stream's turn in
# NCCL and back, and its end.
communication() {
  local kind=$1 program=$2
  shift 2
  pair "$kind" "$@"
  kernels_stay "$kind" no
  calls_stay "$kind"
  transfers_stay "$kind" "$program"
  is "$kind: waits" "$(waits without)" $(($(waits whole) - 4 * $(awk -F'\t' "$program"' { n += split($10, ranks, ",") } END { print n }' whole/collectives)))
}
communication all-reduce '($2 == "all_reduce")' "${grid[@]}"
communication gradients '($2 == "all_reduce" && $10 ~ /^(0,2|1,3|4,6|5,7)$/ && $5 > 4)' "${grid[@]}"
communication gradients '($2 == "reduce_scatter")' "${grid[@]}" --distributed-optimizer on

# ---- what is recorded ----

# It changes nothing that happens, with Python's frames or without; frames in which nothing is left are not there.
run bare "${one[@]}" --leave-out norm,copy --record none
run frames "${one[@]}" --leave-out norm,copy --record all
same <(grep ^unprofiled bare/steps) <(grep ^unprofiled frames/steps) 'frames of Python change what is left out'
run all "${one[@]}" --record all
for row in 'nn.Module: LayerNorm' 'aten::layer_norm' 'aten::item' 'Memcpy' 'cudaMemcpyAsync'; do
  check "$row is not in the whole job" grep -qF "$row" all/rows
  ! grep -qF "$row" frames/rows || fail "$row is there"
done
for row in 'nn.Module: TransformerLayer' 'AddBackward0\|NativeLayerNormBackward0' 'cudaEventRecordWithFlags'; do check "$row is gone" grep -q "$row" frames/rows; done
check 'truth.json does not tell' [ "$(jq -c .configuration.left_out frames/truth.json)" = '["norm","copy"]' ]
proved 'what is left out is not done, and nothing else is other than it was'
finish

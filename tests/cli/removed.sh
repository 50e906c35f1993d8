#!/usr/bin/env bash
# Work that is taken out, or fused, against a job that never did it: a job of the emulated cluster is recorded, some of its work removed or fused with
# lumos-transform, and the simulated step held against the same job run anew so, with the same chances. Of fused kernels what they need not move is
# not in it: the job is recorded without shapes.
#
#   tests/cli/removed.sh [--table] [--without MECHANISMS] [JOB...]
#
# --table writes all cases as Markdown; --without: on an emulated cluster without some of what makes it other than ideal, which tells the causes of errors apart; some jobs only.
#
# A case is a job and some work. Its figure is the mean of the job's steps but the first, which begins before the recording does; its error
# is (predicted - true) / true. What is aimed at, over all cases: mean 1 %. How far off each kind of work is stands below, with what is missing; a
# kind that gets worse fails.
. "$(dirname "$0")/lib.sh"
. "$here/predictions.sh"

# name | options
jobs=(
  'one GPU, busy            |--layers 4 --hidden 2048 --micro-batches 2'
  'one GPU, host-bound      |--layers 4 --hidden 512 --seq 512 --micro-batches 2'
  'one GPU, recomputation   |--layers 2 --hidden 1024 --micro-batches 2 --recompute full'
  'tensor parallel          |--layers 4 --hidden 2048 --tp 2 --micro-batches 2'
  'data parallel, overlapped|--layers 4 --hidden 2048 --dp 2 --micro-batches 2'
  'distributed optimizer    |--layers 2 --hidden 2048 --dp 2 --micro-batches 2 --distributed-optimizer on'
  'pipeline                 |--layers 4 --hidden 2048 --pp 2 --micro-batches 4'
)

# group | what the emulated cluster leaves out | the same for lumos-transform, which calls some of it by other kinds | options of jobs that do such work
edits=(
  'ops|norm|kind=norm|'
  'ops|elementwise|kind=elementwise,name~elementwise_kernel|triton|fused_rope|'
  'ops|reduction|kind=reduction,name~reduce_kernel|'
  'ops|optimizer|name~^cleanup|multi_tensor|'
  'ops|embedding|name~gather_kernel|RadixSort|compute_grad_weight|'
  'ops|op=aten::add|op=aten::add|'
  'ops|op=aten::contiguous|op=aten::contiguous|'
  'ops|op=torch::autograd::AccumulateGrad|op=torch::autograd::AccumulateGrad|'
  'ops|op=BiasGeLUFunction|op=BiasGeLUFunction|'
  'first of a step|memset|kind=memset|'
  'copies|copy|kind=copy|'
  'communication|all-reduce|kind=collective,name~AllReduce|--[tdp]p 2'
  'communication|gradients|kind=collective,name~ReduceScatter|--distributed-optimizer'
  'fused|fuse=optimizer|name~^cleanup|multi_tensor|'
  'fused|fuse=elementwise|kind=elementwise,name~elementwise_kernel|triton|fused_rope|'
  'fused|fuse=elementwise,norm|name~elementwise_kernel|triton|fused_rope|layer_norm|GammaBeta|'
)

# group | mean, worst |error| in % that it does not exceed | cases that may be worse than "nothing changes" | what is missing
bars=(
  'ops|0.15 1.4|0|a hot GPU: clocks fall by what runs before'
  'first of a step|0.05 0.1|0|'
  'copies|0.7 4.2|0|a host that no copy makes wait has been ahead of the device since before the recording'
  'communication|0.8 2.2|0|ops that only wait for it stay where no event is recorded'
)
bars+=('fused|0.4 2|0|')
all='all|0.27 4.2|0|'

# cases JOB OPTIONS: a line a case: group, job, work, step with it, true without it, predicted, in ns
cases() {
  local job=$1 edit group work selector needed with
  local -a options
  read -ra options <<<"$2 $recording"
  rm -rf whole
  emulated-cluster "${options[@]}" whole || fail "$job: the emulated cluster fails"
  lumos-graph whole/rank*.json >graph 2>message || fail "$job: no graph: $(head -c 300 message)"
  with=$(true_steps whole | steps)
  for edit in "${edits[@]}"; do
    group=${edit%%|*} edit=${edit#*|} needed=${edit##*|} edit=${edit%|*} work=${edit%%|*} selector=${edit#*|}
    [[ $2 =~ $needed ]] && due 3 || continue
    rm -rf without
    if [ "$group" = fused ]; then # the emulated cluster moves as much as before, as a prediction without shapes has it
      [ -s bare ] || { emulated-cluster "${options[@]}" --record annotations,collectives whole && lumos-parse whole/rank*.json | lumos-graph >bare; } 2>message ||
        fail "$job without shapes: $(head -c 300 message)"
      emulated-cluster "${options[@]}" --record annotations,collectives --fuse "${work#fuse=}" --ranks none without || fail "$job with $work: the emulated cluster fails"
      printf '%s|%s|%s|%s|%s|%s\n' "$group" "$job" "$work" "$(true_steps whole | steps)" "$(true_steps without | steps)" \
        "$(lumos-transform --fuse "$selector" bare 2>/dev/null | predicted_step)"
      continue
    fi
    emulated-cluster "${options[@]}" --leave-out "$work" --ranks none without || fail "$job without $work: the emulated cluster fails"
    printf '%s|%s|%s|%s|%s|%s
' "$group" "$job" "$work" "$with" "$(true_steps without | steps)" \
      "$(lumos-transform --remove "$selector" graph 2>/dev/null | predicted_step)"
  done
  rm -f bare
}

judge 25 without 'jobs without some of their work' "$@"
finish

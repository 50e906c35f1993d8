#!/usr/bin/env bash
# Work that is taken out against a job that never did it: a job of the emulated cluster is recorded, some of its work removed with lumos-transform,
# and the simulated step held against the same job run anew without that work and with the same chances.
#
#   tests/cli/removed.sh [--table] [--without MECHANISMS] [JOB...]
#
# as Markdown; on an emulated cluster without some of what makes it other than ideal, which tells the causes of errors apart; some jobs only.
#
# A case is a job and some work. Its figure is the mean of the job's steps but the first, which begins before the recording does; its error
# is (predicted - true) / true. What is aimed at, over all cases: mean 1 %. How far off each kind of work is stands below, with what is missing; a
# kind that gets worse fails.
. "$(dirname "$0")/lib.sh"

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
)

# group | mean, worst |error| in % that it does not exceed | cases that may be worse than "nothing changes" | what is missing
bars=(
  'ops|0.15 1.4|0|a hot GPU: clocks fall by what runs before'
  'first of a step|0.05 0.1|0|'
  'copies|0.7 4.2|0|a host that no copy makes wait has been ahead of the device since before the recording'
  'communication|1.6 4.1|0|kernels that ran beside a removed transfer would be quicker; ops that only wait for it stay where no event is recorded'
)
all='all|0.27 4.2|0|'

# steps: the mean of "STEP NS" but the first.
steps() { awk 'NR > 1 { sum += $2 } END { if (NR < 2 || sum <= 0) exit 1; printf "%.1f\n", sum / (NR - 1) }'; }
predicted_step() {
  lumos-sim --opportunities off 2>message |
    sed -nE 's/^\{"type":"metric","name":"step_time","value":([0-9]+),.*"scope":\{"step":([0-9]+)\},"source":"simulated".*/\2 \1/p' | steps || fail "the simulation fails: $(head -c 300 message)"
}

# cases JOB OPTIONS: a line a case: group, job, work, step with it, true without it, predicted, in ns
cases() {
  local job=$1 edit group work selector needed
  local -a options
  read -ra options <<<"$2 --steps 3 --seed 7 --quiet --plain"
  rm -rf whole
  emulated-cluster "${options[@]}" whole || fail "$job: the emulated cluster fails"
  { lumos-parse whole/rank*.json | lumos-graph; } >graph 2>message || fail "$job: no graph: $(head -c 300 message)"
  for edit in "${edits[@]}"; do
    group=${edit%%|*} edit=${edit#*|} needed=${edit##*|} edit=${edit%|*} work=${edit%%|*} selector=${edit#*|}
    [[ $2 =~ $needed ]] || continue
    rm -rf without
    emulated-cluster "${options[@]}" --leave-out "$work" --ranks none without || fail "$job without $work: the emulated cluster fails"
    printf '%s|%s|%s|%s|%s|%s\n' "$group" "$job" "$work" "$(true_steps whole | steps)" "$(true_steps without | steps)" \
      "$(lumos-transform --remove "$selector" graph 2>/dev/null | predicted_step)"
  done
}

table=no
without=
while [[ ${1-} = --* ]]; do
  case $1 in
    --table) table=yes ;;
    --without) without=$2 && shift ;;
    *) fail "$1 is no option" ;;
  esac
  shift
done
for job in "${jobs[@]}"; do
  name=${job%%|*}
  name=${name%"${name##*[! ]}"}
  [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
  cases "$name" "${job#*|}${without:+ --without $without}" >>results
done

check 'every step has its length' [ "$(awk -F'|' '$4 > 0 && $5 > 0 && $6 > 0' results | wc -l)" -eq "$(wc -l <results)" ]
# By case: the change of the truth, the error, and that of "nothing changes", in %.
awk -F'|' -v OFS='|' '{ print $1, $2, $3, $4 / 1e6, $5 / 1e6, $6 / 1e6, ($5 / $4 - 1) * 100, ($6 / $5 - 1) * 100, ($4 / $5 - 1) * 100 }' results >errors
size='function size(x) { return x < 0 ? -x : x }'
if [ $table = yes ]; then
  printf '| job | without | step, ms | true, ms | predicted, ms | change, %% | error, %% | error of "nothing changes", %% |\n|---|---|---|---|---|---|---|---|\n'
  awk -F'|' '{ printf "| %s | %s | %.2f | %.2f | %.2f | %+.2f | %+.2f | %+.2f |\n", $2, $3, $4, $5, $6, $7, $8, $9 }' errors
  printf '\n| work | cases | mean error, %% | worst, %% | worse than "nothing changes" | what is missing |\n|---|---|---|---|---|---|\n'
fi
[ $# -gt 0 ] || [ "$(wc -l <errors)" -ge 75 ] || fail "$(wc -l <errors) cases are too few"
for bar in "${bars[@]}" "$all"; do
  IFS='|' read -r group limits worse missing <<<"$bar"
  read -r mean_limit worst_limit <<<"$limits"
  read -r count mean worst behind < <(awk -F'|' -v group="$group" "$size"'
    $1 == group || group == "all" { n++; error = size($8); sum += error; worst = error > worst ? error : worst; behind += size($7) > 3 && error > size($9) }
    END { printf "%d %.3f %.3f %d\n", n, n ? sum / n : 0, worst, behind }' errors)
  [ $table = no ] || printf '| %s | %d | %.2f | %.2f | %d | %s |\n' "$group" "$count" "$mean" "$worst" "$behind" "$missing"
  awk "BEGIN { exit !($mean <= $mean_limit && $worst <= $worst_limit && $behind <= $worse) }" ||
    [ -n "$without" ] || [ $# -gt 0 ] || fail "$group: mean error $mean %, worst $worst %, $behind cases worse than no prediction; up to now $mean_limit, $worst_limit, $worse"
done
proved "of $count jobs without some of their work the prediction is off by $mean % on average and $worst % at worst, $behind times by more than no prediction"
finish

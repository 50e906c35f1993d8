#!/usr/bin/env bash
# Work that is taken out against a job that never did it: a job of the emulated cluster is recorded, some of its work removed with lumos-transform,
# and the simulated step held against the same job run anew without that work and with the same chances.
#
#   tests/cli/removed.sh [--table] [--without MECHANISMS] [JOB...]
#
# as Markdown; on an emulated cluster without some of what makes it other than ideal; some jobs only.
#
# A case is a job and a kind of work. Its figure is the mean of the job's steps but the first, which begins before the recording does; its error
# is (predicted - true) / true.
. "$(dirname "$0")/lib.sh"

# name | options
jobs=(
  'one GPU, busy            |--layers 4 --hidden 2048 --micro-batches 2'
  'one GPU, host-bound      |--layers 4 --hidden 512 --seq 512 --micro-batches 2'
  'tensor parallel          |--layers 4 --hidden 2048 --tp 2 --micro-batches 2'
  'data parallel, overlapped|--layers 4 --hidden 2048 --dp 2 --micro-batches 2'
  'pipeline                 |--layers 4 --hidden 2048 --pp 2 --micro-batches 4'
)

# what is left out of the emulated cluster | the same work for lumos-transform, which calls some of it by other kinds | smallest number of ranks
edits=(
  'norm|--remove kind=norm|1'
  'elementwise|--remove kind=elementwise,name~elementwise|triton|fused_rope|1'
  'reduction|--remove kind=reduction,name~reduce_kernel|1'
  'optimizer|--remove kind=optimizer --remove name~^cleanup|1'
  'embedding|--remove op=aten::index_select --remove op=aten::embedding_dense_backward|1'
  'op=aten::add|--remove op=aten::add|1'
  'op=aten::contiguous|--remove op=aten::contiguous|1'
  'op=BiasGeLUFunction,op=BiasGeLUFunctionBackward|--remove op=BiasGeLUFunction --remove op=BiasGeLUFunctionBackward|1'
  'op=torch::autograd::AccumulateGrad|--remove op=torch::autograd::AccumulateGrad|1'
  'memset|--remove kind=memset|1'
  'copy|--remove kind=copy|1'
  'all-reduce|--remove kind=collective,name~AllReduce|2'
)

# steps: the mean of "STEP NS" but the first.
steps() { awk 'NR > 1 { sum += $2 } END { if (NR < 2 || sum <= 0) exit 1; printf "%.1f\n", sum / (NR - 1) }'; }
predicted_step() {
  lumos-sim --opportunities off 2>message |
    sed -nE 's/^\{"type":"metric","name":"step_time","value":([0-9]+),.*"scope":\{"step":([0-9]+)\},"source":"simulated".*/\2 \1/p' | steps || fail "the simulation fails: $(head -c 300 message)"
}

# cases JOB OPTION...: a line a case: job, work, step with it, true without it, predicted, in ns
cases() {
  local job=$1 edit left_out removed ranks
  local -a removals
  shift
  rm -rf whole
  emulated-cluster "$@" whole || fail "$job: the emulated cluster fails"
  { lumos-parse whole/rank*.json | lumos-graph; } >graph 2>message || fail "$job: no graph: $(head -c 300 message)"
  for edit in "${edits[@]}"; do
    left_out=${edit%%|*} ranks=${edit##*|} removed=${edit#*|}
    read -ra removals <<<"${removed%|*}"
    [ -e "whole/rank$((ranks - 1)).json" ] || continue
    rm -rf without
    emulated-cluster "$@" --leave-out "$left_out" --ranks none without || fail "$job without $left_out: the emulated cluster fails"
    printf '%s|%s|%s|%s|%s\n' "$job" "$left_out" "$(true_steps whole | steps)" "$(true_steps without | steps)" \
      "$(lumos-transform "${removals[@]}" graph 2>/dev/null | predicted_step)"
  done
}

table=no
without=()
while [[ ${1-} = --* ]]; do
  case $1 in
    --table) table=yes ;;
    --without) without=(--without "$2") && shift ;;
    *) fail "$1 is no option" ;;
  esac
  shift
done
for job in "${jobs[@]}"; do
  name=${job%%|*}
  name=${name%"${name##*[! ]}"}
  [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
  read -ra options <<<"${job#*|}"
  cases "$name" "${options[@]}" --steps 3 --seed 7 --quiet --plain "${without[@]}" >>results
done

check 'every step has its length' [ "$(awk -F'|' '$3 > 0 && $4 > 0 && $5 > 0' results | wc -l)" -eq "$(wc -l <results)" ]
# By case: the change of the truth, and the error, in %.
awk -F'|' -v OFS='|' '{ print $1, $2, $3 / 1e6, $4 / 1e6, $5 / 1e6, ($4 / $3 - 1) * 100, ($5 / $4 - 1) * 100 }' results >errors
if [ $table = yes ]; then
  printf '| job | without | step, ms | true, ms | predicted, ms | change, %% | error, %% |\n|---|---|---|---|---|---|---|\n'
  awk -F'|' '{ printf "| %s | %s | %.2f | %.2f | %.2f | %+.2f | %+.2f |\n", $1, $2, $3, $4, $5, $6, $7 }' errors
fi
finish

#!/usr/bin/env bash
# The job written anew: the recorded configuration against what was measured, and other configurations against true runs of these on the
# emulated cluster.
#
#   tests/cli/rebuild.sh [--table] [--without MECHANISMS] [JOB...]
#
# as in perturbed.sh; the long list of jobs and configurations with LUMOS_ALL=yes. Beside each prediction stands that of the trivial rule: GPU
# time and pipeline by formula, nothing of hosts, waiting or overlap.
. "$(dirname "$0")/lib.sh"
. "$here/predictions.sh"

# name | options | other configurations: options of the emulated cluster, which are those of lumos-transform, in quotation marks
short=(
  'one GPU|--layers 4 --hidden 2048 --micro-batches 2|"--layers 8" "--micro-batches 4"'
  'pipeline|--layers 4 --hidden 2048 --pp 2 --micro-batches 4|"--pp 4" "--pp 1" "--micro-batches 8"'
  'data parallel|--layers 4 --hidden 2048 --dp 2 --micro-batches 2|"--layers 6" "--dp 4"'
)
long=(
  'one GPU|--layers 4 --hidden 2048 --micro-batches 2|"--layers 2" "--layers 12" "--micro-batches 1" "--layers 8 --micro-batches 8"'
  'one GPU, host-bound|--layers 4 --hidden 512 --seq 512 --micro-batches 2|"--layers 8" "--layers 2" "--micro-batches 4"'
  'tensor parallel|--layers 4 --hidden 4096 --tp 2 --micro-batches 2|"--layers 8" "--layers 2" "--micro-batches 4"'
  'distributed optimizer|--layers 4 --hidden 2048 --dp 4 --micro-batches 2 --distributed-optimizer on|"--layers 8" "--micro-batches 4" "--dp 8" "--dp 2"'
  'data parallel, wide|--layers 4 --hidden 4096 --dp 2 --micro-batches 2|"--dp 4" "--dp 8" "--layers 8"'
  'pipeline of four|--layers 8 --hidden 2048 --pp 4 --micro-batches 8|"--pp 2" "--pp 8" "--schedule gpipe" "--micro-batches 16" "--layers 16"'
  'pipeline, separate transfers|--layers 4 --hidden 2048 --pp 2 --micro-batches 4 --batched-p2p off|"--pp 4" "--pp 1"'
  'three ways|--layers 4 --hidden 4096 --tp 2 --pp 2 --dp 2 --micro-batches 4 --node-size 16|"--pp 1" "--pp 4" "--layers 8" "--dp 4"'
)

# group | mean, worst |error| in % that it does not exceed | cases worse than "nothing changes" | what is missing
bars=(
  'recorded|0.5 1.5|0|'
  'layers|2 6|0|'
  'micro-batches|2 6|0|'
  'pp|2 6|0|'
  'schedule|2 6|0|'
  'dp|2 6|0|'
)
all='all|2 6|0|'

# cases JOB OPTIONS|CHANGES: a line a case: group, job, change, step without it, true, predicted, in ns
cases() {
  local job=$1 options="${2%%|*} --steps 3 --seed 7 --quiet --plain" changes=${2#*|} change group without=${2##*|\"}
  local -a list
  without=${without##*\"}
  rm -rf unchanged
  # shellcheck disable=SC2086 # several options
  emulated-cluster $options $without unchanged || fail "$job: the emulated cluster fails"
  { lumos-parse unchanged/rank*.json | lumos-graph; } >graph 2>message || fail "$job: no graph: $(head -c 300 message)"
  eval "list=(${changes%"$without"})"
  lumos-transform --rebuild graph -o built 2>message || fail "$job: not built: $(head -c 300 message)"
  printf 'recorded|%s|as recorded|%s|%s|%s\n' "$job" "$(true_steps unchanged | steps)" "$(true_steps unchanged | steps)" "$(predicted_step <built)"
  for change in "${list[@]}"; do
    group=${change%% *} group=${group#--}
    rm -rf changed
    # shellcheck disable=SC2086
    emulated-cluster $options $without $change --ranks none changed || fail "$job, $change: the emulated cluster fails"
    # shellcheck disable=SC2086
    printf '%s|%s|%s|%s|%s|%s\n' "$group" "$job" "$change" "$(true_steps unchanged | steps)" "$(true_steps changed | steps)" \
      "$({ lumos-transform $change graph 2>message || fail "$job, $change: $(head -c 300 message)"; } | predicted_step)"
  done
}

jobs=("${short[@]}")
[ "${LUMOS_ALL:-no}" != yes ] || jobs+=("${long[@]}")
judge 8 configuration 'configurations' "$@"
finish

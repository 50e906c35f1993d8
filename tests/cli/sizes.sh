#!/usr/bin/env bash
# A model of other sizes, on other tensor-parallel ranks, or with parts of a sequence on each, against what would truly have happened: a job of the
# emulated cluster is recorded, changed with lumos-transform --hidden and the like, and the simulated step held against a run of the job with that model and the same chances.
#
#   tests/cli/sizes.sh [--table] [--without MECHANISMS] [JOB...]
#
# Where gradients are reduced, and the model gets another width, buckets are cut anew, as lumos-transform advises.
# What is aimed at over all cases, of which half are drawn: mean 2.5 %, worst 8 %. See predictions.sh.
. "$(dirname "$0")/lib.sh"
. "$here/predictions.sh"

# name | options
jobs=(
  'one GPU, busy            |--layers 4 --hidden 2048 --micro-batches 2'
  'tensor parallel          |--layers 4 --hidden 2048 --tp 2 --micro-batches 2'
  'pipeline                 |--layers 4 --hidden 2048 --pp 2 --micro-batches 4'
  'data parallel            |--layers 4 --hidden 2048 --dp 2 --micro-batches 2'
  'sequence parallel        |--layers 4 --hidden 4096 --tp 4 --sequence-parallel on --micro-batches 2'
  'three ways               |--layers 4 --hidden 2048 --tp 2 --pp 2 --dp 2 --micro-batches 4'
  'distributed optimizer    |--layers 4 --hidden 2048 --dp 4 --micro-batches 2 --distributed-optimizer on'
)

# group | change, of lumos-transform and of the emulated cluster
changes=(
  'hidden|--hidden 4096'
  'sequence|--seq 1024'
  'batch|--micro-batch 2'
  'hidden|--hidden 3072'
  'other|--vocab 102400'
  'sequence|--seq 4096'
  'other|--ffn 4096'
  'tensor|--tp 4'
  'tensor|--tp 2'
  'tensor|--tp 1'
  'hidden|--hidden 1024'
  'parts|--sequence-parallel on'
  'parts|--sequence-parallel off'
  'from one, in parts|--tp 4 --sequence-parallel on'
)

# group | mean, worst |error| in % that it does not exceed | cases that may be worse than "nothing changes" | what is missing
bars=(
  'hidden|2.5 8|0|'
  'sequence|2.5 8|0|'
  'batch|2.5 8|0|'
  'other|2.5 8|0|'
  'drawn|2.5 8|0|'
  'tensor|2.5 8|0|'
  'parts|3.5 8|0|what CPUs take to ask for reduce-scatters and all-gathers that were not recorded: all three jobs are bound by them'
  'from one|3 8|0|what CPUs take to ask for sums that were not recorded'
  'from one, in parts|5 8|1|the same, and of more calls'
)
all='all|2.5 8|1|'

# drawn NUMBER: a change, from LUMOS_SEED.
drawn() {
  RANDOM=$((${LUMOS_SEED:-7} * 1000 + $1))
  printf -- '--hidden %d --seq %d --micro-batch %d --vocab %d' $((1024 + 512 * (RANDOM % 7))) $((1024 * (1 + RANDOM % 4))) $((1 + RANDOM % 2)) $((25600 * (1 + RANDOM % 4)))
}

# cases JOB OPTIONS: a line a case: group, job, change, step without it, true, predicted, low, high, in ns
cases() {
  local job=$1 change group number buckets
  local -a options list=("${changes[@]}")
  read -ra options <<<"$2 $recording"
  for ((number = 0; number < ${#changes[@]}; number++)); do
    list+=("drawn|$(drawn $((100 * jobs_seen + number)))")
  done
  rm -rf unchanged
  emulated-cluster "${options[@]}" unchanged || fail "$job: the emulated cluster fails"
  lumos-graph unchanged/rank*.json -o graph 2>message || fail "$job: $(head -c 300 message)"
  for change in "${list[@]}"; do
    group=${change%%|*} change=${change#*|}
    [[ $change != '--tp '* || " $2 --tp 1" != *" $change "* && "$2" = *--tp* || "$2" != *--tp* && $change != '--tp 1' ]] || continue
    [[ $change != '--tp '* || "$2" = *--tp* || $group != tensor ]] || group='from one'
    case $group in
      parts) [[ "$2" = *--tp* ]] && [[ ("$2" = *--sequence-parallel* && $change = *off) || ("$2" != *--sequence-parallel* && $change = *on) ]] || continue ;;
      'from one, in parts') [[ "$2" != *--tp* ]] || continue ;;
    esac
    due 15 || continue
    rm -rf changed
    # shellcheck disable=SC2086
    emulated-cluster "${options[@]}" $change --ranks none changed || fail "$job, $change: the emulated cluster fails"
    buckets='' # the emulated cluster fills them to 100 MB
    [[ "$2" != *--dp* || $change != *--hidden* ]] || buckets='--bucket-mb 100'
    # shellcheck disable=SC2086
    printf '%s|%s|%s|%s|%s|%s\n' "$group" "$job" "$change" "$(true_steps unchanged | steps)" "$(true_steps changed | steps)" \
      "$({ lumos-transform $change $buckets graph 2>message || fail "$job, $change: $(head -c 300 message)"; } | predicted_step)"
  done
}

judge 8 change 'models of other sizes' "$@"
finish

#!/usr/bin/env bash
# Where communication time goes, against the truth of emulated jobs of every schedule and way to spread a model: transfer, waiting and bubble of
# every rank's step, and the bubble of every stage, are within a point of the step. Half of the jobs are drawn from LUMOS_WAITING_SEED, which
# is the same unless it is given.
. "$(dirname "$0")/lib.sh"

seed=${LUMOS_WAITING_SEED:-8}
printf 'LUMOS_WAITING_SEED=%s\n' "$seed"

# points_off: a line for every rank, step and part of communication, of the timeline and of the truth: how many points of the step it is off.
points_off() {
  grep '^{"type":"metric"' sim | jq -rn --slurpfile truth emulated/truth.json '
    $truth[0].step_columns as $columns
    | ([$truth[0].steps[] | .step as $step | .profiled.ranks[] | [$columns, .] | transpose | map({(.[0]): .[1]}) | add
        | {key: "\(.rank) \($step)", value: {length: (.end - .start), communication_transfer: .transfer,
                                             communication_wait: .waiting, pipeline_bubble: .bubble, communication_unsplit: 0}}]
       | from_entries) as $true
    | inputs | select((.scope | keys) == ["rank", "step"])
    | . as $metric | $true["\(.scope.rank) \(.scope.step)"]
    | select(. != null and .[$metric.name] != null)
    | "\($metric.source) \($metric.scope.rank) \($metric.scope.step) \($metric.name) \(100 * ($metric.value - .[$metric.name]) / .length)"'
}

# The same by stage: of the mean time of the ranks of all stages.
stages_off() {
  grep '^{"type":"metric"' sim | jq -rn --slurpfile truth emulated/truth.json '
    ([$truth[0].steps[] | .step as $step
      | ([.profiled.ranks[] | .[2] - .[1]] | add / length) as $length
      | .profiled.stage_bubble | to_entries[] | {key: "\(.key) \($step)", value: {share: .value, length: $length}}] | from_entries) as $true
    | inputs | select(.name == "bubble" and .scope.stage != null)
    | . as $metric | $true["\(.scope.stage) \(.scope.step)"]
    | "\($metric.source) \($metric.scope.stage) \($metric.scope.step) bubble \(100 * ($metric.value / .length - .share))"'
}

# job OPTION...
jobs=0
job() {
  local pp=1 ranks
  [[ " $* " =~ ' --pp '([0-9]+) ]] && pp=${BASH_REMATCH[1]}
  rm -rf emulated
  emulated-cluster --quiet --plain --steps 2 "$@" emulated || { fail "the emulated cluster fails: $*"; return; }
  ranks=$(jq .world emulated/truth.json)
  lumos-parse emulated/rank*.json 2>message | lumos-sim -o sim 2>>message || { fail "$*: $(head -c 300 message)"; return; }
  points_off >points
  stages_off >>points
  [ "$(wc -l <points)" -eq $((2 * 2 * (4 * ranks + (pp > 1 ? pp : 0)))) ] || fail "$*: $(wc -l <points) parts are not all"
  awk '$5 > 1 || $5 < -1' points >far
  [ ! -s far ] || fail "$*: $(wc -l <far) of $(wc -l <points) parts are more than a point off: $(head -3 far | tr '\n' ';')"
  jobs=$((jobs + 1))
}

# theory KIND SHARE: what the schedule that was recognised would lose.
theory() {
  grep '"name":"bubble_theory"' sim | jq -r '"\(.scope.kind) \(.value)"' | sort -u >found
  [ "$(cat found)" = "$1 $2" ] || fail "the schedule is '$(cat found)', not '$1 $2'"
}

job --layers 2 --hidden 1024 --tp 4 --sequence-parallel on
job --layers 4 --hidden 1024 --dp 4 --distributed-optimizer on
job --layers 8 --hidden 1024 --pp 4 --micro-batches 6
theory 1f1b 0.333333 # 3 of 9
job --layers 8 --hidden 1024 --pp 4 --schedule interleaved --vp 2 --micro-batches 8
theory interleaved 0.157895 # 3 of 19
job --layers 8 --hidden 1024 --pp 2 --dp 2 --schedule gpipe --micro-batches 4
theory gpipe 0.2 # 1 of 5
job --layers 8 --hidden 1024 --pp 4 --schedule zb-h1 --micro-batches 8
job --layers 4 --hidden 2048 --tp 2 --pp 2 --dp 2 --micro-batches 4 --sequence-parallel on

# --- Jobs by chance ---
RANDOM=$((seed % 32768))
one_of() {
  shift $((RANDOM % $#))
  picked=$1
}
draw() {
  local options=() stages
  one_of 512 1024 2048 && options+=(--hidden "$picked")
  one_of 2 2 4 && stages=$picked && options+=(--pp "$picked" --layers 8)
  one_of 1 1 2 && options+=(--tp "$picked")
  one_of 1 1 2 && options+=(--dp "$picked")
  one_of 1 2 3 && options+=(--micro-batches $((stages * picked)))
  one_of 1f1b gpipe interleaved zb-h1 && options+=(--schedule "$picked")
  if [ "$picked" = interleaved ]; then
    options+=(--vp 2)
  fi
  one_of on off && options+=(--batched-p2p "$picked")
  job "${options[@]}" --seed $RANDOM
}
for ((i = 0; i < 7; i++)); do draw; done
printf '%d jobs were compared\n' "$jobs"
[ "$jobs" -eq 14 ] || fail "only $jobs jobs were compared"
finish

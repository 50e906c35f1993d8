#!/usr/bin/env bash
# Ten jobs on the emulated cluster, as a table in Markdown: what truly happened, and how far the replay of the recorded traces is from it.
#
#   tests/emulator/jobs.sh [NAME...]     some of them only
#
# Times are those with the profiler, means over the recorded steps. Shares are of the ranks' step times, summed over ranks and steps:
# exposed communication (bytes move, or a collective of one stage waits), bubble (the pipeline waits). Replay error: of the job's step as
# lumos-sim gives it without what it cannot explain, mean of |error| over steps, of the ranks' own steps, and the worst of these; once with all
# that a profiler can record, once without synchronisation rows, annotations and shapes, as most real traces are.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
bin=${LUMOS_BIN:-$root/build/bin}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# name: options
jobs=(
  'one GPU: --layers 8 --hidden 4096 --micro-batch 2'
  'data parallel: --layers 8 --hidden 4096 --micro-batch 2 --dp 8'
  'distributed optimizer: --layers 8 --hidden 4096 --micro-batch 2 --dp 8 --distributed-optimizer on --recompute full'
  'two nodes: --layers 8 --hidden 4096 --micro-batch 2 --dp 16 --distributed-optimizer on --nic-bandwidth 25'
  'tensor parallel: --layers 8 --hidden 8192 --tp 8'
  'sequence parallel: --layers 8 --hidden 8192 --tp 8 --sequence-parallel on'
  'pipeline, 1F1B: --layers 16 --hidden 4096 --pp 4 --micro-batches 16'
  'pipeline, interleaved: --layers 16 --hidden 4096 --pp 4 --micro-batches 16 --schedule interleaved --vp 2'
  'pipeline, zero bubble: --layers 16 --hidden 4096 --pp 4 --micro-batches 16 --schedule zb-h1'
  'three ways: --layers 16 --hidden 6144 --tp 4 --pp 2 --dp 2 --micro-batches 8 --sequence-parallel on --distributed-optimizer on'
)

# replay FOLDER: mean error of the job's steps / of the ranks' steps (worst of these), %
replay() {
  "$bin/lumos-parse" "$1"/rank*.json.gz 2>/dev/null | "$bin/lumos-sim" 2>/dev/null |
    jq -c 'select(.type == "metric" and .name == "replay_error" and .scope.step != null) | [.scope.rank == null, (.value | fabs)]' |
    jq -rs 'def percent: . * 1000 | round / 10 | tostring | if test("\\.") then . else . + ".0" end;
      [.[] | select(.[0])[1]] as $job | [.[] | select(.[0] | not)[1]] as $ranks
      | "\($job | add / length | percent) / \($ranks | add / length | percent) (\($ranks | max | percent))"'
}

# row NAME OPTION...
row() {
  local name=$1 told untold
  shift
  rm -rf "$work/told" "$work/untold"
  "$bin/emulated-cluster" --quiet --record all "$@" "$work/told"
  "$bin/emulated-cluster" --quiet --record collectives "$@" "$work/untold"
  told=$(replay "$work/told")
  untold=$(replay "$work/untold")
  jq -r --arg name "$name" --arg options "$*" --arg told "$told" --arg untold "$untold" '
    def percent: . * 1000 | round / 10 | tostring | if test("\\.") then . else . + ".0" end;
    [.steps[].profiled] as $steps
    | ([$steps[].ranks[] | .[2] - .[1]] | add) as $all
    | def share(columns): [$steps[].ranks[] | .[columns[]]] | add / $all | percent;
    "| \($name) | `\($options)` | \(.world) | \([.recorded[].counts | .kernels + .copies + .memsets] | add) | "
    + "\([$steps[] | .end - .start] | add / length / 1e4 | round / 100) | \(share([5, 6])) | \(share([7])) | "
    + "\([$steps[].mfu] | add / length | percent) | \($told) | \($untold) |"' "$work/told/truth.json"
}

printf '| job | options | ranks | device tasks | step, ms | exposed communication, %% | bubble, %% | MFU, %% | replay error, all recorded, %% | little recorded, %% |\n'
printf '|---|---|---|---|---|---|---|---|---|---|\n'
for job in "${jobs[@]}"; do
  name=${job%%: *}
  [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
  read -ra options <<<"${job#*: }"
  row "$name" "${options[@]}"
done

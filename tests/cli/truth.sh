#!/usr/bin/env bash
# What the tools measure in traces of the emulated cluster is what truly happened there, to the nanosecond: when every step of every
# rank ended, in the rank's own clock, and what its GPU did meanwhile.
. "$(dirname "$0")/lib.sh"

# emulate NAME OPTION...: truth.json, and the traces as job.parse. Without --layers: the job of the example.
emulate() {
  local name=$1
  shift
  rm -rf emulated && mkdir emulated
  if [[ " $* " == *' --layers '* ]]; then
    emulated-cluster --quiet "$@" emulated || fail "$name: the emulated cluster fails"
  else
    "$source_folder"/examples/traces/make-traces.sh emulated "$@" || fail "$name: the emulated cluster fails"
  fi
  lumos-parse emulated/rank*.json.gz -o job.parse 2>message || fail "$name: parse fails: $(head -c 300 message)"
}

# By rank and step (the first is the one before the recorded ones), the latest end of GPU work in the rank's trace, counted from the
# epoch of the stream: from the truth, in which job time t is t + offset + drift * t in the trace, and from the stream.
true_ends() {
  local rank step end offset epoch
  epoch=$(($(jq -r .epoch emulated/truth.json) - $(head -1 job.parse | jq -r .epoch)))
  jq -r '[.clocks.rows[] | {offset: (.[1] + .[3]), drift: .[2]}] as $clocks | .step_columns as $columns
    | def ends($step; $column): .[] | "\(.[0]) \($step) \(.[$columns | index($column)]) \($clocks[.[0]] | "\(.offset) \(.drift)")";
    .steps[0] as $first | ($first.profiled.ranks | ends($first.step - 1; "start")),
    (.steps[] | .step as $step | .profiled.ranks | ends($step; "end"))' emulated/truth.json |
    while read -r rank step end offset drift; do
      printf '%d %d %d\n' "$rank" "$step" $((epoch + end + offset + end / 1000000000 * drift + end % 1000000000 * drift / 1000000000))
    done
}

measured_ends() {
  jq -r --argjson before "$(jq '.steps[0].step - 1' emulated/truth.json)" '
    select(.type == "task" and (.lane | test("^s[0-9]+$"))) | [.rank, .step // $before, .start + .dur] | @tsv' job.parse |
    awk '!(($1 " " $2) in last) || $3 > last[$1 " " $2] { last[$1 " " $2] = $3 } END { for (key in last) printf "%s %d\n", key, last[key] }'
}

# begun [BEHIND]: of lines that begin with a rank and a step, those of steps whose beginning (or, with 0, whose end) the trace shows: the first, or
# the one before, only where work of the step before is still in it.
begun() {
  awk -v behind="${1-1}" -v first="$(jq '.steps[0].step' emulated/truth.json)" -v ranks=" $(jq -r '
    select(.type == "task" and (.lane | test("^s[0-9]+$")) and .step == null) | .rank' job.parse | sort -u | tr '\n' ' ')" \
    '$2 >= first + behind || index(ranks, " " $1 " ")'
}

# same_ends NAME OPTION...: with the clocks that computers have.
same_ends() {
  emulate "$@"
  true_ends | begun 0 | sort >expected
  measured_ends | sort >found
  [ "$(wc -l <expected)" -ge 8 ] || fail "$1: $(wc -l <expected) ends are too few"
  diff expected found || fail "$1: steps do not end when they did"
}

# same_parts NAME OPTION...: on clocks that agree, for a drift would stretch every part. Communication is told apart as transfer and
# waiting only after `split`: where every member can be joined, and all end together.
same_parts() {
  local name=$1 parts='step_time|exposed_compute|overlapped|exposed_communication|exposed_copy|idle'
  shift
  if [ "$1" = split ]; then
    parts+='|communication_transfer|communication_wait|pipeline_bubble'
    shift
    emulate "$name" --without clocks,collective-skew "$@"
  else
    emulate "$name" --without clocks "$@"
  fi
  jq -r --arg parts "$parts" '.step_columns as $columns | .steps[] | .step as $step | .profiled.ranks[]
    | [$columns, .] | transpose | map({(.[0]): .[1]}) | add
    | {step_time: (.end - .start), exposed_compute: .compute, overlapped, exposed_communication: (.transfer + .waiting + .bubble),
       exposed_copy: .copy, idle, communication_transfer: .transfer, communication_wait: .waiting,
       pipeline_bubble: .bubble} as $true
    | ($parts | split("|"))[] as $part | "\(.rank) \($step) \($part) \($true[$part])"' emulated/truth.json | begun | sort >expected
  lumos-sim job.parse 2>message | jq -r --arg parts "^($parts)$" '
    select(.type == "metric" and .source == "measured" and (.scope | keys) == ["rank", "step"] and (.name | test($parts)))
    | "\(.scope.rank) \(.scope.step) \(.name) \(.value)"' | begun | sort >found
  [ "$(wc -l <expected)" -ge 24 ] || fail "$name: $(wc -l <expected) parts are too few"
  diff expected found || fail "$name: a step went elsewhere"
}

three_ways=(--layers 4 --hidden 1024 --tp 2 --pp 2 --dp 2 --micro-batches 4 --steps 2)
same_ends 'the example'
same_ends 'three ways of parallelism' "${three_ways[@]}"
same_parts 'the example' split
same_parts 'three ways of parallelism' "${three_ways[@]}" --sequence-parallel on --distributed-optimizer on
same_parts 'an interleaved pipeline' --layers 4 --hidden 1024 --pp 2 --schedule interleaved --vp 2 --batched-p2p off
same_parts 'GPUs that wait for a slow host' --layers 2 --hidden 256 --seq 512 --micro-batches 2 --dp 2 --slow-host 1=1.5
same_parts 'little recorded' --layers 2 --hidden 512 --micro-batches 2 --pp 2 --schedule zb-h1 --record none --gpu a100
finish

#!/usr/bin/env bash
# What the tools measure in traces of the emulated cluster is what truly happened there, to the nanosecond: when every step of every
# rank ended, in the rank's own clock, and what its GPU did meanwhile.
. "$(dirname "$0")/lib.sh"

checked=0
# emulate NAME OPTION...: truth.json, and the traces as job.parse. Without --layers: the job of the example.
emulate() {
  local name=$1
  shift
  rm -rf emulated && mkdir emulated
  if [[ " $* " == *' --layers '* ]]; then
    emulated-cluster --quiet --plain "$@" emulated || fail "$name: the emulated cluster fails"
  else
    "$source_folder"/examples/traces/make-traces.sh emulated "$@" || fail "$name: the emulated cluster fails"
  fi
  lumos-parse emulated/rank*.json* -o job.parse 2>message || fail "$name: parse fails: $(head -c 300 message)"
}

# first_step: the number of the first recorded step.  tasks: "RANK STEP END" of all device work, STEP 0 before the first.
first_step() { true_steps emulated | head -1 | cut -d' ' -f1; }
tasks() { device_tasks job.parse step dur | awk '{ printf "%d %s %.0f\n", $1, $5, $3 + $6 }'; }

# By rank and step (the first is the one before the recorded ones), the latest end of GPU work in the rank's trace, counted from the
# epoch of the stream: from the truth, in which job time t is t + offset + drift * t in the trace, and from the stream.
true_ends() {
  local rank step end offset epoch
  epoch=$(($(sed -n 's/^"epoch": "\([0-9]*\)".*/\1/p' emulated/truth.json) - $(head -1 job.parse | jq -r .epoch)))
  {
    sed -n '/^"clocks"/,/^"windows"/s/^\[\([^]]*\)\].*/\1/p' emulated/truth.json | tr -d , | sed 's/^/clock /'
    true_ranks emulated
  } | awk -v first="$(first_step)" '
    $1 == "clock" { clock[$2] = $3 + $5 " " $4; next }
    $1 == first { print $2, first - 1, $3, clock[$2] }
    { print $2, $1, $4, clock[$2] }' |
    while read -r rank step end offset drift; do
      printf '%d %d %d\n' "$rank" "$step" $((epoch + end + offset + end / 1000000000 * drift + end % 1000000000 * drift / 1000000000))
    done
}

measured_ends() {
  tasks | awk -v before="$(($(first_step) - 1))" '
    $2 == "-" { $2 = before }
    !(($1 " " $2) in last) || $3 > last[$1 " " $2] { last[$1 " " $2] = $3 } END { for (key in last) printf "%s %.0f\n", key, last[key] }'
}

# begun [BEHIND]: of lines that begin with a rank and a step, those of steps whose beginning (or, with 0, whose end) the trace shows: the first, or
# the one before, only where work of the step before is still in it.
begun() {
  awk -v behind="${1-1}" -v first="$(first_step)" -v ranks=" $(tasks | awk '$2 == "-" { print $1 }' | sort -u | tr '\n' ' ')" \
    '$2 >= first + behind || index(ranks, " " $1 " ")'
}

# same_ends NAME OPTION...: with the clocks that computers have.
same_ends() {
  emulate "$@"
  true_ends | begun 0 | sort >expected
  measured_ends | sort >found
  [ "$(wc -l <expected)" -ge 8 ] || fail "$1: $(wc -l <expected) ends are too few"
  checked=$((checked + $(wc -l <expected)))
  diff expected found || fail "$1: steps do not end when they did"
}

# same_parts NAME OPTION...: on clocks that agree, for a drift would stretch every part. Communication is told apart as transfer and
# waiting only after `split`: where every member can be joined, and all end together.
same_parts() {
  local name=$1 parts='step_time|exposed_compute|overlapped|exposed_communication|exposed_copy|idle|not_recorded' # nothing runs in the last two
  shift
  if [ "$1" = split ]; then
    parts+='|communication_transfer|communication_wait|pipeline_bubble'
    shift
    emulate "$name" --without clocks,collective-skew "$@"
  else
    emulate "$name" --without clocks "$@"
  fi
  true_ranks emulated | awk '{
      at = $2 " " $1
      print at, "step_time", $4 - $3; print at, "exposed_compute", $5; print at, "overlapped", $6; print at, "exposed_communication", $7 + $8 + $9
      print at, "exposed_copy", $10; print at, "idle", $11
      print at, "communication_transfer", $7; print at, "communication_wait", $8; print at, "pipeline_bubble", $9
    }' | grep -E " ($parts) " | begun | sort >expected
  lumos-sim --opportunities off job.parse 2>message | grep -E "^\{\"type\":\"metric\",\"name\":\"($parts)\".*\"scope\":\{\"rank\":[0-9]+,\"step\":[0-9]+\},\"source\":\"measured\"" |
    awk "$field"'{ name = field("name"); sub(/not_recorded/, "idle", name); sum[field("rank") " " field("step") " " name] += field("value") }
      END { for (part in sum) print part, sum[part] }' | begun | sort >found
  [ "$(wc -l <expected)" -ge 24 ] || fail "$name: $(wc -l <expected) parts are too few"
  checked=$((checked + $(wc -l <expected)))
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
proved "$checked ends of steps and parts of them are those that truly were, to the nanosecond"
finish

#!/usr/bin/env bash
# What a trace does not spell out, on emulated jobs that have it: waits within captured graphs, kernels that queue for SMs behind others, launches of
# graphs that begin before their calls end, copies staged within their calls, device clocks that are early, recordings without collectives'
# arguments, an allocator that waits for the device, and work from before the recording.
#
#   tests/cli/mechanisms.sh [--table]     as Markdown, too
#
# A run that keeps residuals has every step as it was measured, to the nanosecond; without them it is off by no more than stands below, and what no
# rule explains is no more than that share of the steps. A change is predicted within what stands there. What is missing where a figure is above
# 0.3 %: ranks that wait for each other lose what only chance delays, the more the shorter their kernels are; and how long after its call's
# begin a graph starts differs from call to call. What is unexplained are mostly kernels that got SMs in the midst of others, which is believed from
# four of a kernel's name on (the same job of 48 layers leaves 0.7 %).
. "$(dirname "$0")/lib.sh"
. "$here/predictions.sh"

# name | options | mean |replay error|, % | unexplained, % | change | options of the emulated cluster | off by no more than, %
jobs=(
  'graphs of passes|--graphs passes --tp 2 --layers 8 --hidden 2048 --micro-batches 2|0.9|4.2|kind=gemm=0.5|--scale gemm=0.5|1'
  'graphs of layers|--graphs layers --tp 2 --layers 6 --hidden 2048 --sequence-parallel on|1.1|0.6|kind=gemm=0.5|--scale gemm=0.5|2.8'
  'a queue for SMs|--sm-queue on --tp 2 --dp 2 --layers 4|0.3|1.8|kind=gemm=1.5|--scale gemm=1.5|1.2'
  'graphs of short kernels|--graphs passes --layers 12 --hidden 256 --seq 512 --vocab 8192 --micro-batches 2 --tp 2|2.5|4.6|||0'
  'pageable copies|--pageable on --layers 2 --hidden 1024|0.1|0.3|||0'
  'an early device clock|--device-early 30 --layers 4|0.1|0.1|||0'
  'no numbers|--form 2024 --tp 2 --pp 2 --dp 2|0.5|1.5|||0'
  'no arguments|--form 2022 --tp 2 --pp 2 --dp 2|0.5|1.5|||0'
  'memory that is freed|--scarce-memory on --layers 4|0.1|0.1|kind=gemm=0.5|--scale gemm=0.5|0.2'
  'what ran before|--unseen on --layers 4|0.1|0.1|||0'
)
table=${1-}

mean_of() { awk -v name="$1" '$1 == name { sum += $2 < 0 ? -$2 : $2; n++ } END { printf "%.3f\n", n ? 100 * sum / n : 999 }' figures; }

[ -z "$table" ] || printf '| job | replay error, %% | unexplained, %% | change | predicted is off by, %% |\n|---|---|---|---|---|\n'
# hold JOB: a line of the list.
hold() {
  local name options most unexplained change changed off error lag wrong predicted truth
  IFS='|' read -r name options most unexplained change changed off <<<"$1"
  rm -rf job
  # shellcheck disable=SC2086 # options are words
  emulated-cluster --quiet $options job || fail "$name: the emulated cluster fails"
  lumos-graph job/rank*.json.gz 2>message >graph || fail "$name: $(head -c 300 message)"
  lumos-sim --opportunities off graph >sim 2>message || fail "$name: $(head -c 300 message)"
  sed -nE 's/^\{"type":"metric","name":"step_time","value":([0-9]+),.*"scope":(\{[^}]*\}),"source":"(measured|simulated)".*/\3 \2 \1/p' sim >steps
  check "$name: a run that keeps residuals has every step as measured" cmp <(sed -n 's/^measured //p' steps) <(sed -n 's/^simulated //p' steps)
  only metric sim | awk "$field"' field("rank") != "" && field("step") != "" { print field("name"), field("value") }' >metrics
  awk '$1 == "step_time" { time += $2 } $1 == "unexplained_lag" { lag += $2 } $1 == "replay_error" { print } END { print "unexplained", (time > 0 ? 2 * lag / time : 9) }' metrics >figures
  error=$(mean_of replay_error) lag=$(mean_of unexplained) wrong=-
  awk "BEGIN { exit !($error <= $most && $lag <= $unexplained) }" || fail "$name: the replay is off by $error %, $lag % are unexplained; up to now $most and $unexplained"
  if [ -n "$change" ] && [ "$off" != 0 ]; then
    predicted=$(lumos-transform --scale "$change" graph 2>message | predicted_step) predicted=${predicted%%|*}
    rm -rf job
    # shellcheck disable=SC2086
    emulated-cluster --quiet --ranks all $options $changed job
    truth=$(lumos-graph job/rank*.json.gz 2>message | predicted_step) truth=${truth%%|*}
    wrong=$(awk "BEGIN { x = ($predicted / $truth - 1) * 100; printf \"%.2f\", x }")
    awk "BEGIN { exit !($wrong <= $off && $wrong >= -($off)) }" || fail "$name: $change is predicted $wrong % off; up to now $off"
  fi
  [ -z "$table" ] || printf '| %s | %s | %s | %s | %s |\n' "$name" "$error" "$lag" "$change" "$wrong"
}
for ((number = 0; number < ${#jobs[@]}; number++)); do
  if ((number % 2)); then rarely hold "${jobs[number]}"; else hold "${jobs[number]}"; fi
done
proved "$((${#jobs[@]} - left_out)) jobs of which the trace does not spell everything out are replayed"
finish

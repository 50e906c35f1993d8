#!/usr/bin/env bash
# Opportunities: what it says of a kind of work is what lumos-transform --scale says, to the nanosecond, and what the emulated
# cluster does when that work is changed, within 4 %; without a slow rank, within 8 %.
. "$(dirname "$0")/lib.sh"

# The job's steps in a stream, "STEP NS" a line, simulated: as they are, or of an opportunity whose scope says that.
steps_of() {
  grep '^{"type":"metric","name":"step_time"' | awk "$field"'field("source") == "simulated" && !/"rank":/ { print field("step"), field("value") }'
}
steps_if() { grep "^{\"type\":\"metric\",\"name\":\"opportunity_$1\"" job.sim | grep -F "$2" | awk "$field"'{ print field("step"), field("value") }'; }

# hardly_matters NAME SELECTOR: without that work the steps together are less than 0.5 % shorter.
hardly_matters() {
  lumos-transform --scale "$2=0" job.graph 2>/dev/null | lumos-sim --opportunities off 2>/dev/null | steps_of >simulated
  steps_of <job.sim | paste -d ' ' - simulated |
    awk '{ was += $2; is += $4 } END { exit !(was > 0 && was - is < was / 200) }' ||
    fail "$1: $2 matters, but there is no opportunity"
}

compared=0
# as_scaled NAME CONDITION SELECTOR: the opportunity of that scope is --scale SELECTOR, free and by half; or there is none, and rightly so.
as_scaled() {
  local factor
  if [ -z "$(steps_if free "$2")$(steps_if half "$2")" ]; then
    hardly_matters "$1" "$3"
    return
  fi
  for factor in free:0 half:0.5; do
    steps_if "${factor%:*}" "$2" >told
    lumos-transform --scale "$3=${factor#*:}" job.graph 2>/dev/null | lumos-sim --opportunities off 2>/dev/null | steps_of >simulated
    same told simulated "$1: opportunity_${factor%:*} with $2 is not --scale $3=${factor#*:}"
  done
  found=$((found + 1))
  compared=$((compared + 1))
}

check_job() {
  local name=$1 kind group found=0
  shift
  rm -rf emulated && mkdir emulated
  emulated-cluster --quiet --plain --steps 3 "$@" emulated || fail "$name: the emulated cluster fails"
  { lumos-parse emulated/rank*.json | lumos-graph -o job.graph; } 2>message || fail "$name: $(head -c 300 message)"
  lumos-sim job.graph -o job.sim 2>message || fail "$name: $(head -c 300 message)"
  as_scaled "$name" '"kind":"host"' host
  for kind in gemm attention elementwise norm copy; do
    as_scaled "$name" "\"kind\":\"$kind\"" "kind=$kind"
  done
  sed -nE 's/.*"comm":\{"op":"[^"]*","group":"([^"]*)".*/\1/p' job.sim | sort -u >groups
  while read -r group; do
    as_scaled "$name" "\"group\":\"$group\"" "group=$group"
  done < <(head -3 groups)
  [ "$found" -ge 1 ] || fail "$name: no kind of work matters"
}
one_rank() {
  check_job 'one rank' --layers 4 --hidden 768 --micro-batches 2
  [ ! -s groups ] || fail 'a job of one rank has groups'
}
rarely one_rank
check_job 'a pipeline that the host holds up' --layers 4 --hidden 512 --seq 512 --vocab 8192 --pp 4 --steps 2
rarely check_job 'three ways' --layers 4 --hidden 768 --tp 2 --pp 2 --dp 2 --micro-batches 2 --record all
check_job 'two ways' --layers 2 --hidden 768 --tp 2 --dp 2 --micro-batches 2 --record all
[ -s groups ] || fail 'a job of four ranks has no groups'

# Work before the first step holds it up, too: here the device is still busy with what was launched before the recording.
if have_traces; then
  lumos-parse "$traces"/tracelens-qwen-H100-vs-MI300/h100*.json.gz | lumos-graph -o early.graph 2>message || fail "$(head -c 300 message)"
  lumos-sim early.graph -o job.sim 2>message || fail "$(head -c 300 message)"
  cp early.graph job.graph
  found=0
  for kind in gemm attention elementwise norm copy memset; do
    as_scaled 'a busy device' "\"kind\":\"$kind\"" "kind=$kind"
  done
fi

# --- They are there unless they are not wanted, and the same on one core. ---
grep -q '"opportunity_half"' job.sim || fail 'there are none unless they are asked for'
lumos-sim --opportunities on job.graph -o on.sim && same job.sim on.sim '--opportunities on is not the default'
on_one_core lumos-sim job.graph -o one.sim && same job.sim one.sim 'one core finds others'
# none_with FAILURE OPTIONS...
none_with() {
  expect 0 lumos-sim "${@:2}" job.graph -o without.sim
  ! grep -q '"opportunity' without.sim || fail "$1"
}
none_with '--opportunities off finds some' --opportunities off
none_with 'there are some by the model dpro' --model dpro
expect 2 lumos-sim --opportunities never job.graph
says "--opportunities: 'never' is neither on nor off"
expect 0 lumos-report emulated --opportunities off -o off.csv
expect 0 lumos-report emulated -o on.csv
grep -q '^opportunity_half,' on.csv || fail 'lumos report finds none'
grep -q '^opportunity_half,' off.csv && fail 'lumos report --opportunities off finds some'
expect 2 lumos-report emulated --opportunities never -o never.json
says "--opportunities: 'never' is neither on nor off"

# --- The truth: the same job with that work changed. The first step has what came before it, so it is left out. ---
mean() { awk '$1 > 2 { sum += $2; n++ } END { printf "%.0f\n", sum / n }'; }
against_truth() { # NAME CONDITION EMULATOR-OPTION
  local name=$1 predicted true
  emulated-cluster --quiet --plain "${options[@]}" --scale "$3=0.5" --ranks none changed || fail "$name: the emulated cluster fails"
  true=$(true_steps changed | mean)
  predicted=$(steps_if half "$2" | mean)
  [ -n "$(steps_if half "$2")" ] || predicted=$(steps_of <job.sim | mean) # it hardly matters
  printf '%-28s step %8.3f ms, half of it predicted %8.3f ms, true %8.3f ms\n' "$name" "$(steps_of <job.sim | mean)e-6" "${predicted}e-6" "${true}e-6"
  printf '%s\n' "$(awk "BEGIN { print 100 * ($predicted / $true - 1) }")" >>errors
  # A true run has the chances of the recording, so that the range has more room than it needs.
  [ -z "$(steps_if half "$2")" ] || grep '^{"type":"metric","name":"opportunity_half"' job.sim | grep -F "$2" |
    awk -v true="$true" "$field"'field("step") > 2 { n++; low += field("low"); high += field("high") } END { exit !(n && low > 0 && low / n <= true && true <= high / n) }' ||
    fail "$name: the range does not hold the true $true ns"
  awk "BEGIN { error = $predicted / $true - 1; exit !(error < 0.04 && error > -0.04) }" || fail "$name: predicted $predicted ns, true $true ns"
}
options=(--layers 6 --hidden 2048 --dp 2 --micro-batches 2 --steps 4 --seed 3)
rm -rf emulated && mkdir emulated changed
emulated-cluster --quiet --plain "${options[@]}" emulated || fail 'the emulated cluster fails'
{ lumos-parse emulated/rank*.json | lumos-sim -o job.sim; } 2>message || fail "$(head -c 300 message)"
against_truth 'matrix products' '"kind":"gemm"' gemm
against_truth 'attention' '"kind":"attention"' attention
against_truth 'elementwise' '"kind":"elementwise"' elementwise
against_truth 'communication' '"kind":"communication"' communication
against_truth 'optimizer' '"kind":"optimizer"' optimizer
against_truth 'host' '"kind":"host"' host

# Without the slow rank, in every step that is like the others: the waits between streams are those of a pipeline.
options=(--layers 4 --hidden 2048 --heads 8 --tp 2 --pp 2 --dp 2 --steps 3)
rm -rf emulated && mkdir emulated
emulated-cluster --quiet --plain "${options[@]}" --straggler 5=1.5 emulated || fail 'the emulated cluster fails'
emulated-cluster --quiet --plain "${options[@]}" --ranks none changed || fail 'the emulated cluster fails'
{ lumos-parse emulated/rank*.json | lumos-sim -o job.sim; } 2>message || fail "$(head -c 300 message)"
steps_if free '"kind":"stragglers"' >predicted
true_steps changed >true
join predicted true | awk '{ error = $2 / $3 - 1; print "without stragglers, step " $1, error; if (error < 0.08 && error > -0.08) good++ }
  END { exit !(good == 3) }' || fail "without stragglers: predicted $(xargs <predicted), true $(xargs <true)"
proved "$compared opportunities are what --scale predicts, to the nanosecond, and $(wc -l <errors) what then happens, at worst by $(
  tr -d - <errors | sort -g | tail -1) %"
finish

#!/usr/bin/env bash
# lumos-sim --opportunities: what it says of a kind of work is what lumos-transform --scale says, to the nanosecond, and what the emulated
# cluster does when that work is changed, within 4 %.
. "$(dirname "$0")/lib.sh"

# The job's steps in a stream, "STEP NS" a line, simulated: as they are, or of an opportunity with a condition on its scope.
steps_of() { jq -r 'select(.type == "metric" and .name == "step_time" and .source == "simulated" and .scope.rank == null) | "\(.scope.step) \(.value)"'; }
steps_if() {
  jq -r --arg name "opportunity_$1" "select(.type == \"metric\" and .name == \$name and ($2)) | \"\\(.scope.step) \\(.value)\"" job.sim
}

# as_scaled NAME CONDITION SELECTOR: the opportunity of that scope is --scale SELECTOR, free and by half.
as_scaled() {
  local factor
  for factor in free:0 half:0.5; do
    steps_if "${factor%:*}" "$2" >told
    [ -s told ] || { fail "$1: there is no opportunity with $2"; return; }
    lumos-transform --scale "$3=${factor#*:}" job.graph 2>/dev/null | lumos-sim 2>/dev/null | steps_of >simulated
    same told simulated "$1: opportunity_${factor%:*} with $2 is not --scale $3=${factor#*:}"
  done
}

check_job() {
  local name=$1 kind group
  shift
  rm -rf emulated && mkdir emulated
  emulated-cluster --quiet --steps 3 "$@" emulated || fail "$name: the emulated cluster fails"
  { lumos-parse emulated/rank*.json.gz | lumos-graph -o job.graph; } 2>message || fail "$name: $(head -c 300 message)"
  lumos-sim --opportunities job.graph -o job.sim 2>message || fail "$name: $(head -c 300 message)"
  as_scaled "$name" '.scope.kind == "host"' host
  for kind in gemm attention elementwise copy; do
    as_scaled "$name" ".scope.kind == \"$kind\"" "kind=$kind"
  done
  jq -r 'select(.type == "metric" and .name == "opportunity_half" and .scope.group != null) | .scope.group' job.sim | sort -u >groups
  while read -r group; do
    as_scaled "$name" ".scope.group == \"$group\"" "group=$group"
  done < <(head -3 groups)
}
check_job 'one rank' --layers 4 --hidden 768 --micro-batches 2
[ ! -s groups ] || fail 'a job of one rank has groups'
check_job 'three ways' --layers 4 --hidden 768 --tp 2 --pp 2 --dp 2 --micro-batches 2 --record all
[ -s groups ] || fail 'a job of eight ranks has no groups'

# --- The truth: the same job with that work changed. The first step has what came before it, so it is left out. ---
mean() { awk '$1 > 2 { sum += $2; n++ } END { printf "%.0f\n", sum / n }'; }
against_truth() { # NAME CONDITION EMULATOR-OPTION
  local name=$1 predicted true
  emulated-cluster --quiet "${options[@]}" --scale "$3=0.5" --ranks none changed || fail "$name: the emulated cluster fails"
  true=$(jq -r '.steps[] | "\(.step) \(.profiled.end - .profiled.start)"' changed/truth.json | mean)
  predicted=$(steps_if half "$2" | mean)
  printf '%-28s step %8.3f ms, half of it predicted %8.3f ms, true %8.3f ms\n' "$name" "$(steps_of <job.sim | mean)e-6" "${predicted}e-6" "${true}e-6"
  awk "BEGIN { error = $predicted / $true - 1; exit !(error < 0.04 && error > -0.04) }" || fail "$name: predicted $predicted ns, true $true ns"
}
options=(--layers 6 --hidden 2048 --dp 2 --micro-batches 2 --steps 4 --seed 3)
rm -rf emulated && mkdir emulated changed
emulated-cluster --quiet "${options[@]}" emulated || fail 'the emulated cluster fails'
{ lumos-parse emulated/rank*.json.gz | lumos-sim --opportunities -o job.sim; } 2>message || fail "$(head -c 300 message)"
against_truth 'matrix products' '.scope.kind == "gemm"' gemm
against_truth 'attention' '.scope.kind == "attention"' attention
against_truth 'elementwise' '.scope.kind == "elementwise"' elementwise
against_truth 'communication' '.scope.kind == "communication"' communication
against_truth 'optimizer' '.scope.kind == "optimizer"' optimizer
against_truth 'host' '.scope.kind == "host"' host
finish

#!/usr/bin/env bash
# The tables of kernels, kinds, copies, calls and annotations hold what another program finds in the stream's tasks and spans.
. "$(dirname "$0")/lib.sh"
need_python

jobs=0
job() {
  local name=$1
  shift
  reports "$@" || return
  "$python" -S "$here/tables.py" "$simulated" "$document" >found || fail "$name: $(head -30 found)"
  jobs=$((jobs + 1))
}

job example "${example[@]}"
# In a step's mark what begins no call is of that step, and behind it of the step before, whatever else is around all of them.
emulated-cluster --quiet --plain --layers 1 --hidden 256 --heads 2 --seq 128 --vocab 512 --micro-batches 1 --steps 3 --once steps
jq -c '[.traceEvents[] | select(.name | startswith("ProfilerStep#"))] as $marks | $marks[0] as $first
  | .traceEvents += [$first | .name = "epoch" | .ts -= 10 | .dur = 1e6]
  | .traceEvents += [$marks[] | .name = "begin" | .ts += 0.1 | .dur = 0.5] + [$marks[:-1][] | .name = "between" | .ts += .dur + 1 | .dur = 0.5]' steps/rank0.json >marked.json
lumos-parse marked.json 2>message | lumos-sim --opportunities off 2>>message |
  only metric | jq -c 'select(.name == "annotation_count" and .source == "measured" and (.scope.name | test("^(begin|between)$"))) | [.scope.name, .scope.step, .value]' | sort >found
printf '%s\n' '["begin",2,1]' '["begin",3,1]' '["begin",4,1]' '["between",2,1]' '["between",3,1]' | diff - found >differ ||
  fail "annotations without a call are of other steps: $(head -c 400 differ) $(head -c 200 message)"
have_traces && each_job job
proved "kernels, kinds, copies, calls and annotations of $jobs jobs are what another program adds up"
finish

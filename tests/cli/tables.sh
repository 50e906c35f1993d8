#!/usr/bin/env bash
# The tables of kernels, kinds, copies, calls and annotations hold what another program finds in the stream's tasks and spans.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip 'there is no python3 here (apt-get install python3)'

jobs=0
job() {
  local name=$1
  shift
  streams "$@" || return
  lumos-render "$simulated" -o report.json 2>message || { fail "no report of $name: $(head -c 300 message)"; return; }
  python3 "$source_folder/tests/cli/tables.py" "$simulated" report.json >found || fail "$name: $(head -30 found)"
  jobs=$((jobs + 1))
}

job example "${example[@]}"
have_traces && each_job job
proved "kernels, kinds, copies, calls and annotations of $jobs jobs are what another program adds up"
finish

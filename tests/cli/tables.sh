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
have_traces && each_job job
proved "kernels, kinds, copies, calls and annotations of $jobs jobs are what another program adds up"
finish

#!/usr/bin/env bash
# Whether there are public traces to read (LUMOS_TRACES): skipped where there are none, so that it is seen that the other tests then leave them out.
. "$(dirname "$0")/lib.sh"
need_traces
proved "$(find "$traces" -mindepth 2 -name '*.json*' | wc -l) public traces in $(find "$traces" -mindepth 1 -maxdepth 1 -type d | wc -l) sets are read by the other tests"
finish

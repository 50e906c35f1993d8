#!/usr/bin/env bash
# How irregular a job is: where its host and its devices lose time that no model of the work predicts, as distributions. Real jobs and
# emulated ones go through the same sums, so that each row says how true an emulation is.
#
#   measure.sh [-o FILE] [--json] NAME=TRACE[,TRACE...]...
#
# A TRACE is a file or a folder; those behind one NAME are the ranks of one job. The table (--json: a line of JSON a row) goes to standard
# output or FILE: a row for each quantity and job, with the count of values, percentiles (nearest rank) and the mean. Everything comes
# from the records of lumos-parse and lumos-graph, man page lumos-stream(5). Tools: $LUMOS_BIN, else build/bin.
#
#   host gap                       time between two events of a thread that no event covers; threads that launch nothing are left out, and
#                                  gaps in which the thread waited for another one: those are hand-overs
#   hand-over between threads      from the other thread's event to the first one here
#   call NAME                      length of a call; "on a full queue": when the thousandth task before it had not started (a stream takes
#                                  about that many), so that the call may have had to wait; "wait in": it waited for the device
#   operator segment               a stretch of an operator between its children
#   host segment / median          the same operator or call, the same time it comes in the step, in at least 3 steps that have as many
#   launch delay                   from the end of the call to the start on the device, where the stream was idle
#   back-to-back gap               from the end of a task to the start of the next one, called at least 10 us before that end
#   overlap                        the same where it is negative: the next one began before the end
#   event latency                  start of a task behind a cudaStreamWaitEvent since the latest end on another stream, where that came 5 us
#                                  later than all else the task waited for, and at most 50 us before the start
#   kernel time / median           kernels at one place: the n-th of its name, occupancy and bytes in the step (the records hold no grid),
#                                  in steps that have as many; repeats: the same kernel of the same operator and shapes, at any place;
#                                  only while no communication ran beside it, but "beside communication": which ran all along
#   collective                     members joined by lumos-graph, with its clocks; where it joined none, by the order of ends, with the
#                                  clocks set by the median. Skew: a member's end from the median of ends; arrival: last start - first;
#                                  transfer: last start to the median of ends
#   step time                      from the last device task of a step to that of the next; like steps: those with as many kernels
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
parts=$here/measure
export LC_ALL=C

usage() {
  sed -n '5s/^# *//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

output=/dev/stdout json=0
while [[ ${1:-} == -* ]]; do
  case $1 in
    -o) output=${2:?-o needs a file}; shift ;;
    --json) json=1 ;;
    *) usage ;;
  esac
  shift
done
[ $# -gt 0 ] || usage
for argument; do [[ $argument =~ ^[A-Za-z0-9._-]+=.+ ]] || usage; done

bin=${LUMOS_BIN:-$here/../../build/bin}
[ -x "$bin/lumos-graph" ] || { echo "No tools in $bin: build first, or set LUMOS_BIN to the folder of the tools" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

part() { # part NAME [VARIABLE=VALUE...] FILE...
  local name=$1
  shift
  awk -f "$parts/common.awk" -f "$parts/$name.awk" -v values="$work/values" "$@"
}

# measure TRACE...: what was measured, as lines "order, quantity, unit, value" in the file `values`.
measure() {
  "$bin/lumos-parse" "$@" 2>"$work/message" | "$bin/lumos-graph" 2>>"$work/message" | jq -r -f "$parts/records.jq" >"$work/records" ||
    { cat "$work/message" >&2; return 1; }
  : >"$work/values"
  part host pass=1 "$work/records" pass=2 "$work/records" | sort -s -t$'\t' -k1,1n -k2,2n >"$work/device"
  part streams "$work/device" >"$work/company"
  part kernels "$work/company"
  part steps "$work/device"
  part collectives "$work/records" "$work/device"
}

tab=$'\t' number=0
for argument; do
  number=$((number + 1))
  IFS=, read -ra paths <<<"${argument#*=}"
  measure "${paths[@]}" || { echo "measure.sh: ${argument%%=*} could not be measured" >&2; exit 1; }
  sort -t"$tab" -k1,1 -k2,2 -k4,4g "$work/values" |
    awk -f "$parts/common.awk" -f "$parts/percentiles.awk" -v job="${argument%%=*}" -v number="$number"
done | sort -s -t"$tab" -k1,1 -k2,2 -k3,3n | awk -f "$parts/common.awk" -f "$parts/table.awk" -v json="$json" >"$work/table"
cat "$work/table" >"$output"

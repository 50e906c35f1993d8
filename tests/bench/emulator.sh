#!/usr/bin/env bash
# How long the emulated cluster takes: 512 ranks of GPT-3 175B for two steps, of which one is recorded, and 16 ranks of a small model for three that are
# recorded, every trace written. CPU time (user and system), because other programs may be running.
#
#   tests/bench/emulator.sh [--quick]
#
# A line of JSON a job on standard output: ranks, cpu_seconds, budget. The large job has a floor of the same run: the same job with a quarter of the replicas, whose CPU
# time by rank a rank of all may take twice, for more of them fit into no cache. Ends with 1 where a budget or the floor is not kept. --quick is a smoke test:
# small jobs, whose figures mean nothing. Needs a build without sanitizers, in LUMOS_BIN's folder or build/.
set -euo pipefail
bin=${LUMOS_BIN:-$(cd "$(dirname "$0")/../.." && pwd)/build/bin}
[ -x "$bin/emulated-cluster" ] || { echo "No emulated-cluster in $bin: build first, or set LUMOS_BIN" >&2; exit 2; }
quick=no
case ${1:-} in
  --quick) quick=yes ;;
  '') ;;
  *) sed -n '5s/^# *//p' "$0" >&2; exit 2 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# cpu_seconds OPTION...
cpu_seconds() {
  local TIMEFORMAT='%U %S'
  { time "$bin/emulated-cluster" --quiet "$@" "$work/traces" >&2; } 2>"$work/time"
  rm -rf "$work/traces"
  awk 'END { print $1 + $2 }' "$work/time"
}

large=(--model gpt3-175b --tp 8 --pp 16 --micro-batches 32 --sequence-parallel on --warmup 1 --steps 1 --ranks none)
small=(--layers 8 --hidden 1024 --tp 2 --pp 4 --dp 2 --warmup 1 --steps 3)
width=128
if [ $quick = yes ]; then
  large=(--layers 4 --hidden 256 --heads 4 --seq 128 --vocab 1024 --tp 2 --pp 2 --warmup 1 --steps 1 --ranks none)
  small=(--layers 1 --hidden 256 --seq 128 --vocab 1024 --warmup 1 --steps 1)
  width=4
fi
floor=$(cpu_seconds "${large[@]}" --dp 1)
all=$(cpu_seconds "${large[@]}" --dp 4)
few=$(cpu_seconds "${small[@]}")
awk -v quick=$quick -v width=$width -v floor="$floor" -v all="$all" -v few="$few" 'BEGIN {
  ratio = floor > 0 ? all / 4 / floor : 0
  printf "{\"job\": \"large\", \"ranks\": %d, \"cpu_seconds\": %.3f, \"budget\": 120, \"floor_seconds\": %.3f, \"ratio\": %.3f, \"most\": 2}\n", 4 * width, all, floor, ratio
  printf "{\"job\": \"small\", \"ranks\": %d, \"cpu_seconds\": %.3f, \"budget\": 5}\n", quick == "yes" ? 1 : 16, few
  exit quick == "no" && (all > 120 || few > 5 || ratio > 2)
}'

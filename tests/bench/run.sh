#!/usr/bin/env bash
# How fast lumos is, how much memory it takes, and how that grows: every stage on a job of 1x, 4x and 16x the size (16x: a million
# events on one rank), and on two sets of real traces where they are. Each run is a process of its own.
#
#   tests/bench/run.sh [-o FILE] [--quick]
#
# Lines of JSON go to standard output or FILE, a table and the budgets of the design to standard error. --quick is a smoke test: small
# inputs, one run, and a check that every line is there and whole; its figures mean nothing.
#
# Needs a build without sanitizers, in LUMOS_BIN's folder or build/. Fields of a line:
#   stage input scale     what was measured on what
#   bytes tasks           plain bytes of the traces; tasks of the job made of them
#   string_bytes          of the job's distinct strings
#   seconds cpu_seconds   medians of `runs` runs, by the wall clock and in CPU time (user and system)
#   rate cpu_rate         the same as speed, in rate_unit: MB/s of plain text (stages that copy or tokenize a stream: of the stream), tasks/s
#   floor ratio           what the stage cannot be faster than, measured in the same runs; CPU time over that of the floor
#   peak_rss              most bytes resident, what the stage began with included; bytes_per_task: that by tasks
# What a stage has not is absent. Budgets are judged by CPU time, because other programs may be running; on a quiet machine both agree.
set -euo pipefail
bench=$(cd "$(dirname "$0")" && pwd)
source_folder=$(cd "$bench/../.." && pwd)
bin=${LUMOS_BIN:-$source_folder/build/bin}
traces=${LUMOS_TRACES:-}
quick=no
output=

while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=yes ;;
    -o) output=${2:?-o needs a file}; shift ;;
    *) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
  shift
done
program=$bin/../bench/bench
if [ ! -x "$program" ] || [ ! -x "$bin/lumos-parse" ]; then
  echo "No benchmark in $bin/..: build first, or set LUMOS_BIN to the folder of the tools" >&2
  exit 2
fi
bin=$(cd "$bin" && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lines=$work/lines

say() { printf '%s\n' "$*" >&2; }

# compress FILE...: FILE.gz, and FILE.zst where zstd is installed.
compress() {
  local file
  for file in "$@"; do
    [ -e "$file.gz" ] || gzip -k -6 "$file"
    ! command -v zstd >/dev/null || zstd -q -f "$file"
  done
}

# measure LABEL SCALE RUNS FILE...
measure() {
  local label=$1 scale=$2 runs=$3
  shift 3
  say "$label, ${scale}x, $runs runs of every stage"
  "$program" "$label" "$scale" "$runs" "$bin" "$work" "$@" >>"$lines"
}

steps=46
runs=5
[ $quick = no ] || { steps=2; runs=1; }
for scale in 1 4 16; do
  folder=$work/$scale
  mkdir "$folder"
  "$bin/emulated-cluster" --layers 2 --vocab 32000 --micro-batch 2 --micro-batches 1 --dp 2 --ranks 0 --steps $((steps * scale)) \
    --record shapes,sync,annotations,collectives --plain --quiet "$folder"
  compress "$folder/rank0.json"
  measure emulated $scale $runs "$folder/rank0.json"
  rm -r "$folder"
done

# measure_set NAME: a set of real traces.
measure_set() {
  local set=$1 file copies=()
  mkdir "$work/$set"
  for file in "$traces/$set"/*.json.gz; do
    cp "$file" "$work/$set/"
    gunzip -k "$work/$set/$(basename "$file")"
    copies+=("$work/$set/$(basename "$file" .gz)")
  done
  compress "${copies[@]}"
  measure "$set" 1 $runs "${copies[@]}"
  rm -r "${work:?}/$set"
}

if [ $quick = no ]; then
  for set in df-index-V100x2-216k nanogpt-8xH100-ddp; do
    [ ! -d "$traces/$set" ] || measure_set "$set"
  done
fi

if [ -n "$output" ]; then cp "$lines" "$output"; else cat "$lines"; fi
"$bench/table.sh" "$lines" >&2
[ $quick = no ] || "$bench/check.sh" "$lines"

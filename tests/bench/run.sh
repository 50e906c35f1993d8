#!/usr/bin/env bash
# How fast lumos is, how much memory it takes, and how that grows: every stage on a job of 1x, 4x and 16x the size (16x: a million
# events on one rank), and on sets of real traces where they are. Each run is a process of its own.
#
#   tests/bench/run.sh [-o FILE] [--large|--quick]
#   tests/bench/run.sh --against FILE     instruction counts held against stored ones: see count.sh, which also stores them
#
# Lines of JSON go to standard output or FILE, a table and the budgets of the design to standard error. --large measures how reading
# grows instead, on a trace of 100 MB, 400 MB, 1.6 GB and 4.4 GB (more bytes than 32 bits count), which is a real one (else the
# emulated one) repeated; at 400 MB beside jq and Python, where they are installed; and every stage on 16 and 64 emulated ranks of one
# job together. It needs 7 GB of TMPDIR's disk and 8 GB of memory, and says what it leaves out for want of them. --quick is a smoke test: small inputs, one run, and a check that every line is there
# and whole; its figures mean nothing.
#
# Needs a build without sanitizers, in LUMOS_BIN's folder or build/. Fields of a line:
#   stage input scale     what was measured on what
#   bytes tasks           plain bytes of the traces; tasks of the job made of them
#   string_bytes          of the job's distinct strings
#   seconds cpu_seconds   medians of `runs` runs, by the wall clock and in CPU time (user and system)
#   cpu_least             of the shortest run: how a stage grows is judged by it
#   rate cpu_rate         the same as speed, in rate_unit: MB/s of plain text (stages that copy or tokenize a stream: of the stream), tasks/s
#   floor ratio           what the stage cannot be faster than (of jq and Python: lumos-parse), measured in the same runs; CPU time over
#                         that of the floor
#   peak_rss              most bytes resident, what the stage began with included; bytes_per_task: that by tasks
# What a stage has not is absent. Budgets are judged by CPU time, because other programs may be running; on a quiet machine both agree.
set -euo pipefail
bench=$(cd "$(dirname "$0")" && pwd)
source_folder=$(cd "$bench/../.." && pwd)
bin=${LUMOS_BIN:-$source_folder/build/bin}
traces=${LUMOS_TRACES:-}
quick=no
large=no
output=

if [ "${1:-}" = --against ]; then exec "$bench/count.sh" "$@"; fi
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=yes ;;
    --large) large=yes ;;
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

# measure STAGES LABEL SCALE RUNS FILE...
measure() {
  local stages=$1 label=$2 scale=$3 runs=$4
  shift 4
  say "$label, ${scale}x, $runs runs of every stage"
  "$program" "$stages" "$label" "$scale" "$runs" "$bin" "$work" "$@" >>"$lines"
}

# emulate STEPS FOLDER: a rank's trace in FOLDER/rank0.json.
emulate() {
  mkdir "$2"
  "$bin/emulated-cluster" --layers 2 --vocab 32000 --micro-batch 2 --micro-batches 1 --dp 2 --ranks 0 --steps "$1" \
    --record shapes,sync,annotations,collectives --plain --quiet "$2"
}

# measure_ranks OPTION...: 16 ranks of one job together, then 64, which is four times as many replicas.
measure_ranks() {
  local scale
  for scale in 1 4; do
    mkdir "$work/ranks"
    "$bin/emulated-cluster" --tp 2 --pp 4 --dp $((2 * scale)) "$@" --record shapes,sync,annotations,collectives --plain --quiet "$work/ranks"
    rm "$work/ranks/truth.json"
    compress "$work/ranks"/*.json
    measure reading+behind "16 emulated ranks" $scale $runs "$work/ranks"/*.json
    rm -r "${work:?}/ranks"
  done
}

# unpack FILE.gz FOLDER: into FOLDER, and say where it lies.
unpack() {
  mkdir -p "$2"
  gunzip -c "$1" >"$2/$(basename "$1" .gz)"
  echo "$2/$(basename "$1" .gz)"
}

measure_emulated() {
  local scale
  for scale in 1 4 16; do
    emulate $((steps * scale)) "$work/$scale"
    compress "$work/$scale/rank0.json"
    measure reading+behind emulated $scale $runs "$work/$scale/rank0.json"
    rm -r "${work:?}/$scale"
  done
}

# measure_set NAME: a set of real traces.
measure_set() {
  local file copies=()
  for file in "$traces/$1"/*.json.gz; do
    copies+=("$(unpack "$file" "$work/$1")")
  done
  compress "${copies[@]}"
  measure reading+behind "$1" 1 $runs "${copies[@]}"
  rm -r "${work:?}/$1"
}

# has WHAT NEEDED FREE: is there as much, in bytes? Says so where there is not.
has() {
  [ "$3" -ge "$2" ] || { say "SKIPPED: $1 needs $(($2 / 1000000)) MB, $(($3 / 1000000)) are free"; return 1; }
}
free_disk() { df -Pk "$work" | awk 'NR == 2 { printf "%.0f", $4 * 1024 }'; }
free_memory() { awk '/^MemAvailable:/ { printf "%.0f", $2 * 1024 }' /proc/meminfo; }

# check_copies SHORT LONG: the long trace has each kernel of the short one as often as any other, at a time and with a correlation of its own.
check_copies() {
  local file counts=()
  for file in "$@"; do
    counts+=("$(jq -c '[.traceEvents[] | select(.cat == "kernel") | {ts, correlation: .args.correlation}]
      | [length, (map(.ts) | unique | length), (map(.correlation) | unique | length)]' "$file")")
  done
  printf '%s\n' "${counts[@]}" | jq -es '(.[1][0] / .[0][0]) as $copies
    | $copies == ($copies | floor) and .[1] == (.[0] | map(. * $copies))' >/dev/null ||
    { say "$2 holds no copies of $1: kernels, their times and correlations are ${counts[*]}"; return 1; }
}

# says WORDS: does lumos-parse say this of the trace on standard input?
says() {
  local said
  said=$("$bin/lumos-parse" - 2>&1 >/dev/null) || true
  case $said in
    *"$1"*) ;;
    *) say "lumos-parse says \"$said\" where \"$1\" was expected"; return 1 ;;
  esac
}

# check_places FILE: what is wrong at the end of a trace is found at its byte, however far from the start.
check_places() {
  local size list
  size=$(stat -c %s "$1")
  head -c $((size - 100)) "$1" | says "cut at byte $((size - 100))"
  list=$((size - 4096 + $(tail -c 4096 "$1" | grep -abo ']' | tail -1 | cut -d: -f1)))
  { head -c $list "$1"; printf ',{"ph":"X",,}]}'; } | says "skipped: bytes $((list + 1))-$((list + 12))"
  say "what is wrong at bytes $((size - 100)) and $((list + 1)) is found there"
}

# measure_long NAME FILE UNIT SCALE...: the trace repeated to UNIT bytes and multiples of it; at 4 beside other programs.
measure_long() {
  local name=$1 source=$2 unit=$3 scale bytes stages long=$work/long.json
  shift 3
  for scale in "$@"; do
    bytes=$((unit * scale))
    has "a trace of $((bytes / 1000000)) MB, on disk," $((bytes * 3 / 2)) "$(free_disk)" || continue
    has "a trace of $((bytes / 1000000)) MB, in memory," $((bytes * 7 / 4)) "$(free_memory)" || continue
    "$program" repeat "$source" "$bytes" >"$long"
    [ "$scale" != "$1" ] || check_copies "$source" "$long"
    compress "$long"
    stages=reading
    if [ "$scale" = 4 ] && has "reading $((bytes / 1000000)) MB with jq and Python" $((bytes * 20)) "$(free_memory)"; then
      stages=reading+peers
    fi
    measure $stages "$name repeated" "$scale" $runs "$long"
    [ "$scale" != "${!#}" ] || check_places "$long"
    rm -f "$long" "$long".gz "$long".zst
  done
}

steps=46
runs=5
if [ $quick = yes ]; then
  steps=2
  runs=1
  measure_emulated
  measure_ranks --layers 4 --hidden 256 --heads 4 --seq 128 --vocab 1024 --micro-batches 1 --warmup 1 --steps 2
  emulate $steps "$work/short"
  measure_long emulated "$work/short/rank0.json" 1000000 1 4
elif [ $large = yes ]; then
  runs=3
  long_set=df-index-V100x2-216k
  if [ -d "$traces/$long_set" ]; then
    measure_long $long_set "$(unpack "$traces/$long_set"/*.json.gz "$work/short")" 100000000 1 4 16 44
  else
    say "no $long_set in LUMOS_TRACES: the emulated trace is repeated"
    emulate $steps "$work/short"
    measure_long emulated "$work/short/rank0.json" 100000000 1 4 16 44
  fi
  measure_ranks --layers 8 --hidden 1024 --steps 3
else
  measure_emulated
  for set in df-index-V100x2-216k hta-diff-A100-8rank-109k nanogpt-8xH100-ddp; do
    [ ! -d "$traces/$set" ] || measure_set "$set"
  done
fi

if [ -n "$output" ]; then cp "$lines" "$output"; else cat "$lines"; fi
"$bench/table.sh" "$lines" >&2
[ $quick = no ] || "$bench/check.sh" "$lines"

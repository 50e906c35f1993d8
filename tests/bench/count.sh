#!/usr/bin/env bash
# Counts the instructions of every stage, and holds them against a stored count: unlike times, they are the same on a busy machine.
#
#   tests/bench/count.sh [-o FILE] [--against FILE] [--quick]
#
# One line of JSON a stage and input goes to standard output or FILE: stage, input, instructions, kind. The kind is what the count hangs
# on (processor, compiler, C library, what counts); one of another kind is not compared, and ends with 77. --against fails (1) where a
# stage takes over 3 % more than stored, and says what takes over 3 % less, so that it can be stored anew.
#
# Stages are those of run.sh (stages.c), by themselves; report, hta: all of lumos-report on plain traces, without and with --hta; pipe:
# lumos-parse, lumos-sim and lumos-render, one behind the other. Inputs: an emulated rank, and real traces where there are any. Counted by
# perf where the machine lets it, else by valgrind, which leaves out the process that lays out graphs: it would begin with all that its parent
# had done. --quick: the emulated rank alone, a few stages.
set -euo pipefail
bench=$(cd "$(dirname "$0")" && pwd)
bin=${LUMOS_BIN:-$bench/../../build/bin}
traces=${LUMOS_TRACES:-$bench/../../../shared/traces}
output=
against=
quick=no
while [ $# -gt 0 ]; do
  case $1 in
    -o) [ $# -gt 1 ] || { echo '-o needs a file' >&2; exit 2; }; output=$2; shift ;;
    --against) [ $# -gt 1 ] || { echo '--against needs a file' >&2; exit 2; }; against=$2; shift ;;
    --quick) quick=yes ;;
    *) sed -n '2,4s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
  shift
done
program=$bin/../bench/bench
[ -x "$program" ] && [ -x "$bin/lumos-report" ] || { echo "No benchmark in $bin/..: build first, or set LUMOS_BIN" >&2; exit 2; }
[ -z "$against" ] || jq -es 'length > 0 and all(.stage and .input and .instructions and .kind)' "$against" >/dev/null 2>&1 ||
  { echo "$against holds no stored counts; make some with -o" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say() { printf '%s\n' "$*" >&2; }

if perf stat -x, -e instructions:u -o "$work/perf" true 2>/dev/null && grep -q '^[0-9]' "$work/perf"; then
  counter=perf
elif command -v valgrind >/dev/null; then
  counter=valgrind
else
  say 'SKIPPED: neither perf nor valgrind can count instructions here'
  exit 77
fi
processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
kind="$(uname -m) ${processor:-unknown}, $("$program" kind), $counter"

# instructions COMMAND...: how many it takes, programs that it starts included.
instructions() {
  if [ $counter = perf ]; then
    perf stat -x, -e instructions:u -o "$work/count" "$@" >/dev/null 2>"$work/said" || { cat "$work/said" >&2; return 1; }
    awk -F, '/^[0-9]/ { print $1 }' "$work/count"
  else
    rm -f "$work"/count.*
    valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null --trace-children=yes --child-silent-after-fork=yes \
      --log-file="$work/count.%p" "$@" >/dev/null 2>"$work/said" || { cat "$work/said" >&2; return 1; }
    cat "$work"/count.* | awk '/I +refs:/ { gsub(",", "", $NF); sum += $NF } END { printf "%.0f\n", sum }'
  fi
}

put() { # STAGE INPUT INSTRUCTIONS
  jq -cn --arg stage "$1" --arg input "$2" --argjson instructions "$3" --arg kind "$kind" '$ARGS.named' >>"$work/lines"
  say "$(printf '%-14s %-28s %15d' "$1" "$2" "$3")"
}

# count INPUT TRACE...
count() {
  local input=$1 stage with without
  shift
  "$program" streams "$work" "$@"
  for stage in $stages; do
    without=$(instructions "$program" prepare $stage "$work" "$@")
    with=$(instructions "$program" run $stage "$work" "$@")
    put $stage "$input" $((with - without))
  done
  [ $quick = no ] || return 0
  put report "$input" "$(instructions "$bin/lumos-report" "$@" -o "$work/page.html")"
  put hta "$input" "$(instructions "$bin/lumos-report" --hta "$@" -o "$work/page.html")"
  with=$(instructions "$bin/lumos-parse" "$@" -o "$work/one")
  with=$((with + $(instructions "$bin/lumos-sim" "$work/one" -o "$work/two")))
  put pipe "$input" $((with + $(instructions "$bin/lumos-render" "$work/two" -o "$work/page.html")))
}

stages='tokenizer parse stream_write stream_read graph engine sim render_html'
[ $quick = no ] || stages='parse sim'
steps=46
[ $quick = no ] || steps=2
"$bin/emulated-cluster" --layers 2 --vocab 32000 --micro-batch 2 --micro-batches 1 --dp 2 --ranks 0 --steps $steps \
  --record shapes,sync,annotations,collectives --plain --quiet "$work/emulated"
count emulated "$work/emulated/rank0.json"
if [ $quick = no ]; then
  for set in df-index-V100x2-216k nanogpt-8xH100-ddp; do
    [ -d "$traces/$set" ] || { say "SKIPPED: $set is not here"; continue; }
    mkdir "$work/$set"
    for file in "$traces/$set"/*.json.gz; do gunzip -c "$file" >"$work/$set/$(basename "$file" .gz)"; done
    count "$set" "$work/$set"/*.json
  done
fi
if [ -n "$output" ]; then cp "$work/lines" "$output"; else cat "$work/lines"; fi
[ -n "$against" ] || exit 0

if [ "$(jq -r .kind "$against" | sort -u)" != "$kind" ]; then
  say "SKIPPED: $against was counted on another kind of machine ($(jq -r .kind "$against" | sort -u | head -1)), this one is $kind"
  exit 77
fi
jq -ers --slurpfile now "$work/lines" '
  (map({key: "\(.stage) \(.input)", value: .instructions}) | from_entries) as $stored
  | [$now[] | . + {was: $stored["\(.stage) \(.input)"]} | select(.was) | . + {change: (.instructions / .was - 1)}]
  | (map(select(.change > 0.03 or .change < -0.03))
      | map("\(.stage), \(.input): \(.change * 1000 | round / 10) % \(if .change > 0 then "more: FAILED" else "less: store it anew" end)")[]),
    ($stored | keys - [$now[] | "\(.stage) \(.input)"] | map("\(.): stored, but not counted now")[]),
    "\(length) counts compared, \(map(select(.change > 0.03)) | length) of them over 3 % more",
    (if any(.change > 0.03) or length == 0 then null else empty end)' "$against" >"$work/verdict" || true
grep -v '^null$' "$work/verdict" >&2
! grep -q '^null$' "$work/verdict"

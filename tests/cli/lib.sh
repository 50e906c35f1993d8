# Sourced by the scripts beside it: the tools, a folder of their own to work in, and how to check and report.
#   LUMOS_BIN     where the tools are        LUMOS_SOURCE  the project
#   LUMOS_TRACES  real traces, if there are any
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_folder=${LUMOS_SOURCE:-$here/../..}
bin=${LUMOS_BIN:-$source_folder/build/bin}
traces=${LUMOS_TRACES:-}
example=("$source_folder"/examples/traces/rank0.json.gz "$source_folder"/examples/traces/rank1.json.gz)
[ -x "$bin/lumos-parse" ] || { echo "No tools in $bin: build first, or set LUMOS_BIN" >&2; exit 1; }
PATH=$(cd "$bin" && pwd):$PATH
SHELL=$BASH # script runs its command with this shell: these tests mean bash, whatever the caller's is
export SHELL
unset NO_COLOR RANK SLURM_PROCID DESTDIR # of the caller, heeded by what is tested
here_was=$PWD
work=$(mktemp -d)
cd "$work" || exit 1
trap 'cd "$here_was"; rm -rf "$work"' EXIT
failures=0

fail() {
  printf 'FAIL: %s\n' "$*" >&2
  failures=$((failures + 1))
}

# check TEXT COMMAND...: the command succeeds.
check() {
  local text=$1
  shift
  "$@" || fail "$text"
}

# expect STATUS COMMAND...: the command ends with this status; its messages are in the file `message`.
expect() {
  local wanted=$1 status=0
  shift
  "$@" 2>message || status=$?
  [ "$status" -eq "$wanted" ] || fail "'$*' ended with $status, not $wanted: $(head -c 300 message)"
}

# says TEXT...: every text is in the last message, which is one clean line that begins with the tool's name.
says() {
  local text
  for text in "$@"; do
    grep -qF -- "$text" message || fail "the message lacks '$text': $(head -c 300 message)"
  done
  clean message
  grep -q '^lumos-[a-z]*: ' message || fail "the message does not begin with the tool's name: $(head -c 300 message)"
}

# clean FILE: no control byte but line ends, so nothing can steer a terminal.
clean() { ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]' "$1" || fail "$1 holds control bytes"; }

# on_one_core COMMAND...: on the first one that is allowed; on all where there is no taskset.
on_one_core() {
  local one=()
  ! command -v taskset >/dev/null || one=(taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')")
  "${one[@]}" "$@"
}

same() { cmp "$1" "$2" || fail "$3"; }

skip() {
  printf 'SKIPPED: %s\n' "$*"
  exit 77
}

need_traces() { [ -n "$traces" ] && [ -d "$traces" ] || skip "the real traces are not here (LUMOS_TRACES='$traces')"; }

# each_job COMMAND: COMMAND NAME TRACE... for every job of the real traces; the sets that are several jobs go file by file.
each_job() {
  local folder set trace
  for folder in "$traces"/*/; do
    set=$(basename "$folder")
    if [[ ' hta-cuda-sync-A100 tracelens-qwen-H100-vs-MI300 ' == *" $set "* ]]; then
      for trace in "$folder"*.json.gz; do "$1" "$set/$(basename "$trace" | cut -c1-12)" "$trace"; done
    else
      "$1" "$set" "$folder"
    fi
  done
}

# valid_html FILE: one self-contained page. tidy has the last word where it is installed.
valid_html() {
  head -c 15 "$1" | grep -qi '^<!doctype html>' || fail "$1 is no HTML page"
  tail -c 20 "$1" | grep -q '</html>' || fail "$1 has no end"
  ! grep -qiE '(src|href|action|poster|data)="?(https?:)?//|url\( *"?(https?:)?//|@import' "$1" || fail "$1 asks the network"
  if command -v tidy >/dev/null; then
    tidy -quiet -errors "$1" >tidy.out 2>&1
    [ ! -s tidy.out ] || fail "$1 is no valid HTML5: $(head -5 tidy.out)"
  fi
}

# summary PAGE: the numbers inside a page; formats.sh holds that they are those of --format json.
summary() { sed -n '/<script type="application\/json" id="lumos-summary">/,/<\/script>/p' "$1" | sed '1d; $s/<\/script>.*//; $d'; }

# correlate GRAPH: "RANK CORRELATION ID HAS-CALL" of every device task of emulated/rank*.json. The emulated cluster names device work by its
# correlation id, the stream by its own: along a stream of the device both are in order.
correlate() {
  local file rank
  for file in emulated/rank*.json; do
    rank=${file//[^0-9]/}
    jq -r --arg rank "$rank" '.traceEvents[] | select(.cat == "kernel" or .cat == "gpu_memcpy" or .cat == "gpu_memset")
      | "\($rank) \(.args.stream) \(.ts * 1000) \(.args.correlation)"' "$file"
  done | sort -k1,1n -k2,2n -k3,3n >rows
  grep '"lane":"s' "$1" | jq -r 'select(.type == "task" and .lane[0:1] == "s") | "\(.rank) \(.lane[1:]) \(.start) \(.id) \(.call != null)"' |
    sort -k1,1n -k2,2n -k3,3n >tasks
  paste -d' ' rows tasks | awk '
    $1 != $5 || $2 != $6 { print "rank " $1 " stream " $2 " is not alike in both" >"/dev/stderr"; exit 1 }
    { print $1, $4, $8, $9 }'
}

finish() {
  [ "$failures" -eq 0 ] || { printf '%d checks failed\n' "$failures" >&2; exit 1; }
  exit 0
}

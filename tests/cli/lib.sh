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
failures=0 left_out=0
all_cases=${LUMOS_ALL:-no} # not those alone that differ most

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
# Here and below bash does by itself what it can: to begin a process takes longer than most of what is tested.
says() {
  local text message_text
  ! IFS= read -r -d '' message_text <message || fail 'the message holds a byte 0'
  for text in "$@"; do
    [[ $message_text == *"$text"* ]] || fail "the message lacks '$text': ${message_text:0:300}"
  done
  [[ $message_text != *[$'\x01'-$'\x08'$'\x0b'-$'\x1f'$'\x7f']* ]] || fail 'the message holds control bytes'
  [[ $'\n'$message_text =~ $'\n'lumos-[a-z]*:\  ]] || fail "the message does not begin with the tool's name: ${message_text:0:300}"
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

# have_traces: whether there are real traces; where there are none the rest of the script is skipped, and that is said.
have_traces() {
  [ -n "$traces" ] && compgen -G "$traces/*/*.json*" >/dev/null && return
  printf "SKIPPED in part: the real traces are not here (LUMOS_TRACES='%s')\n" "$traces"
  return 1
}

# rarely COMMAND...: what else is like a case that always runs, and is left to LUMOS_ALL=yes (tests/run.sh --all).
rarely() {
  if [ "$all_cases" = yes ]; then "$@"; else left_out=$((left_out + 1)); fi
}

# need_python: $python is the interpreter itself; what is called python3 may be a script that looks for it each time. Which it is, is asked once for
# all scripts. Those that need nothing but Python's own library start it with -S: to look for all else takes longer than what they do.
need_python() {
  local known=${LUMOS_SHARED:-$work}/python
  if [ ! -s "$known" ]; then
    mkdir -p "${known%/*}"
    python3 -c 'import sys; print(sys.executable)' >"$known.$$" 2>/dev/null && mv "$known.$$" "$known" || skip 'python3 is not here (apt-get install python3)'
  fi
  read -r python <"$known"
}
need_traces() { have_traces >/dev/null || skip "the real traces are not here (LUMOS_TRACES='$traces')"; }

# too_long FOLDER: whether a set of real traces is left to LUMOS_ALL=yes (tests/run.sh --all): a twentieth of all bytes is in eight of eighteen sets.
too_long() { [ "$all_cases" != yes ] && (($(stat -c '+%s' "$1"/*.json*) > 500000)); }

# each_job COMMAND: COMMAND NAME TRACE... for the jobs of the real traces, but for the long ones; the sets that are several jobs go file by file.
each_job() {
  local folder set trace name left_out=
  for folder in "$traces"/*/; do
    set=${folder%/} set=${set##*/}
    if too_long "$folder"; then
      left_out+=" $set"
      continue
    fi
    if [[ ' hta-cuda-sync-A100 tracelens-qwen-H100-vs-MI300 ' == *" $set "* ]]; then
      for trace in "$folder"*.json.gz; do
        name=${trace##*/}
        "$1" "$set/${name:0:12}" "$trace"
      done
    else
      "$1" "$set" "$folder"
    fi
  done
  [ -z "$left_out" ] || printf 'SKIPPED in part: the longest sets of public traces, which LUMOS_ALL=yes adds:%s\n' "$left_out"
}

# streams TRACE...: the files $parsed, $graphed and $simulated, of a job that several scripts look at: the first of them makes them, in a folder of
# the build (LUMOS_SHARED; a script that runs by itself makes its own), and they are of these tools and traces alone. Fails where lumos-parse
# refuses the traces. They are for reading: who links to one unlinks it before writing a file of that name.
streams() {
  local folder
  read -r folder _ < <(stat -Lc '%n %s %y' "$bin"/lumos-{parse,graph,sim} "$@" | sha256sum)
  folder=${LUMOS_SHARED:-$work/shared}/${folder:0:16}
  parsed=$folder/parse graphed=$folder/graph simulated=$folder/sim
  if [ ! -e "$folder/made" ]; then
    mkdir -p "$folder"
    (
      flock 9
      [ -e "$folder/made" ] ||
        { lumos-parse "$@" | tee "$parsed" | lumos-graph | tee "$graphed" | lumos-sim -o "$simulated" || rm -f "$simulated"; } 2>/dev/null
      touch "$folder/made"
    ) 9>"$folder/lock"
  fi
  [ -e "$simulated" ] && return
  ! lumos-parse "$@" -o /dev/null 2>/dev/null || fail "no simulation of $*"
  return 1
}

# reports TRACE...: of a job of `streams` also the files $page and $document, its report as HTML and as JSON, made once as well.
reports() {
  streams "$@" || return
  page=${simulated%sim}page.html document=${simulated%sim}document.json
  if [ ! -e "$document" ]; then
    (
      flock 9
      [ -e "$document" ] || { lumos-render "$simulated" -o "$page" && lumos-render "$simulated" -o "$document"; } 2>/dev/null
    ) 9>"${simulated%sim}lock"
  fi
  [ -e "$document" ]
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

# The lines of a stream, of truth.json and of the traces that the emulated cluster writes with --plain are found here by their form: jq needs
# three times as long to read a job as the tools to simulate it. What is found is small, and jq's again.

# only TYPE[|TYPE...] [STREAM]: its records of these types.
only() { grep -hE "^\{\"type\":\"($1)\"" "${@:2}" || :; }

# keep CONDITION FILE: of such a trace the events that meet it, in awk's words: `event` is the text of one, `ts` its time.
keep() {
  awk '
    !inside { print; inside = /"traceEvents": \[$/; next }
    /^  \{/ { event = ""; open = 1 }
    open && /^  \},?$/ {
      open = 0
      event = event "  }"
      ts = match(event, /"ts": [0-9.]+/) ? substr(event, RSTART + 6, RLENGTH - 6) + 0 : 0
      if ('"$1"') { printf "%s%s", separator, event; separator = ",\n" }
      next
    }
    open { event = event $0 "\n"; next }
    { print separator == "" ? $0 : "\n" $0; separator = "" }' "$2" >kept
  [ "$(grep -c '"ph"' kept)" -lt "$(grep -c '"ph"' "$2")" ] && mv kept "$2" || fail "no event of $2 is left out"
}
# For awk: field(NAME) is a number or a plain word of the record at hand, "" where it has none.
field='function field(name,   at, text) {
  at = index($0, "\"" name "\":")
  if (!at) return ""
  text = substr($0, at + length(name) + 3, 80)
  sub(/[,}].*/, "", text)
  gsub(/"/, "", text)
  return text
}
'

# told_of FOLDER: truth.json as far as it tells of the job and of its steps as a whole.
told_of() { sed '/^"collectives"/,$d' "$1/truth.json" | sed '$s/,$/}/'; }

# true_steps FOLDER [unprofiled]: "STEP NS" of the job's steps.
true_steps() {
  awk -v run="\"${2:-profiled}\":" '
    /^\{"step"/ { step = $2 }
    /^"collectives"/ { exit }
    { for (i = 1; i <= 3; i += 2) if ($i == run) printf "%d %.0f\n", step, $(i + 4) - $(i + 2) }' "$1/truth.json"
}

# true_ranks FOLDER: of every step, with the profiler, "STEP RANK START END COMPUTE OVERLAPPED TRANSFER WAITING BUBBLE COPY IDLE ...".
true_ranks() {
  awk '
    /^\{"step"/ { step = $2 + 0; inside = 1 }
    /^"unprofiled"/ { inside = 0 }
    /^"collectives"/ { exit }
    inside && /^\[/ { gsub(/[][},]/, ""); print step, $0 }' "$1/truth.json"
}

# points_off: "SOURCE RANK STEP NAME POINTS": how many points of the step what `sim` says of a rank's communication is off emulated/truth.json.
points_off() {
  true_ranks emulated >parts
  only metric sim | grep -E '"name":"(communication_(transfer|wait|unsplit)|pipeline_bubble)".*"scope":\{"rank":[0-9]+,"step":[0-9]+\}' | awk "$field"'
    FILENAME == "parts" {
      at = $2 " " $1; length_of[at] = $4 - $3
      true[at, "communication_transfer"] = $7; true[at, "communication_wait"] = $8; true[at, "pipeline_bubble"] = $9; true[at, "communication_unsplit"] = 0
      next
    }
    { at = field("rank") " " field("step"); name = field("name") }
    at in length_of { print field("source"), at, name, 100 * (field("value") - true[at, name]) / length_of[at] }' parts -
}

# true_tasks FOLDER: "RANK CORRELATION PHASE MICRO-BATCH LAYER PART" of all that its devices did.  true_edges FOLDER: "RANK FROM TO BINDING".
true_tasks() { true_rows tasks "$1"; }
true_edges() { true_rows edges "$1"; }
true_rows() {
  awk -v list="\"$1\":" '
    /^"(phases|parts)"/ { what = $1; gsub(/.*\[|\].*|[",]/, ""); number = split($0, names); for (i = 1; i <= number; i++) word[what, i - 1] = names[i]; next }
    /^\{"rank"/ { rank = $2 + 0 }
    /^"/ { inside = $1 == list; next }
    inside && /^\[/ {
      gsub(/[][},]/, "")
      if (NF == 5) { $2 = word["\"phases\":", $2]; $5 = word["\"parts\":", $5] }
      print rank, $0
    }' "$2/truth.json"
}

# device_rows FOLDER: "RANK STREAM START CORRELATION DURATION" of the device rows of its rank*.json, in order along every stream; times in ns.
device_rows() {
  awk '
    /^    "ph": "X", "cat": "(kernel|gpu_memcpy|gpu_memset)"/ { inside = 1; next }
    inside && /^    "ts": / { start = $2; duration = $4; gsub(/[.,]/, "", start); gsub(/[.,]/, "", duration) }
    inside && match($0, /"correlation": [0-9]+/) {
      correlation = substr($0, RSTART + 15, RLENGTH - 15)
      match($0, /"stream": [0-9]+/)
      rank = FILENAME
      gsub(/.*rank|\.json$/, "", rank)
      print rank, substr($0, RSTART + 10, RLENGTH - 10), start, correlation, duration + 0
      inside = 0
    }' "$1"/rank*.json | sort -k1,1n -k2,2n -k3,3n
}

# device_tasks GRAPH FIELD...: "RANK STREAM START ID FIELD..." of the device tasks of a stream, in the same order; "-": it has no such field.
device_tasks() {
  grep -F '"lane":"s' "$1" | awk -v names="${*:2}" "$field"'
    BEGIN { number = split(names, name) }
    /^\{"type":"task"/ && (lane = field("lane")) ~ /^s[0-9]/ {
      line = field("rank") " " substr(lane, 2) " " field("start") " " field("id")
      for (i = 1; i <= number; i++) { value = field(name[i]); line = line " " (value == "" ? "-" : value) }
      print line
    }' | sort -k1,1n -k2,2n -k3,3n
}

# correlate GRAPH [FIELD...]: "RANK CORRELATION DURATION ID FIELD..." of every device task, whose device_rows are in the file `rows`. The emulated
# cluster names device work by its correlation id, the stream by its own: along a stream of the device both are in order.
correlate() {
  device_tasks "$@" >tasks
  paste -d' ' rows tasks | awk '
    $1 != $6 || $2 != $7 { print "rank " $1 " stream " $2 " is not alike in both" >"/dev/stderr"; exit 1 }
    { line = $1 " " $4 " " $5; for (i = 9; i <= NF; i++) line = line " " $i; print line }
    END { exit !NR }'
}

# proved TEXT: what the script has shown, in one line, if it has.
proved() {
  [ "$failures" -ne 0 ] || printf 'proved: %s\n' "$*"
  [ "$left_out" -eq 0 ] || printf 'SKIPPED in part: %d cases that LUMOS_ALL=yes adds\n' "$left_out"
}

finish() {
  [ "$failures" -eq 0 ] || { printf '%d checks failed\n' "$failures" >&2; exit 1; }
  exit 0
}

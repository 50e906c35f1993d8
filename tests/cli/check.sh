#!/usr/bin/env bash
# lumos-parse --check says in about ten lines what traces lack: of the example, of the example with parts taken out, and of every
# set of real traces, where some of its counts are counted again.
. "$(dirname "$0")/lib.sh"

# sane FILE: a grade first, few lines that fit a terminal, nothing that steers it.
sane() {
  local lines
  mapfile -t lines <"$1"
  [[ ${lines[0]} =~ ^grade\ [A-DF]\ \ \ [a-z] ]] || fail "$1 does not begin with a grade: ${lines[0]}"
  [ ${#lines[@]} -le 20 ] || fail "$1 has ${#lines[@]} lines"
  ! grep -qE '.{131}' "$1" || fail "$1 has long lines"
  clean "$1"
}

# --- The example lacks nothing ---

expect 0 lumos-parse --check "${example[@]}" >text
sane text
head -1 text | grep -q '^grade A ' || fail "the example has not grade A: $(head -1 text)"
expect 0 lumos-parse --check --strict "${example[@]}" >strict
same text strict '--strict changes what is printed'
expect 0 lumos-parse --check "${example[1]}" "${example[0]}" >turned
same text turned 'the order of the traces changes what is printed'
lumos-parse "${example[@]}" 2>/dev/null | expect 0 lumos-parse --check >piped
same text piped 'a stream does not say what its traces say'
expect 0 lumos-parse --check "${example[@]}" -o file
same text file '-o FILE is not what is printed'
expect 0 lumos-parse --check --json "${example[@]}" >json
jq -e '.grade == "A" and .holds.ranks == 2 and .holds.world == 2 and .holds.steps == 3
  and (.findings | length >= 9 and all(.[]; .have <= .of and .of > 0 and (.cost != null) == (.cure != null)))' json >/dev/null ||
  fail "the JSON of the example: $(cat json)"
jq -e '[.ranks[].rank] == [0, 1] and all(.ranks[]; .device != null and .source != null) and .warnings == []' json >/dev/null ||
  fail "ranks and warnings of the example: $(cat json)"

# --- What is taken out is missed ---

# without CODE GRADE COMMAND...: the example without what the command takes out of a trace has the gap CODE, and the grade.
without() {
  local code=$1 grade=$2 rank
  for rank in 0 1; do
    zcat "${example[rank]}" >rank$rank.json
    "${@:3}" rank$rank.json
  done
  expect 0 lumos-parse --check rank0.json rank1.json >text
  sane text
  head -1 text | grep -q "^grade $grade " || fail "without $code: $(head -1 text)"
  expect 1 lumos-parse --check --strict --json rank0.json rank1.json >json
  says 'gap' "grade $grade"
  jq -e --arg code "$code" --arg grade "$grade" '.grade == $grade
    and any(.findings[]; .code == $code and .grade == $grade and .have < .of and .cost != null)' json >/dev/null ||
    fail "without $code: $(cat json)"
}
unnamed() { grep -q "\"$1\":" "$2" && sed -i "s/\"$1\":/\"of no meaning\":/" "$2" || fail "no $1 in the example"; } # an argument
without sync_events C keep 'event !~ /"cat": "cuda_sync"/'
without shapes B unnamed 'Input Dims'
without collective_arguments C unnamed 'Collective name'
without steps C keep 'event !~ /"name": "ProfilerStep/'
without device_work D keep 'event !~ /"cat": "(kernel|gpu_memcpy|gpu_memset)"/'
without ops C keep 'event !~ /"cat": "cpu_op"/'
expect 0 lumos-parse --check "${example[0]}" >text
grep -q '^C  ranks: 1 of 2; ' text || fail "the other rank is not missed: $(cat text)"

# An invalid event is a gap like another: --strict tells of it behind all that is printed.
zcat "${example[0]}" | jq -c '.traceEvents += [{"ph": "X", "name": "n", "pid": 1, "tid": 1, "ts": 1, "dur": "long"}]' >rank0.json
zcat "${example[1]}" >rank1.json
expect 1 lumos-parse --check --strict rank0.json rank1.json >text
says '1 gap' 'grade B'
grep -qE '^B  readable events: [0-9,]+ of [0-9,]+ events; ' text || fail "an invalid event is not told: $(cat text)"

# --- What cannot be used, and usage ---

echo '{"traceEvents":[{"ph":"X","cat":"user_annotation","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]}' >idle.json
expect 2 lumos-parse --check idle.json >text
says 'neither CPU nor GPU work'
sane text
head -1 text | grep -q '^grade F ' || fail "a trace without work: $(head -1 text)"
expect 2 lumos-parse --check --json idle.json >json
jq -e '.grade == "F"' json >/dev/null || fail "a trace without work: $(cat json)"
expect 2 lumos-parse --json "${example[0]}" >text
says --check
expect 2 lumos-parse --check --validate "${example[0]}" >text
says --check --validate
expect 2 lumos-parse --check missing.json >text
says missing.json
[ ! -s text ] || fail 'a missing file is graded'

# Colours on a terminal alone.
if command -v script >/dev/null && script -qec true /dev/null </dev/null >/dev/null 2>&1; then
  # Into a file, not a pipe: who reads a pipe and leaves at its first line ends who writes it.
  TERM=xterm script -qec "lumos-parse --check '${example[0]}'" /dev/null </dev/null >typed 2>&1
  grep -qF $'grade \033[1;33mC\033[0m' typed || fail "the grade has no colour on a terminal: $(head -c 300 typed | cat -v)"
  NO_COLOR=1 TERM=xterm script -qec "lumos-parse --check '${example[0]}'" /dev/null </dev/null >typed 2>&1
  ! grep -qF $'\033[1;' typed ||
    fail 'there is colour in spite of NO_COLOR'
fi

# --- Real traces ---

waits='.event.op == "wait" or .wait.on == "event" or .wait.on == "stream"'
# A stream's wait that has a row: where a rank has any, those without are of streams without work.
row='.event.op == "wait" and (.event.id != null or .wait.record != null or .wait.on == "event")'

jobs=0
run() {
  local name=$1 status=0 gap=0 said verdict code grade what have of counted
  local -A found=() # "HAVE OF" by code
  shift
  jobs=$((jobs + 1))
  expect 0 lumos-parse --check "$@" >text
  sane text
  said=$(<text)
  lumos-parse --check --json --strict "$@" >json 2>message || status=$?
  jq -r --arg grade "${said:6:1}" '
    .grade == $grade and ([.findings[].grade, "A"] | max) == $grade
      and all(.findings[]; 0 <= .have and .have + .before <= .of and .of > 0 and (.grade == "A" or .cost != null)),
    (.findings[] | [.code, .grade, .name, .have, .of] | @tsv)' json >findings
  {
    read -r verdict
    [ "$verdict" = true ] && [ "$(wc -l <json)" -eq 1 ] || fail "$name: $(cat json)"
    while IFS=$'\t' read -r code grade what have of; do
      found[$code]="$have $of"
      [ "$grade" = A ] || { gap=1 && [[ $said == *"$grade  $what: "* ]] || fail "$name: the text lacks '$grade  $what: '"; }
    done
  } <findings
  [ $status -eq $gap ] || fail "$name: --strict ends with $status"
  if streams "$@"; then ln -sf "$parsed" parse; else lumos-parse "$@" 2>/dev/null >refused; rm -f parse && mv refused parse; fi
  counted=$(only task parse | awk '/"comm":\{/ { all++ } /"comm":\{.*"group":.*"bytes":/ { told++ } END { print told + 0, all + 0 }')
  [ "$counted" = '0 0' ] || [ "$counted" = "${found[collective_arguments]-}" ] ||
    fail "$name: collectives with arguments: $counted, not ${found[collective_arguments]-}"
  if [ -n "${found[sync_events]-}" ]; then
    counted=$(grep '^{"type":"task"' parse | grep -E '"event":|"wait":' | jq -sr "
      ([.[] | select($row) | .rank] | unique) as \$rows
      | [.[] | select($waits) | select(.event.op != \"wait\" or ($row) or (.rank | IN(\$rows[]) | not))]
      | \"\([.[] | select(.event.id != null or .wait.record != null or (.wait.on == \"stream\" and .wait.lane != null))]
        | length) \(length)\"")
    [ "$counted" = "${found[sync_events]}" ] || fail "$name: waits that say for what: $counted, not ${found[sync_events]}"
  fi
  printf '%-40s grade %s\n' "$name" "${said:6:1}"
}
if have_traces; then each_job run; fi
proved "what the example lacks when something is taken out, and what $jobs public traces and jobs lack, counted again"
finish

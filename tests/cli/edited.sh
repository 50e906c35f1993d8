#!/usr/bin/env bash
# A stream edited on the way is refused, unless --edited says that it is meant; then the report says it.
. "$(dirname "$0")/lib.sh"

lumos-parse "${example[@]}" >parse || fail 'parse fails'
lumos-sim parse >sim || fail 'sim fails'

# edited NAME STREAM: refused as it is, taken with --edited, and the page has the note.
edited() {
  local name=$1 stream=$2
  expect 2 lumos-sim "$stream" -o none
  says "$stream" --edited
  [ ! -e none ] || fail "$name: a refused stream left a file"
  expect 2 lumos-render "$stream" -o none.html
  says "$stream" --edited
  [ ! -e none.html ] || fail "$name: a refused stream left a page"
  expect 0 lumos-parse --validate --edited "$stream" >/dev/null
  expect 0 lumos-sim --edited "$stream" -o taken
  expect 0 lumos-parse --validate taken >/dev/null
  text=$(only note taken | jq -r 'select(.code == "parse.edited_stream").text' | head -n 1)
  [ -n "$text" ] || fail "$name: no note"
  expect 0 lumos-render taken -o page.html
  grep -qF "${text:0:30}" page.html || fail "$name: the page does not show '$text'"
  rm -f taken page.html
}

grep -v '"kind":"copy"' parse >grepped
edited 'copies removed by grep' grepped
jq -c 'select(.type != "task" or .kind != "launch")' parse >launches
edited 'launches removed by jq' launches
grep -v '^{"type":"span"' parse >spans
edited 'all spans removed' spans
sed '$d' sim | tail -n +2 >body
{ head -n 1 sim; body=$(sed -n 2p sim); echo "$body"; cat body; tail -n 1 sim; } >doubled
expect 2 lumos-render doubled -o none.html
says doubled

# Editing what needs no recount is no edit that a reader can see.
jq -c 'if .type == "task" and .kind == "gemm" then .dur = .dur * 2 else . end' parse >slower
expect 0 lumos-sim slower -o slower.sim
proved 'edited streams are refused, and read with --edited'
finish

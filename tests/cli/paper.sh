#!/usr/bin/env bash
# The sample report of the paper's experiments is that of the numbers beside it; with LUMOS_ALL=yes a few of the experiments are run, too.
. "$(dirname "$0")/lib.sh"
need_python
paper=$source_folder/examples/paper sample=$source_folder/reports/samples/paper
export LUMOS_BIN=$bin

# content PAGE: without the style and the script, which are of all pages. A line each, as one difference is then short.
content() { sed -n '/^<body>/,/^<script>/p' "$1" | sed '/^<script>/d'; }
"$paper/page.sh" "$sample/paper.json" page.html 2>message || fail "no page: $(head -c 300 message)"
content page.html >made
content "$sample/paper.html" >kept
[ "$(wc -l <kept)" -gt 200 ] || fail "only $(wc -l <kept) lines of the sample page are compared"
same made kept 'the page does not show its numbers: run examples/paper/page.sh reports/samples/paper/paper.json reports/samples/paper/paper.html'
valid_html page.html
summary page.html >inside
same <(jq -S . inside) <(jq -S . "$sample/paper.json") 'the numbers inside the page are others than those beside it'

# quick: the experiments themselves, of which each figure is held elsewhere (rebuild.sh, sizes.sh, jobs.sh).
quick() {
  "$paper/run.sh" --quick quick >message 2>&1 || fail "run.sh --quick fails: $(tail -c 300 message)"
  check 'a replay, a prediction of each kind, and their true steps' jq -e '(.replay | length) > 1 and (.predictions | length) == 2
    and all(.replay[]; .replayed.lumos.size < 1 and .replayed.dpro.size > 5) and all(.predictions[]; .true.step > 0 and .low < .step and .step < .high)' quick/paper.json >/dev/null
  [ ! -e quick/cases ] && [ ! -e quick/traces ] && [ ! -e quick/base.graph ] || fail "run.sh leaves $(ls quick | tr '\n' ' ')"
}
rarely quick
proved "the report of the paper's experiments shows the numbers beside it"
finish

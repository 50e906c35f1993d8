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

# known_sizes: what a table has, the models give back: a size that is recorded takes what it took, on its own GPU, and among as many ranks.
known_sizes() {
  python3 -B - "$bin" "$paper" <<'PYTHON'
import os, sys
sys.path.insert(0, sys.argv[2])
import tables
models = tables.Models(lambda name: os.path.join(sys.argv[1], name), ".")
gpu = tables.GPU["H100"]
record = lambda: models.graph([{"gpu": gpu, "work": [tables.product(4096, 512, 1024, 12.5), tables.product(4096, 4096, 4096, 180)]}])
asked = [(4096, 4096, 4096), (4096, 512, 1024)]
assert [round(row[0], 3) for row in models.ask(record(), "products", lines=asked)] == [180, 12.5]
assert [round(row[0], 3) for row in models.ask(record(), "gpu", "H100 SXM")] == [12.5, 180]
reduced = models.graph([{"gpu": gpu, "work": [tables.transfer(2**20, 2, 40)], "rank": rank, "ranks": 2} for rank in range(2)])
assert [round(row[0], 3) for row in models.ask(reduced, "transfers", lines=[("all_reduce", 2**20, 2, 1)])] == [40]
PYTHON
}
check 'a size that is recorded takes what it took' known_sizes

# quick: the experiments themselves, of which each figure is held elsewhere (rebuild.sh, sizes.sh, jobs.sh).
quick() {
  "$paper/run.sh" --quick quick >message 2>&1 || fail "run.sh --quick fails: $(tail -c 300 message)"
  check 'a replay, a prediction of each kind, and their true steps' jq -e '[.cases[] | select(.replayed)] as $replays | [.cases[] | select(.change)] as $predictions
    | ($replays | length) > 1 and ($predictions | length) == 2 and .left_out == []
    and all($replays[]; .replayed.lumos.size < 1 and .replayed.dpro.size > 5) and all($predictions[]; .true.step > 0 and .low < .step and .step < .high)' quick/paper.json >/dev/null
  [ ! -e quick/cases ] && [ ! -e quick/traces ] && [ ! -e quick/base.graph ] || fail "run.sh leaves $(ls quick | tr '\n' ' ')"
}
rarely quick
proved "the report of the paper's experiments shows the numbers beside it"
finish

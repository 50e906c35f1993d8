#!/usr/bin/env bash
# One number for one thing: every share that a page states is its time over the time that it names, recomputed by shares.py from the JSON document, and
# whoever is said to be the latest, the longest or to help most is so by the document's figures (comparisons.py).
. "$(dirname "$0")/lib.sh"
need_python

jobs=0 shares=0 comparisons=0
# recompute NAME TRACE...
recompute() {
  local name=$1
  shift
  reports "$@" || return 0 # what gives no page is another test's
  hold "$name"
}

# hold NAME: $page against $document.
hold() {
  local name=$1
  "$python" -S "$here/shares.py" "$document" "$page" >told 2>&1 || fail "$name: $(head -c 2000 told)"
  jobs=$((jobs + 1))
  shares=$((shares + $(grep -oE '^[0-9]+ shares' told | grep -oE '[0-9]+' || echo 0)))
  comparisons=$((comparisons + $(grep -oE '^[0-9]+ comparisons' told | grep -oE '[0-9]+' || echo 0)))
}

recompute example "${example[@]}"
lumos-transform -s kind=gemm=0.5 "$graphed" 2>/dev/null | lumos-sim -o changed 2>message || fail "a changed job: $(head -c 300 message)"
page=page.html document=document.json
lumos-render changed -o $page 2>message && lumos-render changed -o $document 2>message || fail "a changed job: $(head -c 300 message)"
hold changed
# A rebuilt pipeline has sentences of its own.
emulated-cluster --quiet --layers 4 --hidden 512 --seq 512 --pp 2 --micro-batches 4 --steps 2 pipeline &&
  lumos-transform pipeline/rank*.json* --pp 4 2>/dev/null | lumos-sim -o rebuilt 2>message || fail "a rebuilt job: $(head -c 300 message)"
lumos-render rebuilt -o $page 2>message && lumos-render rebuilt -o $document 2>message || fail "a rebuilt job: $(head -c 300 message)"
hold rebuilt
lumos-render rebuilt -f md --full -o rebuilt.md 2>message && grep -q '^### What changes' rebuilt.md && grep -q '^| configuration | ' rebuilt.md ||
  fail "the Markdown of a rebuilt job lacks what changes: $(head -c 300 message) $(grep -A20 'What changes' rebuilt.md | head -c 600)"
[ "$(jq '[.metrics[] | select(.name == "rebuild_error")] | length' $document)" -gt 0 ] || fail 'the rebuilt job states no rebuild error'
jq -e '.diagnosis.confidence.reason | contains("off the measured step")' $document >/dev/null ||
  fail "the rebuild error is against: $(jq -c .diagnosis.confidence $document)"
# On a page of several jobs the first has one step time, though only one of the others was changed.
mkdir -p first second && cp pipeline/rank*.json* first && cp pipeline/rank*.json* second
lumos-compare first second rebuilt -o several.html 2>message || fail "three jobs: $(head -c 300 message)"
[ "$(summary several.html | jq -c '[.comparisons[].a.step] | unique | length')" = 1 ] ||
  fail "the first of three jobs has the step times $(summary several.html | jq -c '[.comparisons[].a.step]')"
# Edited before, it has a simulated step to compare with.
lumos-transform pipeline/rank*.json* --scale kind=gemm=0.5 --pp 4 2>/dev/null | lumos-sim -o rebuilt 2>message &&
  lumos-render rebuilt -o $page && lumos-render rebuilt -o $document || fail "a job changed before its rebuild: $(head -c 300 message)"
hold 'changed before its rebuild'
jq -e '.diagnosis.confidence.reason | contains("off the simulated step of the changed job")' $document >/dev/null ||
  fail "the rebuild error of a changed job is against: $(jq -c .diagnosis.confidence $document)"
# One GPU on one stream: what its CPU then limits is said where shorter kernels gain little.
emulated-cluster --quiet --plain --layers 2 --hidden 1024 --seq 512 --micro-batches 1 --steps 4 alone &&
  jq -c 'del(.traceEvents[] | select(.args.stream == 49))' alone/rank* >alone.json # its copies
recompute 'one GPU' alone.json
grep -q 'Halving the time in optimizer kernels: .*; less than half of its .*, because the CPU then limits the step' "$page" || fail 'the page of one GPU does not say that its CPU limits what shorter kernels gain'
# One step time, whoever is asked: the page, a comparison, a gate and a history all leave the first of four steps out.
mkdir -p nights/job && lumos-report alone.json -o night.html --summary nights/job/2026-01-02.json 2>message || fail "a summary: $(head -c 300 message)"
mean=$(jq '[.job_steps[] | select(.timeline == "measured")] | sort_by(.step)[1:] | (map(.step_time) | add / length | floor)' "$document")
[ "$(jq '[.job_steps[] | select(.timeline == "measured" and .left_out)] | map(.step)' "$document" -c)" = "[$(jq '[.job_steps[].step] | min' "$document")]" ] ||
  fail 'the document does not leave the first step out'
grep -q 'The first step is left out, as the recording may begin in it' "$page" || fail 'the page does not say that the first step is left out'
lumos-compare -f json alone.json alone.json 2>message >compared.json || fail "comparing a job with itself: $(head -c 300 message)"
lumos-compare alone.json alone.json -o compared.html 2>message
shown=$(sed 's/\xc2\xa0/ /g' "$page" | grep -oE 'Step [0-9]+ takes' | head -1)
grep -q "${shown% takes} of A takes" <(sed 's/\xc2\xa0/ /g' compared.html) || fail "the page shows '$shown', a comparison $(grep -oE 'Step [0-9]+ of A' compared.html | head -1)"
printf '{"format": 1, "metrics": [{"metric": "step_time", "relative": 0.5}]}' >limits
jq '.metrics |= map(.value |= if type == "number" then . * 1.01 | floor else . end)' nights/job/2026-01-02.json >before.json
lumos-render --gate limits --baseline before.json "$document" -o gate.json 2>message || fail "a gate: $(head -c 300 message)"
lumos-render --index nights -o index.html 2>message || fail "a history of one night: $(head -c 300 message)"
for one in "comparison:$(jq .a.step compared.json)" "gate:$(jq '.metrics[0].now | floor' gate.json)" "history:$(summary index.html | jq '.tables.nights1.rows[0][1]')"; do
  [ "${one#*:}" = "$mean" ] || fail "the ${one%%:*} says ${one#*:} ns of a step that takes $mean ns on the page"
done
page=page.html document=document.json
lumos-render changed -o $page && lumos-render changed -o $document
[ "$shares" -gt 200 ] || fail "only $shares shares"
# Broken, it is seen: a rank's idle time that is twice as long.
jq '.rank_steps |= map(if .idle then .idle *= 2 else . end) | .job_steps |= map(if .idle then .idle *= 2 else . end)' document.json >broken.json
! "$python" -S "$here/shares.py" broken.json page.html >told 2>&1 || fail 'shares of other times are taken for right'
grep -q 'idle' told || fail "it does not say which: $(head -c 300 told)"
# So is a sentence that compares what is the other way round: the longest layer, the latest rank, what helps most, the largest kind.
recompute example "${example[@]}"
# swapped FILTER: what is told once the document is changed so.
swapped() {
  jq "def column(\$table; \$name): .tables[\$table].columns | index(\$name); $1" $document >broken.json
  ! "$python" -S "$here/shares.py" broken.json $page >told 2>&1 || fail "this is taken for right: $1"
  grep -q "$2" told || fail "it does not say that $2: $(head -c 500 told)"
}
swapped 'column("layers"; "total") as $c | .tables.layers.rows |= map(if .[0] | startswith("layer ") then .[$c] = 1e9 - .[$c] else . end)' 'another layer takes longer'
swapped 'column("stragglers"; "delay") as $c | .tables.stragglers.rows |= map(.[$c] = 1e9 - .[$c] | .[-2] = 1)' 'another rank is later'
# And a figure that says another gain than the row of the same change.
gain=$(sed -n '/Best predicted gain/{n;s/<p class="figure">\([0-9.]*\).*/\1/p}' $page)
sed "/Best predicted gain/{n;s/$gain/9$gain/}" $page >broken.html
! "$python" -S "$here/shares.py" $document broken.html >told 2>&1 && grep -q "is $gain" told || fail "two gains of one change are taken for right: $(head -c 300 told)"
swapped 'column("improvements"; "gain_share") as $c | .tables.improvements.rows[-1][$c] = 0.99' 'a change gains'
swapped 'column("pathkinds"; "time") as $c | .tables.pathkinds.rows[-1][$c] = 1e12' 'the largest are'
swapped '.rank_steps |= map(.exposed_communication = 1e6 * .rank)' 'has not the least'
[ "$comparisons" -gt 30 ] || fail "only $comparisons comparisons"
! have_traces || each_job recompute
proved "$shares shares of $jobs pages are their times over what they are of, and $comparisons comparisons hold"
finish

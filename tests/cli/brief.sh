#!/usr/bin/env bash
# A report in Markdown is a comment: at most 40 lines and 4 kB of every job, with the diagnosis, four figures, where the step went, what to do,
# late ranks and kernels, all as in JSON; --full has the tables; --picture puts a picture beside it.
. "$(dirname "$0")/lib.sh"

plain() { sed 's/\xc2\xa0/ /g' "$1"; }

jobs=0
# brief NAME TRACE...
brief() {
  local name=$1
  shift
  reports "$@" || return
  lumos-render "$simulated" -o brief.md 2>message || { fail "no comment of $name: $(head -c 300 message)"; return; }
  [ "$(wc -l <brief.md)" -le 40 ] || fail "$name: $(wc -l <brief.md) lines"
  [ "$(wc -c <brief.md)" -le 4096 ] || fail "$name: $(wc -c <brief.md) bytes"
  ! grep -qE '\{\{|\|\|' brief.md || fail "$name: $(grep -nE '\{\{|\|\|' brief.md | head -2)"
  plain brief.md >flat
  grep -qF -- "Confidence in the simulation: **$(jq -r .diagnosis.confidence.grade "$document")**" flat || fail "$name: no confidence"
  jobs=$((jobs + 1))
}

# Of one rank of several it says which one.
brief alone "${example[1]}"
grep -q '^rank 1, one of 2 ' flat || fail "the rank is not named: $(head -3 flat)"
brief example "${example[@]}"
ln -s "$document" report.json
verdict=$(jq -r '.verdict' report.json | sed 's/\xc2\xa0/ /g')
head -1 flat | grep -q '^## A step takes ' || fail "the first line is $(head -1 flat)"
heading=$(head -1 flat | sed 's/^## //')
[[ $verdict == "$heading"* ]] || fail "the heading is not the diagnosis: $heading"
sed -n 's/^| \*\*/&/p' flat | grep -q "^| \*\*" || fail 'no figures'
for wanted in '**Where the step went**: ' '| With | step |' '| Top kernels |'; do
  grep -qF -- "$wanted" flat || fail "the comment has no '$wanted'"
done
# The five kernels, with their shares, as JSON has them.
jq -r '.tables.kernels.rows[:5][] | .[4] * 1000 | round / 10 | "| \(if . == floor then "\(.).0" else . end) % |"' report.json >shares
sed -n '/Top kernels/,/<sub>/p' flat | tail -n +3 | grep -o '| [0-9.]* % |$' >found
same shares found 'the kernels have other shares than in JSON'
expect 0 lumos-render "$simulated" --title 'Ours & <theirs>' -o titled.md
grep -q '^## Ours &amp; &lt;theirs&gt;$' titled.md || fail "the title is $(head -1 titled.md)"
[ "$(wc -l <titled.md)" -le 40 ] || fail 'a title makes it too long'

# --- All of it ---
expect 0 lumos-render "$simulated" --full -o full.md
[ "$(grep -c '^|:--' full.md)" -gt 15 ] || fail "--full has $(grep -c '^|:--' full.md) tables"
expect 2 lumos-render no-such-file --full -o none.html
says --full .md

# --- A rank that is late since the other was made faster has no fault to look for ---
lumos-report "${example[@]}" --scale rank=1=0.6 --verdict >verdict 2>message
grep -q "rank 0’s GPU is .* The change makes the difference: as recorded, rank 0’s GPU was " verdict || fail "it asks for a fault: $(cat verdict)"
lumos-report "${example[@]}" --verdict >verdict 2>message # the job's own late rank may have one
grep -q "rank 1’s GPU is .* Check clock" verdict || fail "it asks for no fault: $(cat verdict)"

# --- A picture beside it ---
mkdir -p out
expect 0 lumos-render "$simulated" -o out/c.md --picture 'out/a picture (1).png' --view gantt
grep -qE '^!\[.{10,}\]\(a%20picture%20%281%29\.png\)$' out/c.md || fail "the picture is not shown: $(grep '!\[' out/c.md)"
expect 0 lumos-render "$simulated" --view gantt -o gantt.png
same gantt.png 'out/a picture (1).png' 'the picture is not that of --view'
expect 0 lumos-render "$simulated" -o c.md --picture c.svg --size 16:9
lumos-render "$simulated" --view breakdown --size 16:9 -o breakdown.svg
same breakdown.svg c.svg 'the picture is not the breakdown'
expect 2 lumos-render no-such-file -o none.md --picture none.pdf
says --picture .png .svg
expect 2 lumos-render no-such-file -o none.html --picture none.png
says --picture .md
expect 2 lumos-render no-such-file -o none.md --picture no/such/folder.png
expect 2 lumos-render no-such-file -o none.md --view gantt
says --view

have_traces && each_job brief

# --- A changed job: what it is compared with is the mean without the first step, and the page of the unchanged one has that with it ---
if have_traces; then
  ranks=("$traces"/nanogpt-8xH100-ddp/*)
  { lumos-transform --scale rank=1=0.9 "${ranks[@]}" | lumos-sim -o changed.sim; } 2>message || fail "a changed job: $(head -c 300 message)"
  expect 0 lumos-render changed.sim -o changed.json
  expect 0 lumos-render changed.sim -o changed.md
  plain changed.md >flat
  mean() { jq -r "[.job_steps[] | select(.timeline == \"measured\" $1) | .step_time] | add / length / 1e6" changed.json | xargs printf '%.1f'; }
  without=$(mean 'and (.left_out | not)')
  with=$(mean '')
  [ "$without" != "$with" ] || fail "the first step is like the others: $with ms"
  grep -q "^## .* instead of $without ms (.*, both without the first step)" flat || fail "no mean of $without ms: $(head -1 flat)"
  grep -q "the measured mean with it is $with ms" flat || fail "no mean of $with ms: $(grep Predicted flat)"
fi
proved "comments of $jobs jobs have at most 40 lines and 4 kB"
finish

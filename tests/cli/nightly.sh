#!/usr/bin/env bash
# examples/nightly.sh as cron would call it: several jobs of one folder, a planted regression, a missing rank, damaged files, a night that fails, a
# second run beside it, and old nights. Nights of emulated jobs: a few, the first five of which are one night with other figures.
#
# LUMOS_ALL=yes: thirty nights, each emulated, with two regressions of a job, a missing rank and a damaged file, and another job that stays as it is.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip 'jq is not here (apt-get install jq)'
nightly=$source_folder/examples/nightly.sh
recording='--layers 1 --hidden 512 --seq 256 --micro-batches 1 --dp 2 --steps 3 --jitter 0.1 --quiet'
printf '{"format":1,"metrics":[{"metric":"step_time","relative":0.02}]}' >limits

# night STATUS NAME [OPTION...]: a run; what it says is in `said`.
night() {
  local status=0
  "$nightly" traces nights --night "$2" --gate limits "${@:3}" >said 2>&1 || status=$?
  [ "$status" -eq "$1" ] || fail "night $2 ended with $status, not $1: $(head -c 500 said)"
}
there() { for file in "$@"; do [ -e "nights/$file" ] || fail "nights/$file is not there"; done; }
gone() { for file in "$@"; do [ ! -e "nights/$file" ] || fail "nights/$file is there"; done; }
page() {
  valid_html nights/index.html
  sed 's/\xc2\xa0/ /g' nights/index.html >page.html
  summary page.html >rows
}
column() { jq -r --arg table "$1" --argjson column "$2" '.tables[$table].rows | map(.[$column] // "-") | join(",")' rows; }

# emulate FOLDER OPTION...: its traces, and no word of the truth.
emulate() {
  # shellcheck disable=SC2086
  emulated-cluster $recording "${@:2}" "$1" && rm -f "$1/truth.json"
}

# --- Which jobs there are ---

mkdir -p traces/alone
emulate one --seed 1
cp one/rank0.json.gz traces/gpt-rank0.json.gz
cp one/rank1.json.gz traces/gpt-rank1.json.gz
cp one/rank0.json.gz 'traces/My Bert_Rank-0.json.gz'
cp one/rank0.json.gz traces/alone
touch traces/readme.txt
night 0 2026-07-01
[ "$(cd nights && echo */)" = 'My_Bert/ alone/ gpt/' ] || fail "the jobs are $(cd nights && echo */)"
there {gpt,alone,My_Bert}/2026-07-01.{html,json} gpt/latest.html index.html
gone gpt/2026-07-01.gate.json
[ "$(jq .ranks nights/gpt/2026-07-01.json)" = 2 ] && [ "$(jq .ranks nights/alone/2026-07-01.json)" = 1 ] || fail 'ranks are of the wrong job'

# Two jobs of one name are not mixed, whatever their ranks; others of that night are reported.
mkdir clash clash/gpt clash/twin
cp one/rank0.json.gz clash/gpt-rank0.json.gz
cp one/rank1.json.gz clash/gpt
cp one/rank0.json.gz clash/twin
"$nightly" clash clashed --night 2026-07-01 >said 2>&1
[ $? -eq 2 ] && grep -q '^nightly: gpt: no report of 2026-07-01: two jobs have this name, gpt\* and gpt/; rename' said || fail "two jobs of one name: $(head -c 300 said)"
[ -e clashed/gpt/2026-07-01.failed ] && [ ! -e clashed/gpt/2026-07-01.json ] && [ -e clashed/twin/2026-07-01.json ] || fail 'two jobs of one name are one'

# Names without a rank are told apart by their words, those with one by what stands behind it too; jobs are not mixed, and what is left out is named.
mkdir -p named/deep/er named/empty named/.hidden named/.none
emulate two --layers 2 --seed 2
cp one/rank0.json.gz named/bert.json.gz
cp two/rank0.json.gz named/gpt2.json.gz
cp two/rank1.json.gz named/gpt-large.pt.trace.json.gz
for rank in 0 1; do
  cp one/rank$rank.json.gz named/worker$rank.17000000$rank.pt.trace.json.gz
  cp one/rank$rank.json.gz "named/rank$rank-t5.json.gz"
  cp two/rank$rank.json.gz "named/rank$rank-vit_12.json.gz"
  cp one/rank$rank.json.gz "named/llama-7b-rank$rank-9c44bd29b3f0_137$rank.json.gz"
  cp two/rank$rank.json.gz "named/llama-70b-rank$rank-1c44bd29b3f0_137$rank.json.gz"
done
cp one/rank0.json.gz named/deep/er/rank0.json.gz
cp one/rank0.json.gz named/rank0.json.xz
ln -s nowhere named/gone.json
mkdir -p named/moe/old named/moe-2
cp one/rank0.json.gz named/moe-2
cp one/rank?.json.gz named/moe
cp one/rank0.json.gz named/moe/old
touch named/moe/readme.txt named/moe/.rank7.json.gz named/.rank7.json named/.gitignore
cp one/rank0.json.gz named/.hidden
"$nightly" named// apart --night 2026-07-01 >said 2>&1 || fail "jobs of many names: $(head -c 500 said)"
expected='bert gpt-large gpt2 llama-70b llama-7b moe-2 moe t5 vit worker'
[ "$(cd apart && echo */ | tr -d /)" = "$expected" ] || fail "the jobs are $(cd apart && echo */)"
for job in t5:2 vit:2 worker:2 llama-7b:2 llama-70b:2 bert:1 gpt2:1; do
  [ "$(jq .ranks "apart/${job%:*}/2026-07-01.json")" = "${job#*:}" ] || fail "${job%:*} has $(jq .ranks "apart/${job%:*}/2026-07-01.json") ranks"
done
printf 'nightly: left out: %s\n' '.hidden/ (its name begins with a dot)' '.rank7.json (its name begins with a dot)' 'deep/ (a folder without traces)' 'empty/ (a folder without traces)' 'gone.json (a link that leads nowhere)' \
  'moe/.rank7.json.gz (its name begins with a dot)' 'moe/old/ (a folder in a job)' 'moe/readme.txt (not named *.json, *.json.gz or *.json.zst)' \
  'rank0.json.xz (not named *.json, *.json.gz or *.json.zst)' | cmp -s - said || fail "what is left out is told as $(cat said)"
# Of an earlier run in the same place, and of what is no trace, the files are named.
mkdir again
for rank in 0 1; do
  cp one/rank$rank.json.gz again/old_rank$rank.json.gz
  zcat one/rank$rank.json.gz | sed 's/"baseTimeNanoseconds": \([0-9]\)/"baseTimeNanoseconds": 2/' >again/rank$rank.json
done
echo '{}' >again/facts.json
mkdir 'r\uns' && mv again 'r\uns/job' && cp one/rank0.json.gz 'r\uns'
"$nightly" 'r\uns' run --night 2026-07-01 >said 2>&1 || fail "two runs: $(head -c 500 said)"
grep -q '^nightly: job: files of other runs were left out, as --run says: old_rank0.json.gz, old_rank1.json.gz (2)$' said && grep -q '^nightly: job: facts.json was left out' said ||
  fail "files of another run are told as $(cat said)"
[ "$(cd run && echo */)" = 'job/ r_uns/' ] || fail "in a folder with a backslash the jobs are $(cd run && echo */)"

# --- Nights ---

# Five of the same job, whose step takes up to 0.5 % more; then one that is like them, one that is slower, one without a rank.
rm -rf traces nights/{alone,My_Bert}
mkdir traces
for day in 2 3 4 5; do
  jq -c --argjson factor "1.00$((day % 2 * 4))$day" '.metrics |= map(if .name == "step_time" then .value = (.value * $factor | round) else . end)' nights/gpt/2026-07-01.json >nights/gpt/2026-07-0$day.json
done
emulate traces/gpt --seed 2
night 0 2026-07-06
there gpt/2026-07-06.{html,json,gate.json,gate.md}
jq -e '.metrics[0].baselines == 5 and .verdict != "regression"' nights/gpt/2026-07-06.gate.json >/dev/null || fail "the gate of an equal night says $(cat nights/gpt/2026-07-06.gate.json)"
emulate traces/gpt --seed 3 --slow-host 0=1.3
mv nights/gpt/2026-07-03.json whole.json # one that was cut is no baseline, and the others are
head -c 1000 whole.json >nights/gpt/2026-07-03.json
night 1 2026-07-07
mv whole.json nights/gpt/2026-07-03.json
grep -q '^nightly: gpt: lumos-render: regression: step_time +' said || fail "a regression is told as '$(cat said)'"
page
grep -q '<h1>gpt is worse than its baseline: step time +' page.html || fail 'the page does not begin with the regression'
emulate traces/gpt --seed 4
rm traces/gpt/rank1.json.gz
head -c 3000 /dev/urandom >traces/gpt/rank1.json.gz
night 0 2026-07-08
page
[[ $(column nights1 7) == '1 of 2,2,'* ]] || fail "a missing rank is told as $(column nights1 7)"

# A night that fails leaves the last good page and a message; one that recorded nothing new is such a night.
night 2 2026-07-09
grep -q '^nightly: gpt: no report of 2026-07-09: the same recording as 2026-07-08' said || fail "an old recording is told as '$(cat said)'"
head -c 3000 /dev/urandom >traces/gpt/rank0.json.gz
night 2 2026-07-10
grep -q '^nightly: gpt: no report of 2026-07-10: lumos-report: ' said || fail "a damaged job is told as '$(cat said)'"
there gpt/2026-07-{09,10}.failed gpt/2026-07-08.html
gone gpt/2026-07-{09,10}.{html,json}
[ "$(readlink nights/gpt/latest.html)" = 2026-07-08.html ] || fail "the last good report is $(readlink nights/gpt/latest.html)"
page
[[ $(column nights1 8) == 'failed: lumos-report: '*',failed: the same recording as '* ]] || fail "failed nights are told as $(column nights1 8)"
[ -z "$(find nights -name '.made-*')" ] || fail 'a run leaves what it made'

# A night that failed when it ran again keeps its report, is not shown as good, and is when it has run again; an older one does not move the last report.
night 2 2026-07-08
there gpt/2026-07-08.{html,json,failed}
page
[ "$(jq -r '.tables.nights1.rows[] | select(.[0] == "2026-07-08") | .[8]' rows | grep -c 'a later run failed: lumos-report: ')" -eq 1 ] ||
  fail "a night that failed again is told as $(jq -c '.tables.nights1.rows[] | select(.[0] == "2026-07-08")' rows)"
rm -rf traces/gpt
emulate traces/gpt --seed 4
night 0 2026-07-08
gone gpt/2026-07-08.failed
page
! grep -q 'a later run failed: ' page.html || fail 'a night that ran again is still failed'
emulate traces/gpt --seed 6
night 0 2026-07-02
[ "$(readlink nights/gpt/latest.html)" = 2026-07-08.html ] || fail "an older night makes $(readlink nights/gpt/latest.html) the last good report"

# Traces and history lie apart, however their places are called.
ln -s traces link
for pair in 'traces traces' 'traces ./link/' 'traces traces/nights' 'nights/gpt nights'; do
  # shellcheck disable=SC2086
  "$nightly" $pair --night 2026-07-11 >said 2>&1
  [ $? -eq 2 ] && grep -q '^nightly: the traces (.*) and the history (.*) lie in each other; name two folders apart$' said || fail "$pair is told as $(head -c 300 said)"
done
[ ! -e traces/.lock ] && [ ! -e traces/nights ] || fail 'a history was begun among traces'

# One run at a time.
exec 8>nights/.lock
flock 8
mkdir nights/.made-theirs
night 2 2026-07-11
[ -d nights/.made-theirs ] || fail 'a second run takes away what the first one makes'
grep -q 'another run' said || fail "a second run says '$(cat said)'"
exec 8>&-
gone gpt/2026-07-11.failed

# Old nights go, but for those that the gate refers to; from an accepted one on it refers to no older ones.
rm -rf traces/gpt
emulate traces/gpt --seed 3 --slow-host 0=1.3
echo 2026-07-70 >nights/gpt/accepted
night 2 2026-07-12
grep -q "^nightly: gpt: no gate: nights/gpt/accepted names '2026-07-70', and there is no report of such a night" said || fail "a slip in accepted is told as $(cat said)"
there gpt/2026-07-12.html
echo 2026-07-07 >nights/gpt/accepted
night 0 2026-07-12 --keep 2
[ ! -e nights/.made-theirs ] || fail 'what a killed run left is still there'
there gpt/2026-07-{07,08,12}.json gpt/2026-07-10.failed gpt/accepted
gone gpt/2026-07-0{1,2,6}.{html,json,gate.json,gate.md} gpt/2026-07-09.failed gpt/2026-07-12.gate.json
[ "$(cat nights/gpt/forgotten)" = 2026-07-09 ] || fail "the last night that was removed is $(cat nights/gpt/forgotten)"

for wrong in '' 'traces' 'missing nights' 'traces nights --keep 0' 'traces nights --night ../x' 'traces nights --gate missing' 'traces nights --what'; do
  # shellcheck disable=SC2086
  "$nightly" $wrong >said 2>&1 && fail "'nightly.sh $wrong' is done"
  [ -s said ] || fail "'nightly.sh $wrong' says nothing"
done
if [ ! -x /usr/bin/lumos-report ] && [ ! -x /bin/lumos-report ]; then
  PATH=/usr/bin:/bin "$BASH" "$nightly" traces nights >said 2>&1
  [ $? -eq 2 ] && grep -q 'lumos-report is not on the PATH' said || fail "without the tools it says: $(cat said)"
fi
mkdir nothing
"$nightly" nothing empty >said 2>&1
[ $? -eq 2 ] && grep -q 'holds no traces' said || fail "a folder without traces: $(cat said)"
command -v systemd-analyze >/dev/null && {
  sed "s|/opt/lumos/examples/nightly.sh|$nightly|" "$source_folder/examples/lumos-nightly.service" >lumos-nightly.service
  cp "$source_folder/examples/lumos-nightly.timer" .
  systemd-analyze verify --man=no ./lumos-nightly.timer ./lumos-nightly.service >unit 2>&1 && [ ! -s unit ] || fail "systemd finds fault: $(head -3 unit)"
}

# A trace that is cut in its midst is no night: what is left of it would be compared with whole ones.
mkdir -p cut.traces/gpt
gzip -dc traces/gpt/rank0.json.gz 2>message >whole.json || { emulate cut.traces/gpt --seed 5 && gzip -dc cut.traces/gpt/rank0.json.gz >whole.json; }
head -c "$(($(stat -c %s whole.json) / 2))" whole.json >cut.traces/gpt/rank0.json && rm -f cut.traces/gpt/rank0.json.gz
status=0
"$nightly" cut.traces cut.nights --night 2026-07-01 >said 2>&1 || status=$?
[ $status -eq 2 ] && grep -q '^nightly: gpt: no report of 2026-07-01: .*the trace is cut at byte' said || fail "a cut trace ends with $status: $(cat said)"
[ -e cut.nights/gpt/2026-07-01.failed ] && [ ! -e cut.nights/gpt/2026-07-01.json ] || fail "a cut trace leaves $(ls -A cut.nights/gpt | tr '\n' ' ')"

# --- Thirty nights ---

# One job slows from the 11th on (its matrix products take 8 % longer) and from the 22nd on (its transfers half as long again); in the 16th a rank is
# missing, in the 19th a file is cut, in the 25th one is damaged, and the 27th is not run. Another job stays as it is.
thirty() {
  local day options
  recording='--layers 2 --hidden 2048 --seq 2048 --dp 2 --steps 4 --quiet'
  rm -rf traces nights
  for day in {01..30}; do
    [ "$day" != 27 ] || continue
    options=()
    ((10#$day < 11)) || options+=(--scale gemm=1.08)
    ((10#$day < 22)) || options+=(--slow-link 0-1=1.5)
    rm -rf traces && mkdir traces
    emulate traces/train --seed "$((10#$day))" ${options[@]+"${options[@]}"}
    emulate traces/steady --seed "$((100 + 10#$day))"
    [ "$day" != 16 ] || rm traces/train/rank1.json.gz
    [ "$day" != 19 ] || truncate -s 3000 traces/train/rank1.json.gz
    [ "$day" != 25 ] || head -c 2000 /dev/urandom >traces/train/rank0.json.gz
    "$nightly" traces nights --night "2026-07-$day" --gate limits >said 2>&1
    echo "$day $?" >>ends
  done
  page
  check 'from the first planted change on every night is a regression, but for those whose file is cut' [ "$(awk '$1 >= 11 && $1 != 19 && $2 != 1' ends | wc -l)" -eq 0 ]
  check "at most one of the ten nights before it is: $(awk '$1 < 11 && $2 != 0' ends | wc -l)" [ "$(awk '$1 < 11 && $2 != 0' ends | wc -l)" -le 1 ]
  check 'the missing night is missing, and missing ranks are told' [ "$(jq '[.tables.nights2.rows[] | select(.[0] == "1 night missing" or .[7] == "1 of 2")] | length' rows)" -eq 3 ]
  grep -oE '<li .*(Step time rose|MFU fell|Exposed communication rose) .* on 2026-07-[0-9]+' page.html >found
  check 'the first change is found in its night' [ "$(grep -c 'Step time rose .* on 2026-07-11' found)" -eq 1 ]
  check 'the second change is found within a night' [ "$(grep -cE 'Step time rose .* on 2026-07-2[123]' found)" -eq 1 ]
  check "a job that stays as it is has no change: $(jq -r '.tables.jobs.rows[0][9]' rows)" [ "$(sed -n '/<h2 id="job-1">/,/<h2 id="job-2">/p' page.html | grep -c '<li class')" -eq 0 ]
}
rarely thirty
proved 'every night comes to what it should: reports, gates, messages, and one page of all'
finish

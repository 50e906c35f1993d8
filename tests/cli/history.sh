#!/usr/bin/env bash
# The history of many nights: every night stands on the page as what it is (good, broken, failed, missing, of which job), planted changes are found
# where they are, and a summary says what its report says.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip 'jq is not here (apt-get install jq)'

# night FILE STEP [FILTER]: a summary as far as a history reads it: step time in ns, and what else jq makes of it.
document='{"format":1,"summary":true,"recorded":"2026-01-02T03:04:05Z","ranks":2,"verdict":"A step.","edited":false,"world":2,
"diagnosis":{"findings":[{"cause":"compute","share":0.9},{"cause":"cpu_bound","share":0.04}],"confidence":{"grade":"fair"}},
"metrics":[{"name":"step_time","value":STEP,"unit":"ns","scope":{"step":1},"source":"measured"},
{"name":"exposed_communication","value":5000000,"unit":"ns","scope":{"step":1},"source":"measured"},
{"name":"mfu","value":0.25,"unit":"share","scope":{"step":1,"kind":"shapes"},"source":"measured"}]}'
night() {
  local text=${document/STEP/$2}
  [ -d "${1%/*}" ] || [[ $1 != */* ]] || mkdir -p "${1%/*}"
  if [ $# -gt 2 ]; then jq -c "$3" <<<"$text" >"$1"; else printf '%s\n' "${text//$'\n'/}" >"$1"; fi
}
index() { # FOLDER: its page and what is in it, in `page.html` and `rows`
  expect 0 lumos-render --index "$1" -o page.html
  valid_html page.html
  sed -i 's/\xc2\xa0/ /g' page.html
  summary page.html >rows
  clean rows
}
row() { jq -r --arg table "$1" --arg night "$2" '.tables[$table].rows[] | select(.[0] == $night) | map(. // "-") | join("|")' rows; }
holds() { jq -e "$1" rows >/dev/null || fail "not so: $1: $(jq -c . rows | head -c 500)"; }
says_page() { grep -qF -- "$1" page.html || fail "the page lacks '$1'"; }

# --- Nights as they are ---

# Ten nights of one job, 100 ms each with an odd one of 101; from the sixth on 120 ms. The eighth is cut, the ninth failed, and two are not there.
for day in 01 02 03 04 05; do night nights/train/2026-07-$day.json $((100000000 + 10#$day % 2 * 1000000)); done
for day in 06 07 10 11 14 15; do night nights/train/2026-07-$day.json $((120000000 + 10#$day % 2 * 1000000)); done
head -c 200 nights/train/2026-07-07.json >nights/train/2026-07-08.json
printf 'the disk was full\n' >nights/train/2026-07-09.failed
touch nights/train/2026-07-{06,07,08}.html
night nights/train/2026-07-11.json 120000000 '.world = 4 | .diagnosis.findings[0].cause = "slow_link"'
printf '{"format":1,"verdict":"regression","metrics":[{"metric":"step_time","scope":{},"worse":"higher","verdict":"regression","baseline":100400000,"change":20600000,"allowed":2008000}]}' >nights/train/2026-07-15.gate.json
# Another job, to a day; a file that is none of either; and a hidden one.
for day in 13 14 15; do night nights/eval/2026-07-$day.json 7000000; done
touch nights/notes.txt nights/train/.2026-07-16.json
index nights
[ "$(jq -c '.tables.jobs.rows | map(.[0])' rows)" = '["eval","train"]' ] || fail 'the jobs are not told apart'
[ "$(jq -c '.tables.nights2.rows | map(.[0])' rows)" = '["2026-07-15","2026-07-14","2 nights missing","2026-07-11","2026-07-10","2026-07-09","2026-07-08","2026-07-07","2026-07-06","2026-07-05","2026-07-04","2026-07-03","2026-07-02","2026-07-01"]' ] ||
  fail "the nights are $(jq -c '.tables.nights2.rows | map(.[0])' rows)"
[ "$(row nights2 2026-07-01)" = '2026-07-01|101000000|5000000|0.25|CPU-bound|0.04|fair|2|-' ] || fail "a good night is $(row nights2 2026-07-01)"
[[ $(row nights2 2026-07-08) == *'|broken report: byte '* ]] || fail "a broken night is $(row nights2 2026-07-08)"
[[ $(row nights2 2026-07-09) == *'|failed: the disk was full' ]] || fail "a failed night is $(row nights2 2026-07-09)"
[[ $(row nights2 2026-07-11) == *'|slow link|0.9|fair|2 of 4|-' ]] || fail "a night without two ranks is $(row nights2 2026-07-11)"
[[ $(row nights2 2026-07-15) == *'|regression: step time +20.5'* ]] || fail "a regression is $(row nights2 2026-07-15)"
says_page '<a href="train/2026-07-06.html">2026-07-06</a>'
says_page '<th scope="row" class="name">2026-07-05</th>'
says_page '2 jobs: 14 nights with a report, 1 with a broken one, 1 failed, 2 missing. 1 change found'
says_page '<h1>train is worse than its baseline: step time +20.5'
# Nights that were removed on purpose, up to one of these two, or both.
gaps() { echo "$1" >nights/train/forgotten && lumos-render --index nights -o gaps.html 2>message && summary gaps.html | sed 's/\xc2\xa0/ /g' | jq -c '[.tables.nights2.rows[][0] | select(test("missing"))]'; }
[ "$(gaps 2026-07-12)$(gaps 2026-07-13)" = '["1 night missing"][]' ] || fail "nights up to 12 or 13 were removed, and missing are $(gaps 2026-07-12)$(gaps 2026-07-13)"
rm nights/train/forgotten
# Five values, two of 100 and three of 101 ms, and six of which three are of 120 and three of 121: one shift, of its sixth night.
grep -q 'Step time rose from 101.*ms to 120.*ms on 2026-07-06' page.html || fail 'the planted change is not found'
grep -q 'Its first night is 2026-07-06 (95 %)' page.html || fail 'it is not said when the change was'

# Jobs in one folder by their titles; what could act is text.
rm -rf nights
for day in 1 2 3; do night nights/a$day.json 1000000 '.title = "<script>alert(1)</script>"' && night nights/b$day.json 1000000 '.title = "B"'; done
night nights/c.json 1000000 '.verdict = "</script><img src=x>" | .title = "B" | .diagnosis.confidence.grade = 7'
mv nights/a3.json 'nights/javascript:alert(1).json'
touch 'nights/javascript:alert(1).html'
index nights
[ "$(jq -c '.tables.jobs.rows | map(.[0])' rows)" = '["<script>alert(1)</script>","B"]' ] || fail 'jobs of one folder are not told apart by their titles'
! grep -q '<script>alert\|<img src' page.html || fail 'a text from a report acts'
says_page 'href="javascript%3Aalert%281%29.html"'

# What is no report is a broken night with a reason: of a later version, empty, of a time that nobody takes, no file, or a link to none. Names are text.
rm -rf nights
for day in 1 2; do night $'nights/a "b"\n<c>/2026-07-0'$day.json 1000000; done
cd nights/a* || exit 1
night 2026-07-03.json 1000000 '.format = 2'
: >2026-07-04.json
night 2026-07-05.json -5
mkdir 2026-07-06.json
mkfifo 2026-07-07.json
ln -s nowhere 2026-07-08.json
cd ../..
index nights
[ "$(jq -c '[.tables.nights1.rows[] | .[8] // "" | sub("(?<=is not a).*|;.*|, .*"; "")]' rows)" = '["broken report: is not a","broken report: is not a","broken report: is not a","broken report: step_time is below 0","broken report: is not a","broken report: is a report of format 2","",""]' ] ||
  fail "broken nights are told as $(jq -c '[.tables.nights1.rows[] | .[8]]' rows)"
says_page '<h1>a &quot;b&quot;'

# A night whose trace is cut is one without values, which keeps its link.
rm -rf nights
for day in 1 2 3 4 5 6; do night nights/a/2026-07-0$day.json 1000000; done
night nights/a/2026-07-07.json 500000 '.damage = "rank 1: the trace is cut at byte 30"'
: >nights/a/2026-07-07.html
index nights
[ "$(row nights1 2026-07-07)" = '2026-07-07|-|-|-|-|-|-|-|steps may lack work: rank 1: the trace is cut at byte 30' ] || fail "a night of a cut trace is $(row nights1 2026-07-07)"
says_page '<a href="a/2026-07-07.html">'
says_page '<h1>a has a trace in its last night that is cut or damaged'

# What is no date of a night leaves no other job missing.
rm -rf nights
for day in 1 2 3; do night nights/a/2026-07-0$day.json 1000000 && night nights/b/2026-07-0$day.json 1000000; done
night nights/b/9999-12-31.json 1000000 '.recorded = null'
index nights
! grep -q 'nights\? missing' page.html || fail 'a night of the year 9999 makes others missing'

# A job that stopped is missing.
rm -rf nights
for day in 01 02 03 04 05 06 07; do night nights/on/2026-07-$day.json 1000000; done
for day in 01 02 03 04; do night nights/off/2026-07-$day.json 1000000; done
for day in 01 08 15 29; do night nights/weekly/2026-06-$day.json 1000000; done
index nights
[ "$(jq -r '.tables.nights1.rows[0][0]' rows)" = '3 nights missing' ] || fail 'a job that stopped is not missing'
[ "$(jq -r '.tables.jobs.rows[0][9]' rows)" = missing ] || fail 'the overview does not say that a job stopped'
[ "$(jq -c '.tables.nights3.rows | map(.[0])' rows)" = '["1 night missing","2026-06-29","1 night missing","2026-06-15","2026-06-08","2026-06-01"]' ] || fail "a weekly job is $(jq -c '.tables.nights3.rows | map(.[0])' rows)"

# --- A thousand nights ---

rm -rf nights
mkdir -p nights/{1..10}
night one.json 12345678
awk 'BEGIN { srand(7) } {
  for (job = 1; job <= 10; job++) for (i = 0; i < 100; i++) {
    line = $0
    sub(/12345678/, int(10000000 + 200000 * rand() + (i >= 50) * 1000000), line)
    sub(/0.25/, sprintf("0.%d", 2000 + i * 7 % 97), line)
    file = sprintf("nights/%d/2026-%02d-%02d.json", job, i / 28 + 1, i % 28 + 1)
    print line >file
    close(file)
  }
}' one.json
index nights
[ "$(stat -c %s page.html)" -lt 1000000 ] || fail "a thousand nights take $(stat -c %s page.html) bytes"
holds '[.tables | to_entries[] | select(.key != "jobs") | .value.rows[] | select(.[1] != null)] | length == 1000'
found=$(grep -c '<li .*Step time rose from .* on 2026-02-23' page.html)
[ "$found" -eq 10 ] || fail "of ten planted changes $found are found"

# However many jobs they are of: less is shown then, as the page says, and bad news is not what is left out.
thousand() { # JOBS NIGHTS
  rm -rf nights
  mkdir -p $(seq -f 'nights/job-of-a-longer-name-%g' "$1")
  awk -v jobs="$1" -v nights="$2" '{ for (job = 1; job <= jobs; job++) for (i = 1; i <= nights; i++) {
    line = $0
    sub(/12345678/, 10000000 + job * 1000 + i, line)
    file = sprintf("nights/job-of-a-longer-name-%d/2026-07-%02d", job, i)
    print line >(file ".json")
    printf "" >(file ".html")
    close(file ".json")
    close(file ".html")
  } }' one.json
  printf '{"format":1,"verdict":"regression","metrics":[{"metric":"step_time","scope":{},"worse":"higher","verdict":"regression","baseline":100400000,"change":20600000,"allowed":2008000}]}' \
    >"nights/job-of-a-longer-name-$1/2026-07-0$2.gate.json"
  index nights
  [ "$(stat -c %s page.html)" -lt 1000000 ] || fail "$1 jobs of $2 nights take $(stat -c %s page.html) bytes"
  holds "(.tables.jobs.rows | length) == $1" # each has its row, and the regression all of its detail
  grep -q "<a href=\"#job-[0-9]*\">job-of-a-longer-name-$1</a>" page.html || fail "of $1 jobs the regression is left out"
  [ "$(grep -c '<div class="trends">' page.html)" -eq "$3" ] || fail "of $1 jobs $(grep -c '<div class="trends">' page.html) have pictures"
  says_page "$4 have pictures, so that the page stays under 1 MB. Those with a regression"
}
thousand 125 8 50 'Of 125 jobs 50'
thousand 1000 1 20 'Of 1,000 jobs 200 have a curve, 50 have their nights below, 20'

# --- What is refused ---

mkdir empty
expect 2 lumos-render --index empty -o page.html
says empty 'no night' --summary
expect 2 lumos-render --index missing -o page.html
says missing
expect 2 lumos-render --index nights -o page.json
says .html
expect 2 lumos-render --index nights --verdict -o page.html
says --verdict
expect 2 lumos-render --index nights --gate limits -o page.html
says --gate
expect 2 lumos-render --index nights one.json -o page.html
# The page of a night is not overwritten, whatever its place is called: beside its summary, or beside why it failed; nor by a link that leads to it.
for night in a/2026-07-01.json a/2026-07-02.failed 2026-07-03.json; do
  mkdir -p reports/a && : >"reports/$night" && echo report >"reports/${night%.*}.html"
  expect 2 lumos-render --index reports -o "reports/../reports/${night%.*}.html"
  says 'this would overwrite what --index links to, reports/'"${night%.*}.html"
  [ "$(<"reports/${night%.*}.html")" = report ] || fail "the report of $night is overwritten"
done
ln -s 2026-07-01.html reports/a/latest.html
expect 2 lumos-render --index reports -o reports/a/latest.html
expect 0 lumos-render --index reports -o reports/a/index.html # no night's

# --- Summaries ---

mkdir -p real/job
expect 0 lumos-report "${example[@]}" --summary real/job/2026-07-01.json --title 'A job'
# All pages have one head, which a template may replace.
mkdir own
echo '<!DOCTYPE html><title>{{title}} of {{version}}</title>' >own/head.html
expect 0 lumos-render --index real -t own --title '<X>' -o own/index.html
expect 0 lumos-render "${example[@]}" -t own --title '<X>' -o own/jobs.html
expect 0 lumos-report "${example[@]}" -t own --title '<X>' -o own/job.html
for file in own/*s.html own/index.html own/job.html; do
  [[ $(head -n 1 "$file") == '<!DOCTYPE html><title>&lt;X&gt; of '[0-9]*'</title>' ]] || fail "$file begins with $(head -c 100 "$file")"
done
expect 0 lumos-report "${example[@]}" -o full.json
sed -i 's/"title":"A job",//' real/job/2026-07-01.json
jq -e --slurpfile full full.json '. as $brief | [.metrics[]] - $full[0].metrics == [] and (.metrics | length > 100) and
  ([keys[] | select(IN("verdict", "diagnosis", "edited", "world", "damage", "step_time", "loss", "trust"))] | length == 8 and all($brief[.] == $full[0][.]))' real/job/2026-07-01.json >/dev/null ||
  fail 'a summary says something else than its report'
[ "$(stat -c %s real/job/2026-07-01.json)" -lt 100000 ] || fail 'a summary is large'
jq -e '.recorded | test("^20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]Z$")' real/job/2026-07-01.json >/dev/null || fail 'a summary does not say when it was recorded'
jq -e 'has("damage") and .damage == null' real/job/2026-07-01.json >/dev/null || fail 'a whole trace has damage'
gzip -dc "${example[0]}" | head -c 1500000 >cut.json
expect 0 lumos-report cut.json --summary cut.summary
[ "$(jq -r .damage cut.summary)" = 'rank 0: the trace is cut at byte 1500000' ] || fail "a cut trace has the damage $(jq .damage cut.summary)"
! lumos-report "${example[@]}" --summary - 2>/dev/null | grep -q '"tables"' || fail 'a summary has tables'
keep_to_schema() {
  python3 -c 'import jsonschema' 2>/dev/null || return 0
  lumos-render --schema >schema.json
  python3 -c 'import json, sys
from jsonschema import Draft202012Validator
validator = Draft202012Validator(json.load(open("schema.json")))
brief, full = (json.load(open(name)) for name in sys.argv[1:])
good = validator.is_valid(brief) and validator.is_valid(full)
for name in ("recorded", "ranks", "loss", "metrics"):
    good = good and not validator.is_valid({key: value for key, value in brief.items() if key != name})
good = good and not validator.is_valid({**brief, "notes": []}) and not validator.is_valid({**full, "summary": True})
sys.exit(not good)' real/job/2026-07-01.json full.json || fail 'summaries do not keep to the schema'
}
rarely keep_to_schema

# As a baseline a folder is its reports, but for broken ones and the gate's own; of a report and of its summary a gate finds the same.
printf '{"format":1,"metrics":[{"metric":"step_time","relative":0.02},{"metric":"kind_time","relative":0.1,"scope":{"kind":"gemm"}},{"metric":"mfu","absolute":0.01,"scope":{"kind":"model"}}]}' >limits
expect 0 lumos-report "${example[0]}" -o other.json
for form in full.json real/job/2026-07-01.json; do
  lumos-render --gate limits --baseline other.json $form -o of_$(basename $form) 2>message
  [ $? -le 1 ] || fail "no gate of $form: $(<message)"
  expect 2 lumos-render --gate limits --baseline full.json $form # known as one recording in both forms
done
same of_full.json of_2026-07-01.json 'a gate finds something else in a summary than in its report'
mkdir base
for i in 1 2 3; do night base/$i.json $((100000000 + i * 1000000)); done
night now.json 130000000
expect 1 lumos-render --gate limits --baseline base/1.json --baseline base/2.json --baseline base/3.json now.json -o several.json
head -c 150 base/1.json >base/broken.json
cp several.json base/1.gate.json
expect 1 lumos-render --gate limits --baseline base now.json -o folder.json
same several.json folder.json 'a folder is another baseline than its reports'
jq -e '.metrics[0].baselines == 3' folder.json >/dev/null || fail 'a folder is not as many baselines as it has reports'
proved 'every night is shown as what it is, planted changes are found, a thousand nights stay under a megabyte, and summaries say what reports say'
finish

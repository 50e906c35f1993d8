#!/usr/bin/env bash
# Every format of a report is what its ending says, says what the page says, and is the same twice. What another program can judge,
# it judges: file, tidy, pdfinfo, pdftotext, jq, cmark-gfm.
. "$(dirname "$0")/lib.sh"
for program in file tidy pdfinfo pdftotext cmark-gfm; do
  command -v $program >/dev/null || skip "$program is not here (see examples/install.sh)"
done

lumos-parse "${example[@]}" | lumos-sim >sim || fail 'the example cannot be simulated'
verdict=$(lumos-render --verdict sim)
title='Ours & <theirs>'

for format in html svg png pdf md json csv; do
  expect 0 lumos-render sim -o "report.$format"
  expect 0 lumos-render sim --format $format >again
  same "report.$format" again "$format is not the same twice, or not the same without -o"
  [ ! -s message ] || fail "$format: $(head -c 300 message)"
done

# plain FILE: its text in one line, spaces plain.
plain() { sed 's/\xc2\xa0/ /g' "$1" | tr -s ' \n' ' '; }
# has FILE TEXT
has() { [[ $(plain "$1") == *"$2"* ]] || fail "$1 does not say '$2'"; }

# --- Pictures ---
lumos-sim --opportunities off "$source_folder/examples/pairs/h100/memory" >memory.sim || fail 'a recording with memory events cannot be simulated'
for view in breakdown opportunities gantt busy memory pipeline layers graph; do
  [ $view = memory ] && job=memory.sim ranks='1 rank' || job=sim ranks='2 ranks'
  for format in svg png pdf; do
    expect 0 lumos-render $job --view $view --title "$title" -o $view.$format
  done
  tidy -xml -quiet -errors $view.svg >tidy.out 2>&1 || fail "$view.svg: $(head -3 tidy.out)"
  [ ! -s tidy.out ] || fail "$view.svg: $(head -3 tidy.out)"
  ! grep -qE 'var\(|<script|href|https?://[^w]' $view.svg || fail "$view.svg asks for something"
  sed 's/<title>[^<]*<\/title>//g; s/<[^>]*>/ /g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' $view.svg >svg.text
  pdftotext -layout $view.pdf pdf.text
  has svg.text "$title"
  has pdf.text "$title"
  has pdf.text "$ranks"
  has pdf.text "Lumos $(lumos-render --version | sed 's/.* //; q')"
  # The picture is twice as wide and high in a PNG as in SVG, and three quarters in points; SVG alone rounds up to whole pixels.
  read -r width height < <(sed -nE 's/.*viewBox="0 0 ([0-9.]+) ([0-9.]+)".*/\1 \2/p' $view.svg)
  read -r wide high < <(file $view.png | sed -nE 's/.*PNG image data, ([0-9]+) x ([0-9]+), 8-bit.*/\1 \2/p')
  read -r across down < <(pdfinfo $view.pdf | sed -nE 's/^Page size: +([0-9.]+) x ([0-9.]+) pts.*/\1 \2/p')
  awk -v w="$width" -v h="$height" -v W="$wide" -v H="$high" -v a="$across" -v d="$down" \
    'BEGIN { exit !(W == w * 2 && H <= h * 2 && H > h * 2 - 2 && a == w * .75 && d <= h * .75 && d > h * .75 - .75) }' ||
    fail "$view is $width x $height in SVG, $wide x $high in PNG, $across x $down points in PDF"
  pdfinfo $view.pdf | grep -qE '^Pages: +1$' || fail "$view.pdf has not one page"
  # Every number on a bar, every lane and every step.
  sed 's/<text/\n<text/g' $view.svg | sed -nE 's/^<text[^>]*>([^<]*)<.*/\1/p' |
    sed 's/\xc2\xa0/ /g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' >labels
  [ "$(wc -l <labels)" -gt 20 ] || fail "$view.svg has $(wc -l <labels) labels"
  flat=$(plain pdf.text)
  while read -r label; do
    [[ $flat == *"$label"* ]] || fail "$view.pdf lacks '$label'"
  done <labels
done
! cmp -s breakdown.svg gantt.svg || fail 'the views are the same'
cmp -s report.svg breakdown.svg && fail 'the title changes nothing'
# Passes and layers are there where they were recovered, opportunities where some are.
more=$(jq '[.tables.pipeline, .tables.layers, .tables.opportunities | select(.rows != [])] | length' report.json)
pdfinfo report.pdf | grep -qE "^Pages: +$((4 + more))\$" || fail 'the PDF has not all pictures'
! pdfinfo report.pdf | grep -qi date || fail 'the PDF has a date'
pdfinfo report.pdf >about
sentence=$(head -1 report.md | sed 's/^## //; s/\xc2\xa0/ /g') # of a picture: the first one
has about "$sentence"
pdftotext report.pdf pdf.text
has pdf.text "$sentence"
head -c 400000 /dev/zero | tr '\0' 'x' >long
expect 0 lumos-render sim --title "$(head -c 100000 long)" -o long.png

# A job without GPU work has no breakdown: the Gantt chart stands in for it where no view was named.
zcat "${example[0]}" | jq -c '.traceEvents |= map(select(.cat | IN("kernel", "gpu_memcpy", "gpu_memset") | not))' >host.json
lumos-parse host.json 2>message | lumos-sim >host.sim || fail 'the host alone cannot be simulated'
expect 2 lumos-render host.sim --view breakdown -o none.png
says 'no GPU work' '--view gantt'
expect 0 lumos-render host.sim -o host.svg
expect 0 lumos-render host.sim --view gantt -o host.gantt.svg
same host.svg host.gantt.svg 'the default of a job without GPU work is not the Gantt chart'
expect 0 lumos-render host.sim -o host.pdf
pdfinfo host.pdf | grep -qE '^Pages: +2$' || fail 'the PDF of a job without GPU work has not two pages'

# --- Text ---
has report.md "## $verdict"
expect 0 lumos-render sim --title "$title" -o titled.md
has titled.md '## Ours &amp; &lt;theirs&gt;'
has titled.md "$verdict"
expect 0 lumos-render sim --full -o full.md
has full.md "## $verdict"
cmark-gfm --unsafe -e table -e autolink -e strikethrough full.md >full.md.html
more=$((more + $(jq '.tables.model.rows != [] | if . then 1 else 0 end' report.json)))
# The metrics that are laid out as tables, where there are any; of idle streams the page alone has one.
laid='["pathkinds","pathops","pathmodules","pathlayers","pathranks","pathcrossings","idle","idleops","groups","waits","stragglers","bubbles","modules","phases","mfu","rates","occupancy","kinds","annotations","calls","copies","memory"]'
laid_out=$(jq --argjson laid "$laid" '[.tables[$laid[]] | select(.rows != [])] | length' report.json)
[ "$laid_out" -ge 6 ] || fail "only $laid_out tables of metrics"
more=$((more + laid_out))
[ "$(grep -c '<table>' full.md.html)" -eq $((12 + more)) ] || fail "$(grep -c '<table>' full.md.html) tables in Markdown, not $((12 + more))"
[ "$(wc -m <full.md)" -lt 65536 ] || fail 'too long for a comment on GitHub'
jq -r '.tables.kernels.rows[:25][][0]' report.json >names
for term in 'on the critical path, by kind' 'idle, CPU-bound'; do has full.md "**$term"; done # of the tables that are shown
! grep -q '^- \*\*self-replay error' full.md || fail 'Markdown has definitions of what it does not show'
[ "$(wc -l <names)" -ge 20 ] || fail 'no kernels to look for'
sed -n '/<h3>Kernels/,/<h3>Ops/p' full.md.html | sed -nE 's/^<td align="left">(.*)<\/td>$/\1/p' |
  sed 's/&lt;/</g; s/&gt;/>/g; s/&quot;/"/g; s/&amp;/\&/g; s/…$//' >shown
declare -A is_shown=()
while read -r name; do is_shown[$name]=yes is_shown[${name:0:80}]=yes; done <shown
while read -r name; do
  [ -n "${is_shown[$name]-${is_shown[${name:0:80}]-}}" ] || fail "Markdown lacks the kernel $name"
done <names

jq -e . report.json >/dev/null || fail 'report.json is no JSON'
summary report.html | jq -S . >left && jq -S 'del(.metrics, .definitions)' report.json >right && same left right 'report.json is not what the page embeds'
[ "$(jq -r '.verdict | gsub("\u00a0"; " ")' report.json)" = "$verdict" ] || fail 'report.json has another verdict'
jq -e '(.loss.share - .loss.time / .step_time.measured | fabs) < 0.000002' report.json >time || fail 'the loss is a share of another time than the step'

# --- CSV: a row for each metric (document.sh compares them all, here those of a rank or a step); no cell is a formula ---
[ "$(head -1 report.csv)" = name,value,unit,of,source,rank,step,lane,kind,group,layer,task,low,high,stage,peer,op,module,scope_name,phase ] || fail 'the header of report.csv'
jq -r 'select(.type == "metric" and (.scope | has("stage") or has("peer") or has("op") or has("module") or has("name") or has("phase") | not)) | [.name, .value, .unit, .of // "", .source, .scope.rank // "", .scope.step // "", .scope.lane // "",
  .scope.kind // "", .scope.group // "", .scope.layer // "", .scope.task // "", .low // "", .high // ""] | map(tostring) | join(",") + ",,,,,,"' sim |
  sed 's/,-\?[0-9.]*e-[0-9]*,/,SMALL,/' >wanted
tail -n +2 report.csv | grep ',,,,,,$' | sed 's/,-\?0\.0000[0-9]*,/,SMALL,/' >rows
[ "$(wc -l <rows)" -gt 50 ] || fail 'there are few rows in report.csv'
same wanted rows 'report.csv is not the metrics of the stream'
jq -c 'if .type == "metric" and .name == "idle" then .name = "=HYPERLINK(\"http://e\",\"x\")" elif .type == "metric" and .name == "gpu_busy" then .unit = "-n,s"
  elif .type == "metric" and .name == "overlapped" then .value = -5 else . end' sim >evil.sim
expect 0 lumos-render evil.sim -o evil.csv
grep -qxF "\"'=HYPERLINK(\"\"http://e\"\",\"\"x\"\")\",$(jq -r 'select(.type == "metric" and .name == "idle") | .value' sim | head -1),ns,step_time,measured,0,5,,,,,,,,,,,,," evil.csv ||
  fail "a formula in CSV: $(grep -m1 HYPER evil.csv)"
grep -q "^gpu_busy,[0-9]*,\"'-n,s\"," evil.csv || fail "a unit in CSV: $(grep -m1 '^gpu_busy' evil.csv)"
grep -q '^overlapped,-5,ns,' evil.csv || fail 'a negative number is no formula'

# --- CSV of a view: the table of its picture, as JSON has it ---
for view in breakdown opportunities gantt busy pipeline layers graph; do
  expect 0 lumos-render sim --view $view -o view.csv
  table=$view
  [ $view = gantt ] && table=lanes
  [ $view = graph ] && table=dependencies
  jq -r ".tables.$table | .columns, .rows[] | @csv" report.json | tr -d '"' | sed 's/,-\?[0-9.]*e-[0-9]*/,SMALL/g' >wanted
  tr -d '"' <view.csv | sed 's/,-\?0\.0000[0-9]*/,SMALL/g' >rows
  [ "$(wc -l <rows)" -gt 2 ] && same wanted rows "the CSV of $view has other numbers than JSON"
done

# --- What cannot be done, and is said before any work ---
expect 2 lumos-render no-such-file -o none.docx
says none.docx .svg .csv --format
expect 2 lumos-render no-such-file --view breakdown -o none.html
says --view html .svg
expect 2 lumos-render no-such-file --view breakdown -o none.json
says --view json .csv
expect 2 lumos-render no-such-file --view breakdown,gantt -o none.png
says --view breakdown,gantt gantt
expect 2 lumos-render no-such-file --format png -o none.pdf
says none.pdf png --format
expect 2 lumos-render no-such-file --detail 5ms-6ms -o none.png
says --detail png
for span in 5ms 5-6 6ms-5ms 5ms-5ms 5ms-6 5ms- -5ms-6ms 5ms-6ms- 1.5ns-2ns; do
  expect 2 lumos-render no-such-file --detail "$span" -o none.html
  says --detail 10ms-25ms
done
for number in -1 x 1.5 '' 99999999999; do
  expect 2 lumos-render no-such-file --step "$number" -o none.html
  says --step
done
for number in 0 501 x; do
  expect 2 lumos-render no-such-file --graph-nodes "$number" -o none.html
  says --graph-nodes 500
done
expect 2 lumos-render sim --step 4 -o none.html
says 'no step 4' '5 to 7'
expect 0 lumos-render sim --view graph --step 6 --graph-nodes 20 -o six.svg
grep -q 'Step 6 takes' six.svg || fail '--step 6 shows another step'
[ "$(grep -o '<text' six.svg | wc -l)" -lt "$(grep -o '<text' graph.svg | wc -l)" ] || fail '--graph-nodes 20 shows no fewer'
expect 0 lumos-render sim --format md -o notes.txt
same report.md notes.txt '--format does not name the format of a file'
if command -v script >/dev/null && script -qec true /dev/null </dev/null >/dev/null 2>&1; then
  for format in html svg png pdf; do
    script -qec "lumos-render sim --format $format" /dev/null </dev/null >typed 2>&1
    grep -q terminal typed || fail "$format goes to a terminal"
  done
  script -qec 'lumos-render sim --format csv' /dev/null </dev/null >typed 2>&1
  grep -q '^step_time,' typed || fail 'CSV does not go to a terminal'
fi
for format in md json csv svg; do clean "report.$format"; done
clean full.md
[ -z "$(ls none* 2>/dev/null)" ] || fail "a failed run left $(ls none*)"
proved 'seven formats and eight pictures say what the page says, by the word of file, tidy, pdfinfo, pdftotext, jq and cmark-gfm'
finish

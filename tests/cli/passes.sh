#!/usr/bin/env bash
# Passes and layers on the page, of jobs of the emulated cluster whose tasks are given the phase, micro-batch and layer that they truly have:
# the schedule by its name, every stage's passes in their order, bubbles as large as they were, GPU time by layer to the nanosecond;
# in every form of the report, and nowhere without passes.
. "$(dirname "$0")/lib.sh"

# Without what the stream says of phases, micro-batches, layers and places.
strip() {
  awk '/^{"type":"task"/ { sub(/,"phase":"[a-z]*"/, ""); sub(/,"part":"[a-z]*"/, ""); sub(/,"micro_batch":[0-9]+/, ""); sub(/,"layer":[0-9]+/, "") }
    /^{"type":"rank"/ { gsub(/,"parallel":\{[^}]*\}/, "") }
    /^{"type":"model"/ { next }
    { print }' "$@"
}

# With what is true instead. Ranks are in the order tensor, data, pipeline.
tell() {
  local sizes
  sizes=$(told_of emulated | jq -r '.configuration.parallel | "\(.tensor) \(.data)"')
  true_tasks emulated | awk '{
    print $1, $2, ",\"phase\":\"" $3 "\"" ($4 >= 0 ? ",\"micro_batch\":" $4 : "") ($5 >= 0 ? ",\"layer\":" $5 : "") ($6 != "other" ? ",\"part\":\"" $6 "\"" : "")
  }' >true
  awk -v sizes="$sizes" -v micro_batches="$(true_tasks emulated | awk '$4 > most { most = $4 } END { print most + 1 }')" '
    BEGIN { split(sizes, size, " ") }
    FILENAME == "correlations" { id[$1 " " $2] = $4; next }
    FILENAME == "true" { if (($1 " " $2) in id) told[id[$1 " " $2]] = $3; next }
    /^{"type":"task"/ && !modelled++ { print "{\"type\":\"model\",\"micro_batches\":" micro_batches "}" }
    /^{"type":"task"/ { own = substr($0, 22, 24); sub(/".*/, "", own); if (own in told) $0 = substr($0, 1, length($0) - 1) told[own] "}" }
    /^{"type":"rank"/ { match($0, /"rank":[0-9]+/); rank = substr($0, RSTART + 7, RLENGTH - 7)
      sub(/}$/, ",\"parallel\":{\"tp\":" rank % size[1] ",\"pp\":" int(rank / size[1] / size[2]) ",\"dp\":" int(rank / size[1]) % size[2] "}}") }
    { print }' correlations true bare.graph
}

# job NAME OPTION...: NAME.sim, and emulated/ of it.
job() {
  local name=$1
  shift
  rm -rf emulated && mkdir emulated
  emulated-cluster --quiet --plain --record collectives --steps 2 "$@" emulated || fail "$name: the emulated cluster fails"
  lumos-graph emulated/rank*.json 2>message | strip >bare.graph || fail "$name: $(head -c 300 message)"
  device_rows emulated >rows
  correlate bare.graph >correlations || fail "$name: tasks and rows of the trace differ"
  tell >told.graph
  lumos-sim --opportunities off --edited told.graph -o "$name.sim" 2>message || fail "$name: $(head -c 300 message)"
  lumos-render "$name.sim" -o "$name.json"
}

# orders: the passes of the first rank of every stage in the step that the page shows, as they were launched; chunks as letters.
orders() {
  true_tasks emulated | awk -v sizes="$(told_of emulated | jq -r '"\(.configuration.parallel | .tensor * .data) \(.configuration | .model.layers / .parallel.pipeline / .parallel.chunks) \(
    .configuration.parallel | "\(.pipeline) \(.chunks)")"')" '
    BEGIN { split(sizes, size, " "); letter["forward"] = "F"; letter["backward"] = "B"; letter["weight"] = "W" }
    $1 % size[1] == 0 && $3 in letter && $5 >= 0 {
      pass = letter[$3] $4 (size[4] > 1 ? substr("ab", int($5 / size[2] / size[3]) + 1, 1) : "")
      if ($1 != rank || line == "") { if (line != "") print line; line = ""; rank = $1; split("", seen) }
      if (!(pass in seen)) { seen[pass] = 1; line = line (line == "" ? "" : " ") pass }
    }
    END { print line }'
}

# holds NAME SCHEDULE: what the page says of the passes is what happened.
holds() {
  local name=$1 schedule=$2 stages
  stages=$(told_of emulated | jq '.configuration.parallel.pipeline')
  jq -r '.tables.pipeline.finding' "$name.json" | sed 's/\xc2\xa0/ /g' >finding
  grep -q "^$schedule over $stages stages, 8 micro-batches: \(the bubble takes\|no pass runs for\) " finding || fail "$name: the page says '$(cat finding)'"
  jq -r '.tables.pipeline | (.columns | index("order")) as $order | .rows[][$order]' "$name.json" >seen
  orders >wanted
  [ -s wanted ] && same wanted seen "$name: the passes are in another order"
  # While no pass runs nothing of the stage does: it waits for another stage, something is on its way from there, or the host is late. The replay
  # has an error of its own.
  jq -r '.tables.pipeline | (.columns | index("empty_share")) as $bubble | .rows[][$bubble]' "$name.json" >bubbles
  told_of emulated | jq -r '(.configuration.parallel | .tensor * .data) as $wide | .step_columns as $columns
    | [.steps[].profiled.ranks | map([$columns, .] | transpose | map({key: .[0], value: .[1]}) | from_entries | select(.rank % $wide == 0))]
    | transpose[] | (map(.end - .start) | add) as $step
    | "\((map(.bubble) | add) / $step) \((map(.bubble + .transfer + .copy + .idle) | add) / $step)"' | paste -d' ' - bubbles |
    awk -v name="$name" '$3 < $1 - 0.02 || $3 > $2 + 0.02 { print name ": a bubble of " $1 " to " $2 " is shown as " $3; bad = 1 } END { exit bad || NR < 2 }' ||
    fail "$name: bubbles are not those that there were"
}

# scheduled NAME SCHEDULE OPTION...
jobs=0
scheduled() { jobs=$((jobs + 1)) && job "$1" --layers 8 --hidden 2048 --micro-batches 8 "${@:3}" && holds "$1" "$2"; }
scheduled gpipe GPipe --pp 2 --schedule gpipe
rarely scheduled interleaved 'Interleaved 1F1B' --pp 4 --schedule interleaved --vp 2
rarely scheduled zero-bubble 'Zero bubble (ZB-H1)' --pp 2 --schedule zb-h1
scheduled three-ways 1F1B --tp 2 --pp 2 --dp 2

# --- Layers: their rows in the trace, added up ---
device_rows emulated >durations
true_tasks emulated | awk '$5 >= 0 { print $1, $2, $5 }' |
  awk 'FILENAME == "durations" { duration[$1 " " $4] = $5; next }
    { sum[$3] += duration[$1 " " $2]; if (!(($3, $1) in seen)) { seen[$3, $1] = 1; ranks[$3]++ } }
    END { for (layer = 0; layer in sum; layer++) printf "layer %d,%d,%d\n", layer, ranks[layer], sum[layer] / ranks[layer] / 2 }' durations - >wanted
expect 0 lumos-render three-ways.sim --view layers -o layers.csv
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
  /^layer/ { print $1 "," $2 "," $column["total"] }' layers.csv >seen
[ "$(wc -l <wanted)" -eq 8 ] || fail 'there are not eight layers'
same wanted seen 'GPU time by layer is not what the traces add up to'

# --- Every form ---
plain() { sed 's/\xc2\xa0/ /g' "$1" | tr -s ' \n' ' '; }
expect 0 lumos-render gpipe.sim -o page.html
valid_html page.html
expect 0 lumos-render gpipe.sim --full -o page.md
for view in pipeline layers; do
  finding=$(jq -r ".tables.$view.finding" gpipe.json | sed 's/\xc2\xa0/ /g')
  for format in svg png pdf csv; do
    expect 0 lumos-render gpipe.sim --view $view -o $view.$format
    expect 0 lumos-render gpipe.sim --view $view --format $format >again
    same $view.$format again "$view.$format is not the same twice"
  done
  grep -q "<h2 id=\"$view\">" page.html || fail "the page has no section $view"
  plain page.html | grep -qF "$finding" || fail "the page does not say '$finding'"
  plain page.md | grep -qF "$finding" || fail "Markdown does not say '$finding'"
  plain $view.svg | sed 's/<title>[^<]*<\/title>//g; s/<[^>]*>/ /g' | tr -s ' ' >words
  grep -qF "${finding%%;*}" words || fail "$view.svg does not say '$finding'"
  [ "$(head -c 4 $view.pdf)" = %PDF ] || fail "$view.pdf is no PDF"
  # The numbers of CSV are those of JSON.
  jq -r ".tables.$view | .columns, .rows[] | @csv" gpipe.json | tr -d '"' | sed 's/,-\?[0-9.]*e-[0-9]*/,SMALL/g' >wanted
  tr -d '"' <$view.csv | sed 's/,-\?0\.0000[0-9]*/,SMALL/g' >seen
  same wanted seen "$view.csv has other numbers than JSON"
done
[ "$(grep -o '<text[^>]*backward-ink[^>]*>[0-7]<' pipeline.svg | wc -l)" -eq 16 ] || fail 'not every backward pass has its number'

# --- Nothing where nothing was recovered ---
strip gpipe.sim >bare.sim
expect 0 lumos-render --edited bare.sim -o bare.html
! grep -qE '<h2 id="(pipeline|layers)">' bare.html || fail 'a page of a job without passes has a section of them'
for view in pipeline layers; do
  expect 2 lumos-render --edited bare.sim --view $view -o none.svg
  says 'nothing to show' recovered
  expect 2 lumos-render --edited bare.sim --view $view -o none.csv
  says 'nothing to show' recovered
  [ ! -e none.svg ] && [ ! -e none.csv ] || fail "a picture of nothing: $view"
done
proved 'schedules, orders of passes, bubbles and GPU time by layer of $jobs jobs, as they truly were, in every form of the report'
finish

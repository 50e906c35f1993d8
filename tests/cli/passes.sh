#!/usr/bin/env bash
# Passes and layers on the page, of jobs of the emulated cluster whose tasks are given the phase, micro-batch and layer that they truly have:
# the schedule by its name, every stage's passes in their order, bubbles as large as they were, GPU time by layer to the nanosecond;
# in every form of the report, and nowhere without passes.
. "$(dirname "$0")/lib.sh"

# Without what the stream says of phases, micro-batches, layers and places.
strip() {
  awk '/^{"type":"task"/ { gsub(/,"(phase|part)":"[a-z]*"/, ""); gsub(/,"(micro_batch|layer)":[0-9]+/, "") }
    /^{"type":"rank"/ { gsub(/,"parallel":\{[^}]*\}/, "") }
    /^{"type":"model"/ { next }
    { print }' "$@"
}

# With what is true instead. Ranks are in the order tensor, data, pipeline.
tell() {
  local sizes
  sizes=$(jq -r '.configuration.parallel | "\(.tensor) \(.data)"' emulated/truth.json)
  jq -r '.phases as $phases | .parts as $parts | .recorded[] | .rank as $rank | .tasks.rows[]
    | "\($rank) \(.[0]) ,\"phase\":\"\($phases[.[1]])\"\(if .[2] >= 0 then ",\"micro_batch\":\(.[2])" else "" end)\(
        if .[3] >= 0 then ",\"layer\":\(.[3])" else "" end)\(if $parts[.[4]] != "other" then ",\"part\":\"\($parts[.[4]])\"" else "" end)"' \
    emulated/truth.json >true
  awk -v sizes="$sizes" '
    BEGIN { split(sizes, size, " ") }
    FILENAME == "correlations" { id[$1 " " $2] = $3; next }
    FILENAME == "true" { if (($1 " " $2) in id) told[id[$1 " " $2]] = $3; next }
    /^{"type":"task"/ { split($0, field, "\""); if (field[8] in told) sub(/}$/, told[field[8]] "}") }
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
  lumos-parse emulated/rank*.json 2>message | lumos-graph 2>>message | strip >bare.graph || fail "$name: $(head -c 300 message)"
  correlate bare.graph >correlations || fail "$name: tasks and rows of the trace differ"
  tell >told.graph
  lumos-sim --edited told.graph -o "$name.sim" 2>message || fail "$name: $(head -c 300 message)"
  lumos-render "$name.sim" -o "$name.json"
}

# orders: the passes of the first rank of every stage in the step that the page shows, as they were launched; chunks as letters.
orders() {
  jq -r '.configuration as $job | .phases as $phases
    | ($job.parallel | .tensor * .data) as $wide | ($job.model.layers / $job.parallel.pipeline / $job.parallel.chunks) as $deep
    | .recorded[] | select(.rank % $wide == 0)
    | .rank as $rank | [.tasks.rows[] | select(.[1] <= 2 and .[3] >= 0)
        | "\({"forward": "F", "backward": "B", "weight": "W"}[$phases[.[1]]])\(.[2])\(
            if $job.parallel.chunks > 1 then ["a", "b"][.[3] / $deep / $job.parallel.pipeline | floor] else "" end)"]
    | reduce .[] as $pass ([]; if any(.[]; . == $pass) then . else . + [$pass] end) | join(" ")' emulated/truth.json
}

# holds NAME SCHEDULE: what the page says of the passes is what happened.
holds() {
  local name=$1 schedule=$2 stages
  stages=$(jq '.configuration.parallel.pipeline' emulated/truth.json)
  jq -r '.tables.pipeline.finding' "$name.json" | sed 's/\xc2\xa0/ /g' >finding
  grep -q "^$schedule over $stages stages, 8 micro-batches: bubbles take" finding || fail "$name: the page says '$(cat finding)'"
  jq -r '.tables.pipeline | (.columns | index("order")) as $order | .rows[][$order]' "$name.json" >seen
  orders >wanted
  [ -s wanted ] && same wanted seen "$name: the passes are in another order"
  # In a bubble nothing of the stage runs: it waits for another stage, something is on its way from there, or the host is late. The replay
  # has an error of its own.
  jq -r '.tables.pipeline | (.columns | index("bubble_share")) as $bubble | .rows[][$bubble]' "$name.json" >bubbles
  jq -r '(.configuration.parallel | .tensor * .data) as $wide | .step_columns as $columns
    | [.steps[].profiled.ranks | map([$columns, .] | transpose | map({key: .[0], value: .[1]}) | from_entries | select(.rank % $wide == 0))]
    | transpose[] | (map(.end - .start) | add) as $step
    | "\((map(.bubble) | add) / $step) \((map(.bubble + .transfer + .copy + .idle) | add) / $step)"' emulated/truth.json | paste -d' ' - bubbles |
    awk -v name="$name" '$3 < $1 - 0.02 || $3 > $2 + 0.02 { print name ": a bubble of " $1 " to " $2 " is shown as " $3; bad = 1 } END { exit bad || NR < 2 }' ||
    fail "$name: bubbles are not those that there were"
}

model=(--layers 8 --hidden 2048 --micro-batches 8)
job gpipe "${model[@]}" --pp 2 --schedule gpipe && holds gpipe GPipe
job interleaved "${model[@]}" --pp 4 --schedule interleaved --vp 2 && holds interleaved 'Interleaved 1F1B'
job zero-bubble "${model[@]}" --pp 2 --schedule zb-h1 && holds zero-bubble 'Zero bubble (ZB-H1)'
job three-ways "${model[@]}" --tp 2 --pp 2 --dp 2 && holds three-ways 1F1B

# --- Layers: their rows in the trace, added up ---
for file in emulated/rank*.json; do
  jq -r --arg rank "${file//[^0-9]/}" '.traceEvents[] | select(.cat == "kernel" or .cat == "gpu_memcpy" or .cat == "gpu_memset")
    | "\($rank) \(.args.correlation) \(.dur * 1000 | round)"' "$file"
done >durations
jq -r '.recorded[] | .rank as $rank | .tasks.rows[] | select(.[3] >= 0) | "\($rank) \(.[0]) \(.[3])"' emulated/truth.json |
  awk 'FILENAME == "durations" { duration[$1 " " $2] = $3; next }
    { sum[$3] += duration[$1 " " $2]; if (!(($3, $1) in seen)) { seen[$3, $1] = 1; ranks[$3]++ } }
    END { for (layer = 0; layer in sum; layer++) printf "layer %d,%d,%d\n", layer, ranks[layer], sum[layer] / ranks[layer] / 2 }' durations - >wanted
expect 0 lumos-render three-ways.sim --view layers -o layers.csv
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
  /^layer/ { print $1 "," $2 "," $column["total"] }' layers.csv >seen
[ "$(wc -l <wanted)" -eq 8 ] || fail 'there are not eight layers'
same wanted seen 'GPU time by layer is not what the traces add up to'

# --- Every form ---
plain() { sed 's/\xc2\xa0/ /g' "$1" | tr -s ' \n' ' '; }
expect 0 lumos-render three-ways.sim -o page.html
valid_html page.html
expect 0 lumos-render three-ways.sim -o page.md
for view in pipeline layers; do
  finding=$(jq -r ".tables.$view.finding" three-ways.json | sed 's/\xc2\xa0/ /g')
  for format in svg png pdf csv; do
    expect 0 lumos-render three-ways.sim --view $view -o $view.$format
    expect 0 lumos-render three-ways.sim --view $view --format $format >again
    same $view.$format again "$view.$format is not the same twice"
  done
  grep -q "<h2 id=\"$view\">" page.html || fail "the page has no section $view"
  plain page.html | grep -qF "$finding" || fail "the page does not say '$finding'"
  plain page.md | grep -qF "$finding" || fail "Markdown does not say '$finding'"
  plain $view.svg | sed 's/<title>[^<]*<\/title>//g; s/<[^>]*>/ /g' | tr -s ' ' >words
  grep -qF "${finding%%;*}" words || fail "$view.svg does not say '$finding'"
  [ "$(head -c 4 $view.pdf)" = %PDF ] || fail "$view.pdf is no PDF"
  # The numbers of CSV are those of JSON.
  jq -r ".tables.$view | .columns, .rows[] | @csv" three-ways.json | tr -d '"' >wanted
  tr -d '"' <$view.csv >seen
  same wanted seen "$view.csv has other numbers than JSON"
done
[ "$(grep -o '<text[^>]*backward-ink[^>]*>[0-7]<' pipeline.svg | wc -l)" -eq 16 ] || fail 'not every backward pass has its number'

# --- Nothing where nothing was recovered ---
strip three-ways.sim >bare.sim
expect 0 lumos-render --edited bare.sim -o bare.html
! grep -qE '<h2 id="(pipeline|layers)">' bare.html || fail 'a page of a job without passes has a section of them'
for view in pipeline layers; do
  expect 2 lumos-render --edited bare.sim --view $view -o none.svg
  says 'nothing to show' recovered
  expect 2 lumos-render --edited bare.sim --view $view -o none.csv
  says 'nothing to show' recovered
  [ ! -e none.svg ] && [ ! -e none.csv ] || fail "a picture of nothing: $view"
done
finish

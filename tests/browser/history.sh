#!/usr/bin/env bash
# The page of a history in a real browser: it asks for nothing, complains of nothing, axe-core finds nothing, nothing is wider than a telephone, its
# links lead to jobs and nights, its tables sort by the numbers of the page, and every region that scrolls is reached with the keyboard.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip 'jq is not here (apt-get install jq)'

# Two jobs of twelve nights, one slower from the seventh on, one with a broken and a missing night.
mkdir -p nights/{one,two}
expect 0 lumos-report "${example[@]}" --summary night.json
for job in one two; do
  for day in {1..12}; do
    name=nights/$job/$(printf '2026-07-%02d' "$day")
    jq -c --argjson factor "$(awk -v day="$day" -v job=$job 'BEGIN { print 1 + day * 7 % 5 / 1000 + (job == "one" && day > 6) / 10 }')" \
      '.metrics |= map(if .name | IN("step_time", "exposed_communication") then .value = (.value * $factor | round) else . end)' night.json >"$name.json"
    : >"$name.html"
    printf '{"format":1,"verdict":"%s","metrics":[{"metric":"step_time","scope":{},"worse":"higher","verdict":"%s","baseline":%s,"change":1,"allowed":500000}]}' \
      "$([ "$job$day" = one12 ] && echo regression || echo neutral)"{,} "$(jq '[.metrics[] | select(.name == "step_time" and .source == "measured") | .value] | max' night.json)" >"$name.gate.json"
  done
done
rm nights/two/2026-07-05.*
echo broken >nights/two/2026-07-08.json
# A third one whose name is one long word, and so is why its last night failed.
word=$(printf 'z%.0s' {1..200})
cp -r nights/two "nights/$word"
echo "$word" >"nights/$word/2026-07-13.failed"
lumos-render --index nights -o nights/index.html 2>message || fail "no page: $(head -c 300 message)"
export LUMOS_ALL=${LUMOS_ALL:-no} # in every light and width
[ $LUMOS_ALL = yes ] || echo 'SKIPPED in part: three lights and widths (LUMOS_ALL=yes, as tests/run.sh --all does)'
node "$folder/history.js" || fail 'the page of a history does not hold in a browser'
proved 'the page of a history stands in Chromium, by mouse and keyboard, on a screen, a telephone and paper'
finish

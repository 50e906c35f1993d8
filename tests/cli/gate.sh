#!/usr/bin/env bash
# A job against thresholds: verdicts, noise and exit status are those worked out on paper, in every form; thresholds that are wrong are refused with
# the reason, and reports that are none.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip 'jq is not here (apt-get install jq)'

# report NAME METRIC VALUE...: a report with the metric in steps 1, 2 and so on, as far as a gate reads it.
report() {
  local value step=0 separator=''
  {
    printf '{"format":1,"verdict":"","edited":false,"metrics":['
    for value in "${@:3}"; do
      printf '%s{"name":"%s","value":%s,"unit":"ns","scope":{"step":%d},"source":"measured"}' "$separator" "$2" "$value" $((++step))
      separator=,
    done
    printf ']}\n'
  } >"$1"
}
# gate STATUS VERDICT LIMIT REPORT BASELINE...: of one threshold; the document is in `gate.json`.
gate() {
  local baselines=() file
  for file in "${@:5}"; do baselines+=(--baseline "$file"); done
  printf '{"format": 1, "metrics": [%s]}' "$3" >limits
  expect "$1" lumos-render --gate limits "${baselines[@]}" "$4" -o gate.json
  local text
  text=$(<gate.json)
  [[ ${text#*'"metrics":['} =~ ^[[:space:]]*\{[^{}]*(\{[^{}]*\}[^{}]*)*'"verdict":"'([a-z]*)\" && ${BASH_REMATCH[2]} = "$2" ]] || fail "$4 against ${*:5} with $3 is no $2: $text"
  verdicts=$((verdicts + 1))
}
holds() { jq -e ".metrics[0] | $1" gate.json >/dev/null || fail "not so: $1: $(cat gate.json)"; }
verdicts=0

# --- One baseline ---

# The first of three steps is left out. Means of 101 and 111 ms, variances of 2 each: Student's t at 95 % with 2 degrees of freedom is 4.302653, and
# 4.302653 * sqrt(2 * (1/2 + 1/2)) = 6.084870 ms.
report base.json step_time 500000000 100000000 102000000
report worse.json step_time 500000000 110000000 112000000
report hidden.json step_time 500000000 104000000 106000000
report alike.json step_time 900000000 101000000 103000000
report better.json step_time 500000000 90000000 92000000
two='{"metric": "step_time", "relative": 0.02}'
gate 1 regression "$two" worse.json base.json
grep -q '^lumos-render: regression: step_time +9.90' message || fail "the message does not name the regression: $(cat message)"
holds '.baseline == 101000000 and .now == 111000000 and .change == 10000000 and .allowed == 2020000 and (.noise - 6084870 | fabs) < 10 and .steps == 2'
gate 0 inconclusive "$two" hidden.json base.json # 4 ms are more than allowed and less than noise
holds '.reason == "within noise" and .change == 4000000'
gate 0 inconclusive "$two" alike.json base.json # 1 ms is allowed, but noise might hide more
gate 0 neutral '{"metric": "step_time", "relative": 0.1}' alike.json base.json
gate 0 improvement "$two" better.json base.json
gate 1 regression '{"metric": "step_time", "absolute": "9.99ms"}' worse.json base.json
holds '.allowed == 9990000'
gate 0 neutral '{"metric": "step_time", "absolute": 10000000}' worse.json base.json # 10 ms are no more than that
# What the user knows of noise counts where it is more: 15 % of 101 ms is more than the change.
gate 0 inconclusive '{"metric": "step_time", "relative": 0.02, "noise": 0.15}' worse.json base.json
holds '.noise == 15150000'
gate 1 regression '{"metric": "step_time", "relative": 0.02, "noise": 0.01}' worse.json base.json
# Less may be worse, by nature or by wish.
report full.json mfu 0.9 0.3 0.302
report empty.json mfu 0.1 0.25 0.252
gate 1 regression '{"metric": "mfu", "absolute": 0.01}' empty.json full.json
gate 0 improvement '{"metric": "mfu", "absolute": 0.01}' full.json empty.json
gate 0 improvement '{"metric": "step_time", "relative": 0.02, "worse": "lower"}' worse.json base.json
# One step alone says nothing of noise.
report one.json step_time 100000000
report other.json step_time 150000000
gate 0 inconclusive "$two" other.json one.json
holds '.noise == null and (.reason | startswith("noise unknown"))'
gate 1 regression '{"metric": "step_time", "relative": 0.02, "noise": 0}' other.json one.json
# The range of a prediction: half of it is 10 ms. Of a changed job the simulated values count, and of two steps the second.
predicted() { jq -n --argjson value "$2" '{format: 1, edited: true, metrics: [
  {name: "step_time", value: 7, unit: "ns", scope: {step: 1}, source: "measured"}, {name: "step_time", value: 9, unit: "ns", scope: {step: 1}, source: "simulated"},
  {name: "step_time", value: $value, unit: "ns", scope: {step: 2}, source: "simulated", low: ($value - 10000000), high: ($value + 8000000)}]}' | jq -c . >"$1"; }
predicted range.json 110000000
gate 0 inconclusive "$two" range.json one.json
holds '.noise == 10000000 and .change == 10000000'
predicted range.json 110000001
gate 1 regression "$two" range.json one.json
gate 0 inconclusive '{"metric": "step_time", "relative": 0.02, "source": "measured"}' other.json range.json # 7 ns of one step
gate 0 inconclusive '{"metric": "idle", "relative": 0.02}' worse.json base.json
holds '.reason == "the tested report has no such value" and .change == null'
# A metric of a kind, and no other's: its scope is given whole.
jq -c '.metrics |= map(.name = "kind_time" | .scope.kind = "gemm") + map(.name = "kind_time" | .scope.kind = "norm" | .value *= 9)' base.json >kinds.json
jq -c '.metrics |= map(.name = "kind_time" | .scope.kind = "gemm") + map(.name = "kind_time" | .scope.kind = "norm" | .value *= 9)' worse.json >worse_kinds.json
gate 1 regression '{"metric": "kind_time", "relative": 0.02, "scope": {"kind": "gemm"}}' worse_kinds.json kinds.json
holds '.baseline == 101000000'
gate 0 inconclusive '{"metric": "kind_time", "relative": 0.02}' worse_kinds.json kinds.json

gate 0 inconclusive '{"metric": "kind_time", "relative": 0.02, "scope": {"kind": "gemm", "layer": 1}}' worse_kinds.json kinds.json

# --- A history ---

# Means of 100 to 104 ms: 102 on average, with a variance of 2.5. Of one more Student's t with 4 degrees of freedom, 2.776445, gives
# 2.776445 * sqrt(2.5 * (1 + 1/5)) = 4.808944 ms.
for night in 0 1 2 3 4; do report night$night.json step_time $((100000000 + night * 1000000)); done
report 108.json step_time 108000000
report 106.json step_time 106000000
gate 1 regression "$two" 108.json night{0,1,2,3,4}.json
holds '.baseline == 102000000 and .change == 6000000 and (.noise - 4808944 | fabs) < 10 and .baselines == 5'
gate 0 inconclusive "$two" 106.json night{0,1,2,3,4}.json

# A folder that has the tested night in it, however it is printed, and copies of others is no other baseline: a recording counts once.
mkdir nights
cp night{0,1,2,3,4}.json nights
jq . 108.json >nights/night5.json
for night in 0 1 2; do jq . night3.json >nights/copy$night.json; done
printf '{"format": 1, "metrics": [%s]}' "$two" >limits
expect 1 lumos-render --gate limits --baseline nights 108.json -o gate.json
holds '.baseline == 102000000 and .change == 6000000 and (.noise - 4808944 | fabs) < 10 and .baselines == 5'
jq -e '.reports == 5 and .left_out == {itself: 1, copies: 3, damaged: 0}' gate.json >/dev/null || fail "left out are $(jq -c .left_out gate.json)"
expect 1 lumos-render --gate limits --baseline nights nights/night5.json -o gate.md
grep -q '^Lumos gate: 1 regression, against 5 reports (left out: the tested recording itself, 3 copies of others)$' gate.md || fail "the first line is $(head -n 1 gate.md)"
expect 2 lumos-render --gate limits --baseline 108.json nights/night5.json
says 'the tested recording itself'

# --- Jobs, and all forms ---

mkdir one two
cp "${example[0]}" one
cp "${example[1]}" two
lumos-render one -o one.json 2>message && lumos-sim one -o one.sim 2>message && lumos-render two -o two.json 2>message || fail 'no report of the example'
printf '{"format": 1, "metrics": [%s, {"metric": "mfu", "absolute": 0.01, "scope": {"kind": "shapes"}}, {"metric": "idle", "relative": 100, "noise": 0}]}' "$two" >limits
printf '{"format": 1, "metrics": [%s, {"metric": "mfu", "absolute": 1, "scope": {"kind": "shapes"}}, {"metric": "idle", "relative": 100, "noise": 0}]}' "${two/0.02/2}" >wide
expect 0 lumos-render --gate wide --baseline two.json one.sim -o same.json
expect 0 lumos-render --gate wide --baseline two one.json -o again.json
same same.json again.json 'a report in JSON, a stream and traces of one job are not the same'
jq -e 'all(.metrics[]; .change != null) and .metrics[0].now > 1e6 and .metrics[1].now > 0' same.json >/dev/null || fail "two jobs are not compared: $(cat same.json)"
for same in one one.sim one.json; do
  expect 2 lumos-render --gate limits --baseline one.json $same
  says 'the tested recording itself'
done
expect 1 lumos-render --gate limits --baseline base.json worse.json --junit gate.xml
expect 1 lumos-render --gate limits --baseline base.json worse.json -o table.md
expect 1 lumos-render --gate limits --baseline base.json worse.json -o other.xml
same gate.xml other.xml '--junit and -o .xml differ'
tr -d '\302\240' <table.md >table
grep -qF '| step_time | **regression** | 101ms | 111ms | +9.90% | +2.00% |' table || fail "the table is $(cat table.md)"
grep -q '^Lumos gate: 1 regression, 2 inconclusive, against 1 report$' table.md || fail 'the first line does not count the verdicts'
if command -v python3 >/dev/null; then
  [ "$(python3 -c 'import sys, xml.etree.ElementTree as tree
root = tree.parse("gate.xml").getroot()
print(root.get("failures"), len(root.findall(".//testcase")), len(root.findall(".//failure")), len(root.findall(".//skipped")))')" = '1 3 1 2' ] || fail 'the JUnit file counts otherwise'
fi

# --- What goes wrong ---

refused() { # TEXT LIMITS
  printf '%s' "$2" >limits
  expect 2 lumos-render --gate limits --baseline base.json worse.json -o refused.md
  says limits "$1"
  [ ! -e refused.md ] || fail 'a refused gate leaves a file'
}
refused 'is not a list of thresholds' '[]'
refused 'is not a list of thresholds' '{"format": 1,'
refused '"format" is not 1' '{"format": 2, "metrics": []}'
refused '"metrics" is not a list' '{"format": 1, "metrics": []}'
refused 'no member "limits"' '{"format": 1, "metrics": [{"metric": "idle", "relative": 1}], "limits": 1}'
refused 'threshold 2: threshold 1 is of the same metric, idle' '{"format": 1, "metrics": [{"metric": "idle", "relative": 1}, {"metric": "idle", "absolute": 1}]}'
refused 'threshold 2: threshold 1 is of the same metric, kind_time' '{"format": 1, "metrics": [{"metric": "kind_time", "relative": 1, "scope": {"kind": "gemm", "layer": 1}}, {"metric": "kind_time", "relative": 2, "scope": {"layer": 1, "kind": "gemm"}}]}'
refused 'the member "relative" stands here twice' '{"format": 1, "metrics": [{"metric": "idle", "relative": 1, "relative": 2}]}'
printf '{"format": 1, "metrics": [{"metric": "kind_time", "relative": 1, "scope": {"kind": "gemm"}}, {"metric": "kind_time", "relative": 1, "scope": {"kind": "norm"}}]}' >limits
expect 0 lumos-render --gate limits --baseline kinds.json worse_kinds.json # of other scopes
refused "threshold 2: there is no metric 'step_tim'; was 'step_time' meant?" '{"format": 1, "metrics": [{"metric": "idle", "relative": 1}, {"metric": "step_tim", "relative": 1}]}'
for threshold in '{"metric": "idle"}' '{"metric": "idle", "relative": 1, "absolute": 1}' '{"metric": "idle", "relative": -1}' '{"metric": "idle", "relative": 1e999}' \
  '{"metric": "idle", "relative": "1ms"}' '{"metric": "mfu", "absolute": "1ms"}' '{"metric": "idle", "absolute": "-1ms"}' '{"metric": "idle", "relative": 1, "noise": "x"}' \
  '{"metric": "idle", "relative": 1, "worse": "up"}' '{"metric": "idle", "relative": 1, "source": 1}' '{"metric": "idle", "relative": 1, "scope": "kind"}' \
  '{"metric": "idle", "relative": 1, "scope": {"step": 1}}' '{"metric": "idle", "relative": 1, "scope": {"kind": "\u0007"}}' '{"metric": "idle", "relative": 1, "wrose": "lower"}' '7' '{"metric": 7}'; do
  refused 'threshold 1: ' "{\"format\": 1, \"metrics\": [$threshold]}"
done
# The schema of thresholds holds of what is read, and of nothing that is refused for its form.
expect 0 lumos-render --thresholds-schema -o schema.json
jq -e '."$id" == "urn:lumos:thresholds:1" and (.properties.metrics.items.properties.metric.enum | index("step_time") and index("mfu"))' schema.json >/dev/null || fail 'the schema of thresholds does not name its version and metrics'
# What is in `thresholds`, one a line: the tool and the schema take the same of them.
schema_and_tool() {
  local threshold
  while IFS= read -r threshold; do
    printf '{"format":1,"metrics":[%s]}\n' "$threshold" >limits
    lumos-render --gate limits --baseline base.json worse.json -o none.json 2>message
    [ $? -eq 2 ] && echo false || echo true
  done <thresholds >by_tool
  python3 -c 'import json
from jsonschema import Draft202012Validator
valid = Draft202012Validator(json.load(open("schema.json"))).is_valid
for line in open("thresholds"):
    print("true" if valid({"format": 1, "metrics": [json.loads(line)]}) else "false")' >by_schema
  cmp -s by_tool by_schema || fail "the schema of thresholds and the tool differ (threshold, tool, schema): $(paste -d' ' thresholds by_tool by_schema | grep -v 'true true$\|false false$')"
  grep -q true by_tool && grep -q false by_tool || fail 'all thresholds are alike'
}
keep_to_schema() {
  python3 -c 'import jsonschema' 2>/dev/null || return 0
  {
    for metric in mfu step_time gpu_busy memory_peak; do
      for limit in 'relative 1' 'relative "1ms"' 'absolute "1ms"' 'absolute 0' 'absolute 1e18' 'absolute 1e19' 'relative 2e18' 'absolute 1.5' 'absolute null' 'absolute true'; do
        for noise in '' 1 '"1ms"' '"x"' -1; do
          printf '{"metric":"%s","%s":%s%s}\n' $metric "${limit% *}" "${limit#* }" "${noise:+,\"noise\":$noise}"
        done
      done
    done
    for duration in 1.5ms 1ns 1.5ns 1.234us 1.2345us 1.5µs 1.123456ms 1.1234567ms 1s 1.123456789s 1.1234567890s 999999999s 1000000000s 9999999999s 12345678901234567890s 0000000000000000000001s \
      999999999999999999ns 1000000000000000000ns 9223372036854775807ns 9223372036854775808ns -1ms +1ms '1 ms' 1. .5ms 1.ms 1e3ms 1m 1 ms '' '1ms '; do
      printf '{"metric":"step_time","absolute":"%s"}\n' "$duration"
    done
    for scope in '{}' '{"kind":"gemm"}' '{"layer":1}' '{"layer":1.0}' '{"layer":1.5}' '{"layer":2147483646}' '{"layer":2147483647}' '{"layer":-2147483646}' '{"layer":-3e9}' '{"kind":"\u0007"}' '{"kind":"\u007f"}' \
      '{"kind":""}' '{"a\u0001":"x"}' '{"step":1}' '{"kind":null}' '{"kind":[1]}' '[]' "{$(printf '"m%s":1,' {1..11})\"m12\":1}" "{$(printf '"m%s":1,' {1..12})\"m13\":1}"; do
      printf '{"metric":"step_time","relative":1,"scope":%s}\n' "$scope"
    done
  } >thresholds
  schema_and_tool
  python3 -c 'import json
from jsonschema import Draft202012Validator
valid = Draft202012Validator(json.load(open("schema.json"))).is_valid
of = lambda **members: {"format": 1, "metrics": [{"metric": "step_time", **members}]}
good = [of(relative=0.02), of(absolute="1.5ms"), of(absolute=1000, noise=5, worse="lower", source="measured", scope={"kind": "gemm", "layer": 1})]
bad = [{"format": 2, **of(relative=1)} | {"format": 2}, {"format": 1, "metrics": []}, of(), of(relative=1, absolute=1), of(relative=-1), of(relative=1, wrose="lower"),
  of(relative=1, worse="up"), of(relative=1, scope={"step": 1}), of(relative=1, scope="kind"), of(relative=1) | {"limits": 1}, of(relative=1, metric="step_tim")]
assert all(map(valid, good)) and not any(map(valid, bad))' || fail 'the schema of thresholds holds of something else'
}
rarely keep_to_schema
printf '{"format": 1, "metrics": [%s]}' "$two" >limits
# Of a trace that is cut nothing is decided, better or worse; as a baseline it is left out. All forms say so, and escape what a report says.
for report in better worse base; do jq -c '.damage = "rank 1: the trace is <cut>|\u0007 at byte 30"' $report.json >cut_$report.json; done
gate 0 inconclusive "$two" cut_better.json base.json
gate 0 inconclusive "$two" cut_worse.json base.json
holds '.reason == "a trace is cut or damaged, so steps may lack work" and .change == 10000000'
jq -e '(.damage | startswith("rank 1: the trace is <cut>|")) and .left_out.damaged == 0' gate.json >/dev/null || fail "a cut trace is told as $(head -c 200 gate.json)"
expect 0 lumos-render --gate limits --baseline base.json cut_worse.json --junit cut.xml -o cut.md
clean cut.md
grep -qF '. Steps may lack work: rank 1: the trace is &lt;cut&gt;\|?' cut.md || fail "Markdown says of a cut trace: $(head -n 1 cut.md)"
grep -q '<skipped message=".*; a trace is cut or damaged' cut.xml || fail 'JUnit does not skip a cut trace'
gate 1 regression "$two" worse.json base.json cut_better.json
jq -e '.reports == 1 and .left_out.damaged == 1 and .damage == null' gate.json >/dev/null || fail "a cut baseline counts: $(head -c 200 gate.json)"
expect 1 lumos-render --gate limits --baseline base.json --baseline cut_better.json worse.json -o cut.md
grep -qF '(left out: 1 with a trace that is cut or damaged)' cut.md || fail "Markdown says of a cut baseline: $(head -n 1 cut.md)"
expect 2 lumos-render --gate limits --baseline cut_base.json worse.json
says 'a trace of the baseline is cut or damaged' 'a whole recording'
expect 2 lumos-render --gate limits worse.json
says --baseline
expect 2 lumos-render --baseline base.json worse.json
says --gate
expect 2 lumos-render --gate limits --baseline base.json worse.json -o gate.html
says .md .xml .json
expect 2 lumos-render --gate missing --baseline base.json worse.json
says missing
for broken in '{"format":1}' '{"format":1,"metrics":[{"name":"step_time","value":"x"}]}' '{"format":1,"metrics":[7]}' '{"format":1,"metrics":[{"name":"idle","value":1,"scope":{' '{"format":' '{"format":2,"metrics":[]}'; do
  printf '%s' "$broken" >broken.json
  expect 2 lumos-render --gate limits --baseline broken.json worse.json
  says broken.json
done
proved "$verdicts verdicts are those worked out on paper, and what is wrong is refused with its reason"
finish

#!/usr/bin/env bash
# Reports as data: JSON against the schema that lumos-render prints, with a validator that others wrote; CSV against JSON.
. "$(dirname "$0")/lib.sh"

lumos-render --schema >schema.json || fail 'lumos-render --schema fails'
jq -e . schema.json >/dev/null || fail 'the schema is no JSON'
expect 0 lumos-render --schema -o named.json
same schema.json named.json 'the schema in a file is another one'
expect 2 lumos-render --schema stream
python3 -c 'import jsonschema' 2>/dev/null || skip 'no python3-jsonschema to validate with'

cat >validate.py <<'PYTHON'
import json, sys
from jsonschema import Draft202012Validator

schema = json.load(open("schema.json"))
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema)
for name in sys.argv[1:]:
    for error in list(validator.iter_errors(json.load(open(name))))[:3]:
        print(f"{name}: {'/'.join(str(step) for step in error.absolute_path)}: {error.message[:200]}")
PYTHON
good() { python3 validate.py "$1" >errors 2>&1 && [ ! -s errors ] || fail "$2: $(head -c 500 errors)"; }
bad() { jq -c "$1" one.json >bad.json && python3 validate.py bad.json >errors && [ -s errors ] || fail "valid all the same: $1"; }

cat >compare.py <<'PYTHON'
import csv, json

scope = "rank step lane kind group layer task".split()
rest = [("stage", "stage"), ("peer", "peer"), ("op", "op"), ("module", "module"), ("name", "scope_name"), ("phase", "phase")]
metrics = json.load(open("one.json"))["metrics"]
rows = list(csv.DictReader(open("one.csv", newline="")))
plain = lambda text: text[1:] if text.startswith("'") else text  # what looks like a formula is quoted in CSV
assert len(rows) == len(metrics), f"{len(rows)} rows, {len(metrics)} metrics"
for number, (row, metric) in enumerate(zip(rows, metrics)):
    for key in ("name", "unit", "of", "source"):
        assert plain(row[key]) == plain(metric.get(key, "")), (number, key)
    for key in ("value", "low", "high"):
        assert (row[key] == "") == (key not in metric) and float(row[key] or 0) == metric.get(key, 0), (number, key)
    for key, column in [(key, key) for key in scope] + rest:
        assert plain(row[column]) == plain(str(metric["scope"].get(key, ""))), (number, column)
PYTHON

check_job() { # NAME TRACE-OR-STREAM...
  local name=$1
  shift
  lumos-report "$@" -o one.json 2>message || { fail "$name: $(head -c 300 message)"; return; }
  good one.json "$name"
  lumos-report "$@" -o one.csv 2>message || fail "$name: $(head -c 300 message)"
  [ "$(head -1 one.csv)" = name,value,unit,of,source,rank,step,lane,kind,group,layer,task,low,high,stage,peer,op,module,scope_name,phase ] ||
    fail "$name: the columns of the CSV"
  python3 compare.py 2>errors || fail "$name: CSV and JSON differ: $(tail -1 errors)"
  [ "$(jq '.metrics | length' one.json)" -gt 0 ] || fail "$name has no metrics"
}

check_job 'the example' "${example[@]}"
summary=$(jq -S 'del(.metrics, .definitions)' one.json)
lumos-report "${example[@]}" -o page.html 2>/dev/null
embedded=$(sed -n '/<script type="application\/json" id="lumos-summary">/,/<\/script>/p' page.html | sed '1d; s/<\/script>.*//' | jq -S .)
[ "$summary" = "$embedded" ] || fail 'the document begins with other numbers than the page has'
[ "$(grep -c '^<dd>.* Unit: [^ ]' page.html)" -eq "$(jq '.definitions | length' one.json)" ] ||
  fail 'a metric in the glossary of the page has no unit'
[ "$(jq -c '([.metrics[].name] | unique) - [.definitions[].name]' one.json)" = '[]' ] || fail 'a metric has no definition'
# --- It can fail. ---
bad '.more = 1'
bad 'del(.trust)'
bad '.metrics[0].name = "no_metric"'
bad '.metrics[0].scope.where = 1'
bad '.metrics[0].value = "1"'
bad '.tables.more = .tables.kernels'
bad '.rank_steps[0].no_metric = 1'
bad '.step_time.measured = 1.5'

lumos-parse "${example[@]}" 2>/dev/null | lumos-sim --opportunities off --hta -o hta.sim 2>/dev/null
check_job 'the example with the figures of HTA' hta.sim
[ "$(jq -c '([.metrics[].name] | unique) - [.definitions[].name]' one.json)" = '[]' ] || fail 'a figure of HTA has no definition'

check_job 'the example after a change' "${example[@]}" --scale kind=gemm=0.5
check_job 'the example without opportunities' "${example[@]}" --opportunities off
mkdir emulated
emulated-cluster --quiet --steps 2 --layers 4 --hidden 768 --tp 2 --pp 2 --dp 2 --micro-batches 2 --record all emulated || fail 'the emulated cluster fails'
check_job 'an emulated job' emulated
if have_traces; then
  each_job check_job
fi
finish

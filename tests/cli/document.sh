#!/usr/bin/env bash
# Reports as data: JSON against the schema that lumos-render prints, with a validator that others wrote; CSV against JSON.
. "$(dirname "$0")/lib.sh"

lumos-render --schema >schema.json || fail 'lumos-render --schema fails'
jq -e . schema.json >/dev/null || fail 'the schema is no JSON'
expect 0 lumos-render --schema -o named.json
same schema.json named.json 'the schema in a file is another one'
expect 2 lumos-render --schema stream
need_python
"$python" -c 'import jsonschema' 2>/dev/null || skip 'no python3-jsonschema to validate with'

# One program looks at all documents: every DOCUMENT.json and the DOCUMENT.csv beside it; and that each bad.*.json is refused.
cat >validate.py <<'PYTHON'
import csv, glob, json
from jsonschema import Draft202012Validator

schema = json.load(open("schema.json"))
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema)


def shape(value, key=""):
    """What a schema can see of a value: its keys, types and words, the sign of its numbers."""
    if isinstance(value, dict):
        return tuple((name, shape(value[name], name)) for name in sorted(value))
    if isinstance(value, list):
        return tuple(shape(one) for one in value)
    if isinstance(value, str):
        return value if key in ("name", "unit", "of", "source", "timeline", "level", "code") else (str, value == "")
    return (type(value), isinstance(value, (int, float)) and (value > 0) - (value < 0))


def thin(value):
    """One of each shape, of the thousands of metrics and rows that a list may hold."""
    if isinstance(value, dict):
        return {key: thin(one) for key, one in value.items()}
    if isinstance(value, list) and value and all(isinstance(one, (dict, list)) for one in value):
        return list({shape(one): thin(one) for one in reversed(value)}.values())
    return value


def errors_of(document):
    return [f"{'/'.join(str(step) for step in error.absolute_path)}: {error.message[:200]}" for error in validator.iter_errors(thin(document))]


scope = "rank step lane kind group layer task".split()
rest = [("stage", "stage"), ("peer", "peer"), ("op", "op"), ("module", "module"), ("name", "scope_name"), ("phase", "phase")]
header = "name,value,unit,of,source,rank,step,lane,kind,group,layer,task,low,high,stage,peer,op,module,scope_name,phase".split(",")
plain = lambda text: text[1:] if text.startswith("'") else text  # what looks like a formula is quoted in CSV


def compare(document, name):
    rows = csv.DictReader(open(name, newline=""))
    assert rows.fieldnames == header, "the columns of the CSV"
    rows, metrics = list(rows), document["metrics"]
    assert metrics, "there are no metrics"
    assert len(rows) == len(metrics), f"{len(rows)} rows in CSV, {len(metrics)} metrics"
    defined = {definition["name"] for definition in document["definitions"]}
    for number, (row, metric) in enumerate(zip(rows, metrics)):
        assert metric["name"] in defined, f"{metric['name']} has no definition"
        for key in ("name", "unit", "of", "source"):
            assert plain(row[key]) == plain(metric.get(key, "")), (number, key)
        for key in ("value", "low", "high"):
            assert (row[key] == "") == (key not in metric) and float(row[key] or 0) == metric.get(key, 0), (number, key)
        for key, column in [(key, key) for key in scope] + rest:
            assert plain(row[column]) == plain(str(metric["scope"].get(key, ""))), (number, column)
    return len(rows)


documents = rows = 0
for name in sorted(glob.glob("document.*.json")):
    title = open(name.replace(".json", ".title")).read()
    document = json.load(open(name))
    for error in errors_of(document)[:3]:
        print(f"FAIL: {title}: {error}")
    try:
        rows += compare(document, name.replace(".json", ".csv"))
        documents += 1
    except AssertionError as wrong:
        print(f"FAIL: {title}: CSV and JSON differ: {wrong}")
for name in glob.glob("bad.*.json"):
    if not errors_of(json.load(open(name))):
        print(f"FAIL: valid all the same: {open(name.replace('.json', '.title')).read()}")
print(f"{documents} documents keep to the schema, and their CSV has the same {rows} metrics")
PYTHON

number=100
# check_job NAME TRACE-OR-STREAM...: one.json, to be judged with the others.
check_job() {
  number=$((number + 1))
  printf '%s' "$1" >document.$number.title
  local make=lumos-report
  [ "$2" != "${simulated-}" ] || make=lumos-render
  $make "${@:2}" -o document.$number.json 2>message || { fail "$1: $(head -c 300 message)"; return; }
  $make "${@:2}" -o document.$number.csv 2>message || fail "$1: $(head -c 300 message)"
  cp document.$number.json one.json
}

bad() {
  number=$((number + 1))
  printf '%s' "$1" >bad.$number.title
  jq -c "$1" one.json >bad.$number.json || fail "no bad document: $1"
}

check_job 'the example' "${example[@]}"
summary=$(jq -S 'del(.metrics, .definitions)' one.json)
lumos-report "${example[@]}" -o page.html 2>/dev/null
embedded=$(sed -n '/<script type="application\/json" id="lumos-summary">/,/<\/script>/p' page.html | sed '1d; s/<\/script>.*//' | jq -S .)
[ "$summary" = "$embedded" ] || fail 'the document begins with other numbers than the page has'
# The glossary of the page has the terms that it leads to and no others, metrics with their units.
sed -n 's/^<dt id="term-\([a-z_0-9]*\)">.*/\1/p' page.html | sort >terms
same terms <(grep -oE 'href="#term-[a-z_0-9]+' page.html | sed 's/.*#term-//' | sort -u) 'the glossary of the page is not that of its terms'
[ "$(grep -c '^<dd>.* Unit: [^ ]' page.html)" -eq "$(jq -r '.definitions[].name' one.json | grep -cxFf terms)" ] ||
  fail 'a metric in the glossary of the page has no unit'
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

check_job 'the example after a change' "${example[@]}" --scale kind=gemm=0.5
check_job 'the example without opportunities' "${example[@]}" --opportunities off
mkdir emulated
emulated-cluster --quiet --plain --steps 2 --layers 4 --hidden 768 --tp 2 --pp 2 --dp 2 --micro-batches 2 --record all emulated || fail 'the emulated cluster fails'
check_job 'an emulated job' emulated
if have_traces; then
  real_job() { ! streams "${@:2}" || check_job "$1" "$simulated"; }
  each_job real_job
fi
"$python" validate.py >told 2>&1 || fail "validate.py: $(tail -1 told)"
while read -r line; do fail "${line#FAIL: }"; done < <(grep '^FAIL: ' told)
[ "$(ls bad.*.json | wc -l)" -eq 8 ] || fail 'there are not eight bad documents'
proved "$(tail -1 told); 8 bad ones are refused"
finish

#!/usr/bin/env bash
# The critical path: as long as the step, to the nanosecond, and so is each level of what it consists of; what stands on it has no slack.
# lumos-sim --critical-path writes it as one document, whole or not at all.
. "$(dirname "$0")/lib.sh"

need_python

cat >whole.py <<'PYTHON'
"""Whether path.json holds together; prints "STEP LENGTH" of its steps, and to standard error how much it tells."""
import json, sys

document = json.load(open("path.json"))
assert (document["document"], document["format"], document["unit"]) == ("critical_path", 1, "ns"), "it is not what it should be"
slack = {}
for of in document["slack"]:
    assert len(of["task"]) == len(of["start"]) == len(of["end"]), "slack is not of every task"
    assert all(value is None or value >= 0 for key in ("start", "end") for value in of[key]), "slack below 0"
    slack.update((f"{of['rank']}:{task}", (start, end)) for task, start, end in zip(of["task"], of["start"], of["end"]))
assert document["steps"], "there are no steps"
for step in document["steps"]:
    length, parts = step["end"] - step["start"], step["parts"]
    where = f"step {step['step']}"
    assert length <= 0 or (parts[0]["from"], parts[-1]["until"]) == (step["start"], step["end"]), f"{where}: the parts are not all of it"
    assert all(one["until"] == next["from"] for one, next in zip(parts, parts[1:])), f"{where}: parts do not follow each other"
    for level in "kind phase op module layer rank".split():
        assert sum(row["time"] for row in step[f"by_{level}"]) == length, f"{where}: by {level} it is another length"
    behind = max([i + 1 for i, part in enumerate(parts) if part["what"] == "outside"], default=0)
    assert all(0 in slack.get(part["task"], (1, 1)) for part in parts[behind:]), f"{where}: what is on the path has slack"
    for crossing in step["crossings"]:
        assert crossing["count"] > 0 and crossing["time"] >= 0, f"{where}: crossings"
        assert isinstance(crossing["held_by"], str) and isinstance(crossing["evidence"], str), f"{where}: crossings"
    print(step["step"], length)
print(sum(len(step["parts"]) for step in document["steps"]), "parts on the path,", len(slack), "tasks with slack", file=sys.stderr)
PYTHON

# adds_up NAME: path.json in itself and against the metrics in job.sim.
jobs=0
adds_up() {
  "$python" -S whole.py >steps 2>told || { fail "$1: $(tail -1 told)"; return; }
  printf '%-50s %s\n' "$1" "$(cat told)"
  sed 's/.*/& critical_path\n& step_time/' steps | sort >wanted
  grep -E '^\{"type":"metric","name":"(step_time|critical_path)"' job.sim | grep '"source":"simulated"' |
    sed -nE 's/.*"name":"([a-z_]*)","value":([0-9]+).*"scope":\{"step":([0-9]+)\}.*/\3 \2 \1/p' | sort >metrics
  same metrics wanted "$1: the path is not as long as the step"
  jobs=$((jobs + 1))
}

check_job() {
  local name=$1
  shift
  streams "$@" || return 0 # what is no trace that can be used
  lumos-sim --opportunities off "$parsed" -o job.sim --critical-path path.json 2>message ||
    { fail "$name: $(head -c 300 message)"; return; }
  adds_up "$name"
}

# --- The example: the same bytes again, compressed, to standard output; the stream is the same with and without ---

check_job 'the example' "${example[@]}"
cp "$parsed" job.parse
cp path.json first.json
cp job.sim with
lumos-sim --opportunities off job.parse -o without
same with without 'the stream is another one with --critical-path'
lumos-sim --opportunities off job.parse -o job.sim --critical-path - >again.json
same first.json again.json 'the document on standard output is another one'
lumos-sim --opportunities off job.parse -o job.sim --critical-path path.json.gz
gzip -cd path.json.gz >again.json
same first.json again.json 'the compressed document is another one'
jq -e '.steps[0] | (.by_kind | map(.kind) | index("gemm")) and (.parts | all(.[]; .task and .name and .lane and .kind and .what and .held_by))' first.json >/dev/null ||
  fail 'parts lack what they are'

# --- A pipeline's path goes through its ranks, and an edit's through what binds then ---

rm -rf emulated && mkdir emulated
emulated-cluster --quiet --plain --layers 4 --hidden 1024 --pp 4 --micro-batches 4 --steps 2 emulated || fail 'the emulated cluster fails'
check_job 'a pipeline' emulated/rank*.json
cp "$parsed" job.parse
jq -e '.steps | all(.[]; (.by_rank | length) == 4)' path.json >/dev/null || fail 'the path of a pipeline is not on all of its ranks'
jq -e '.steps | all(.[]; .crossings | any(.[]; .held_by == "collective"))' path.json >/dev/null || fail 'no path follows a transfer'
lumos-transform --scale host=20 job.parse -o slow 2>message || fail "transform: $(head -c 300 message)"
lumos-sim --opportunities off slow -o job.sim --critical-path path.json || fail 'a changed job has no path'
adds_up 'a pipeline with a slow host'
jq -e '.steps[-1] | (.by_kind | map(select(.kind | IN("op", "launch", "host_gap", "handover", "event", "sync", "other_host")) | .time) | add) > (.end - .start) / 2' path.json >/dev/null ||
  fail 'a host twenty times slower is not what the path is on'

# --- Where it cannot go ---

for option in '--critical-path=-' '--critical-path=- -o -'; do
  # shellcheck disable=SC2086
  expect 2 lumos-sim $option job.parse
  says '--critical-path -' 'send one of them to a file'
done
expect 2 lumos-sim --critical-path=- --trace=- -o job.sim job.parse
says '--critical-path -' 'timelines' 'send one of them to a file'
expect 2 lumos-sim --critical-path=same --output=same job.parse
says '--critical-path same' 'name another'
expect 2 lumos-sim --critical-path=same --trace=same -o job.sim job.parse
says '--critical-path same' 'name another'
expect 2 lumos-sim --trace=same -o same job.parse
says '--trace same' 'name another'
[ ! -e same ] || fail 'two files of one name: one of them is written'
expect 2 lumos-sim --critical-path=none/path.json -o job.sim job.parse
says 'none/path.json'
mkdir there
expect 2 lumos-sim --critical-path=there/path.json -o /dev/full job.parse
[ -z "$(ls -A there | grep -v '^path.json$')" ] || fail 'a temporary file is left'
if [ -e /dev/full ]; then
  expect 2 lumos-sim --critical-path=/dev/full -o job.sim job.parse
fi

# --- Real traces ---

if have_traces; then
  each_job check_job
fi
proved "the path of $jobs jobs is as long as each of their steps, and so is every level of it; what stands on it has no slack"
finish

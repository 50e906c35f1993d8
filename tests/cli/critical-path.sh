#!/usr/bin/env bash
# The critical path: as long as the step, to the nanosecond, and so is each level of what it consists of; what stands on it has no slack.
# lumos-sim --critical-path writes it as one document, whole or not at all.
. "$(dirname "$0")/lib.sh"

# adds_up NAME: path.json against the metrics in job.sim.
adds_up() {
  jq -r 'select(.type == "metric" and .source == "simulated" and (.scope | keys) == ["step"] and (.name == "step_time" or .name == "critical_path"))
    | "\(.scope.step) \(.name) \(.value)"' job.sim | sort >metrics
  jq -r '.steps[] | (.end - .start) as $length | "\(.step) critical_path \($length)", "\(.step) step_time \($length)"' path.json | sort >steps
  same metrics steps "$1: the path is not as long as the step"
  jq -e '
    (.document == "critical_path" and .format == 1 and .unit == "ns")
    and ([.slack[] | {key: "\(.rank)", value: ([.task, .start, .end] | transpose | map({key: "\(.[0])", value: .[1:]}) | from_entries)}] | from_entries) as $slack
    | .steps | length > 0 and all(.[];
        (.end - .start) as $length
        | (if $length > 0 then .parts[0].from == .start and .parts[-1].until == .end else true end)
          and ([.parts[:-1], .parts[1:]] | transpose | all(.[]; .[0].until == .[1].from))
          and ([.by_kind, .by_phase, .by_op, .by_module, .by_layer, .by_rank] | all(.[]; (map(.time) | add // 0) == $length))
          and (.parts | .[(to_entries | map(select(.value.what == "outside").key + 1) | max // 0):] | all(.[]; ($slack["\(.rank)"][.task | split(":")[1]] // [1, 1]) | index(0) != null))
          and (.crossings | all(.[]; .count > 0 and .time >= 0 and (.held_by | type) == "string" and (.evidence | type) == "string")))' path.json >/dev/null ||
    fail "$1: the document does not hold together"
  jq -e '.slack | all(.[]; (.task | length) == (.start | length) and (.task | length) == (.end | length) and ([.start[], .end[]] | all(.[]; . == null or . >= 0)))' \
    path.json >/dev/null || fail "$1: slack is not a number for each task, at least 0"
}

check_job() {
  local name=$1
  shift
  lumos-parse "$@" -o job.parse 2>message || return 0 # what is no trace that can be used
  lumos-sim --opportunities off job.parse -o job.sim --critical-path path.json 2>message ||
    { fail "$name: $(head -c 300 message)"; return; }
  adds_up "$name"
  printf '%-50s %s parts on the path, %s tasks with slack\n' "$name" "$(jq '[.steps[].parts | length] | add' path.json)" \
    "$(jq '[.slack[].task | length] | add' path.json)"
}

# --- The example: the same bytes again, compressed, to standard output; the stream is the same with and without ---

check_job 'the example' "${example[@]}"
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
emulated-cluster --quiet --layers 4 --hidden 1024 --pp 4 --micro-batches 4 --steps 2 emulated || fail 'the emulated cluster fails'
check_job 'a pipeline' emulated/rank*.json.gz
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
says '--trace same' 'name another'
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
finish

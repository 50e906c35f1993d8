#!/usr/bin/env bash
# What the step waits for adds up to the step, to the nanosecond, on every set of real traces and on the example, and the graph keeps to the
# number of boxes that was asked for.
. "$(dirname "$0")/lib.sh"

# Recomputed from the embedded numbers: the four times of all rows add up to the step, which is a simulated step of the job; every row begins
# where the one before it ends.
adds_up() {
  jq -e '
    .tables.dependencies as $table
    | ($table.columns | to_entries | map({key: .value, value: .key}) | from_entries) as $at
    | [$table.rows[] | {from: .[$at.from], time: (.[$at.run] + .[$at.lag] + .[$at.unexplained] + .[$at.outside]),
                        evidence: .[$at.evidence], share: .[$at.share]}] as $rows
    | ($rows | length) > 0 and ($rows | map(.time) | add) == $table.whole
      and any(.job_steps[]; .timeline == "simulated" and .step_time == $table.whole)
      and $rows[0].from == 0
      and ([range(1; $rows | length) | $rows[.].from == $rows[. - 1].from + $rows[. - 1].time] | all)
      and ($rows | all(.evidence | IN("recorded", "ordered", "inferred", "unexplained")))
      and ($rows | map(.share) | add - 1 | fabs < 0.001)' "$1" >/dev/null
}

# The boxes of the graph in a page: a group each.
boxes() { grep -o '<svg[^>]*><title>What the step waits for.*' "$1" | grep -o '<g class="box"' | wc -l; }

jobs=0
# look NAME NODES...
look() {
  local name=$1 nodes
  shift
  jobs=$((jobs + 1))
  for nodes; do
    lumos-render sim --graph-nodes $nodes -o page.html 2>message || { fail "$name: $(head -c 300 message)"; return; }
    [ "$(boxes page.html)" -ge 1 ] || fail "$name: no box, with --graph-nodes $nodes"
    [ "$(boxes page.html)" -le $nodes ] || fail "$name: $(boxes page.html) boxes, with --graph-nodes $nodes"
  done
  summary page.html >page.json
  adds_up page.json || fail "$name: what the step waits for does not add up to the step"
  lumos-render sim --graph-nodes 500 -o again.html
  same page.html again.html "$name: two pages of one job differ"
}

check 'the example' lumos-parse "${example[@]}" -o parse
lumos-sim --opportunities off parse -o sim
look 'the example' 1 80 500
valid_html page.html

# A named step; one that is not there; no number of boxes.
step=$(jq '.job_steps[0].step' page.json)
lumos-render sim --step "$step" --format json -o step.json
jq -e --argjson step "$step" '.tables.dependencies.finding | contains("Step \($step) takes")' step.json >/dev/null ||
  fail "--step $step shows another step"
expect 2 lumos-render sim --step 999 -o none.html
says 'there is no step 999'
[ ! -e none.html ] || fail 'a page of a step that is not there'
for nodes in 0 501 -1 many; do expect 2 lumos-render sim --graph-nodes "$nodes" -o none.html; done

if have_traces; then
  real_job() { ! streams "${@:2}" || { ln -sf "$simulated" sim && look "$1" 500; }; }
  each_job real_job
fi
proved "what a step waits for adds up to it, to the nanosecond, in $jobs jobs, in 1, 80 and 500 boxes"
finish

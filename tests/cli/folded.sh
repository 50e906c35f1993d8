#!/usr/bin/env bash
# A folded job, in which one of several like ranks stands for all of them, has the figures of the whole job.
#
#   tests/cli/folded.sh
#
# Jobs of the emulated cluster whose replicas do the same, but for one that is slow, are simulated whole, and with like ranks taken out of the
# graph, those that stay saying how many they represent. Every figure of the job, and of the ranks that stay, must be the same to the last
# digit, and so must what a report says of the whole job, but for what is named below.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || fail 'this test needs jq'

# fold LIKE: of a graph, all but the ranks that are like another, {"2":0}: rank 2 is left out, for it does what 0 does. {}: the whole job.
fold() {
  jq -cn --argjson like "$1" '
    def stays: tostring | split(":")[0] | $like[.] == null;
    def stands: . as $rank | [$like[] | select(. == $rank)] | length;
    def kept:
      if .type == "lumos" then .stage = "transform"
      elif .rank != null then select(.rank | stays) | if .type == "rank" and (.rank | stands) > 0 then .represents = 1 + (.rank | stands) else . end
      elif .type == "dep" then select((.src // .dst | stays) and (.dst | stays))
      elif .type == "collective" then .members |= map(select(stays)) | select(.members != [])
      elif .type == "note" then select(.scope.rank == null or (.scope.rank | stays))
      else . end;
    [inputs | select(.type != "end") | kept] | .[], {type: "end", counts: (reduce (.[].type, "end") as $type ({}; .[$type] += 1))}'
}

# figures LIKE: a line for each figure of a simulated job, but for those of the ranks that are left out. A group of such ranks is that of those
# that they are like; what such groups cost is added up. A label has the doubt of all clocks, those of the ranks left out as well, and is not compared.
figures() {
  only 'group|metric|collective' | jq -cs --argjson like "$1" '
    def stays: tostring | split(":")[0] | $like[.] == null;
    ([.[] | select(.type == "group")] | group_by([.name, ([.ranks[] | $like[tostring] // .] | unique)])
      | map((map(.id) | min_by(tonumber)) as $first | map({key: .id, value: $first}) | .[]) | from_entries) as $same
    | [.[] | if .type == "collective" then select(.members[0] | stays)
          | {key: ["collective", .op, .members[0]], value: [.wait, .waited_for, .bus_bandwidth, .algorithm_bandwidth, .size, .transfer]}
        elif .type == "metric" then select(.scope.rank == null or (.scope.rank | stays))
          | .scope.group |= ($same[. // ""] // .) | {key: [.name, .scope, .source, .of, .unit], value}
        else empty end]
    | group_by(.key)[] | .[0].key[0] as $name | {key: .[0].key, value: map(.value)}
    | .value |= if $name | startswith("collective_bus") then unique elif $name | startswith("collective_") then add else . end'
}

# said: of a report as JSON what is said of the whole job, and the tables that have no rows of ranks or groups. Who of equally late ranks was the last
# to arrive, as a note on a straggler says, is no figure of the job.
said() {
  jq -S '[.best, .job_steps, .loss, .step_time, .trust, [.diagnosis.findings[] | {cause, time, share}], .diagnosis.confidence.grade, .world, [.notes[] | select(.code != "sim.straggler") | del(.ranks)], .tables.pipeline.finding,
    (.tables | .busy, .collectives, .idleops, .kernels, .layers, .mfu, .modules, .opsdevice, .opshost, .phases, .rates, .bubbles, .kinds, .annotations, .calls, .copies)]'
}

# Which of several like ranks a chain leads to, or a wait, and how often it goes from one to another, is no figure of the job.
may_differ='"(critical_path_rank|straggler_free_path|critical_path_crossings|critical_path_crossing_time|wait_for)"'

# check_folded NAME LIKE OPTIONS...
check_folded() {
  local name=$1 like=$2 part
  emulated-cluster --quiet --plain --only host,waves --steps 3 --layers 2 --hidden 1024 --record all "${@:3}" "$name" || fail "$name: the emulated cluster fails"
  lumos-graph "$name"/rank*.json >"$name.graph" 2>/dev/null || fail "$name: no graph"
  fold '{}' <"$name.graph" | lumos-sim -o whole.sim || fail "$name: the whole job is not simulated"
  fold "$like" <"$name.graph" | lumos-sim -o folded.sim || fail "$name: the folded job is not simulated"
  for part in whole folded; do figures "$like" <$part.sim | grep -vE "$may_differ" >$part; done
  [ "$(wc -l <whole)" -gt 500 ] || fail "$name: there are only $(wc -l <whole) figures"
  diff whole folded >difference || fail "$name: $(grep -c '^<' difference) figures differ: $(head -n 20 difference)"
  for part in whole folded; do
    lumos-render -o $part.json $part.sim && said <$part.json >$part || fail "$name: the $part job is not reported"
    lumos-render -o $part.md $part.sim && grep -E '^[0-9]+[^a-z]+ranks ' $part.md >$part.subject || fail "$name: the report of the $part job has no ranks"
  done
  diff whole folded >difference || fail "$name: reports differ: $(head -n 20 difference)"
  diff whole.subject folded.subject >difference || fail "$name: reports are not of as many ranks: $(cat difference)"
}

rarely check_folded replicas '{"1":0,"2":0}' --dp 4 --straggler 3=1.5
# Of four the usual one is slow, though of two it would be the fast one.
check_folded usual '{"1":0,"2":0}' --layers 1 --steps 2 --dp 4 --straggler 0=1.5 --straggler 1=1.5 --straggler 2=1.5 --slow-host 3=0.1
rarely check_folded tensor '{"2":0,"3":1}' --tp 2 --dp 3 --straggler 4=1.5
# Of the groups of all ranks, and of a replica, the same two stay.
rarely check_folded alike '{"2":0,"3":1}' --tp 2 --dp 2 --straggler 1=1.3 --straggler 3=1.3
rarely check_folded pipeline '{"1":0,"4":3}' --pp 2 --dp 3 --micro-batches 4 --straggler 2=1.5

proved 'folded jobs have the figures of whole ones, and reports that say the same of them'
finish

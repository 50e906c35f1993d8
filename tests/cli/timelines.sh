#!/usr/bin/env bash
# lumos-sim --trace: valid JSON in Chrome's format, with both timelines of every rank, from which lumos-parse reads the same tasks.
. "$(dirname "$0")/lib.sh"
need_python

# records FILE: what a rank's recording says, but for the name of its file, the counts of rows, of which the timelines have others, and
# what only --hta reads (the last field of a rank).
records() {
  grep -E '^\{"type":"(rank|group|lane|span|task)"' "$1" | sed -E '/^\{"type":"rank"/ { s/,"source":"[^"]*"//; s/"coverage":\{[^}]*\},?//; s/,"hta":.*$/}/; s/,}$/}/; }'
}
epoch() { head -n 1 "$1" | grep -oE '"epoch":"[0-9]*"'; }

trips=0
# round_trip NAME OPTION... TRACE...: parse, simulate, parse again.
round_trip() {
  local name=$1
  shift
  rm -f parse t.json.gz again
  if [[ " $* " == *' --stacks '* || " $* " == *' --steps '* ]]; then
    lumos-parse "$@" -o parse 2>message || fail "$name: lumos-parse: $(head -c 300 message)"
  elif streams "$@"; then
    ln -sf "$parsed" parse
  else
    printf '%-60s is no trace that can be used: not tested\n' "$name"
    return
  fi
  lumos-sim --opportunities off parse --trace t.json.gz -o sim 2>message || { fail "$name: lumos-sim --trace: $(head -c 300 message)"; return; }
  lumos-parse t.json.gz ${stacks:+--stacks} -o again 2>message || { fail "$name: lumos-parse: $(head -c 300 message)"; return; }
  records parse >parse.records
  records again >again.records
  cmp -s parse.records again.records ||
    fail "$name: other records come back: $(diff parse.records again.records | head -4 | cut -c 1-300)"
  [ "$(epoch parse)" = "$(epoch again)" ] || fail "$name: another epoch comes back"
  lumos-parse --validate again >/dev/null || fail "$name: what comes back is not valid"
  printf '%-60s %d records are the same\n' "$name" "$(wc -l <parse.records)"
  trips=$((trips + 1))
}

# Chrome's format, and what Perfetto needs beyond it: every lane is named and in order, every arrow has two ends, each in a row.
well_formed() {
  gzip -cd "$1" >text || fail "$1 is not compressed"
  jq -e '
    .traceEvents as $events
    | ($events | map(select(.ph == "X"))) as $rows
    | ($events | map(select(.ph == "M"))) as $names
    | ($events | map(select(.ph == "s" or .ph == "f"))) as $ends
    | ($rows | group_by([.pid, .tid]) | map({key: "\(.[0].pid) \(.[0].tid)", value: .}) | from_entries) as $lanes
    | ($names | map(select(.name == "thread_name") | "\(.pid) \(.tid)")) as $named
    | ($events | all(.[]; (.ph | test("^[XMsfiC]$")) and (.name | type == "string") and (.pid | type == "number") and (.tid | type == "number")))
      and ($rows | length > 0 and all(.[]; (.ts | type == "number") and .ts >= 0 and .dur >= 0 and (.cat | type == "string")))
      and ($lanes | keys | all(.[]; . as $lane | $named | index($lane)))
      and ($named | length == (unique | length))
      and ($names | map(select(.name == "thread_sort_index")) | length == ($named | length))
      and ($ends | length > 0 and (group_by([.cat, .id]) | all(.[]; map(.ph) | sort == ["f", "s"])))' text >/dev/null ||
    fail "$1 is not as Chrome and Perfetto want it"
}

# --- The example ---

mkdir short
LUMOS_BIN=$bin "$source_folder/examples/traces/make-traces.sh" short --layers 1 --steps 2 || fail 'no traces'
round_trip 'a short job' short/rank[01].json.gz
well_formed t.json.gz
tasks=$(grep -c '^{"type":"task"' sim)
[ "$(grep -c '"cat":"lumos_simulated"' text)" -eq "$tasks" ] || fail 'a task is not among the simulated rows'
[ "$(grep -c '"ph":"X".*"cat":"\(kernel\|gpu_memcpy\|gpu_memset\)"' text)" -eq "$(grep -cE '^\{"type":"task","id":"[0-9:]*","rank":[0-9]*,"lane":"[sd]' sim)" ] ||
  fail 'work on a stream is not among the measured rows'
for arrow in launch wait collective event hand-over; do
  grep -q "\"ph\":\"s\".*\"name\":\"$arrow\"" text || fail "there is no arrow of $arrow"
done
# A measured lane and its simulated one lie side by side.
jq -e '[.traceEvents[] | select(.name == "thread_name" and (.args.name | test("stream|thread")))]
       | [range(0; length; 2) as $i | [.[$i], .[$i + 1]]]
       | length > 0 and all(.[]; .[0].pid == .[1].pid and .[0].tid + 1 == .[1].tid and .[0].args.name + " (simulated)" == .[1].args.name)' text >/dev/null ||
  fail 'a measured lane has no simulated one beside it'
# Simulated times are those of the stream, shifted alike.
grep '"cat":"lumos_simulated"' text | sed 's/,$//' | jq -r '[.args.task, (.ts * 1000 | round), (.dur * 1000 | round)] | @tsv' | sort >shown
jq -r 'select(.type == "task") | [.id, .sim_start, .sim_dur] | @tsv' sim | sort >stream
[ "$(paste shown stream | awk '{ print $2 - $5, $3 - $6 }' | sort -u | wc -l)" -eq 1 ] || fail 'simulated times are not those of the stream'

# Counters add up to what rows say, and to the metric; a value that is off is seen.
"$python" -S "$here/counters.py" t.json.gz sim >told || fail "$(head -c 300 told)"
sed '/"ph":"C"/s/"running streams":1/"running streams":2/' text >broken.json
! "$python" -S "$here/counters.py" broken.json sim >told || fail 'counters that do not add up are taken for right'
lumos-sim --opportunities off parse --trace plain.json -o sim.plain || fail 'without compression it fails'
same text plain.json 'compressed is not what plain is'
same sim sim.plain 'the stream depends on --trace'
lumos-parse --steps 6 "${example[@]}" -o parse.one && lumos-sim parse.one --trace one.json.gz -o none && lumos-parse one.json.gz -o again
records parse.one >parse.records && records again >again.records
same parse.records again.records 'of one step other records come back'
[ -s parse.records ] || fail 'there is no step 6'

# A changed job: the measured lanes are what was recorded, the simulated ones what the change does.
lumos-transform --scale kind=gemm=2 parse | lumos-sim --trace changed.json.gz -o changed.sim || fail 'a changed job fails'
well_formed changed.json.gz
lumos-parse changed.json.gz -o again && records again >again.records && records parse >parse.records
same parse.records again.records 'the measured rows of a changed job are changed'

expect 2 lumos-sim parse --trace -
says '--trace -'
lumos-sim parse --trace - -o none | cmp -s - plain.json || fail '--trace - with -o writes something else'
expect 2 lumos-sim parse --trace nowhere/t.json -o none
says nowhere
lumos-sim --model dpro parse --trace model.json.gz -o none || fail 'it fails by another model'

# --- By hand: every nanosecond, every byte of a name ---

cat >hand.json <<'HAND'
{"schemaVersion": 1, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 9, "tid": 11, "ts": 1000.001, "dur": 200.000},
{"ph": "X", "cat": "cpu_op", "name": "aten::\"mm\"\\</script>\u0001\u00e4", "pid": 9, "tid": 11, "ts": 1001.002, "dur": 50.5,
 "args": {"Input Dims": [[2, 3], []], "Input type": ["float", ""], "Sequence number": 3}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 11, "ts": 1010.003, "dur": 4.999, "args": {"correlation": 77}},
{"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 1020.007, "dur": 9.009, "args": {"device": 0, "stream": 7, "correlation": 77}},
{"ph": "X", "cat": "kernel", "name": "early", "pid": 0, "tid": 7, "ts": 1025.000, "dur": 8, "args": {"device": 0, "stream": 7, "correlation": 79}},
{"ph": "X", "cat": "kernel", "name": "lost", "pid": 0, "tid": 7, "ts": 1030.000, "dur": 1, "args": {"device": 0, "stream": 7, "correlation": 78}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 9, "tid": 11, "ts": 1060, "dur": 10, "args": {"correlation": 80}},
{"ph": "X", "cat": "nobody_knows", "name": "cudaLaunchKernel", "pid": 9, "tid": 12, "ts": 1060, "dur": 10},
{"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 7, "ts": 1060, "dur": 10, "args": {"correlation": 80, "stream": 7, "device": 0}},
{"ph": "X", "cat": "cpu_op", "name": "between the marks", "pid": 9, "tid": 11, "ts": 1250, "dur": 10},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#8", "pid": 9, "tid": 11, "ts": 1300, "dur": 100}]}
HAND
round_trip 'by hand, a step that lasts longer than its mark' --steps 7 hand.json
grep -q 'between the marks' again || fail 'what a step holds behind its mark is lost'
round_trip 'by hand' hand.json
gzip -cd t.json.gz >text
for row in '"ts":1.001,"name":"aten::\"mm\"\\</script>\u0001ä","cat":"cpu_op","dur":50.500' \
  '"ts":20.006,"name":"sgemm","cat":"kernel","dur":9.009' '"ts":10.002,"name":"cudaLaunchKernel","cat":"cuda_runtime","dur":4.999' \
  '"Input Dims":[[2, 3], []]' '"baseTimeNanoseconds":1700000000001000001'; do
  grep -qF -- "$row" text || fail "there is no '$row'"
done
grep -q '"wait":{"on":"stream","lane":"s7"}' again || fail 'what a call waits for is lost'
# A kernel that crosses the one before it, of which Perfetto would drop one, stands on a row of its own, as measured and as simulated.
[ "$(jq -r '(.traceEvents | map(select(.name == "thread_name") | {key: "\(.pid) \(.tid)", value: .args.name}) | from_entries) as $names |
  .traceEvents[] | select(.ph == "X" and (.name == "sgemm" or .name == "early" or .name == "lost")) | .name + ": " + $names["\(.pid) \(.tid)"]' text)" = 'sgemm: rank 0 stream 7
early: rank 0 stream 7, overlapping
lost: rank 0 stream 7
sgemm: rank 0 stream 7 (simulated)
early: rank 0 stream 7 (simulated), overlapping
lost: rank 0 stream 7 (simulated)' ] || fail 'kernels that cross each other share a row'

# --- The real traces ---

have_traces || finish
each_job round_trip
set_of() { [ -d "$traces/$1" ] && printf '%s\n' "$traces/$1"; }
if set=$(set_of tracelens-resnet-8xMI300-rank0); then
  stacks=yes round_trip 'with stacks' --stacks "$set"
fi
proved "lumos-parse reads the same tasks from the timelines of $trips jobs"
finish

#!/usr/bin/env bash
# examples/record: the recorder asks PyTorch's profiler for what lumos-parse --check recommends, in the forms of old and new versions;
# what it writes is whole or absent, and read by the tools; the training example and its pairs run. With a stand-in for PyTorch (fake-torch)
# and, where some python3 has it, with PyTorch itself.
. "$(dirname "$0")/lib.sh"
need_python
record=$(cd "$source_folder/examples/record" && pwd)
fake=$(cd "$here/fake-torch" && pwd)
export PYTHONDONTWRITEBYTECODE=1

"$python" -S - "$record"/*.py <<'END' || fail 'the Python of examples/record is not valid'
import ast, sys
for name in sys.argv[1:]:
    ast.parse(open(name).read(), name, feature_version=(3, 8))
END

# --- With the stand-in ---

# loop FORM ARGUMENTS [STEPS [RANK]]: a loop with Recorder("traces"ARGUMENTS), of 20 steps if not said, as a rank of two or alone; the calls
# it makes are in `log`, what it prints in `out`, its messages in `message`.
loop() {
  rm -rf log
  export FAKE_FORM=$1 FAKE_LOG=$PWD/log FAKE_TRACE=${example[${4:-0}]}
  if [ -n "${4:-}" ]; then export FAKE_RANK=$4; else unset FAKE_RANK; fi
  expect 0 env PYTHONPATH="$fake:$record" "$python" -S - "${3:-20}" >out <<END
import gc, sys
from lumos_record import Recorder
with Recorder("traces"$2) as recorder:
    for step in range(int(sys.argv[1])):
        recorder.step()
print(recorder.path, recorder.done, recorder.unprofiled_step_ns is not None, gc.isenabled(), gc.get_freeze_count())
END
}
# logged FILTER: the calls fulfil this jq filter, as one array.
logged() { jq -es "$1" log >/dev/null || fail "not so: $1: $(cat log)"; }
# nothing: no file was written, and a message says so.
nothing() {
  [ -z "$(find traces -type f 2>/dev/null)" ] || fail "written all the same: $(find traces -type f)"
  grep -q "$1" message || fail "the message lacks '$1': $(cat message)"
}

loop new ''
[ "$(cat out)" = 'traces/rank0.json.gz True True True 0' ] || fail "the recorder ends with: $(cat out)"
[ "$(find traces -type f)" = traces/rank0.json.gz ] || fail "beside the trace lies: $(find traces -type f)"
logged 'any(.[0] == "schedule" and .[1] == {wait: 10, warmup: 3, active: 3, repeat: 1})'
logged 'any(.[0] == "profile" and .[1] == {activities: ["CPU", "CUDA"], record_shapes: true, with_stack: false, with_modules: false,
  experimental_config: true})'
logged 'any(.[0] == "_ExperimentalConfig" and .[1].enable_cuda_sync_events)'
# The device is waited for at both ends of what is timed, and before the recording; never else. Steps behind the recording cost nothing.
logged '[.[] | select(.[0] == "step" or .[0] == "synchronize") | .[1].number // "wait"]
  == [1, 2, 3, 4, 5, 6, "wait", 7, 8, 9, "wait", 10, 11, 12, "wait", 13, 14, 15, 16]'
zcat traces/rank0.json.gz | jq -e '.lumos_recorder | .version == 1 and .torch == "2.6.0+fake" and .unprofiled.steps == 3
  and .unprofiled.dur > 0 and .options.sync' >/dev/null || fail 'the trace lacks what was measured without the profiler'

# Every keyword and call that a cure of --check names is one that the recorder uses; Python stacks where they are asked for.
loop new ', stacks=True'
logged 'any(.[0] == "profile" and .[1].with_stack and .[1].with_modules)'
table=$source_folder/src/trace/checkup.c
grep -oE '\b[a-z_]+=' "$table" | sort -u | tr -d = >named
[ "$(wc -l <named)" -ge 7 ] || fail "only $(wc -l <named) keywords found in $table"
while read -r keyword; do
  jq -es --arg name "$keyword" 'any(.[1] | has($name))' log >/dev/null || [ "$keyword" = schedule ] ||
    fail "--check recommends $keyword, which the recorder does not pass"
done <named
passed="schedule($(jq -r 'select(.[0] == "schedule")[1] | "wait=\(.wait), warmup=\(.warmup), active=\(.active), repeat=\(.repeat)"' log))"
for text in "$table" "$source_folder/README.md" "$record/README.md"; do
  [ "$(grep -oE 'schedule\(wait=[^)]*\)' "$text" | sort -u)" = "$passed" ] ||
    fail "$text recommends $(grep -oE 'schedule\(wait=[^)]*\)' "$text" | sort -u), the recorder passes $passed"
done
# A folder in the path of a trace has to be made first.
for text in "$table" "$source_folder/README.md" "$record/README.md"; do
  ! grep -q 'export_chrome_trace(f.*/rank' "$text" || grep -q 'os.makedirs' "$text" || fail "$text exports to a folder that may be missing"
done

loop 1.13 ''
logged 'any(.[0] == "profile" and .[1].experimental_config == false and .[1].record_shapes and .[1].with_modules == false)'
loop old ''
logged 'any(.[0] == "profile" and .[1] == {activities: ["CPU", "CUDA"], experimental_config: false, record_shapes: true, with_stack: false})'
loop cpu ''
logged 'any(.[0] == "profile" and .[1].activities == ["CPU"]) and all(.[0] != "synchronize")'
loop new ', shapes=False, sync=False, wait=5, warmup=1, steps=4'
logged 'any(.[0] == "profile" and .[1].record_shapes == false and .[1].experimental_config == false)
  and any(.[0] == "schedule" and .[1] == {wait: 5, warmup: 1, active: 4, repeat: 1})'

# Garbage is held back from the steps that are timed on, and no longer than the recording.
loop new ', hold_gc=True'
logged '[.[] | select(.[0] == "step" and (.[1].collects | not)) | .[1].number] == [range(7; 17)]'
[ "$(cut -d' ' -f 4- out)" = 'True 0' ] || fail "garbage is not collected again: $(cat out)"

# What is not whole is not written, and training goes on.
rm -r traces
loop full ''
nothing 'could not write all'
loop new '' 15
nothing '1 of 16 steps early'
logged 'any(.[0] == "stop" and .[1].number == 15)'
loop bare ''
nothing 'without Kineto'
[ "$(cat out)" = 'None True True True 0' ] || fail "without Kineto the recorder ends with: $(cat out)"
: >taken
FAKE_FORM=new FAKE_LOG=$PWD/log PYTHONPATH=$fake:$record expect 0 "$python" -S - <<'END'
import lumos_record
for wrong in (dict(steps=0), dict(warmup=0), dict(wait=3)):
    try:
        lumos_record.Recorder("traces", **wrong)
        sys.exit(f"{wrong} is taken")
    except ValueError:
        pass
try:
    with lumos_record.Recorder("taken") as recorder:  # a file stands where the folder should be
        for _ in recorder.steps_of(range(100), until_done=True):
            pass
    assert recorder.done and recorder.path is None
    with lumos_record.Recorder("traces") as recorder:
        for step in recorder.steps_of(range(100)):
            assert step < 14, "the loop goes on"
except AssertionError as error:
    assert str(error) == "the loop goes on", error
END
nothing 'No trace: .*taken'

# Whatever fails in the profiler, training goes on; an error of the training's own is not hidden.
for place in start step stop export; do
  loop fails-in-$place '' "$([ $place = stop ] && echo 15 || echo 20)"
  nothing 'No trace: .*the profiler has failed'
  [ "$(cut -d' ' -f 1,4- out)" = 'None True 0' ] || fail "where the profiler fails in $place, the recorder ends with: $(cat out)"
done
FAKE_FORM=fails-in-stop FAKE_LOG=$PWD/log PYTHONPATH=$fake:$record expect 1 "$python" -S - <<'END'
from lumos_record import Recorder
with Recorder("traces") as recorder:
    recorder.step()
    raise KeyError("of the training")
END
nothing "KeyError: 'of the training'"

# script FORM [NAME=VALUE...]: a Python program on standard input, with a recorder to import; its trace is the first one.
script() {
  rm -rf log traces
  expect 0 env -u FAKE_RANK -u RANK -u SLURM_PROCID PYTHONPATH="$fake:$record" FAKE_FORM="$1" FAKE_LOG="$PWD/log" \
    FAKE_TRACE="${example[0]}" "${@:2}" "$python" -S - >out
}

# Without `with`: the first step starts it, stop() ends it, and a loop that is too short is told of at the end of the program.
script new <<'END'
from lumos_record import Recorder
recorder = Recorder("traces")
for step in range(20):
    recorder.step()
recorder.stop()
assert recorder.done and recorder.path is not None
END
[ -e traces/rank0.json.gz ] || fail "without 'with' nothing is recorded: $(cat message)"
logged '[.[] | select(.[0] == "step") | .[1].number] == [range(1; 17)]'
script new <<'END'
from lumos_record import Recorder
recorder = Recorder("traces")
for step in range(5):
    recorder.step()
END
nothing '11 of 16 steps early'
script new <<'END'
from lumos_record import Recorder
recorder = Recorder("traces")
recorder.start()
recorder.step()
recorder.stop()
recorder.stop()
recorder.step()
END
nothing '15 of 16 steps early'
[ "$(grep -c 'steps early' message)" = 1 ] || fail "what is missing is not told once: $(cat message)"

# A break behind the work of the last step: the step has ended. A break before the work: it has not. By a clock of its own, which nothing that
# runs beside it slows.
for where in behind before; do
  script new WHERE=$where <<'END'
import os, time
from lumos_record import Recorder
now = 0
time.perf_counter_ns = lambda: now
with Recorder("traces") as recorder:
    for step in recorder.steps_of(range(100)):
        if step == 15 and os.environ["WHERE"] == "before":
            break
        now += 10_000_000
        if step == 15:
            break
print(recorder.done)
END
  if [ $where = behind ]; then
    [ "$(cat out)" = True ] && [ -e traces/rank0.json.gz ] || fail "a break in the last step loses the trace: $(cat message)"
  else
    nothing '1 of 16 steps early'
  fi
done

# What the program itself has frozen stays so.
script new <<'END'
import gc
from lumos_record import Recorder
gc.freeze()
frozen = gc.get_freeze_count()
with Recorder("traces", hold_gc=True) as recorder:
    for step in range(20):
        recorder.step()
assert gc.get_freeze_count() == frozen > 0 and gc.isenabled()
END

# The rank without a process group: of torchrun, else of srun; what is no number is none.
for case in RANK=3:3 SLURM_PROCID=2:2 RANK=:0 RANK=x:0; do
  script new "${case%:*}" <<'END'
from lumos_record import Recorder
recorder = Recorder("traces")
for step in recorder.steps_of(range(20)):
    pass
END
  [ -e "traces/rank${case#*:}.json.gz" ] || fail "with ${case%:*} the trace is $(find traces -type f): $(cat message)"
done
rm -rf traces

# Two ranks, as lumos reads them.
loop new '' 20 0
loop new '' 20 1
[ "$(find traces -type f | sort | tr '\n' ' ')" = 'traces/rank0.json.gz traces/rank1.json.gz ' ] || fail "two ranks write: $(find traces -type f)"
expect 0 lumos-parse --check traces >text
head -1 text | grep -q '^grade A ' || fail "what the recorder writes has not grade A: $(cat text)"
expect 0 lumos-report traces -o report.html
valid_html report.html

# What recording has cost is on the page, by a recording whose times are known: three steps are said to have taken 45 ms.
for rank in 0 1; do
  zcat traces/rank$rank.json.gz | jq -c '.lumos_recorder.unprofiled.dur = 45000000' >traces/rank$rank.json && rm traces/rank$rank.json.gz
done
expect 0 lumos-report traces -o report.html
summary report.html >json
jq -e '.trust | .unprofiled_step_time == 15000000' json >/dev/null || fail "the time without the profiler: $(jq -c .trust json)"
cost=$(jq '[.rank_steps[] | select(.timeline == "measured" and (.left_out | not)).step_time] | add / length / 15000000 - 1 | . * 1e6 | round' json)
[ "$cost" = "$(jq '.trust.profiling_cost * 1e6 | round' json)" ] || fail "recording has cost $cost millionths: $(jq -c .trust json)"
sed 's/\xc2\xa0/ /g' report.html | grep '>than 15.0 ms without the profiler; fair above 10 %, poor above 100 %<' >/dev/null || fail 'the page does not say what recording has cost'
lumos-parse traces | jq -es '[.[] | select(.type == "rank") | .unprofiled == {steps: 3, dur: 45000000} and .versions.torch == "2.6.0+fake"] | all' \
  >/dev/null || fail 'the stream does not say what the recorder measured'
expect 0 lumos-report "${example[@]}" -o report.html
! grep -q 'without the profiler; fair' report.html || fail 'a cost of recording is told where none was measured'

# --- Pairs, by a stand-in for the training example ---

cat >python <<'END'
#!/usr/bin/env bash
case "$1 $2" in
  -c*socket*) echo 29500 ;;
  -c*) echo 2 ;;
  *)
    echo "$*" >>runs
    [[ "$*" != *"--layers=13"* || $RANK = 0 ]] || exit 1
    folder=$3
    mkdir -p "$folder"
    : >"$folder/rank$RANK.json.gz"
    [ "$RANK" = 1 ] || echo '{"layers": 8, "unprofiled_step_ns": 5}'
    ;;
esac
END
chmod +x python
expect 0 env PYTHON="$PWD/python" "$record/record-pairs.sh" pairs layers=4 layers=8,hidden=1024 -- --layers 2 --bf16
jq -es 'map(.folder) == ["layers=4", "layers=8,hidden=1024"] and all(.unprofiled_step_ns == 5)' pairs/manifest.jsonl >/dev/null ||
  fail "the manifest of pairs: $(cat pairs/manifest.jsonl)"
[ "$(sort runs | uniq -c | sed 's/^ *//; s|/.*train|train|')" = "$(printf '2 train_gpt.py --record pairs/layers=%s\n' '4 --layers 2 --bf16 --layers=4' \
  '8,hidden=1024 --layers 2 --bf16 --layers=8 --hidden=1024')" ] || fail "record-pairs.sh runs: $(cat runs)"
rm runs
expect 0 env PYTHON="$PWD/python" "$record/record-pairs.sh" pairs layers=4
[ ! -e runs ] || fail 'a size is recorded twice'
expect 1 env PYTHON="$PWD/python" "$record/record-pairs.sh" pairs layers=13
[ "$(wc -l <pairs/manifest.jsonl)" -eq 2 ] || fail 'a rank that fails is in the manifest'
expect 2 "$record/record-pairs.sh" >/dev/null

# --- With PyTorch ---

torch_python=
for candidate in "${PYTHON:-}" "$python" /usr/bin/python3; do
  if [ -n "$candidate" ] && "$candidate" -c 'import torch.profiler' 2>/dev/null; then
    torch_python=$candidate
    break
  fi
done
if [ -z "$torch_python" ]; then
  echo 'SKIPPED: the recorder with PyTorch itself: PYTHON=the python3 that has it (Debian: apt-get install python3-torch)'
  finish
fi
small=(--cpu --layers 2 --hidden 64 --heads 4 --sequence 32 --vocabulary 256 --wait 4)
expect 0 "$torch_python" "$record/train_gpt.py" "${small[@]}" --iterations 4 --bf16 --micro-batches 2 >out
jq -e '.layers == 2 and .bf16 and .ranks == 1 and .unprofiled_step_ns > 0' out >/dev/null || fail "the training example says: $(cat out)"
recorded=0
"$torch_python" -c 'import sys, torch.profiler; sys.exit(not torch.profiler.kineto_available())' || recorded=1
# Some builds lack the library that ranks meet through by default.
expect $recorded env USE_LIBUV=0 RANKS=2 PYTHON="$torch_python" "$record/record-pairs.sh" real micro-batch=2 -- "${small[@]}"
if [ $recorded -ne 0 ]; then
  grep -q 'without Kineto' message || fail "a PyTorch without Kineto is not told of: $(cat message)"
  grep -q 'micro-batch=2: 0 of 2 ranks' message || fail "that nothing was recorded is not told: $(cat message)"
  jq -e '.ranks == 2 and .unprofiled_step_ns > 0' real/.line >/dev/null || fail "two ranks say: $(cat real/.line)"
  echo "SKIPPED: traces by PyTorch itself: that of $torch_python was built without Kineto (those of pytorch.org are not)"
  finish
fi
jq -e '.ranks == 2 and .unprofiled_step_ns > 0' real/manifest.jsonl >/dev/null || fail "the manifest: $(cat real/manifest.jsonl)"
expect 0 lumos-parse --check --json real/micro-batch=2 >json
jq -e '.holds | .ranks == 2 and .world == 2 and .steps == 3' json >/dev/null || fail "what two ranks recorded: $(cat json)"
expect 0 lumos-report real/micro-batch=2 -o report.html
valid_html report.html
proved 'the recorder asks for all that --check recommends, of old and new PyTorch, and writes whole traces or none'
finish

#!/usr/bin/env bash
# Phase, micro-batch and layer of device work, against what the emulated cluster knows of it: jobs of all schedules and ways to spread a model,
# half of them drawn by chance, each in three ways: with all that a profiler can record; with autograd's sequence numbers but no modules, shapes
# or annotations; with nothing but what was launched, when and by which thread. A task counts as found, by its time, where all three are true. What
# fully sharded replicas gather is found by the names of PyTorch's hooks, which the last two ways lack: only two such jobs are recorded in all
# three. Where they recompute, or have one layer or one micro-batch, up to 65 % of the time is then not told, or false.
#   LUMOS_PROGRAM_SEED   which jobs are drawn (the commit's: others with each one, and the same for all who test it; outside of a checkout
#                        the time; it is printed)    LUMOS_DRAWN   so many are drawn (2)
. "$(dirname "$0")/lib.sh"

commit=$(git -C "$source_folder" rev-parse --verify --quiet HEAD 2>/dev/null) || commit=$(printf '%x' "$(date +%s)")
seed=${LUMOS_PROGRAM_SEED:-$((16#${commit:0:7}))}
drawn=${LUMOS_DRAWN:-2}
printf 'LUMOS_PROGRAM_SEED=%s\n' "$seed"
jobs=0 scored=0

# bare SOURCE TARGET: repetition alone is left: no tie of backward work to forward ops, no annotation but the steps' marks, no names of threads.
bare() {
  sed 's/"Sequence number":/"Forgotten number":/; s/"Fwd thread id":/"Forgotten thread":/' "$1" | awk '
    /^  "traceEvents"/ { events = 1 }
    events && /^  \{/ { event = $0; dropped = 0; next }
    !event { print; next }
    { event = event "\n" $0 }
    /"cat": "fwdbwd"|"name": "thread_name"/ || /"cat": "(gpu_)?user_annotation"/ && !/"name": "ProfilerStep/ { dropped = 1 }
    /^  \}/ { if (!dropped) print event; event = "" }' >"$2"
}

# score NAME FOLDER WAY AIM: a line in `table`, of shares in percent.
score() {
  local name=$1 folder=$2 way=$3 aim=$4
  lumos-graph "$folder"/rank*.json -o job.graph 2>message || { fail "$name, $way: $(head -c 300 message)"; return; }
  correlate job.graph phase micro_batch layer >found || { fail "$name, $way: tasks and rows of the trace differ"; return; }
  true_tasks "$folder" >true
  awk -v name="$name" -v way="$way" -v aim="$aim" '
    FILENAME == "true" { phase[$1 " " $2] = $3; micro_batch[$1 " " $2] = $4; layer[$1 " " $2] = $5; next }
    { task = $1 " " $2; all += $3; if ($6 == "-") $6 = -1; if ($7 == "-") $7 = -1 }
    !(task in phase) { print name ": task " task " is not in the truth" >"/dev/stderr"; exit 1 }
    $5 == phase[task] && $6 == micro_batch[task] && $7 == layer[task] { whole += $3; next }
    # Nothing false is said, but not all.
    ($5 == "-" || $5 == phase[task]) && ($6 < 0 || $6 == micro_batch[task]) && ($7 < 0 || $7 == layer[task]) { abstained += $3 }
    END { if (all == 0) exit 1; printf "%-13s %.3f %.3f %d %s\n", way, 100 * whole / all, 100 * abstained / all, aim, name }' true found >>table ||
    fail "$name, $way: nothing to compare"
}

# job OPTION...: the name of a job is what it is made of. with_names=yes: recorded in the first way alone.
job() {
  local name="$*" way file
  jobs=$((jobs + 1))
  for way in all none; do
    rm -rf $way && mkdir $way
    emulated-cluster --quiet --plain --record $way --steps 2 "$@" $way || { fail "$name: the emulated cluster fails"; return; }
  done
  device_rows all >rows
  score "$name" all annotations 99
  scored=$((scored + 1))
  [ -z "${with_names-}" ] || return 0
  device_rows none >rows
  score "$name" none numbers 99
  rm -rf bare && mkdir bare
  for file in none/rank*.json; do
    bare "$file" "bare/${file##*/}"
  done
  cp none/truth.json bare
  score "$name" bare repetition 97
  scored=$((scored + 2))
}

# --- Jobs by hand: every schedule, every way to spread a model; kernels of the same work are not equally long in all layers, and less so with --jitter ---
rarely job --layers 4 --hidden 512 --dp 2 --micro-batches 1 --bucket-mb 2 --jitter 3
job --layers 6 --hidden 768 --tp 2 --micro-batches 2 --sequence-parallel on --jitter 3
rarely job --layers 4 --hidden 768 --pp 4 --micro-batches 6
rarely job --layers 8 --hidden 512 --pp 2 --vp 2 --schedule interleaved --micro-batches 4 --batched-p2p off
rarely job --layers 8 --hidden 512 --pp 2 --dp 2 --schedule gpipe --micro-batches 4 --recompute full --jitter 3 --gpu a100
job --layers 5 --hidden 768 --micro-batches 2 --dp 2 --overlap-gradients off --distributed-optimizer on --jitter 3
rarely job --layers 6 --hidden 512 --pp 3 --schedule zb-h1 --micro-batches 6 --recompute full --gpu b200
rarely job --layers 1 --hidden 512 --tp 2 --sequence-parallel on --micro-batches 2 --recompute full
rarely job --layers 2 --hidden 512 --tp 2 --pp 2 --sequence-parallel on --schedule gpipe --micro-batches 2
job --layers 6 --hidden 256 --pp 3 --dp 2 --schedule zb-h1 --micro-batches 6 --bucket-mb 1 --distributed-optimizer on
rarely job --layers 6 --hidden 768 --heads 4 --pp 2 --dp 2 --micro-batches 2 --bucket-mb 100 --batched-p2p off --seed 16127
rarely job --layers 24 --hidden 256 --heads 2 --micro-batches 2 --recompute full --gpu h200 --jitter 3
job --layers 6 --hidden 512 --pp 2 --micro-batches 4 --recompute selective --jitter 3
rarely job --layers 24 --hidden 256 --heads 2 --micro-batches 2 --recompute selective --gpu h200 --jitter 3
rarely job --layers 6 --hidden 512 --pp 3 --schedule zb-h1 --micro-batches 6 --recompute selective --gpu b200
rarely job --layers 2 --hidden 512 --tp 2 --sequence-parallel on --micro-batches 2 --recompute selective

job --layers 6 --hidden 768 --dp 2 --fsdp on --micro-batches 2 --jitter 3
with_names=yes rarely job --layers 12 --hidden 512 --heads 4 --dp 2 --fsdp on --micro-batches 2 --recompute full
rarely job --layers 4 --hidden 1024 --tp 2 --dp 2 --fsdp on --sequence-parallel on --micro-batches 2
with_names=yes rarely job --layers 1 --hidden 1024 --dp 2 --fsdp on --micro-batches 3

# --- Jobs by chance ---
RANDOM=$((seed % 32768))
one_of() {
  shift $((RANDOM % $#))
  picked=$1
}
draw() {
  local options=() deep stages=1 chunks=1 with_names=
  one_of 256 512 768 1024 && options+=(--hidden "$picked" --heads 4)
  one_of 1 1 2 2 3 4 && stages=$picked && options+=(--pp "$picked")
  one_of 1 1 2 && options+=(--tp "$picked")
  if [ "$picked" -gt 1 ]; then
    one_of on off && options+=(--sequence-parallel "$picked")
  fi
  one_of 1 1 2 && options+=(--dp "$picked")
  if [ "$picked" -gt 1 ]; then
    one_of off off on
    if [ "$picked" = on ] && [ "$stages" -eq 1 ]; then
      options+=(--fsdp on) with_names=yes
    else
      one_of on off && options+=(--distributed-optimizer "$picked")
      one_of on on off && options+=(--overlap-gradients "$picked")
      one_of 1 4 20 100 && options+=(--bucket-mb "$picked")
    fi
  fi
  if [ "$stages" -gt 1 ]; then
    one_of 1f1b gpipe interleaved zb-h1 && options+=(--schedule "$picked")
    if [ "$picked" = interleaved ]; then
      one_of 2 3 && chunks=$picked && options+=(--vp "$picked")
    fi
    one_of on off && options+=(--batched-p2p "$picked")
    one_of 1 2 3 && options+=(--micro-batches $((stages * picked)))
    one_of 1 2 $((chunks > 1 ? 1 : 3)) && deep=$picked
  else
    one_of 1 2 3 5 && options+=(--micro-batches "$picked")
    one_of 1 2 3 4 7 12 && deep=$picked
  fi
  options+=(--layers $((deep * stages * chunks)))
  one_of none none full selective && options+=(--recompute "$picked")
  one_of a100 h100 h200 b200 && options+=(--gpu "$picked")
  one_of 1 3 && options+=(--jitter "$picked")
  job "${options[@]}" --seed $RANDOM
}
for ((i = 0; i < drawn; i++)); do
  draw
done

sort -n -k2,2 table | awk -v rows=$scored '
  { printf "%-12s %7.3f %% true, %6.3f %% not told: %s\n", $1, $2, $3, substr($0, index($0, $5)) }
  $2 < $4 { bad = 1; print "  below the aim of " $4 " %" }
  END { exit bad || NR != rows || rows < 12 }' || fail 'phases, micro-batches or layers are not those that there were'
proved "phase, micro-batch and layer of $jobs jobs, $drawn of them drawn, recorded in up to three ways: $(
  for way in annotations numbers repetition; do
    printf '%s %.3f %%, ' "by $way" "$(grep "^$way " table | sort -n -k2,2 | awk '{ print $2; exit }')"
  done)at worst, of the device's time"
finish

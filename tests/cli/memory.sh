#!/usr/bin/env bash
# How much memory a job needs, against what PyTorch's allocator counted at most on real GPUs (peak_allocated_bytes in the manifests of examples/pairs):
# of the recorded jobs, and of changed ones, whose truth is another recording. Of fully sharded replicas, of those of Megatron-LM, of stages and of
# tensor-parallel ranks, against the emulated cluster, whose allocator holds what formulas say (emulator/memory).
#
#   tests/cli/memory.sh [--table]
. "$(dirname "$0")/lib.sh"
pairs=$source_folder/examples/pairs
small=hidden=512,heads=8,sequence=256,micro-batch=4,vocabulary=8192

truth() { jq -r --arg folder "${1#*/}" 'select(.folder == $folder).peak_allocated_bytes' "$pairs/${1%%/*}/manifest.jsonl"; }

# peak FROM TO OPTION...: how far the predicted peak is from the true one, in %, into rows.
peak() {
  local from=$1 to=$2
  shift 2
  if [ $# -gt 0 ]; then
    lumos-transform "$@" "$pairs/$from" 2>message | lumos-sim --opportunities off 2>>message >job.sim
  else
    lumos-sim --opportunities off "$pairs/$from" 2>message >job.sim
  fi || fail "$from $*: $(head -c 300 message)"
  grep -o '"name":"memory_peak","value":[0-9]*' job.sim | head -1 | cut -d: -f3 >value
  [ -s value ] || { fail "$from $*: no memory_peak"; return; }
  awk -v value="$(cat value)" -v true="$(truth "$to")" -v name="$from $*" 'BEGIN { printf "%.3f\t%.2f\t%s\n", (value / true - 1) * 100, true / 1e9, name }' >>rows
}

: >rows
for folder in h100/layers=4 h100/layers=8 h100/hidden=4096,heads=32 "h100/$small" h100/kv-heads=4 h100/micro-batches=2 h100/recompute h100/sequence=2048 \
  h100/vocabulary=65536 h200/hidden=4096,heads=32; do
  peak "$folder" "$folder"
done
recorded=$(wc -l <rows)
worst=$(cut -f1 rows | tr -d - | sort -g | tail -1)
awk -v worst="$worst" 'BEGIN { exit !(worst < 2) }' || fail "a recorded job's peak is $worst % off: $(sort -g rows | sed -n '1p;$p')"
mv rows recorded.rows

: >rows
peak h100/layers=4 h100/layers=8 --layers 8
peak h100/layers=8 h100/layers=4 --layers 4
peak h100/layers=4 h100/micro-batch=16 --micro-batch 16
peak h100/layers=4 h100/hidden=4096,heads=32 --hidden 4096
peak h100/layers=4 h100/sequence=2048 --seq 2048
peak h100/layers=4 h100/vocabulary=65536 --vocab 65536
peak h100/layers=4 h100/micro-batches=2 --micro-batches 2
peak h100/layers=4 h200/layers=4 --gpu H200
peak h100/layers=4 h100/recompute --recompute full
peak h100/recompute h100/layers=4 --recompute none
changed=$(wc -l <rows)
worst_changed=$(cut -f1 rows | tr -d - | sort -g | tail -1)
awk -v worst="$worst_changed" 'BEGIN { exit !(worst < 5) }' || fail "a changed job's peak is $worst_changed % off: $(sort -g rows | sed -n '1p;$p')"

# The parts add up to the peak; where ops are not recorded, that is said.
lumos-sim --opportunities off "$pairs/h100/layers=4" >job.sim
sum=$(grep '"name":"memory_part"' job.sim | grep -o '"value":[0-9]*' | cut -d: -f2 | paste -sd+ | bc)
[ "$sum" = "$(grep -o '"name":"memory_peak","value":[0-9]*' job.sim | cut -d: -f3)" ] || fail "the parts add up to $sum"
lumos-render --full job.sim -o page.md && grep -q '^### Memory' page.md || fail 'the Markdown has no memory'
for folder in graphs compile; do
  lumos-sim --opportunities off "$pairs/h100/$folder" >job.sim
  grep -q '"code":"sim.memory_unknown"' job.sim || fail "$folder: nothing says that memory is unknown"
  ! grep -q '"name":"memory_peak"' job.sim || fail "$folder: there is a peak"
done

# Of attention that is computed again, all that is not kept is a number for each of 8 x 1,024 tokens, 16 heads and 4 layers: what it takes in was there
# before, and what it hands on the next product keeps.
peak_of() { lumos-transform "$@" "$pairs/h100/layers=4" 2>message | lumos-sim --opportunities off | grep -o '"name":"memory_peak","value":[0-9]*' | cut -d: -f3; }
less=$(($(peak_of --recompute none) - $(peak_of --recompute selective)))
[ "$less" -eq $((4 * 8 * 1024 * 16 * 4)) ] || fail "attention computed again needs $less bytes less"

# Memory events: what the allocator held at most in the recorded steps, by the trace itself; predicted within 1 %. Not of a rebuilt job.
for folder in memory llama,memory; do
  zcat "$pairs/h100/$folder/rank0.json.gz" | jq -r '
    [.traceEvents[] | select(.ph == "X" and .cat == "user_annotation" and (.name | startswith("ProfilerStep#")))] as $steps
    | ($steps | map(.ts) | min) as $from | ($steps | map(.ts + .dur) | max) as $until
    | [.traceEvents[] | select(.name == "[memory]" and .args."Device Type" == 1 and .ts >= $from and .ts < $until).args]
    | (map(."Total Allocated") | max), (map(."Total Reserved") | max)' >wanted
  lumos-sim --opportunities off "$pairs/h100/$folder" >job.sim
  for name in memory_recorded_peak memory_reserved_peak; do
    grep -o "\"name\":\"$name\",\"value\":[0-9]*" job.sim | cut -d: -f3
  done >seen
  same wanted seen "$folder: recorded and reserved peaks are not those of the trace"
  grep -o '"name":"memory_peak","value":[0-9]*' job.sim | cut -d: -f3 | paste - wanted | head -1 |
    awk '{ exit !($1 > 0.99 * $2 && $1 < 1.01 * $2) }' || fail "$folder: the predicted peak is more than 1 % off the recorded one"
done
expect 0 lumos-render job.sim --view memory -o memory.csv
[ "$(cut -d, -f2 memory.csv | sort -n | tail -1)" = "$(head -1 wanted)" ] || fail 'the picture of memory over time has another peak'
# Of a second GPU that holds less nothing counts; ranks that are joined keep their own.
lumos-parse --rank 0 "$pairs/h100/memory" >first.job
lumos-parse --rank 1 "$pairs/h100/memory" >second.job
sed '0,/^{"type":"memory"/s/^{"type":"memory"/{"type":"memory","rank":0,"device":1,"step":13,"t":1,"allocated":5,"reserved":99999999999}\n&/' first.job >two-gpus.job
lumos-sim --edited --opportunities off two-gpus.job 2>message >job.sim
[ "$(grep -o '"memory_reserved_peak","value":[0-9]*' job.sim)" = '"memory_reserved_peak","value":11494490112' ] || fail "another GPU's memory counts"
lumos-sim --opportunities off first.job second.job 2>message >job.sim
[ "$(grep -o '"memory_recorded_peak".*"rank":[01]' job.sim | grep -c '"value":10398619648,')" -eq 2 ] || fail 'two ranks have not both their peak'
for change in --layers=8 --micro-batch=16; do
  lumos-transform $change "$pairs/h100/memory" 2>/dev/null | lumos-sim --opportunities off 2>/dev/null >job.sim
  grep -q '"memory_peak"' job.sim && ! grep -q '"memory_recorded_peak"' job.sim || fail "with $change there is a recorded peak, or no other"
done
expect 2 lumos-render job.sim --view memory -o memory.svg

# What does not fit is said (the true peaks of 8 and 16 sequences, extended in a line to 128, give 96.5 GB), with what would; that does fit, by the same tools.
lumos-transform --micro-batch 128 "$pairs/h100/layers=4" 2>/dev/null | lumos-sim --opportunities off 2>message >job.sim
grep -q 'does not fit in memory: rank 0 needs 96\.[0-9] GB, and its GPU has 85.0 GB; most of it, ' message || fail "128 sequences: $(cat message)"
grep -q '"code":"sim.memory_exceeded"' job.sim || fail '128 sequences: no note'
fits=$(grep -oE -- '--micro-batch [0-9]+' message | cut -d' ' -f2)
[ "${fits:-0}" -gt 64 ] || fail "128 sequences: $fits fit"
lumos-transform --micro-batch "$fits" "$pairs/h100/layers=4" 2>/dev/null | lumos-sim --opportunities off 2>message >job.sim
! grep -q 'does not fit' message || fail "$fits sequences: $(cat message)"

# ---- emulated jobs ----

# emulated OPTIONS [CHANGE]: how far the predicted peak is from what the emulated allocator held at most, as recorded or in a run of the change, into rows:
# of the rank for which that is worst.
emulated() {
  rm -rf recorded true
  # shellcheck disable=SC2086
  emulated-cluster --quiet --plain --once --steps 3 --memory on $1 recorded || fail "the emulated cluster fails: $1"
  # shellcheck disable=SC2086
  if [ -n "$2" ]; then lumos-transform $2 recorded/rank*.json; else lumos-parse recorded/rank*.json; fi 2>message | lumos-sim --opportunities off 2>>message >job.sim
  jq -r 'select(.type == "metric" and .name == "memory_peak") | "\(.scope.rank) \(.value)"' job.sim | sort -u >peaks
  [ -s peaks ] || { fail "$1 $2: no memory_peak: $(head -c 300 message)"; return; }
  # shellcheck disable=SC2086
  [ -z "$2" ] || emulated-cluster --quiet --plain --once --steps 2 --memory on --ranks "$(cut -d' ' -f1 peaks | paste -sd,)" $1 $2 true || fail "the emulated cluster fails: $1 $2"
  [ -d true ] || mv recorded true
  while read -r rank peak; do
    jq -r --argjson peak "$peak" '[.traceEvents[] | select(.name == "[memory]").args."Total Allocated"] | max | "\(($peak / . - 1) * 100) \(. / 1e9)"' "true/rank$rank.json"
  done <peaks | awk -v name="$1 $2" '{ off = $1 < 0 ? -$1 : $1 } off >= most { most = off; row = sprintf("%.3f\t%.2f\t%s", $1, $2, name) } END { print row }' >>rows
}

# ---- fully sharded replicas ----

sharded() { emulated "--fsdp on $1" "$2"; }

cp rows changed.rows
: >rows
wide='--layers 4 --hidden 4096 --seq 256 --vocab 8192 --micro-batches 2'
long='--layers 4 --hidden 2048 --micro-batches 2'
sharded "$wide --dp 4" ''
rarely sharded "$long --dp 2" ''
sharded '--layers 1 --hidden 2048 --seq 128 --vocab 2048 --micro-batches 2 --dp 2' ''
! lumos-transform --layers 4 true/rank*.json >job.sim 2>message && grep -q 'what one layer alone gathers does not show' message ||
  fail "four layers of a sharded one: $(head -c 300 message)"
rarely sharded '--layers 6 --hidden 1024 --seq 1024 --vocab 32000 --micro-batch 2 --micro-batches 3 --dp 2' ''
rarely sharded "$wide --dp 4" '--dp 2'
sharded "$wide --dp 4" '--dp 16'
rarely sharded "$long --dp 2" '--dp 8'
rarely sharded "$wide --dp 4" '--layers 8 --dp 8'
rarely sharded "$wide --dp 4" '--micro-batches 4'
short='--layers 4 --hidden 2048 --seq 512 --vocab 10240 --micro-batches 2'
for change in '--hidden 4096' '--vocab 32768' '--ffn 4096'; do rarely sharded "$short --dp 4" "$change"; done
flat='--layers 8 --hidden 2048 --seq 4096 --vocab 8192 --micro-batches 2 --dp 4'
sharded "$flat" '--recompute full'
sharded "$flat --recompute full" '--recompute none'
sharded "$long --dp 4" '--recompute full --micro-batches 4 --dp 8'
worst_sharded=$(cut -f1 rows | tr -d - | sort -g | tail -1)
awk -v worst="$worst_sharded" 'BEGIN { exit !(worst < 1) }' || fail "a fully sharded replica's peak is $worst_sharded % off: $(sort -g rows | sed -n '1p;$p')"
sharded_count=$(wc -l <rows)
mv rows sharded.rows
# Where layers are computed again, gradients of both are there at once, and which an op takes is less clear.
: >rows
rarely sharded "$flat --recompute full" ''
rarely sharded "$long --recompute full --dp 4" ''
sharded "$flat --recompute full" '--dp 8'
worst_again=$(cut -f1 rows | tr -d - | sort -g | tail -1)
awk -v worst="$worst_again" 'BEGIN { exit !(worst < 5) }' || fail "a replica that computes layers again has a peak $worst_again % off: $(sort -g rows | sed -n '1p;$p')"
cat rows >>sharded.rows

# ---- replicas, stages and ranks of Megatron-LM ----

: >rows
small_model='--layers 4 --hidden 1024 --seq 1024 --vocab 16384 --micro-batches 2 --dp 2'
shares='--distributed-optimizer on'
emulated "$small_model" ''
rarely emulated "$small_model $shares" ''
rarely emulated "$small_model --tp 2" ''
emulated "$small_model --tp 2 --sequence-parallel on --pp 2 $shares" ''
rarely emulated '--layers 8 --hidden 1024 --seq 1024 --pp 2 --micro-batches 4 --schedule interleaved --vp 2' ''
worst_as_recorded=$(cut -f1 rows | tr -d - | sort -g | tail -1)
awk -v worst="$worst_as_recorded" 'BEGIN { exit !(worst < 0.5) }' || fail "the peak of a recorded job's rank is $worst_as_recorded % off: $(sort -g rows | sed -n '1p;$p')"
emulated '--layers 2 --hidden 1024 --seq 4096 --vocab 1024 --micro-batches 4 --pp 2 --schedule gpipe' ''
rarely emulated '--layers 8 --hidden 2048 --seq 4096 --vocab 8192 --micro-batches 4 --pp 2 --recompute full' ''
emulated "$small_model" '--pp 2 --layers 12'
emulated "$small_model" "$shares"
rarely emulated "$small_model $shares" '--distributed-optimizer off'
for change in '--layers 8' '--dp 8' '--tp 2' '--micro-batch 4' '--micro-batches 4' '--recompute full' '--hidden 2048' '--seq 2048' '--vocab 32768' \
  '--tp 2 --sequence-parallel on' '--pp 4 --schedule gpipe --micro-batches 4' '--pp 2 --tp 2 --dp 4 --layers 8'; do
  rarely emulated "$small_model $shares" "$change"
done
rarely emulated "$small_model" '--pp 2 --vp 2 --schedule interleaved --layers 8 --micro-batches 4'
rarely emulated "$small_model $shares --pp 2" '--pp 1'
rarely emulated "$small_model $shares --pp 2" '--pp 4 --micro-batches 8'
rarely emulated "$small_model --tp 2 --sequence-parallel on" '--tp 4'
rarely emulated "$small_model --recompute full --pp 2" '--recompute none'
rarely emulated '--layers 8 --hidden 2048 --seq 4096 --vocab 8192 --micro-batches 4' '--pp 2 --recompute full'
worst_spread=$(cut -f1 rows | tr -d - | sort -g | tail -1)
awk -v worst="$worst_spread" 'BEGIN { exit !(worst < 3) }' || fail "a replica's peak is $worst_spread % off: $(sort -g rows | sed -n '1p;$p')"
spread_count=$(wc -l <rows)
cat rows >>sharded.rows
# Of experts, and of ranks that share sequences, functions of libraries keep what no op shows.
rm -rf recorded
emulated-cluster --quiet --plain --once --steps 2 --layers 2 --cp 2 --ranks 0 recorded || fail 'the emulated cluster fails'
lumos-sim --opportunities off recorded/rank0.json 2>message >job.sim
grep -F '"code":"sim.memory_unknown"' job.sim | grep -qF 'functions of a library' || fail 'ranks that share sequences: nothing says that memory is unknown'
mv changed.rows rows

# A sweep says what fits, and what does not.
rm -rf recorded
# shellcheck disable=SC2086
emulated-cluster --quiet --plain --once --steps 3 --fsdp on $wide --dp 2 recorded || fail 'the emulated cluster fails'
lumos-sim --sweep layers=4,96 recorded/rank*.json 2>message >swept || fail "the sweep: $(head -c 300 message)"
[ "$(only configuration swept | jq -c 'select(.layers == 96).fits, select(.layers == 4).fits' | sort | xargs)" = 'false true' ] ||
  fail "the sweep says of what fits: $(only configuration swept | jq -c '[.layers, .memory, .fits]' | xargs)"
lumos-transform --layers 96 recorded/rank*.json 2>/dev/null | lumos-sim --opportunities off 2>message >job.sim
grep -q 'does not fit in memory: .*over more data-parallel or tensor-parallel ranks; lumos-sim --sweep auto says what fits$' message || fail "96 layers: $(cat message)"
# What splits what was gathered is not recorded (FSDP 1, or a library's own): unknown, and said so.
sed 's/fsdp::split_with_sizes_copy/split/' recorded/rank0.json >alone.json
lumos-sim --opportunities off alone.json 2>message >job.sim
grep -F '"code":"sim.memory_unknown"' job.sim | grep -qF 'gather parameters for each pass' || fail 'without the split: nothing says that memory is unknown'

if [ "${1:-}" = --table ]; then
  printf 'error %%\ttrue GB\tjob\n'
  cat recorded.rows rows sharded.rows
fi
proved "2 peaks of memory events as the trace has them, $recorded recorded peaks at most $worst % off, $changed predicted ones at most $worst_changed %, $sharded_count of fully sharded replicas at most $worst_sharded %, $worst_again where they compute layers again, $spread_count of other replicas, stages and tensor-parallel ranks at most $worst_spread %"
finish

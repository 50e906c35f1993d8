#!/usr/bin/env bash
# What an edit does to the order of launches: two threads that launch on one stream may change places, and the stream follows; where that
# makes tasks wait for each other the simulation ends with their cycle, exit 2, and nothing written.
. "$(dirname "$0")/lib.sh"

row() { printf '{"ph":"X","cat":"%s","name":"%s","pid":1,"tid":%d,"ts":%d,"dur":%d,"args":{%s}}' "$@"; }
op() { row cpu_op "$2" "$1" "$3" "$4" ''; }                                 # THREAD NAME START LENGTH
launch() { row cuda_runtime cudaLaunchKernel "$1" "$3" 10 "\"correlation\":$2"; } # THREAD CORRELATION START
kernel() { row kernel "$1" 7 "$3" "$4" "\"device\":0,\"stream\":7,\"correlation\":$2${5:-}"; } # NAME CORRELATION START LENGTH MORE
trace() {                                                                   # RANK WORLD ROW...
  local rank=$1 world=$2
  shift 2
  (IFS=,; printf '{"distributedInfo":{"rank":%d,"world_size":%d},"traceEvents":[%s]}\n' "$rank" "$world" "$*")
}

# runs STREAM: "NAME START-END" of every kernel as simulated, in us, in the order of its stream.
runs() { jq -r 'select(.type == "task" and .lane == "s7") | [.sim_start, .rank, .name, .sim_start + .sim_dur] | @tsv' "$1" |
  sort -n | awk '{ printf "%d/%s %d-%d\n", $2, $3, $1 / 1000, $4 / 1000 }'; }

# --- Two threads, one stream ---
# Thread 1 launches gemm_0 at 30-40 and thread 2 gemm_1 at 60-70: gemm_0 42-142, and gemm_1 1 us behind it.
trace 0 1 "$(op 1 work_0 0 30)" "$(launch 1 1 30)" "$(op 2 work_1 0 60)" "$(launch 2 2 60)" \
  "$(kernel gemm_0 1 42 100)" "$(kernel gemm_1 2 143 20)" >threads.json
expect 0 lumos-parse threads.json -o threads
expect 0 lumos-sim threads -o as-recorded
[ "$(runs as-recorded)" = $'0/gemm_0 42-142\n0/gemm_1 143-163' ] || fail "as recorded: $(runs as-recorded)"
# Thread 1 works for 90: it launches at 90-100, and gemm_1 is through by then.
expect 0 lumos-transform --scale 'name~work_0=3' threads -o later
expect 0 lumos-sim later -o changed
[ "$(runs changed)" = $'0/gemm_1 72-92\n0/gemm_0 102-202' ] || fail "the order does not change: $(runs changed)"
# Thread 1 works for 63 and is only 3 late: now gemm_0 waits behind gemm_1.
expect 0 lumos-transform --scale 'name~work_0=2.1' threads -o late
expect 0 lumos-sim late -o changed
[ "$(runs changed)" = $'0/gemm_1 72-92\n0/gemm_0 92-192' ] || fail "gemm_0 does not wait: $(runs changed)"

# --- Two collectives in opposite order ---
# On both ranks thread 1 launches one all-reduce at 30-40 and thread 2 another at 60-70, on one stream.
all_reduce() { # NAME SEQUENCE START
  kernel "ncclDevKernel_AllReduce_$1" "$2" "$3" 20 ",\"Collective name\":\"allreduce\",\"In msg nelems\":8,\"Out msg nelems\":8,\
\"dtype\":\"Float\",\"Process Group Name\":\"g\",\"Group size\":2,\"Process Group Ranks\":\"[0, 1]\",\"Seq\":$2"
}
for rank in 0 1; do
  trace $rank 2 "$(op 1 work_0 0 30)" "$(launch 1 1 30)" "$(op 2 work_1 0 60)" "$(launch 2 2 60)" \
    "$(all_reduce first 1 42)" "$(all_reduce second 2 72)" >rank$rank.json
done
expect 0 lumos-parse rank0.json rank1.json -o ranks
expect 0 lumos-sim ranks -o as-recorded
[ "$(jq -r 'select(.type == "collective") | .rule' as-recorded | tr '\n' ' ')" = 'symmetric symmetric ' ] || fail 'the all-reduces are not joined'
# All of the host slower on both ranks: the order is the same, and all goes on.
expect 0 lumos-transform --scale 'name~work_0=3' ranks -o both
expect 0 lumos-sim both -o changed
# On rank 0 alone: its stream has the second first, waits for rank 1's, which stands behind the first, for which rank 0 comes too late.
expect 0 lumos-transform --scale 'rank=0,name~work_0=3' ranks -o opposite
expect 2 lumos-sim opposite -o none
ids=$(jq -rs 'map(select(.type == "task" and .lane == "s7") | {key: "\(.rank)\(.name[24:])", value: .id}) | from_entries |
  "\(.["0first"]) \(.["0second"]) \(.["1second"]) \(.["1first"])"' opposite)
read -r first0 second0 second1 first1 <<<"$ids"
says "ncclDevKernel_AllReduce_firs.. ($first0) waits for ncclDevKernel_AllReduce_seco.. ($second0) waits for \
ncclDevKernel_AllReduce_seco.. ($second1) waits for ncclDevKernel_AllReduce_firs.. ($first1) waits for \
ncclDevKernel_AllReduce_firs.. ($first0);" 'wait for each other'
[ ! -e none ] || fail 'a deadlock left a stream'
expect 2 lumos-report --scale 'rank=0,name~work_0=3' rank0.json rank1.json -o none.html
says 'wait for each other' "($first0)" "($second0)" "($first1)" "($second1)"
[ ! -e none.html ] || fail 'a deadlock left a page'

# --- A cycle written by hand ---
# Each thread's launch waits for the other's.
expect 0 lumos-graph threads -o graph
read -r one other <<<"$(jq -rs 'map(select(.type == "task" and .kind == "launch").id) | join(" ")' graph)"
jq -c --arg one "$one" --arg other "$other" '
  def wait(a; b): {type: "dep", src: a, dst: b, kind: "other", from: "end", to: "start", lag: 0, evidence: "recorded", mode: "fixed"};
  if .type == "end" then wait($one; $other), wait($other; $one), (.counts.dep += 2) else . end' graph >cycle
expect 2 lumos-sim cycle -o none
says "cudaLaunchKernel ($one) waits for cudaLaunchKernel ($other) waits for cudaLaunchKernel ($one);"
[ ! -e none ] || fail 'a cycle left a stream'
# One of them alone is no cycle.
jq -c --arg one "$one" --arg other "$other" '
  if .type == "end" then {type: "dep", src: $other, dst: $one, kind: "other", from: "end", to: "start", lag: 5000, evidence: "recorded",
    mode: "fixed"}, (.counts.dep += 1) else . end' graph >held
expect 0 lumos-sim held -o waited
[ "$(runs waited)" = $'0/gemm_1 72-92\n0/gemm_0 92-192' ] || fail "what was written by hand does not hold: $(runs waited)"

# --- Ties ---
# Calls take no time, so that those of a rank come at one instant on both of its threads: streams tell their order.
emulated-cluster --quiet --ideal --tp 2 --dp 3 --layers 2 --hidden 1024 --micro-batches 2 --steps 2 ideal || fail 'the emulated cluster fails'
lumos-graph ideal/rank*.json.gz >graph 2>message
expect 0 lumos-sim --opportunities off graph -o tied
sed -nE 's/^\{"type":"metric","name":"step_time","value":([0-9]+),.*"scope":(\{[^}]*\}),"source":"(measured|simulated)".*/\3 \2 \1/p' tied >steps
[ -s steps ] || fail 'a job of ties has no steps'
check 'a job of ties runs as it was measured' cmp <(sed -n 's/^measured //p' steps) <(sed -n 's/^simulated //p' steps)
proved 'threads change places on a stream, and where tasks wait for each other the cycle is told and nothing written'
finish

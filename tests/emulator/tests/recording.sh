#!/usr/bin/env bash
# What is recorded is a choice that changes the traces and nothing else: options, ranks, steps, the window.
. "$(dirname "$0")/lib.sh"
small=(--hidden 1024 --seq 1024 --vocab 8192 --layers 2 --micro-batches 2 --tp 2 --pp 2 --steps 2 --warmup 1)

# ---- options ----

# traits TRACE: which of the options' rows and arguments it has.
traits() {
  local option
  for option in 'shapes "Input Dims": \[\[' 'shapes "record_shapes": 1' 'sync "cat": "cuda_sync"' 'sync "cat": "cuda_event"' 'sync "wait_on_cuda_event_record_corr_id": [0-9]' 'stacks "cat": "python_function"' \
    'stacks "with_stack": 1' 'annotations "cat": "user_annotation", "name": "forward_step"' 'annotations "cat": "gpu_user_annotation", "name": "forward_step"' \
    'annotations "cat": "user_annotation", "name": "optimizer.step"' 'collectives "Collective name"' \
    'collectives "Process Group Name"'; do
    grep -qE -- "${option#* }" "$1" && echo "${option%% *}"
  done | sort | uniq -c | awk '{ print $2, $1 }'
}
declare -A full=([shapes]=2 [sync]=3 [stacks]=2 [annotations]=3 [collectives]=2)

# recorded OPTION...: these are in the trace of a job that records them, whole, and no others are.
recorded() {
  local list
  list=$(IFS=,; echo "$*")
  emulate "record-$list" "${small[@]}" --ranks 0 --without profiler --record "${list:-none}"
  traits "record-$list/rank0.json" >traits
  for option in "$@"; do echo "$option ${full[$option]}"; done | sort >wanted
  same wanted traits "--record ${list:-none} records others: $(tr '\n' ';' <traits)"
  grep -q '"cat": "user_annotation", "name": "ProfilerStep#' "record-$list/rank0.json" || fail "--record ${list:-none}: PyTorch's own annotations are missing"
  check "--record $list: JSON" jq -e '.traceEvents | length > 0' "record-$list/rank0.json" >/dev/null
  [ "$(jq -c '.configuration.record | sort' "record-$list/truth.json")" = "$(for option in "$@"; do echo "$option"; done | jq -Rsc 'split("\n")[:-1] | sort')" ] ||
    fail "--record $list: truth.json does not say so"
}
recorded
for option in "${!full[@]}"; do recorded "$option"; done
recorded shapes sync
recorded annotations collectives shapes stacks sync
emulate everything "${small[@]}" --ranks 0 --without profiler --record all
same <(tail -n +1 everything/rank0.json) record-annotations,collectives,shapes,stacks,sync/rank0.json 'all are not all'
emulate usual "${small[@]}" --ranks 0 --without profiler
traits usual/rank0.json >traits
same <(printf '%s\n' 'annotations 3' 'collectives 2' 'shapes 2') traits 'the usual options are others'

# A profiler that costs nothing sees the same events, whatever it notes of them.
events() { rows "$1" 0 | grep -P '\t(kernel|gpu_memcpy|gpu_memset|cuda_runtime|cuda_driver)\t' >"$1/events"; }
events everything
for job in record-* usual; do
  events "$job"
  same everything/events "$job/events" "$job: what is recorded changes what happens"
  same <(jq -c .steps everything/truth.json) <(jq -c .steps "$job/truth.json") "$job: what is recorded changes the steps"
done

# The first of two runs may be left out: nothing else is another.
emulate once "${small[@]}" --ranks 0 --without profiler --once
same usual/rank0.json once/rank0.json '--once records something else'
same <(jq -S 'del(.arguments, .steps[].unprofiled)' usual/truth.json) <(jq -S 'del(.arguments)' once/truth.json) '--once has another truth'
same <(emulated-cluster "${small[@]}" --ranks none twice | sed 's/, [0-9.]* ms without the profiler//') <(emulated-cluster "${small[@]}" --ranks none --once alone) '--once reports another run'

# ---- ranks, files, steps ----

emulate all "${small[@]}" --dp 2
emulate some "${small[@]}" --dp 2 --ranks 0,3,5-6
[ "$(cd some && echo *)" = 'rank0.json rank3.json rank5.json rank6.json truth.json' ] || fail "--ranks 0,3,5-6 writes $(ls some | tr '\n' ' ')"
[ "$(cd all && ls | wc -l)" -eq 9 ] || fail 'not every rank is written'
for rank in 0 3 5 6; do
  same all/rank$rank.json some/rank$rank.json "rank $rank is another where fewer are written"
  jq -e --argjson rank $rank '.distributedInfo.rank == $rank and .distributedInfo.world_size == 8' some/rank$rank.json >/dev/null || fail "rank $rank does not say who it is"
done
jq -S 'del(.arguments, .windows, .collectives, .recorded)' all/truth.json >all.truth
jq -S 'del(.arguments, .windows, .collectives, .recorded)' some/truth.json >some.truth
same all.truth some.truth 'the truth is another where fewer ranks are written'
same <(jq -c '.recorded[] | select(.rank == (0, 3, 5, 6))' all/truth.json) <(jq -c '.recorded[]' some/truth.json) 'the truth of a rank is another where fewer are written'
# Each rank is a process of its own, on the node that it says, with that node's devices and clock.
emulate nodes "${small[@]}" --dp 2 --node-size 4 --gpu h200 --record none
for rank in {0..7}; do
  jq -r '[.distributedInfo.rank, .host_name, ([.traceEvents[] | select(.cat == "cpu_op" or .cat == "cuda_runtime") | .pid] | unique | join("+")),
    ([.traceEvents[] | select(.cat == "kernel") | "\(.pid) \(.args.device)"] | unique | join("+")),
    ([.deviceProperties[] | "\(.id) \(.name) \(.numSms) \(.totalGlobalMem >= 140e9) \(.computeMajor)"] | join("+"))] | @tsv' nodes/rank$rank.json
done >hosts
holds 'ranks are processes of their nodes' '
  { seen++; node = int($1 / 4); device = $1 % 4; devices = ""; for (i = 0; i < 4; i++) devices = devices (i ? "+" : "") i " NVIDIA H200 132 true 9" }
  node in host && host[node] != $2 { print "rank", $1, "is on", $2, "and its neighbour on", host[node] }
  !(node in host) && $2 in taken { print "node", node, "has the name of another" }
  { host[node] = $2; taken[$2] }
  $3 !~ /^[0-9]+$/ || (node, $3) in process { print "rank", $1, "is process", $3 }
  { process[node, $3] }
  $4 != device " " device { print "rank", $1, "runs on", $4 }
  $5 != devices { print "rank", $1, "lists", $5 }' hosts

# What is not as usual stands in truth.json by its name.
emulate unusual --hidden 512 --seq 256 --vocab 2048 --layers 2 --dp 4 --steps 1 --warmup 1 --ranks none --slow-host 3=2 --straggler 1=1.5 --straggler 2=0.5 --contention 0.3,0.2 --jitter 0.7 --queue-depth 99 \
  --nic-bandwidth 25 --nic-latency 7 --node-size 2 --scale gemm=0.5 --scale host=3 --without waves,clocks
jq -e '.configuration | .slow_hosts == [[3, 2]] and .slow_devices == [[1, 1.5], [2, 0.5]] and .scale == {host: 3, gemm: 0.5} and
  .machine == {gpu: "NVIDIA H100 80GB HBM3", node_size: 2, nic_bandwidth: 25, nic_latency: 7000, queue_depth: 99, contention_compute: 0.3, contention_transfer: 0.2, jitter: 0.7} and
  (.mechanisms | length == 12 and index("waves") == null and index("clocks") == null)' unusual/truth.json >/dev/null || fail "truth.json says otherwise what is unusual: $(jq -c .configuration unusual/truth.json)"

emulate none "${small[@]}" --ranks none
[ "$(ls none)" = truth.json ] || fail "--ranks none writes $(ls none | tr '\n' ' ')"
emulated-cluster --quiet "${small[@]}" --dp 2 --ranks 5 packed >said || fail 'without --plain it fails'
[ ! -s said ] || fail "--quiet says $(head -c 200 said)"
emulated-cluster "${small[@]}" --ranks none none >said || fail 'without --quiet it fails'
clean said
[ "$(wc -l <said)" -eq 1 ] || fail "what is said is not one line: $(head -c 300 said)"
jq -r '(.steps | length) as $n | .configuration as $c | ((.steps[-1].profiled.end - .steps[0].profiled.start) / $n) as $with | ((.steps[-1].unprofiled.end - .steps[0].unprofiled.start) / $n) as $without
  | [.world, $with / 1e6, $without / 1e6, 100 * .model_flops / .world / $with / .peak_flops] | @tsv' none/truth.json >told
holds 'what is said is what truth.json says' 'FILENAME == "said" { n = split($0, said, /[^0-9.]+/); ranks = said[1]; next }
  { seen++; if ($1 != ranks || said[n - 1] - $4 > 0.051 || $4 - said[n - 1] > 0.051 || said[n - 3] - $2 > 0.00051 || $2 - said[n - 3] > 0.00051 || said[n - 2] - $3 > 0.00051 || $3 - said[n - 2] > 0.00051)
      print ranks, said[n - 3], said[n - 2], said[n - 1], "not", $0 }' said told
zcat packed/rank5.json.gz | cmp - all/rank5.json || fail 'packed, the trace is another'

for steps in 1 4; do
  emulate "steps-$steps" "${small[@]}" --ranks 0 --warmup 3 --steps $steps
  [ "$(grep -o '"cat": "user_annotation", "name": "ProfilerStep#[0-9]*"' steps-$steps/rank0.json | tr -dc '0-9\n' | tr '\n' ' ')" = "$(seq -s ' ' 3 $((2 + steps))) " ] ||
    fail "--warmup 3 --steps $steps records other steps"
  [ "$(jq -c '[.steps[].step]' steps-$steps/truth.json)" = "[$(seq -s , 3 $((2 + steps)))]" ] || fail "--steps $steps: the truth has others"
done

# ---- the window ----

# A device that is behind its host still has launches to run when the recording starts: their rows have no launch in the trace.
emulate behind --hidden 4096 --layers 2 --micro-batches 4 --steps 1 --warmup 1 --without clocks --record annotations
tables behind
holds 'a device that is behind shows work that was launched before the recording' '
  { seen++; if ($2 < 0) before++; if ($2 < 0 && done) print $6, "comes behind the first launch of the recording"; if ($2 >= 0) done = 1 }
  END { if (before < 20) print before + 0, "rows have no launch" }' <(awk '$3 == 7' behind/work)
[ "$(jq '.recorded[0].counts.launched_before' behind/truth.json)" -eq "$(awk -F'\t' '$2 < 0' behind/work | wc -l)" ] || fail 'launches before the recording are miscounted'
holds 'what is recorded lies in the window' '
  FILENAME ~ /windows$/ { start[$1] = $2; stop[$1] = $3; next }
  $2 == "python_function" || $2 == "Trace" || $2 == "gpu_user_annotation" { next }
  { seen++ } $5 < start[$1] || $5 > stop[$1] { print $1, $2, $3, $5, "of", start[$1], stop[$1] }' behind/windows behind/rows
# How long before its window a recording begins, and how long it takes to be written, differs from rank to rank.
emulate spans --hidden 512 --layers 1 --dp 8 --steps 1 --warmup 1 --without clocks --record none
for trace in spans/rank*.json; do
  jq -r '(.traceEvents | map(select(.name == "process_name").ts) | min) as $from | (.traceEvents[] | select(.cat == "Trace")) as $span | .traceEvents[] | select(.name == "Record Window End")
    | [($from - $span.ts) * 1000, (.ts - $span.ts - $span.dur) * 1000 | round] | @tsv' "$trace"
done >spans/spans
holds 'leads and tails of recordings' '
  { seen++; if ($1 < 30000 || $1 > 160000) print "the lead is", $1; if ($2 < 50000 || $2 > 5000000) print "the tail is", $2; lead[$1]; tail[$2] }
  END { if (length(lead) < 8 || length(tail) < 8) print length(lead), "leads,", length(tail), "tails" }' spans/spans
# The device's rows lie, as its clock shows them, between the time at which Kineto names threads and the end of the recording; the truth is of these.
emulate clocked --hidden 4096 --layers 2 --micro-batches 4 --steps 1 --warmup 1 --dp 8 --node-size 2 --batched-p2p off --record sync,collectives
tables clocked
for trace in clocked/rank*.json; do
  jq -r --arg rank "${trace//[^0-9]/}" '(.traceEvents | map(select(.name == "process_name").ts) | min) as $from | (.traceEvents[] | select(.cat == "Trace") | .ts + .dur) as $to
    | .traceEvents[] | select(.cat | IN("kernel", "gpu_memcpy", "gpu_memset", "cuda_event")) | [$rank, .cat, .args.correlation, ((.ts - $from) * 1000 | round), (($to - .ts - .dur) * 1000 | round)] | @tsv' "$trace"
done >clocked/shown
holds 'device rows lie in the window as their clock shows it' '
  { seen++; if ($4 < 0 || $5 < 0) print $1, $2, $3, $4, "ns behind its start,", $5, "before its end"; if ($2 != "cuda_event") { first[$1] = first[$1] == "" || $4 < first[$1] ? $4 : first[$1] } }
  END { for (rank in first) if (first[rank] < 20000) soon++; if (!soon) print "no rank has work when the window begins" }' clocked/shown
holds 'the truth is of the rows that the trace has' '
  FILENAME ~ /shown$/ { if ($2 != "cuda_event") shown[$1, $3]; next }
  FILENAME ~ /tasks$/ { seen++; if (!(($1, $2) in shown)) print "task", $1, $2, "has no row"; task[$1, $2]; next }
  FILENAME ~ /edges$/ { if (!(($1, $2) in shown) || !(($1, $3) in shown)) print "edge", $0; next }
  { n = split($10, ranks, ","); split($13, correlations, ","); any = 0; for (i = 1; i <= n; i++) any += (ranks[i], correlations[i]) in shown; if (!any) print "no trace has the collective", $1, $2, $3 }
  END { for (at in shown) if (!(at in task)) print "row", at, "is no task" }' clocked/shown clocked/tasks clocked/edges clocked/collectives
emulate ahead "${small[@]}" --steps 1 --without clocks --slow-host 0=4 --ranks 0 --record annotations
[ "$(jq '.recorded[0].counts.launched_before' ahead/truth.json)" -lt 20 ] || fail 'a device that waits for its host has work left'

# ---- what cannot be ----

for refused in '--tp 3' '--layers 3' '--schedule interleaved' '--vp 2' '--only nothing' '--without host,nobody' '--ranks 4' '--scale gem=2' '--straggler 9=2' '--record everything' '--steps 0' \
  '--gpu z80' '--nonsense' 'second'; do
  # shellcheck disable=SC2086 # several words
  expect 2 emulated-cluster --quiet "${small[@]}" $refused refused
  clean message
  [ "$(wc -l <message)" -eq 1 ] && grep -q '^emulated-cluster: ' message || fail "$refused: the message is $(head -c 200 message)"
  [ ! -e refused ] || fail "$refused: a folder is left"
done
expect 0 emulated-cluster --help >help
grep -q '^Usage: emulated-cluster ' help || fail '--help does not say how to use it'
proved 'what is recorded changes nothing else'
finish

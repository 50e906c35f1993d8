#!/usr/bin/env bash
# Predictions on real GPUs: a recording of examples/pairs is changed with lumos-transform, and the simulated step held against how long a step
# of the changed job took on the GPU without the profiler (manifest.jsonl).
#
#   tests/cli/pairs.sh [--table]
. "$(dirname "$0")/lib.sh"
pairs=$source_folder/examples/pairs

small=hidden=512,heads=8,sequence=256,micro-batch=4,vocabulary=8192 # that the CPU holds up

wide=hidden=4096,heads=32,kv-heads=8,ffn=11264
long=hidden=4096,heads=32,kv-heads=4,sequence=3072,micro-batch=2
narrow=layers=8,hidden=1024,heads=8,ffn=2816,sequence=2048,vocabulary=32000
short=layers=2,hidden=3072,heads=24,ffn=9216,micro-batch=3,vocabulary=50304
drawn=llama,layers=6,hidden=3072,heads=48,kv-heads=48,ffn=10752,sequence=768,micro-batch=6

# recorded | true | change. Those of llama and those of several sizes were recorded after the models were made, and first held against
# them as they were.
cases=(
  'h100/layers=4|h100/layers=8|--layers 8'
  'h100/layers=8|h100/layers=4|--layers 4'
  'h100/layers=4|h100/hidden=1024,heads=8|--hidden 1024'
  'h100/layers=4|h100/hidden=4096,heads=32|--hidden 4096'
  'h100/hidden=4096,heads=32|h100/layers=4|--hidden 2048'
  'h100/layers=4|h100/sequence=2048|--seq 2048'
  'h100/sequence=2048|h100/layers=4|--seq 1024'
  'h100/layers=4|h100/micro-batch=4|--micro-batch 4'
  'h100/layers=4|h100/micro-batch=16|--micro-batch 16'
  'h100/micro-batch=4|h100/micro-batch=16|--micro-batch 16'
  'h100/layers=4|h100/vocabulary=65536|--vocab 65536'
  'h100/layers=4|h100/ffn=4096|--ffn 4096'
  'h100/layers=4|h100/heads=32|--heads 32'
  'h100/layers=4|h100/micro-batches=2|--micro-batches 2'
  'h100/micro-batches=2|h100/layers=4|--micro-batches 1'
  'h100/layers=4|h100/recompute|--recompute full'
  'h100/recompute|h100/layers=4|--recompute none'
  'h100/layers=4|h100/graphs|--launch graph'
  'h100/compile|h100/layers=8,compile|--layers 8'
  'h200/layers=4|h200/layers=8|--layers 8'
  'h200/layers=4|h200/hidden=4096,heads=32|--hidden 4096'
  'h200/layers=4|h200/micro-batch=4|--micro-batch 4'
  'h200/layers=4|h200/graphs|--launch graph'
  "h100/$small|h100/$small|--unprofiled"
  "h100/$small|h100/layers=8,$small|--unprofiled --layers 8"
  "h100/layers=8,$small|h100/$small|--unprofiled --layers 4"
  "h100/$small|h100/$small,graphs|--unprofiled --launch graph"
  'h100/layers=4|h200/layers=4|--gpu H200'
  'h100/layers=8|h200/layers=8|--gpu H200'
  'h100/compile|h200/compile|--gpu H200'
  'h100/graphs|h200/graphs|--gpu H200'
  'h100/hidden=4096,heads=32|h200/hidden=4096,heads=32|--gpu H200'
  'h200/layers=4|h100/layers=4|--gpu H100_SXM'
  'h200/layers=8|h100/layers=8|--gpu H100_SXM'
  'h200/compile|h100/compile|--gpu H100_SXM'
  'h200/hidden=4096,heads=32|h100/hidden=4096,heads=32|--gpu H100_SXM'
  'h100/llama|h100/llama,layers=8|--unprofiled --layers 8'
  'h100/llama,layers=8|h100/llama|--unprofiled --layers 4'
  "h100/llama|h100/llama,$wide|--unprofiled --hidden 4096"
  "h100/llama,$wide|h100/llama|--unprofiled --hidden 2048"
  'h100/llama|h100/llama,micro-batch=16|--unprofiled --micro-batch 16'
  'h100/llama,micro-batch=16|h100/llama|--micro-batch 8 --unprofiled'
  'h100/llama|h100/llama,sequence=2048|--unprofiled --seq 2048'
  'h100/llama|h100/llama,ffn=8192|--unprofiled --ffn 8192'
  'h100/llama,compile|h100/llama,layers=8,compile|--unprofiled --layers 8'
  "h100/llama|h100/$drawn|--unprofiled --layers 6 --hidden 3072 --heads 48 --kv-heads 48 --head-dim 64 --ffn 10752 --seq 768 --micro-batch 6"
  "h100/layers=4|h100/$long|--unprofiled --hidden 4096 --kv-heads 4 --seq 3072 --micro-batch 2"
  "h100/$long|h100/layers=4|--unprofiled --hidden 2048 --kv-heads 16 --seq 1024 --micro-batch 8"
  "h100/layers=4|h100/$narrow|--unprofiled --layers 8 --hidden 1024 --ffn 2816 --seq 2048 --vocab 32000"
  "h100/layers=4|h100/$short|--unprofiled --layers 2 --hidden 3072 --ffn 9216 --micro-batch 3 --vocab 50304"
  'h200/mixtral|h200/mixtral,layers=8|--unprofiled --layers 8'
  'h200/mixtral,layers=8|h200/mixtral|--unprofiled --layers 4'
  'h200/mixtral|h200/mixtral,sequence=2048|--unprofiled --seq 2048'
  'h200/mixtral,sequence=2048|h200/mixtral|--unprofiled --seq 1024'
  'h200/mixtral|h200/mixtral,ffn=1792|--unprofiled --ffn 1792'
  'h200/mixtral,ffn=1792|h200/mixtral|--unprofiled --ffn 3584'
  'h200/gpt2|h200/gpt2,layers=8|--unprofiled --layers 8'
  'h200/gpt2,layers=8|h200/gpt2|--unprofiled --layers 4'
  'h200/hidden=4096,heads=32|h200/hidden=4096,heads=32|--unprofiled'
  'h100/llama|h200/llama|--unprofiled --gpu H200'
  'h200/llama|h100/llama|--unprofiled --gpu H100_SXM'
  "h100/llama,$wide|h200/llama,$wide|--unprofiled --gpu H200"
  "h100/$narrow|h200/$narrow|--unprofiled --gpu H200"
  "h200/$long|h100/$long|--unprofiled --gpu H100_SXM"
)

# truth FOLDER: ns of a step without the profiler.
declare -A true_of
for gpu in h100 h200; do
  while read -r folder time; do true_of[$gpu/$folder]=$time; done < <(jq -r '"\(.folder) \(.unprofiled_step_ns)"' "$pairs/$gpu/manifest.jsonl")
done
truth() { echo "${true_of[$1]}"; }

# Every third by default.
count=0
for case in "${cases[@]}"; do
  [ $((count++ % 3)) -eq 0 ] || [ "$all_cases" = yes ] || continue
  IFS='|' read -r from to change <<<"$case"
  read -ra options <<<"$change"
  options=("${options[@]//_/ }") # a GPU's name may hold a space
  lumos-transform "${options[@]}" "$pairs/$from" 2>message | lumos-sim --opportunities off -o predicted.sim 2>>message || fail "$from $change: $(head -c 300 message)"
  lumos-render predicted.sim --format json -o predicted.json 2>>message
  jq -r --argjson true "$(truth "$to")" --argjson now "$(truth "$from")" --arg name "$from $change" \
    '.step_time | [(.simulated / $true - 1) * 100, ($now / $true - 1) * 100, (.low <= $true and $true <= .high), .simulated / 1e6, .low / 1e6, .high / 1e6, $true / 1e6, $name] | @tsv' predicted.json >>rows
done

# Where kernels fill the step, --unprofiled makes it as long as without the profiler, by kernels of another pace: this one took 3.2 % longer
# then. Of a job that its threads hold up, kernels stay.
lumos-transform --unprofiled "$pairs/h200/hidden=4096,heads=32" 2>message >slower
check 'a note says at what pace kernels run' grep -q 'transform.profiler_clock' slower
lumos-sim --opportunities off slower -o slower.sim 2>message
lumos-render slower.sim --format json -o slower.json
check "without the profiler a step is as long as it was, within 1 %" \
  jq -e --argjson true "$(truth 'h200/hidden=4096,heads=32')" '.step_time.simulated / $true - 1 | . > -0.01 and . < 0.01' slower.json
# Timed steps that took a third more are no matter of a clock: kernels stay, a warning says so, and the range reaches them.
longer=$(($(truth 'h200/hidden=4096,heads=32') * 4 / 3))
gzip -dc "$pairs/h200/hidden=4096,heads=32/rank0.json.gz" | sed -E "s/(\"unprofiled\": \{\"steps\": 3, \"dur\": )[0-9]+/\1$((3 * longer))/" >longer.json
lumos-transform --unprofiled --layers 4 longer.json -o longer.graph 2>message
grep -q '"transform.profiler_clock","level":"warning"' longer.graph || fail 'nothing says that timed steps contradict the recorded ones'
lumos-sim --opportunities off longer.graph -o longer.sim 2>message
check 'the range reaches what contradicts the recording' \
  jq -e --argjson longer "$longer" '.step_time | .high > $longer and .simulated < 0.8 * $longer' <(lumos-render longer.sim --format json)
lumos-transform --unprofiled "$pairs/h100/$small" 2>message >threads
! grep -q 'transform.profiler_clock' threads || fail 'kernels of a job that its threads hold up have another pace'

# What one of several tensor-parallel ranks computes was recorded without communication: a step's computing kernels take as long, within 6 %.
computing() { lumos-render "$1" --format json | jq '[.rank_steps[] | select(.rank == 0 and .timeline == "'"$2"'") | .exposed_compute + .overlapped] | add'; }
for ranks in 2 4; do
  lumos-transform --tp "$ranks" "$pairs/h200/shards=1" 2>message | lumos-sim --opportunities off -o shard.sim 2>message
  lumos-graph "$pairs/h200/shards=$ranks" 2>message | lumos-sim --opportunities off -o true.sim 2>message
  predicted=$(computing shard.sim simulated) recorded=$(computing true.sim measured)
  check "kernels of one of $ranks tensor-parallel ranks compute for $predicted ns, as recorded: $recorded" \
    awk "BEGIN { exit !($predicted > 0.94 * $recorded && $predicted < 1.06 * $recorded) }"
done

# Where --unprofiled stands makes no difference, nor how often.
lumos-transform --unprofiled --micro-batch 4 --seq 2048 "$pairs/h100/layers=4" 2>message | grep -v '^{"type":"lumos"' >first
lumos-transform --micro-batch 4 --unprofiled --seq 2048 --unprofiled "$pairs/h100/layers=4" 2>message | grep -v '^{"type":"lumos"' >between
check 'between sizes --unprofiled does what it does before them' cmp -s first between

# Adding up gradients, which one recorded micro-batch does not show, is put in: as many kernels as were recorded of two.
kernels() { only task | awk "$field"' field("kind") == "elementwise" && field("step") == 14 { n++ } END { print n + 0 }'; }
two=$(lumos-graph "$pairs/h100/micro-batches=2" 2>message | kernels)
lumos-transform --micro-batches 2 "$pairs/h100/layers=4" 2>message >added
made=$(kernels <added)
check "two micro-batches run $made elementwise kernels a step, as recorded: $two" [ "${two:-0}" -gt 100 -a "$made" = "$two" ]
# ... and take as long, within 3 %.
moved() { only task | awk "$field"' field("kind") == "elementwise" && field("step") == 14 { sum += field("dur") } END { printf "%d", sum }'; }
long=$(lumos-graph "$pairs/h100/micro-batches=2" 2>message | moved) short=$(moved <added)
check "elementwise kernels of two micro-batches take $short ns, as recorded: $long" awk "BEGIN { exit !($short > 0.97 * $long && $short < 1.03 * $long) }"
check 'a note says so' grep -q 'transform.gradients_added' added
lumos-transform --micro-batches 1 "$pairs/h100/micro-batches=2" 2>message >added
! grep -q 'transform.gradients' added || fail 'something is said of the gradients of two recorded micro-batches'

# What recording costs threads that do not hold the GPU up is not known, but what it usually is: half of their time.
op_time() { only task | awk "$field"' field("kind") == "op" { sum += field("dur") } END { printf "%d", sum }'; }
was=$(lumos-graph "$pairs/h100/micro-batch=16" 2>message | op_time)
lumos-transform --unprofiled "$pairs/h100/micro-batch=16" 2>message >faster
now=$(op_time <faster)
check 'a note says what is assumed' grep -q 'transform.profiler_usual' faster
check "threads of a job that the GPU holds up become twice as fast: from $was to $now ns" awk "BEGIN { exit !($was > 0 && $now / $was > 0.49 && $now / $was < 0.51) }"

# A product moves its result, too, however few its inner numbers are: there and back, those of keys and values take what they took.
narrow() { # ns of the products that keys and values of 4 heads send back
  only 'span|task' "$1" | awk "$field"'
    /^."type":"span"/ { if (index($0, "\"shapes\":\"[[8192, 512], [512, 2048]]\"")) spans[field("id")] = 1; next }
    (span = field("span")) != "" && span in spans { calls[field("id")] = 1; next }
    field("kind") == "gemm" && field("call") in calls { time += field("dur") }
    END { printf "%.0f\n", time }'
}
lumos-graph "$pairs/h100/llama" -o recorded.graph 2>message
lumos-transform --kv-heads 1 recorded.graph 2>message | lumos-transform --kv-heads 4 -o back.graph 2>>message
was=$(narrow recorded.graph) now=$(narrow back.graph)
check "narrow products take $now ns there and back, as recorded: $was" awk "BEGIN { exit !($was > 0 && $now > 0.85 * $was && $now < 1.15 * $was) }"

# Widths that are the same number and become different ones.
lumos-transform --kv-heads 8 "$pairs/h100/$drawn" 2>message >/dev/null
says 'keys and values are projected to as many features as queries'
lumos-transform --kv-heads 4 "$pairs/h100/layers=4" 2>message >/dev/null # whose projection is of all three
! grep -q 'keys and values' message || fail "one projection of queries, keys and values is taken for three: $(cat message)"

awk -F'\t' '{ printf "%s: %.2f ms (%.2f to %.2f), measured %.2f ms, %+.2f %%%s\n", $8, $4, $5, $6, $7, $1, $3 == "true" ? "" : ", not within its range" }' rows
awk -F'\t' 'function size(x) { return x < 0 ? -x : x }
  { sum += size($1); worst = size($1) > worst ? size($1) : worst; held += $3 == "true"; nothing += size($2); n++ }
  END { printf "%d %.2f %.2f %d %.1f\n", n, sum / n, worst, held * 100 / n, nothing / n }' rows >summary
read -r count mean worst held nothing <summary
check "predictions are off by $mean % on average, $worst % at worst" awk "BEGIN { exit !($count >= ${#cases[@]} / 3 && $mean < 1.7 && $worst < 7) }"
check "ranges hold $held % of what was measured" [ "$held" -ge 88 ]
proved "of $count changes on an H100 and an H200 the prediction is off by $mean % on average and $worst % at worst (by $nothing % if nothing changed); its range holds $held %"
finish

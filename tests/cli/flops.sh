#!/usr/bin/env bash
# Floating-point operations of the model, of what ran, and MFU are those of the emulated cluster, which knows them by formula, however the
# model is spread; on real traces those that its maker's configuration gives; and what is not known is not said.
. "$(dirname "$0")/lib.sh"

# figure STREAM NAME [KIND]: "STEP VALUE" of a metric of the job.
figure() {
  grep "^{\"type\":\"metric\",\"name\":\"$2\"" "$1" | awk -v kind="${3:-}" "$field"'
    { value = field("value"); sub(/.*"scope":\{/, ",") }
    !/[,{]"(rank|name)":/ && field("kind") == kind { print field("step"), value }' | sort -n
}

# near NAME WHAT TOLERANCE: the files `true` and `found` have the same steps, and values that differ by no more than that share.
near() {
  paste -d' ' true found | awk -v tolerance="$3" '
    NF != 4 || $1 != $3 { print "steps differ: " $0; bad = 1; next }
    { off = $4 - $2; if (off < 0) off = -off
      if (off > tolerance * $2 + 0.0000006) { print "step " $1 ": " $4 ", not " $2; bad = 1 } }
    END { exit bad || NR == 0 }' >&2 || fail "$1: $2 is another"
}

# above_peak: how many kernels of job.sim would do more than their device can.
above_peak() { only metric job.sim | grep '"name":"flops_share"' | awk "$field"'field("value") + 0 > 1 { n++ } END { print n + 0 }'; }

jobs=0
# counted NAME SOURCES OPTION...: from shapes, and, where SOURCES says so, from the model's description.
counted() {
  local name=$1 sources=$2 source
  shift 2
  jobs=$((jobs + 1))
  rm -rf emulated
  emulated-cluster --quiet --plain --without clocks --steps 2 "$@" emulated || fail "$name: the emulated cluster fails"
  lumos-parse emulated/rank*.json -o job.parse 2>message && lumos-sim --opportunities off job.parse -o job.sim 2>message || fail "$name: $(head -c 300 message)"
  for source in $sources; do
    told_of emulated | jq -r '.model_flops as $f | .steps[] | "\(.step) \($f / 1e12)"' >true
    figure job.sim model_flops "$source" >found
    near "$name" "model_flops from $source" 0
    # The recording does not show when the first step began.
    told_of emulated | jq -r '.steps[1:][] | "\(.step) \(.profiled.mfu)"' >true
    figure job.sim mfu "$source" | tail -n +2 >found
    near "$name" "MFU from $source" 0.0005
  done
  told_of emulated | jq -r '.steps[] | "\(.step) \(.profiled.executed_flops / 1e12)"' >true
  figure job.sim hardware_flops >found
  near "$name" hardware_flops 0
  check "$name: no kernel is above its peak" [ "$(above_peak)" = 0 ]
  check "$name: every product is known" [ "$(figure job.sim product_coverage | cut -d' ' -f2 | sort -u)" = 1 ]
}

counted 'one GPU' 'shapes model' --layers 2 --hidden 512 --seq 512 --micro-batches 2
rarely counted 'recomputation' 'shapes model' --layers 2 --hidden 512 --seq 512 --micro-batches 2 --recompute full
rarely counted 'recomputation of attention' 'shapes model' --layers 2 --hidden 512 --seq 512 --micro-batches 2 --recompute selective
rarely counted 'tensor parallel' 'shapes model' --layers 2 --hidden 512 --heads 8 --seq 256 --micro-batches 2 --tp 2
rarely counted 'sequence parallel' 'shapes model' --layers 2 --hidden 512 --heads 8 --seq 256 --micro-batches 2 --tp 2 --sequence-parallel on
counted 'context parallel' 'shapes model' --layers 2 --hidden 512 --heads 8 --seq 512 --micro-batches 2 --cp 4 --tp 2
rarely counted 'pipeline' 'shapes model' --layers 4 --hidden 512 --seq 256 --micro-batches 4 --pp 2
rarely counted 'interleaved' 'shapes model' --layers 4 --hidden 512 --seq 256 --micro-batches 4 --pp 2 --vp 2 --schedule interleaved --recompute full
rarely counted 'zero bubble' 'shapes model' --layers 4 --hidden 512 --seq 256 --micro-batches 4 --pp 2 --schedule zb-h1
rarely counted 'data parallel' 'shapes model' --layers 2 --hidden 512 --seq 256 --micro-batches 2 --dp 2 --distributed-optimizer on --gpu a100
counted 'three ways' 'shapes model' --layers 4 --hidden 512 --heads 8 --seq 256 --micro-batches 4 --tp 2 --pp 2 --dp 2 --gpu b200 --recompute full
counted 'heads apart from hidden' 'shapes model' --layers 2 --hidden 512 --heads 8 --head-dim 96 --ffn 1344 --seq 384 --micro-batch 2 --micro-batches 2 --vocab 5000 --gpu h200

# --- Without shapes: only a description says it, and what it lacks is told. ---
emulated-cluster --quiet --without clocks --steps 1 --layers 2 --hidden 512 --seq 512 --micro-batches 2 --record annotations bare
expect 0 lumos-parse bare/rank0.json.gz -o bare.parse
expect 0 lumos-sim --opportunities off bare.parse -o bare.sim
check 'nothing is said without shapes' [ -z "$(figure bare.sim model_flops shapes)$(figure bare.sim mfu shapes)$(figure bare.sim hardware_flops)" ]
check 'a note says what to record' [ "$(only note bare.sim | jq -r 'select(.code == "sim.flops_unknown") | .cure' | grep -c 'record_shapes=True.*--model-file')" = 1 ]
echo '{"layers":2,"hidden":512,"heads":4,"kv_heads":4,"head_dim":128,"ffn":2048,"ffn_matrices":2,"sequence":512,"vocabulary":51200,"micro_batch":1,"micro_batches":2}' >gpt.json
expect 0 lumos-graph --model-file gpt.json bare.parse -o bare.graph
expect 0 lumos-sim --opportunities off bare.graph -o bare.sim
told_of bare | jq -r '.model_flops as $f | .steps[] | "\(.step) \($f / 1e12)"' >true
figure bare.sim model_flops model >found
near 'a file' model_flops 0
told_of bare | jq -r '.steps[] | "\(.step) \(.profiled.mfu)"' >true
figure bare.sim mfu model >found
near 'a file' MFU 0.0005
# Keys and values of fewer heads: 2 x 512 x 128 x 3 weights less in each of 2 layers; 6 operations a weight and token, 1024 tokens.
sed -i 's/"kv_heads":4/"kv_heads":1/' gpt.json
expect 0 lumos-graph --model-file gpt.json bare.parse -o bare.graph
expect 0 lumos-sim --opportunities off bare.graph -o bare.sim
told_of bare | jq -r '.model_flops as $f | .steps[] | "\(.step) \(($f - 6 * 1024 * 2 * 2 * 512 * 128 * 3) / 1e12)"' >true
figure bare.sim model_flops model >found
near 'grouped queries' model_flops 0
sed -i 's/"ffn_matrices":2,//' gpt.json
expect 0 lumos-graph --model-file gpt.json bare.parse -o bare.graph
expect 0 lumos-sim --opportunities off bare.graph -o bare.sim
check 'what is missing is told' [ "$(only note bare.sim | jq -r 'select(.code == "sim.flops_unknown") | .cure' | grep -c 'lacks ffn_matrices')" = 1 ]

# --- A table of GPUs of one's own ---
only rank job.parse | jq -r .device.name | head -1 >device
jq -n --rawfile name device '{devices: [{name: "mine", match: [$name | rtrimstr("\n")], memory_bandwidth: 100, peaks: {bf16: 1978}}]}' >mine.json
expect 0 lumos-sim --hardware mine.json job.parse -o mine.sim
figure job.sim mfu shapes | awk '{ print $1, $2 / 2 }' >true
figure mine.sim mfu shapes >found
near 'a table of GPUs' 'MFU at twice the peak' 0.0001
check 'the history says so' [ "$(head -1 mine.sim | jq -r '.history[-1].args')" = '--hardware mine.json' ]
echo '{"devices": [{"name": "another", "peaks": {"bf16": 1}}]}' >other.json
expect 0 lumos-sim --opportunities off --hardware other.json job.parse -o other.sim
figure job.sim mfu shapes >true
figure other.sim mfu shapes >found
near 'other GPUs' 'MFU' 0
while IFS='|' read -r text said; do
  printf '%s' "$text" >bad.json
  expect 2 lumos-sim --opportunities off --hardware bad.json job.parse -o never
  says bad.json "$said"
done <<'TABLE'
{|is not a table of GPUs
[]|is not a table of GPUs
{"devices": [{}]}|device 1 has no name
{"devices": [{"name": "X", "peaks": {"bf17": 1}}]}|X: peaks has no bf17
{"devices": [{"name": "X", "peaks": {"bf16": -1}}]}|X: bf16 is not a number from 0.001 to 1000000; write it in TFLOP/s
{"devices": [{"name": "X", "match": []}]}|X: match is not a list
{"devices": [{"name": "X", "speed": 1}]}|X: a device has no speed
{"devices": [{"name": "X", "memory_bandwidth": "fast"}]}|X: memory_bandwidth is not a number
TABLE
[ ! -e never ] || fail 'something was written all the same'
expect 2 lumos-sim --opportunities off --hardware none.json job.parse
says none.json

proved "FLOPs of the model and of what ran, and MFU, of $jobs emulated jobs, from shapes and by formula, to the last digit"
have_traces || finish
# real TRACES EXPECTED: model FLOPs of the last step, in TFLOP with 3 decimals; "": none.
real() {
  expect 0 lumos-parse "$traces"/$1 -o job.parse
  expect 0 lumos-sim --opportunities off job.parse -o job.sim
  check "$1: '$(figure job.sim model_flops shapes | tail -1)'" [ "$(figure job.sim model_flops shapes | tail -1 | awk '{ printf "%.3f", $2 }')" = "$2" ]
  check "$1: no kernel is above its peak" [ "$(above_peak)" = 0 ]
}
# Qwen1.5-0.5B forward, without its head: 16 x 559 tokens, 24 layers of 4 x 1024^2 + 3 x 1024 x 2816 weights, 16 heads of 64:
# 2 x 8944 x 24 x 12845056 + 24 x 2 x 16 x 16 x 559^2 x 64 = 5.514 + 0.246 TFLOP.
real 'tracelens-qwen-H100-vs-MI300/h100*' 5.760
real 'tracelens-qwen-H100-vs-MI300/mi300*' 5.760
# ResNet-18: 1.814 G multiply-adds for an image of 224 x 224, 10 images, three times, two operations each: 0.109 TFLOP.
real tracelens-resnet-8xMI300-rank0 0.109
# Attention over packed sequences, and products of groups: the shapes do not say how much.
real nanogpt-8xH100-ddp ''
real ao-ep-moe-2xB200 ''
finish

#!/usr/bin/env bash
# The model record has the description of emulated jobs that were told one, from shapes alone, whatever part of it a rank holds; of
# real models what their makers say; and from a file where one is given.
. "$(dirname "$0")/lib.sh"

# found: what a graph says, NAME VALUE; layers and micro-batches are no business of shapes.
found() { only model graph | jq -r 'to_entries[] | select(.value | type == "number") | "\(.key) \(.value)"' | grep -vE '^(layers|micro_batches) ' | sort; }
told() { told_of "$1" | jq -r '.configuration.model | .kv_heads = .heads | .ffn_matrices = 2 | to_entries[] | "\(.key) \(.value)"' | grep -vE '^(layers|micro_batches) ' | sort; }

graph_of() {
  lumos-parse "$@" -o parse 2>message || fail "$*: parse fails: $(head -c 300 message)"
  lumos-graph parse -o graph 2>message || fail "$*: graph fails: $(head -c 300 message)"
}

# model NAME OPTION...: all ranks, then the first and the last alone, which may know less.
jobs=0
model() {
  jobs=$((jobs + 1))
  local name=$1 rank last
  emulated-cluster --quiet --plain --steps 1 --warmup 1 --micro-batches 4 --record "${recorded:-shapes,collectives}" "${@:2}" "$name" || fail "$name: the emulated cluster fails"
  told "$name" >expected
  graph_of "$name"/rank*.json
  found >numbers
  diff expected numbers >&2 || fail "$name: the model is another"
  check "$name: every number has its evidence" [ "$(only model graph | jq -r '. as $m | [.evidence | keys[] | select($m[.] // $m.parallel[.] | not)] + [($m | del(.evidence, .type, .parallel) | keys[]) | select($m.evidence[.] | not)] | length')" = 0 ]
  last=$(find "$name" -name 'rank*.json' | wc -l)
  for rank in 0 $((last - 1)); do
    graph_of "$name/rank$rank.json"
    found >numbers
    check "$name, rank $rank: enough is known" [ "$(wc -l <numbers)" -ge 5 ]
    comm -13 expected numbers | grep . >&2 && fail "$name, rank $rank: a number is another"
  done
}

rarely model narrow --hidden 768 --heads 12 --head-dim 64 --ffn 2048 --seq 768 --vocab 30000 --micro-batch 3 --layers 2
rarely model tensor --tp 2 --hidden 512 --heads 8 --head-dim 96 --ffn 1344 --seq 384 --vocab 5000 --micro-batch 2 --layers 2
model contexts --cp 4 --tp 2 --hidden 768 --heads 8 --head-dim 64 --seq 512 --vocab 10000 --micro-batch 2 --layers 2
model tensor-sequence --tp 4 --hidden 768 --heads 8 --head-dim 64 --seq 256 --vocab 10000 --micro-batch 4 --sequence-parallel on --layers 3
rarely model stages --pp 2 --hidden 640 --heads 10 --ffn 1600 --seq 512 --vocab 3000 --layers 4
rarely model data --dp 2 --hidden 1024 --heads 16 --ffn 3072 --seq 300 --vocab 50257 --layers 2
model recompute --tp 2 --pp 2 --hidden 512 --heads 4 --ffn 1024 --seq 512 --vocab 1024 --micro-batch 2 --layers 4 --recompute full
rarely model optimizer --tp 2 --dp 2 --hidden 896 --heads 14 --ffn 4864 --seq 200 --vocab 151936 --layers 2 --distributed-optimizer on
model interleaved --pp 2 --vp 2 --schedule interleaved --hidden 256 --heads 2 --seq 1024 --vocab 2048 --micro-batch 2 --layers 4
rarely model square --hidden 384 --heads 6 --seq 384 --vocab 384 --layers 2
model wide-heads --tp 8 --hidden 1024 --heads 16 --head-dim 128 --ffn 2816 --seq 128 --vocab 32000 --micro-batch 8 --layers 1
rarely model few-heads --tp 2 --hidden 512 --heads 4 --head-dim 256 --ffn 2048 --seq 512 --vocab 4096 --layers 2
rarely model zero-bubble --pp 4 --schedule zb-h1 --hidden 320 --heads 5 --seq 96 --vocab 1000 --layers 4
recorded=all rarely model everything --tp 2 --pp 2 --dp 2 --hidden 512 --heads 8 --seq 256 --vocab 2000 --layers 4

# A width that two products share is left out, not guessed.
emulated-cluster --quiet --plain --steps 1 --hidden 512 --heads 8 --ffn 512 --layers 2 alike
graph_of alike/rank0.json
check 'a width like another is left out' [ "$(found | grep -c '^ffn')" = 0 ]

# Without shapes there is nothing but a file.
emulated-cluster --quiet --plain --steps 1 --hidden 512 --layers 2 --record none bare
graph_of bare/rank0.json
check 'nothing without shapes' [ -z "$(found)" ]
echo '{"layers": 2, "hidden": 512, "heads": 4}' >gpt.json
expect 0 lumos-graph --model-file gpt.json parse -o graph
check 'a file says it' [ "$(found | tr '\n' ' ')" = 'heads 4 hidden 512 ' ]
check 'layers, too' [ "$(only model graph | jq -r '"\(.layers) \(.evidence.layers)"')" = '2 file: gpt.json' ]
check 'the history says so' [ "$(head -1 graph | jq -r '.history[-1].args')" = '--model-file gpt.json' ]
expect 0 lumos-sim graph -o sim
check 'later stages keep it' [ "$(only model sim | jq -r .heads)" = 4 ]
grep '^{"type":"model"' graph >again.json
expect 0 lumos-graph --model-file again.json parse -o graph
check 'a record of another stream will do' [ "$(found | tr '\n' ' ')" = 'heads 4 hidden 512 ' ]
echo '{"hiden": 512}' >bad.json
expect 2 lumos-graph --model-file bad.json parse -o never
says 'bad.json' 'a model has no hiden' 'give layers, hidden'
[ ! -e never ] || fail 'something was written all the same'
expect 2 lumos-graph --model-file none.json parse
says 'none.json'

proved "the description of $jobs emulated models, from shapes, of all ranks and of the first and last alone"
have_traces || finish
# real TRACES EXPECTED: numbers as found; "": no more than how it is spread.
real() {
  graph_of "$traces"/$1
  check "$1: '$(found | tr '\n' ' ')'" [ "$(found | tr '\n' ' ')" = "$2" ]
}
# Qwen1.5-0.5B's own config.json: hidden_size 1024, 16 heads, 16 of keys and values, intermediate_size 2816, vocab_size 151936.
qwen='ffn 2816 ffn_matrices 3 head_dim 64 heads 16 hidden 1024 kv_heads 16 micro_batch 16 sequence 559 vocabulary 151936 '
real 'tracelens-qwen-H100-vs-MI300/h100*' "$qwen"
real 'tracelens-qwen-H100-vs-MI300/mi300*' "$qwen"
# modded-nanogpt: 6 heads of 128, model_dim 768, feed-forward of 4 times that, 50257 tokens padded to 50304.
real nanogpt-8xH100-ddp 'ffn 3072 ffn_matrices 2 head_dim 128 heads 6 hidden 768 kv_heads 6 micro_batch 1 sequence 16384 vocabulary 50304 '
for set in megatron-tp2-V100 df-index-V100x2-216k ao-ep-moe-2xB200 ao-vit-cudagraph-A100 dlrm-8xV100 tracelens-resnet-8xMI300-rank0 \
  torchrec-4xV100-lateRank2 hta-nccl-params-A100; do
  real $set ''
done
finish

#!/usr/bin/env bash
# What the allocator of a rank holds (--memory), by formulas: between steps, and at most, where the logits are what most is held for, and of fully
# sharded replicas where a layer's parameters and gradients are. All sizes here are multiples of the 512 bytes that the allocator gives out.
#
#   2, 4   bytes of a number in bf16, and in float32
#   E, R   parameters of a layer, 12 h^2 + 13 h (biases and norms), and of all else: the tied embedding and the last norm
#   N, W   parameters of a rank, and those of its weights that have copies in bf16
. "$(dirname "$0")/lib.sh"

# held JOB [RANK]: least and most of all that the rank was said to hold.
held() { jq -r '[.traceEvents[] | select(.name == "[memory]").args."Total Allocated"] | "\(min) \(max)"' "$1/rank${2:-0}.json"; }

# job LAYERS HIDDEN TOKENS WORDS REPLICAS [OPTION...]: emulates it, and sets what the formulas take.
job() {
  layers=$1 h=$2 t=$3 words=$4 n=$5
  emulate job --layers "$1" --hidden "$2" --seq "$3" --vocab "$4" --dp "$5" --micro-batches 2 --once --steps 2 --memory on "${@:6}"
  E=$((12 * h * h + 13 * h)) R=$((words * h + 2 * h))
  hidden=$((2 * t * h)) rows=$((4 * t)) heads=$((4 * t * h / 128))
  shares=$((4 * (layers * E + R) / n)) libraries=$((2 * (32 << 20)))
  # A layer keeps both norms' outputs and rows' numbers; queries, keys, values and what attention makes of them, twice; two dropouts' sums
  # and masks; and the wide rows before and behind the gelu.
  kept=$((2 * hidden + 4 * rows + 5 * hidden + heads + 2 * hidden + 2 * t * h + 2 * 4 * hidden))
}

# ---- fully sharded ----

# Parameters and Adam's two numbers of each stay; gradients go before the next step.
between() { echo $((libraries + 3 * shares)); }

job 2 512 512 16384 2 --fsdp on
# As the loss is computed, of the second micro-batch: gradients of the first; the root's parameters, and the last layer as it was gathered; the
# embedding, all layers, the last norm; the logits, in float32 too, and their exponentials.
most=$(($(between) + shares + 2 * R + 2 * E + hidden + layers * kept + hidden + 2 * rows + (2 + 4 + 4) * t * words))
same <(held job) <(echo "$(between) $most") 'logits: the memory held least and most is not what the formulas say'

# The same where layers are computed again: each keeps what it begins with.
job 2 512 512 16384 2 --fsdp on --recompute full
most=$(($(between) + shares + 2 * R + 2 * E + hidden + layers * hidden + hidden + 2 * rows + (2 + 4 + 4) * t * words))
same <(held job) <(echo "$(between) $most") 'logits, computed again: the memory held least and most is not what the formulas say'

job 3 1024 128 1024 4 --fsdp on
# As the middle layer has its last gradient: the one before is being scattered, the one behind is gathered; the head's gradient. Of the layer
# there are the norm, the gradients of what it takes in and makes, and of queries, keys and values.
most=$(($(between) + shares + 2 * R + 2 * words * h + 4 * E + 2 * E + 2 * E + 2 * 12 * h * h + hidden + kept + hidden + 2 * rows + 2 * hidden + 3 * hidden))
same <(held job) <(echo "$(between) $most") 'layers: the memory held least and most is not what the formulas say'

# Whatever is recorded, the same happens.
emulate without --layers 3 --hidden 1024 --seq 128 --vocab 1024 --dp 4 --fsdp on --micro-batches 2 --once --steps 2
same <(grep -v '"arguments"' job/truth.json) <(grep -v '"arguments"' without/truth.json) 'with memory events something else happens'

# ---- not sharded ----

# What the layers keep until there is a loss, and what the head keeps and makes then: of all tokens and heads; a tensor-parallel rank that shares
# sequences, too, has its part of each.
until_loss() { echo $((hidden + layers * kept + hidden + 2 * rows + (2 + 4 + 4) * t * words)); }

# Parameters, their gradients' buffer and Adam's two numbers, in float32; at most copies of the weights, the head's too.
job 2 512 512 16384 2
N=$((layers * E + R)) W=$((12 * h * h * layers + words * h))
least=$((libraries + 4 * 4 * N))
same <(held job) <(echo "$least $((least + 2 * W + $(until_loss)))") 'the memory held least and most is not what the formulas say'

# With the distributed optimizer parameters are bf16, and a replica has a quarter of them in float32, as of Adam's numbers.
job 2 512 512 16384 4 --distributed-optimizer on
least=$((libraries + (2 + 4) * N + 3 * 4 * N / 4))
same <(held job) <(echo "$least $((least + $(until_loss)))") 'distributed optimizer: the memory held least and most is not what the formulas say'

# Tensor-parallel ranks have half of the weights, of the embedding, and of biases behind column-parallel products; they gather sequences into one tensor.
job 2 512 512 16384 1 --tp 2 --sequence-parallel on
N=$((layers * (6 * h * h + (3 + 4) * h / 2 + (1 + 1 + 4) * h) + words * h / 2 + 2 * h))
least=$((libraries + 4 * 4 * N + hidden))
same <(held job) <(echo "$least $((least + (2 * W + $(until_loss)) / 2))") 'tensor-parallel: the memory held least and most is not what the formulas say'
# Where sequences are not shared, each rank has all tokens but in what is between a column-parallel product and the next one.
job 2 512 512 16384 1 --tp 2
least=$((libraries + 4 * 4 * N))
whole=$((hidden + layers * (2 * hidden + 4 * rows + 2 * hidden + 2 * t * h) + hidden + 2 * rows))
same <(held job) <(echo "$least $((least + (2 * W + $(until_loss) + whole) / 2))") 'tensor-parallel, all tokens: the memory held least and most is not what the formulas say'

# The last of two stages has half of the layers, and the head, whose weight is its own; it receives what the first one sends.
job 4 512 512 16384 1 --pp 2
layers=2
N=$((layers * E + R)) least=$((libraries + 4 * 4 * N))
same <(held job 1) <(echo "$least $((least + 2 * W + $(until_loss)))") 'the last stage: the memory held least and most is not what the formulas say'
proved 'memory that ranks hold, fully sharded or not, to the byte'
finish

#!/usr/bin/env bash
# What the allocator of a fully sharded replica holds (--memory), by formulas: between steps, and at most, where the logits are what most is
# held for, and where a layer's parameters and gradients are. All sizes here are multiples of the 512 bytes that the allocator gives out.
#
#   2, 4   bytes of a number in bf16, and in float32
#   E, R   parameters of a layer, 12 h^2 + 13 h (biases and norms), and of all else: the tied embedding and the last norm
. "$(dirname "$0")/lib.sh"

# held JOB: least and most of all that rank 0 was said to hold.
held() { jq -r '[.traceEvents[] | select(.name == "[memory]").args."Total Allocated"] | "\(min) \(max)"' "$1/rank0.json"; }

# job LAYERS HIDDEN TOKENS WORDS REPLICAS [OPTION...]: emulates it, and sets what the formulas take.
job() {
  layers=$1 h=$2 t=$3 words=$4 n=$5
  emulate job --layers "$1" --hidden "$2" --seq "$3" --vocab "$4" --dp "$5" --fsdp on --micro-batches 2 --once --steps 2 --ranks 0 --memory on "${@:6}"
  E=$((12 * h * h + 13 * h)) R=$((words * h + 2 * h))
  hidden=$((2 * t * h)) rows=$((4 * t)) heads=$((4 * t * h / 128))
  shares=$((4 * (layers * E + R) / n)) libraries=$((2 * (32 << 20)))
  # A layer keeps both norms' outputs and rows' numbers; queries, keys, values and what attention makes of them, twice; two dropouts' sums
  # and masks; and the wide rows before and behind the gelu.
  kept=$((2 * hidden + 4 * rows + 5 * hidden + heads + 2 * hidden + 2 * t * h + 2 * 4 * hidden))
}

# Parameters and Adam's two numbers of each stay; gradients go before the next step.
between() { echo $((libraries + 3 * shares)); }

job 2 512 512 16384 2
# As the loss is computed, of the second micro-batch: gradients of the first; the root's parameters, and the last layer as it was gathered; the
# embedding, all layers, the last norm; the logits, in float32 too, and their exponentials.
most=$(($(between) + shares + 2 * R + 2 * E + hidden + layers * kept + hidden + 2 * rows + (2 + 4 + 4) * t * words))
same <(held job) <(echo "$(between) $most") 'logits: the memory held least and most is not what the formulas say'

# The same where layers are computed again: each keeps what it begins with.
job 2 512 512 16384 2 --recompute full
most=$(($(between) + shares + 2 * R + 2 * E + hidden + layers * hidden + hidden + 2 * rows + (2 + 4 + 4) * t * words))
same <(held job) <(echo "$(between) $most") 'logits, computed again: the memory held least and most is not what the formulas say'

job 3 1024 128 1024 4
# As the middle layer has its last gradient: the one before is being scattered, the one behind is gathered; the head's gradient. Of the layer
# there are the norm, the gradients of what it takes in and makes, and of queries, keys and values.
most=$(($(between) + shares + 2 * R + 2 * words * h + 4 * E + 2 * E + 2 * E + 2 * 12 * h * h + hidden + kept + hidden + 2 * rows + 2 * hidden + 3 * hidden))
same <(held job) <(echo "$(between) $most") 'layers: the memory held least and most is not what the formulas say'

# Whatever is recorded, the same happens.
emulate without --layers 3 --hidden 1024 --seq 128 --vocab 1024 --dp 4 --fsdp on --micro-batches 2 --once --steps 2 --ranks 0
same <(grep -v '"arguments"' job/truth.json) <(grep -v '"arguments"' without/truth.json) 'with memory events something else happens'
proved 'memory that fully sharded replicas hold, to the byte'
finish

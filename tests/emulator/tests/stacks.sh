#!/usr/bin/env bash
# Python stacks: one tree of frames that nest exactly, modules that are the same objects in every step, and every op of the model inside the
# module that runs it.
. "$(dirname "$0")/lib.sh"
small=(--hidden 512 --seq 512 --vocab 4096 --micro-batches 2 --warmup 1 --steps 2 --record "stacks,annotations" --ranks 0)

# host JOB: JOB/host, what the rank's threads did in the order of its starts, the outermost of those that start together first: thread, start, end, kind (op, frame,
# call), name, id, parent, module (-1: none), correlation (-1); nanoseconds from the first.
host() {
  jq -r '[.traceEvents[] | select(.ph == "X" and (.cat | IN("cpu_op", "python_function", "cuda_runtime", "cuda_driver")))] | (map(.ts) | min) as $first | .[] |
    ((.ts - $first) * 1000 | round) as $start |
    [.tid, $start, $start + (.dur * 1000 | round), ({cpu_op: "op", python_function: "frame"}[.cat] // "call"), .name,
     .args["Python id"] // -1, .args["Python parent id"] // -1, .args["Python module id"] // -1, .args.correlation // -1] | @tsv' "$1"/rank*.json |
    sort -t$'\t' -k1,1n -k2,2n -k3,3nr -k6,6n >"$1/host"
}

# tree JOB: frames are numbered in the order of their starts, nest, name the frame around them, and have one root. The autograd thread has frames only inside ops, and
# the outermost of them stand under the call of the engine.
tree() {
  holds "$1: frames nest" '
    { seen++; while (depth > 0 && (thread[depth] != $1 || end[depth] <= $2 && !($2 == start[depth] && $3 == end[depth]))) depth-- }
    depth > 0 && $3 > end[depth] { print $5, $2, $3, "crosses the end of", name[depth], "at", end[depth] }
    { thread[++depth] = $1; start[depth] = $2; end[depth] = $3; name[depth] = $5 }' "$1/host"
  jq -r '.traceEvents[] | select(.cat == "python_function").args["Python id"]' "$1"/rank*.json >"$1/ids"
  holds "$1: frames are written in the order of their starts" '{ seen++; if ($1 != FNR) print "frame", $1, "is row", FNR }' "$1/ids"
  holds "$1: frames name those around them" '
    FNR == 1 { file++ } $4 != "frame" { next }
    file == 1 { if ($6 in name) print "id", $6, "twice"; name[$6] = $5; thread[$6] = $1; start[$6] = $2; end[$6] = $3; next }
    { seen++ }
    $7 == -1 { if (roots++ > 0 || $6 != 1 || $5 !~ /<module>$/) print "a root:", $6, $5; next }
    !($7 in name) || $7 >= $6 { print $6, $5, "has no parent", $7; next }
    thread[$7] != $1 { if (name[$7] !~ /run_backward of/ || thread[$7] != thread[1]) print $6, $5, "lies under another thread'\''s", name[$7]; next }
    $2 < start[$7] || $3 > end[$7] { print $6, $5, "leaves its parent", name[$7] }
    $2 < last[$7] { print $6, $5, "begins before the one before it ends, in", name[$7] }
    { last[$7] = $3 }' "$1/host" <(sort -t$'\t' -k6,6n "$1/host")
  holds "$1: the autograd thread runs Python inside ops" '
    FNR == 1 { main = $1 } $1 == main || $4 == "call" { next }
    { while (depth > 0 && end[depth] <= $2) depth-- }
    $4 == "op" { seen++ }
    $4 == "frame" { frames++; if (depth == 0) print $5, "lies in no op"; else if (name[depth] ~ /Backward[0-9]$/) print $5, "lies in", name[depth] }
    { end[++depth] = $3; name[depth] = $5 }
    END { if (frames < 100) print "only", frames + 0, "frames" }' "$1/host"
}

# inside JOB: JOB/inside, for every op and call of the model its modules from the outside in, as "A_0/B_3".
inside() {
  awk -F'\t' -v OFS='\t' '
    $1 != thread { depth = 0; thread = $1 }
    { while (depth > 0 && end[depth] <= $2 && !($2 == start[depth] && $3 == end[depth])) depth-- }
    { path[depth + 1] = path[depth] }
    $4 == "frame" && $5 ~ /^nn.Module: / { path[depth + 1] = (path[depth] == "" ? "" : path[depth] "/") substr($5, 12) }
    { start[++depth] = $2; end[depth] = $3; print $1, $4, $5, $8, $9, path[depth] }' "$1/host" >"$1/inside"
}

# modules JOB LAYERS CHUNKS CLASSES: modules stand where the model has them, with an id a class, from 0 on, first calls first.
modules() {
  inside "$1"
  holds "$1: modules are where the model has them" '
    BEGIN {
      split("Float16Module:DistributedDataParallel GPTModel:Float16Module LanguageModelEmbedding:GPTModel VocabParallelEmbedding:LanguageModelEmbedding " \
            "TransformerBlock:GPTModel TransformerLayer:TransformerBlock SelfAttention:TransformerLayer MLP:TransformerLayer FlashSelfAttention:SelfAttention " \
            "LayerNorm:TransformerLayer LayerNorm:TransformerBlock ColumnParallelLinear:SelfAttention ColumnParallelLinear:MLP ColumnParallelLinear:GPTModel " \
            "RowParallelLinear:SelfAttention RowParallelLinear:MLP", list, " ")
      for (i in list) allowed[list[i]]
      allowed["DistributedDataParallel:"]; allowed["TransformerLayer:"] # a checkpoint runs a layer by itself
    }
    $2 != "frame" || $3 !~ /^nn.Module: / { next }
    { seen++; count = split($6, path, "/"); inner = path[count]; outer = count > 1 ? path[count - 1] : ""; class = inner; sub(/_[0-9]+$/, "", class)
      outer_class = outer; sub(/_[0-9]+$/, "", outer_class) }
    !((class ":" outer_class) in allowed) { print inner, "in", outer }
    inner != class "_" $4 { print inner, "has the id", $4 }
    !(inner in first) { first[inner]; if ($4 != number[class]++) print inner, "is the first seen behind number", number[class] - 2 }
    outer != "" { if (inner in holder && holder[inner] != outer) print inner, "is in", holder[inner], "and in", outer; holder[inner] = outer }' "$1/inside"
  awk -F'\t' '$2 == "frame" && $3 ~ /^nn.Module: / { class = substr($3, 12); sub(/_[0-9]+$/, "", class); if (!seen[$3]++) count[class]++ }
    END { for (class in count) print class, count[class] }' "$1/inside" | sort >"$1/classes"
  printf '%s\n' "DistributedDataParallel $3" "Float16Module $3" "GPTModel $3" "TransformerBlock $3" "TransformerLayer $2" "SelfAttention $2" "MLP $2" "FlashSelfAttention $2" \
    "RowParallelLinear $((2 * $2))" "${@:4}" | sort >wanted
  same wanted "$1/classes" "$1: the model has other modules: $(tr '\n' ';' <"$1/classes")"
}

# ops JOB: what a layer or an end of the model runs forward, it runs in the module that is for it; other threads' ops and those behind the model in none.
ops() {
  holds "$1: ops run in their modules" '
    BEGIN {
      home["LinearWithGradAccumulationAndAsyncCommunication"] = "(Column|Row)ParallelLinear"; home["aten::native_layer_norm"] = "LayerNorm"; home["aten::layer_norm"] = "LayerNorm"
      home["FlashAttnFunc"] = "FlashSelfAttention"; home["flash_attn::_flash_attn_forward"] = "FlashSelfAttention"; home["FusedRoPEFunc"] = "SelfAttention"
      home["BiasGeLUFunction"] = "MLP"; home["CompiledFunction"] = "TransformerLayer"; home["aten::embedding"] = "VocabParallelEmbedding"
      home["_VocabParallelCrossEntropy"] = "GPTModel"; home["_ReduceFromModelParallelRegion"] = "(RowParallelLinear|VocabParallelEmbedding)"
      home["CheckpointFunction"] = "TransformerBlock"
    }
    { count = split($6, path, "/"); inner = path[count]; sub(/_[0-9]+$/, "", inner) }
    $2 == "op" && $3 in home { seen++; if (inner !~ "^" home[$3] "$") print $3, "runs in", $6 }
    $2 == "op" && ($3 ~ /^autograd::engine/ && $6 != "" && !/TransformerLayer/ || $3 ~ /^(aten::div|aten::zero_|aten::ones_like)$/ && $6 != "") { print $3, "runs in", $6 }' "$1/inside"
  # Whatever a module of a layer launches is that layer, whichever thread runs it.
  truth "$1"
  holds "$1: modules run their own layer" '
    FILENAME ~ /tasks$/ { layer[$2] = $5; next }
    $2 == "call" && $5 in layer && match($6, /TransformerLayer_[0-9]+/) {
      seen++; module = substr($6, RSTART, RLENGTH)
      if (layer[$5] >= 0 && module in ran && ran[module] != layer[$5]) print module, "runs layers", ran[module], "and", layer[$5]
      if (layer[$5] >= 0) ran[module] = layer[$5]
    }
    $2 == "call" && $5 in layer && layer[$5] < 0 && $6 ~ /MLP/ { print $3, "of no layer in", $6 }' "$1/tasks" "$1/inside"
}

# with_stacks JOB LAYERS CHUNKS CLASSES -- OPTION...
with_stacks() {
  local job=$1 known=("${@:2}") options=()
  while [ "${known[-1]}" != -- ]; do options=("${known[-1]}" "${options[@]}") && unset 'known[-1]'; done
  unset 'known[-1]'
  emulate "$job" "${small[@]}" "${options[@]}"
  host "$job"
  tree "$job"
  modules "$job" "${known[@]}"
  ops "$job"
}
with_stacks one 4 1 'LanguageModelEmbedding 1' 'VocabParallelEmbedding 1' 'LayerNorm 9' 'ColumnParallelLinear 9' -- --layers 4 --tp 2 --dp 2 --distributed-optimizer on
with_stacks chunks 4 2 'LanguageModelEmbedding 1' 'VocabParallelEmbedding 1' 'LayerNorm 8' 'ColumnParallelLinear 8' -- --layers 8 --pp 2 --vp 2 --schedule interleaved --dp 2
with_stacks last 2 1 'LayerNorm 5' 'ColumnParallelLinear 5' -- --layers 4 --pp 2 --schedule zb-h1 --ranks 1
with_stacks again 4 1 'LanguageModelEmbedding 1' 'VocabParallelEmbedding 1' 'LayerNorm 9' 'ColumnParallelLinear 9' -- --layers 4 --tp 2 --recompute full

# A frame for every op, as real traces have them, and the functions of a training loop.
holds 'Python has as much to tell as it really has' '
  $4 == "op" { ops++ } $4 == "frame" { seen++ } END { if (seen < 0.7 * ops || seen > 5 * ops) print seen, "frames,", ops, "ops" }' one/host
for function in 'train_step' 'forward_step' 'get_batch' 'backward_step' '_engine_run_backward' 'zero_grad_buffer' 'finalize_model_grads' 'step' '__next__' 'loss_func' 'hook' 'start_trace' 'all_reduce'; do
  grep -q "	frame	[^	]*): $function	" one/host || fail "nothing is called $function"
done
holds 'ops of the optimizer are none of the model' '$2 == "frame" && $3 ~ /fused_adam/ { seen++; if ($6 != "") print $3, "in", $6 }' one/inside

# Frames cost the host time; where recording is free they cost none.
emulate plain "${small[@]}" --layers 4 --tp 2 --dp 2 --distributed-optimizer on --record annotations
slower=$(jq -n --slurpfile with one/truth.json --slurpfile without plain/truth.json '
  def host: .steps | map(.profiled | .end - .start) | add; ($with[0] | host) / ($without[0] | host)')
awk -v ratio="$slower" 'BEGIN { exit !(ratio > 1.01 && ratio < 1.5) }' || fail "with stacks a step takes $slower times as long"
proved 'frames nest in one tree, and every op runs in its module'
finish

#!/usr/bin/env bash
# The inputs of ops: as many as an op's schema has arguments, of the schema's kinds; what real traces of the same ops show; sizes that fit.
. "$(dirname "$0")/lib.sh"

# kinds TRACE: every op and annotation that has inputs, with their kinds: T a tensor, L a list of tensors, s a scalar, S a list of
# scalars, - none of these.
kinds() {
  local read=cat
  [[ $1 == *.gz ]] && read=zcat
  $read "$1" | jq -r '.traceEvents[] | select(.args["Input type"] != null) | .name + " " + (.args["Input type"]
    | map(if . == "" then "-" elif . == "Scalar" then "s" elif . == "ScalarList" then "S" elif . == "TensorList" then "L" else "T" end) | add)' | sort -u
}

small=(--hidden 1024 --seq 1024 --vocab 8192 --layers 4 --micro-batches 2 --steps 1 --warmup 1 --without profiler --record shapes,collectives)
emulate plain "${small[@]}" --tp 2
emulate spread "${small[@]}" --tp 2 --pp 2 --dp 2 --sequence-parallel on --distributed-optimizer on
emulate apart "${small[@]}" --pp 2 --batched-p2p off --recompute full
for trace in plain/rank0.json spread/rank{0,4}.json apart/rank{0,1}.json; do kinds $trace; done | sort -u >seen

# ---- schemas ----

# PyTorch's schemas, argument by argument; of record_param_comms, what its macros hand over, for operations and for the wait.
sort >schemas <<'EOF'
aten::_foreach_copy_ LLs
aten::_local_scalar_dense T
aten::_to_copy Ts---s-
aten::_to_copy Tss--s-
aten::_unsafe_view TS
aten::add TTs
aten::add_ TTs
aten::as_strided TSS-
aten::cat Ls
aten::clone Ts
aten::contiguous Ts
aten::copy_ TTs
aten::detach T
aten::div TT
aten::embedding TTsss
aten::embedding_dense_backward TTsss
aten::empty_like T---ss
aten::exp T
aten::fill_ Ts
aten::index T-
aten::index_select TsT
aten::item T
aten::layer_norm TSTTss
aten::log T
aten::matmul TT
aten::max Tss
aten::mean T-
aten::mm TT
aten::mul TT
aten::mul_ TT
aten::native_layer_norm TSTTs
aten::native_layer_norm_backward TTSTTTTS
aten::ones_like T---ss
aten::reshape TS
aten::split_with_sizes TSs
aten::sum TSs-
aten::t T
aten::to Tss--ss-
aten::to Tsss-
aten::transpose Tss
aten::view TS
aten::zero_ T
c10d::_allgather_base_ TT-ss
c10d::_reduce_scatter_base_ TT--ss
c10d::allreduce_ L---ss
c10d::broadcast_ L-ssss
c10d::recv_ L-ss
c10d::send L-ss
flash_attn::_flash_attn_backward TTTTTTTTTssssss-sT
flash_attn::_flash_attn_forward TTTssssss-s
nccl:_all_gather_base T
nccl:_reduce_scatter_base T
nccl:all_reduce T
nccl:broadcast T
nccl:recv T
nccl:send T
record_param_comms --s-SSsss
record_param_comms L--s-SSssss
record_param_comms T--s-SSssss
torch::autograd::AccumulateGrad T
EOF
grep -E '^(aten|c10d|flash_attn|torch)::|^nccl:|^record_param_comms' seen | sed -E 's/^(nccl:(send|recv)) [0-9]+(->|<-)[0-9]+ /\1 /' | sort -u >ops
cmp -s schemas ops || fail "inputs that no schema has (>), or schemas that no op shows (<): $(diff schemas ops | grep '^[<>]' | tr '\n' ';')"

# An autograd function has its tensors, its backward the gradients of its outputs, and the engine's own ops have none.
grep -vE '::|^nccl:|^record_param_comms' seen >functions
[ "$(wc -l <functions)" -gt 15 ] || fail "there are but $(wc -l <functions) autograd functions with inputs"
grep -vE ' T+$' functions && fail 'an autograd function has inputs that are no tensors'
grep -qE 'Backward' functions || fail 'no backward function has inputs'
grep -q 'evaluate_function' seen && fail "the engine's own ops have inputs"

# No op but those of the engine is without; nor is an annotation of NCCL's, but for batches, which have no one tensor.
jq -r '.traceEvents[] | select(.cat == "cpu_op" or (.cat == "user_annotation" and (.name | startswith("nccl:")))) | select(.args["Input type"] == null) | .name' spread/rank0.json |
  grep -v '^autograd::engine::' | sort -u >without
[ "$(cat without)" = nccl:coalesced ] || fail "ops without inputs: $(tr '\n' ' ' <without)"

# ---- products ----

# ATen multiplies matrices: of a tensor of three dimensions it makes one, and of the product such a tensor again. Two matrices stay what they are.
for trace in plain/rank0.json spread/rank4.json apart/rank1.json; do
  jq -r '.traceEvents[] | select(.cat == "cpu_op") | [.tid, .ts, .dur, .name, (.args["Input Dims"][0] // [] | length)] | @tsv' $trace | sort -t$'\t' -k1,1n -k2,2n -k3,3nr |
    awk -F'\t' '
      open && ($1 != thread || $2 > end - 0.01) { said[of " " inside]++; open = 0 }
      open { inside = inside " " $4; next }
      $4 == "aten::matmul" { open = 1; thread = $1; end = $2 + $3; of = $5; inside = "" }
      END { for (i in said) print i }' | sort
done | sort -u >products
printf '%s\n' '2  aten::mm' '3  aten::reshape aten::view aten::mm aten::_unsafe_view' >wanted
same wanted products "matrix products are made otherwise: $(tr '\n' ';' <products)"

# ---- sizes ----

# The four lists are equally long; a tensor has as many strides as dimensions.
for trace in plain/rank0.json spread/rank4.json apart/rank1.json; do
  jq -r '
    def product: reduce .[] as $size (1; . * $size);
    def list($text): $text | ltrimstr("[") | rtrimstr("]") | split(", ") | map(tonumber);
    .traceEvents[] | select(.args["Input type"] != null) | .name as $name | .args | .["Input Dims"] as $dims | .["Input Strides"] as $strides
    | .["Concrete Inputs"] as $values | .["Input type"] as $types
    | if ([$dims, $strides, $values, $types] | map(length) | unique | length) != 1 then "\($name): lists of different lengths"
      elif [range($dims | length) | ($dims[.] | flatten | length) == ($strides[.] | flatten | length)] | all | not then "\($name): strides are not of its dimensions"
      elif [range($dims | length) | ($types[.] | test("^Scalar")) == ($values[.] != "")] | all | not then "\($name): values that are no scalars"
      elif $name == "aten::t" and ($dims[0] | length) > 2 then "\($name): of \($dims[0])"
      elif $name == "aten::mm" and ($dims[0][1] != $dims[1][0] or ($dims | map(length)) != [2, 2]) then "\($name): of \($dims)"
      elif $name == "aten::matmul" and $dims[0][-1] != $dims[1][0] then "\($name): of \($dims)"
      elif ($name == "aten::copy_" or $name == "aten::add_" or $name == "aten::add") and $dims[0] != $dims[1] then "\($name): of \($dims)"
      elif ($name == "aten::view" or $name == "aten::_unsafe_view") and ($dims[0] | product) != (list($values[1]) | product) then "\($name): \($dims[0]) as \($values[1])"
      elif $name == "aten::as_strided" and (list($values[1]) != ($dims[0] | reverse) or list($values[2]) != ($strides[0] | reverse)) then "\($name): \($dims[0]) as \($values[1])"
      elif $name == "aten::split_with_sizes" and $dims[0][-1] != (list($values[1]) | add) then "\($name): \($dims[0]) in \($values[1])"
      else empty end' $trace | sort -u >wrong
  [ ! -s wrong ] || fail "$trace: $(head -n 3 wrong | tr '\n' ';') ($(wc -l <wrong) kinds)"
done
# A product reads its second matrix as a transpose where it is one.
jq -e '[.traceEvents[] | select(.name == "aten::mm") | .args["Input Strides"]] | any(.[]; .[1][0] == 1) and any(.[]; .[0][0] == 1)' plain/rank0.json >/dev/null ||
  fail 'no product has a transpose as its factor'
# The tensors of a collective hold what its arguments say.
jq -r '
  def product: flatten | reduce .[] as $size (1; . * $size);
  .traceEvents[] | select(.name == "record_param_comms" and .args["Collective name"] != "wait") | .args
  | select((.["Input Dims"][0] | product) != .["In msg nelems"]) | "\(.["Collective name"]): \(.["Input Dims"][0]) of \(.["In msg nelems"])"' \
  spread/rank{0,4}.json apart/rank0.json | sort -u >wrong
[ ! -s wrong ] || fail "tensors of collectives: $(head -n 3 wrong | tr '\n' ';')"

# ---- real traces ----

# Recent ones with shapes. An op that one of them shows has the inputs that it shows there. Of collectives they have all-gathers and
# reduce-scatters only, whose record_param_comms has a tensor where others have a list; their means are over dimensions, which is another overload.
if have_traces; then
  for trace in "$traces"/nanogpt-8xH100-ddp/*rank0-*.gz "$traces"/ao-ep-moe-2xB200/*.gz "$traces"/tracelens-qwen-H100-vs-MI300/h100-*.gz; do kinds "$trace"; done | sort -u >real
  awk 'FILENAME == "real" { known[$1]; shown[$0]; next }
    !($1 in known) || $1 !~ /::|^nccl:|^record/ { next }
    $1 == "record_param_comms" && $2 !~ /^T/ || $1 == "aten::mean" { next }
    { shared[$1] }
    !($0 in shown) { print }
    END { count = 0; for (op in shared) count++; print count >"shared" }' real seen >wrong
  [ ! -s wrong ] || fail "real traces show other inputs than: $(tr '\n' ';' <wrong)"
  [ "$(cat shared)" -ge 25 ] || fail "only $(cat shared) ops are those of real traces"
else
  echo "The real traces are not here (LUMOS_TRACES='$traces'): inputs were held against schemas only."
fi
proved 'inputs of ops fit their schemas, and those of real traces where there are any'
finish

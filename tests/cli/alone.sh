#!/usr/bin/env bash
# One rank alone, with and without a description of its model (lumos-graph --model-file): which changes are predicted, with a range, and which are
# refused, with what helps. Of real traces only what was measured is known, so figures are held against identities, against each other, and against
# the recording of another GPU or of the other ranks.
. "$(dirname "$0")/lib.sh"

need_traces

# ask OPTION...: "STEP LOW HIGH" in us, of the job in `graph` with that change; the mean of the steps behind the first. Nothing where it is refused,
# and why is in the file `message`.
ask() {
  lumos-transform -j 1 "$@" graph -o changed 2>message || return
  lumos-sim -j 1 --opportunities off changed 2>/dev/null | grep -F '"name":"step_time"' | grep -F '"scope":{"step":' | grep -F '"source":"simulated"' |
    awk "$field"'{ n++; if (n > 1 || NR == 1) { value[n] = field("value"); low[n] = field("low"); high[n] = field("high") } }
      END { for (i = 1 + (n > 1); i <= n; i++) { k++; a += value[i]; b += low[i]; c += high[i] } if (k) printf "%.0f %.0f %.0f\n", a / k / 1000, b / k / 1000, c / k / 1000 }'
}

# measured: of the job in `graph`, in us, the mean of the steps behind the first.
measured() {
  lumos-sim -j 1 --opportunities off graph 2>/dev/null | grep -F '"name":"step_time"' | grep -F '"scope":{"step":' | grep -F '"source":"measured"' |
    awk "$field"'{ value[++n] = field("value") } END { for (i = 1 + (n > 1); i <= n; i++) { k++; a += value[i] } printf "%.0f\n", a / k / 1000 }'
}

# predicts CONDITION OPTION...: it is predicted with a range around it, and the condition holds, in awk's words: of step, low, high and `was`.
predicts() {
  local condition=$1 line step low high
  shift
  line=$(ask "$@") && read -r step low high <<<"$line"
  check "$name, $*: ${step:-refused: $(head -c 200 message)} us, from ${low:-?} to ${high:-?}, is not so: $condition (was $was)" \
    awk -v step="${step:-0}" -v low="${low:-0}" -v high="${high:-0}" -v was="$was" "BEGIN { exit !(step > 0 && low <= step && step <= high && high > low && ($condition)) }"
}

# refuses TEXT OPTION...: it is refused, and the message says that, and nothing of ANYTHING where TEXT is THAT!ANYTHING.
refuses() {
  local text=${1%%!*} not=
  [[ $1 != *!* ]] || not=${1#*!}
  shift
  if lumos-transform -j 1 "$@" graph -o changed 2>message; then
    fail "$name: $* is not refused"
  else
    says "$text"
    [ -z "$not" ] || ! grep -qF -- "$not" message || fail "$name, $*: the message names '$not': $(head -c 300 message)"
  fi
}

# warns TEXT OPTION...
warns() {
  local text=$1
  shift
  lumos-transform -j 1 "$@" graph -o changed 2>message || fail "$name: $* is refused"
  says "$text"
}

# of NAME MODEL TRACE...: the job in `graph`; MODEL: its description, or empty.
of() {
  local described=()
  name=$1
  [ -z "$2" ] || { printf '%s\n' "$2" >model.json && described=(--model-file model.json); }
  { lumos-parse -j 1 --steps "${steps:-all}" "${@:3}" | lumos-graph -j 1 "${described[@]}" -o graph; } 2>message || fail "$name: no graph: $(head -c 300 message)"
  was=$(measured)
}

# has SET: is it among the traces? What needs it is skipped where it is not, and that is said.
has() {
  [ -d "$traces/$1" ] && return
  printf 'SKIPPED in part: the set %s is not here\n' "$1"
  return 1
}

same='step > 0.99 * was && step < 1.01 * was'

# ---- Qwen: an inference of 24 layers, recorded with shapes and modules, on two vendors' GPUs ----

if has tracelens-qwen-H100-vs-MI300; then
  of mi300 '' "$traces"/tracelens-qwen-H100-vs-MI300/mi300*
  on_mi300=$was
  of qwen '' "$traces"/tracelens-qwen-H100-vs-MI300/h100*
  # 32 sequences take less than twice as long as 16, and each of them much less than one alone: of the shortest step nothing follows.
  lumos-sim --sweep micro-batch=1,16,32 graph -o swept 2>message || fail "qwen, a sweep: $(head -c 300 message)"
  check 'a sweep of an inference goes by tokens a second' [ "$(jq -r 'select(.place == 1).micro_batch' swept)" = 32 ]
  predicts "low < $on_mi300 && $on_mi300 < high" --gpu MI300X
  predicts "$same" --layers 24
  predicts 'step > 0.49 * was && step < 0.55 * was' --layers 12 # 99 % of GPU time is in layers
  predicts 'step > 1.9 * was && step < 2.02 * was' --layers 48
  predicts "$same" --dp 4
  predicts 'step > 1.9 * was && step < 2.1 * was' --micro-batches 2
  predicts 'low < 1.02 * was && step > 0.9 * was' --tp 2 # the CPU holds it up, and launches more
  predicts 'step > 3 * was && step < 4 * was' --micro-batch 64
  predicts 'step > 1.5 * was' --hidden 2048
  refuses '--pp: the recording has no backward pass' --pp 2
  refuses '--recompute: the recording has no backward pass!with_modules' --recompute full
  refuses 'record a job with --context-parallel-size 2' --cp 2
  warns 'no work that depends on the size' --vocab 100000 # nothing was recorded behind the last layer
  proved 'an inference alone: other layers, replicas, tensor-parallel ranks and sizes are predicted, and what is of training is refused'
fi

# ---- df-index: one rank of two, four layers, without shapes, bytes or groups ----

if has df-index-V100x2-216k; then
  steps=5-6 # of five
  of df-index '' "$traces"/df-index-V100x2-216k
  predicts "$same" --dp 2
  predicts 'step < 0.85 * was' --dp 1 # 404 sums of gradients a step go
  predicts 'step >= was && high > 1.2 * was' --dp 16
  rarely predicts 'step < 0.85 * was' --layers 2
  refuses 'describe the model with lumos-graph --model-file, by its micro_batch' --micro-batch 16
  refuses 'record with record_shapes=True!--model-file' --seq 512
  refuses 'record with record_shapes=True!--model-file' --tp 2
  refuses 'record with PyTorch 2.4 or later' --distributed-optimizer on
  refuses '--model-file' --pp 2
  of df-index '{"hidden":1024,"heads":16,"head_dim":64,"ffn":4096,"sequence":128,"vocabulary":30000,"micro_batch":8}' "$traces"/df-index-V100x2-216k
  predicts "$same" --micro-batch 8
  predicts 'step > was && step < 9 * was && high - low > 0.2 * was' --micro-batch 64
  rarely predicts 'step > 0' --pp 2
  refuses 'no shapes were recorded!--model-file' --hidden 2048
  steps=
  proved 'a rank without shapes: replicas, layers and, with a model file, micro-batches and stages are predicted, and sizes are refused'
fi

# ---- a ResNet and a ViT: no layers ----

if has tracelens-resnet-8xMI300-rank0; then
  of resnet '' "$traces"/tracelens-resnet-8xMI300-rank0
  predicts "$same" --dp 8
  predicts 'step < 0.9 * was' --dp 1
  predicts 'low < 0.93 * was && high > was' --dp 4 # of its sums all, or hardly any, is waiting: the former take 6 / 7 as long
  predicts 'step > 1.95 * was && step < 2.05 * was' --micro-batches 2
  echo '{"intra": {"bandwidth_gbps": 1000}}' >fast.json
  without=$(ask --remove kind=communication)
  predicts "step < was && high > was && low < ${without%% *}" --network fast.json
  refuses '--layers: nothing in the recording shows the layers' --layers 8
  of resnet '{"layers":16,"hidden":1024,"heads":16,"head_dim":64,"ffn":4096,"sequence":512,"vocabulary":30000,"micro_batch":8}' "$traces"/tracelens-resnet-8xMI300-rank0
  refuses '--layers: nothing in the recording shows the layers' --layers 8
  refuses "not those of the model's layers" --hidden 2048
fi
if has ao-vit-cudagraph-A100; then
  of vit '{"layers":32,"hidden":1280,"heads":16,"head_dim":80,"ffn":5120,"sequence":4096,"micro_batch":1}' "$traces"/ao-vit-cudagraph-A100
  predicts 'step > 4 * was && step < 9 * was' --micro-batch 8
  refuses 'record a transformer with record_shapes=True and kernels launched one by one' --seq 8192
fi
if has hta-epoch-float-ts-V100; then
  steps=last
  of language '' "$traces"/hta-epoch-float-ts-V100
  refuses 'its layers, hidden, heads, head_dim, ffn and vocabulary' --dp 4
  of language '{"layers":2,"hidden":1024,"heads":16,"head_dim":64,"ffn":4096,"ffn_matrices":2,"sequence":512,"vocabulary":50304,"micro_batch":4}' "$traces"/hta-epoch-float-ts-V100
  # 2 x 12 x 1024^2 + 50304 x 1024 + 512 x 1024 numbers of four bytes
  lumos-transform --dp 4 graph 2>/dev/null | grep -qF 'buckets of 308.8 MB in all' || fail 'gradients are not as large as the model'
  predicts 'step > 0.99 * was && step < 2 * was' --dp 4
  steps=
fi
proved 'jobs without layers: replicas and micro-batches are predicted, and layers are refused, whatever a model file says'

# ---- what is no data parallelism alone, or cannot be planned ----

if has dlrm-8xV100; then
  of dlrm '' "$traces"/dlrm-8xV100/worker0*
  refuses 'replicas exchange activations in their passes' --dp 4
  predicts "$same" --dp 8
fi

# ---- one rank stands for the others ----

if has emulated-dp2; then
  of 'emulated-dp2' '' "$traces"/emulated-dp2/rank-*.gz
  few=(1 16)
  [ "$all_cases" != yes ] || few+=(4 64)
  for replicas in "${few[@]}"; do all[replicas]=$(ask --dp "$replicas"); done
  of 'rank 0 of emulated-dp2' '' "$traces"/emulated-dp2/rank-0.json.gz
  for replicas in "${few[@]}"; do
    predicts "step > 0.995 * ${all[replicas]%% *} && step < 1.005 * ${all[replicas]%% *}" --dp "$replicas"
  done
fi
proved 'one rank of two predicts 1 replica and 16 within 0.5 % of what both do'

# A stage between others has attention of 2048 x 1, and no indices that say which of both is the sequence.
if has emulated-pp4; then
  of 'stage 1 of four' '' "$traces"/emulated-pp4/rank-1.json.gz
  predicts 'step > 0.5 * was && step < was' --seq 1024
  predicts 'step > was && step < 2 * was' --micro-batch 2
  refuses 'no rank of stage 0 was recorded; record one of every stage at least' --layers 16
fi

if has nanogpt-8xH100-ddp; then
  of nanogpt '' "$traces"/nanogpt-8xH100-ddp/*rank0*
  predicts "$same" --dp 8
  predicts 'high - low > 0.3 * was' --dp 64
  # Of 302.0 MB the layers' part grows with them: 32 weights of 3072 x 768, of 268.7 million numbers in all.
  lumos-transform --layers 20 graph 2>/dev/null | grep -oE 'buckets of [0-9.]+ MB' | awk '{ exit !($3 > 370 && $3 < 400) }' || fail 'twice the layers have no more gradients'
fi

finish

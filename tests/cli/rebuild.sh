#!/usr/bin/env bash
# The job written anew: the recorded configuration against what was measured, and other configurations against true runs of these on the
# emulated cluster.
#
#   tests/cli/rebuild.sh [--table] [--without MECHANISMS] [JOB...]
#
# as in perturbed.sh; the long list of jobs and configurations with LUMOS_ALL=yes. Beside each prediction stands that of the trivial rule: GPU
# time and pipeline by formula, nothing of hosts, waiting or overlap. Where the time of a step goes (exposed computation, overlapped, exposed
# communication, copies, idle) and how much of it is bubble is held against the truth, too, in points of the step.
. "$(dirname "$0")/lib.sh"
. "$here/predictions.sh"

# name | options | other configurations: options of the emulated cluster, which are those of lumos-transform, in quotation marks
short=(
  'one GPU|--layers 4 --hidden 2048 --micro-batches 2|"--layers 8" "--micro-batches 4" "--pp 2" "--dp 4 --bucket-mb 100"'
  'pipeline|--layers 4 --hidden 2048 --pp 2 --micro-batches 4|"--pp 4" "--pp 1" "--micro-batches 8" "--schedule zb-h1" "--schedule interleaved --vp 2"'
  'data parallel|--layers 4 --hidden 2048 --dp 2 --micro-batches 2|"--layers 6" "--dp 4" "--recompute full" "--recompute selective"'
  'fully sharded|--layers 4 --hidden 2048 --dp 4 --fsdp on --micro-batches 2|"--dp 8" "--dp 2" "--recompute full"'
  'context parallel|--layers 4 --hidden 2048 --cp 2 --micro-batches 2|"--cp 4" "--cp 1"'
  'expert parallel|--layers 4 --hidden 2048 --experts 8 --ep 2 --dp 4 --micro-batches 2|"--ep 4" "--ep 1"'
  'computed again|--layers 4 --hidden 2048 --pp 2 --micro-batches 4 --recompute full|"--recompute none" "--recompute selective"'
  'attention again|--layers 4 --hidden 2048 --micro-batches 2 --recompute selective|"--recompute none" "--recompute full" "--layers 8" "--micro-batches 4"'
)
# Of some jobs more steps are recorded, for what they do in two is chance: a pipeline of two bound by their CPUs has a bubble of 21 to 30 % in true runs
# of six seeds, and two replicas of 8 wide layers wait for each other for 2 to 4 %. True steps of four shards with
# parts of the sequence differ by 3 %. Ten jobs of ranks that share sequences, twelve of
# ranks that share experts, 14 of those that share tensors or sequences, too, and one change of each, were drawn from a seed each. One of these names what waits wait for: of two waits in one step
# nothing else tells, and steps that differ are not drawn from each other (+1.1 % as recorded).
long=(
  'one GPU|--layers 4 --hidden 2048 --micro-batches 2|"--layers 2" "--layers 12" "--micro-batches 1" "--layers 8 --micro-batches 8"'
  'one GPU, host-bound|--layers 4 --hidden 512 --seq 512 --micro-batches 2|"--layers 8" "--layers 2" "--micro-batches 4"'
  'tensor parallel|--layers 4 --hidden 4096 --tp 2 --micro-batches 2|"--layers 8" "--layers 2" "--micro-batches 4"'
  'distributed optimizer|--layers 4 --hidden 2048 --dp 4 --micro-batches 2 --distributed-optimizer on|"--layers 8" "--micro-batches 4" "--dp 8" "--dp 2"'
  'data parallel, wide|--layers 4 --hidden 4096 --dp 2 --micro-batches 2 --steps 8|"--dp 4" "--dp 8" "--layers 8"'
  'pipeline of four|--layers 8 --hidden 2048 --pp 4 --micro-batches 8|"--pp 2" "--pp 8" "--schedule gpipe" "--micro-batches 16" "--layers 16" "--schedule zb-h1" "--schedule interleaved --vp 2" "--pp 2 --schedule interleaved --vp 4"'
  'pipeline, separate transfers|--layers 4 --hidden 2048 --pp 2 --micro-batches 4 --batched-p2p off|"--pp 4" "--pp 1" "--schedule zb-h1"'
  'three ways|--layers 4 --hidden 4096 --tp 2 --pp 2 --dp 2 --micro-batches 4 --node-size 16|"--pp 1" "--pp 4" "--layers 8" "--dp 4" "--schedule zb-h1" "--schedule interleaved --vp 2"'
  'interleaved|--layers 8 --hidden 2048 --pp 4 --micro-batches 8 --schedule interleaved --vp 2|"--schedule 1f1b --vp 1" "--schedule zb-h1 --vp 1" "--pp 2" "--micro-batches 16" "--layers 16"'
  'interleaved, with replicas|--layers 8 --hidden 2048 --pp 2 --dp 2 --micro-batches 4 --schedule interleaved --vp 2|"--schedule 1f1b --vp 1" "--pp 4" "--schedule interleaved --vp 4"'
  'zero bubble|--layers 8 --hidden 2048 --pp 4 --micro-batches 8 --schedule zb-h1|"--schedule 1f1b" "--schedule interleaved --vp 2" "--pp 2" "--pp 8" "--micro-batches 16"'
  'zero bubble, three ways|--layers 4 --hidden 4096 --tp 2 --pp 2 --dp 2 --micro-batches 4 --schedule zb-h1 --node-size 16|"--schedule 1f1b" "--pp 4"'
  'GPipe|--layers 8 --hidden 2048 --pp 4 --micro-batches 8 --schedule gpipe|"--pp 2" "--schedule 1f1b" "--micro-batches 16"'
  'one GPU, from nothing|--layers 4 --hidden 2048 --micro-batches 4|"--pp 2" "--pp 4" "--dp 2 --bucket-mb 100" "--dp 8 --bucket-mb 100" "--dp 4 --bucket-mb 100 --overlap-gradients off" "--dp 4 --bucket-mb 100 --distributed-optimizer on"'
  'one GPU, longer, from nothing|--layers 8 --hidden 2048 --micro-batches 8|"--pp 4" "--pp 2 --dp 2 --bucket-mb 50" "--dp 2 --bucket-mb 25" "--dp 16 --bucket-mb 100" "--dp 8 --bucket-mb 200 --distributed-optimizer on --overlap-gradients off"'
  'one GPU, host-bound, from nothing|--layers 4 --hidden 1024 --seq 1024 --micro-batches 4 --steps 24|"--pp 2"'
  'one GPU, host-bound, to replicas|--layers 4 --hidden 1024 --seq 1024 --micro-batches 4|"--dp 4 --bucket-mb 25"'
  'tensor parallel, from nothing|--layers 4 --hidden 4096 --tp 2 --micro-batches 4|"--pp 2" "--pp 4" "--dp 2 --bucket-mb 100" "--dp 4 --bucket-mb 25 --overlap-gradients off" "--dp 4 --bucket-mb 100 --distributed-optimizer on" "--pp 2 --dp 2 --bucket-mb 100"'
  'data parallel, in other ways|--layers 4 --hidden 2048 --dp 2 --micro-batches 4|"--bucket-mb 25" "--bucket-mb 400" "--overlap-gradients off" "--distributed-optimizer on" "--pp 2" "--pp 4" "--dp 1"'
  'one GPU, again|--layers 4 --hidden 4096 --micro-batches 2|"--recompute full" "--recompute selective" "--recompute selective --pp 2"'
  'sequence parallel, again|--layers 4 --hidden 4096 --tp 4 --sequence-parallel on --micro-batches 2 --steps 8|"--recompute full" "--recompute selective"'
  'zero bubble, again|--layers 8 --hidden 2048 --pp 4 --micro-batches 4 --schedule zb-h1|"--recompute full" "--recompute selective" "--recompute selective --schedule 1f1b"'
  'interleaved, again|--layers 8 --hidden 2048 --pp 2 --micro-batches 4 --schedule interleaved --vp 2|"--recompute full" "--recompute full --pp 4" "--recompute selective"'
  'three ways, no longer again|--layers 4 --hidden 4096 --tp 2 --pp 2 --dp 2 --micro-batches 4 --recompute full|"--recompute none" "--recompute none --layers 8" "--recompute none --pp 4" "--recompute selective" "--recompute selective --pp 4"'
  'attention again, sequence parallel|--layers 4 --hidden 4096 --tp 4 --sequence-parallel on --micro-batches 2 --steps 8 --recompute selective|"--recompute none" "--recompute full" "--layers 8"'
  'attention again, three ways|--layers 4 --hidden 4096 --tp 2 --pp 2 --dp 2 --micro-batches 4 --recompute selective|"--recompute none" "--recompute full" "--pp 4" "--schedule zb-h1"'
  'fully sharded, deeper|--layers 4 --hidden 2048 --dp 4 --fsdp on --micro-batches 2|"--layers 8" "--micro-batches 4"'
  'fully sharded, over nodes|--layers 6 --hidden 4096 --dp 4 --fsdp on --micro-batches 2 --node-size 4|"--layers 12" "--micro-batches 4" "--dp 16" "--dp 2" "--dp 8"'
  'fully sharded, tensor parallel|--layers 4 --hidden 4096 --tp 2 --dp 2 --fsdp on --micro-batches 2 --sequence-parallel on|"--layers 8" "--micro-batches 4" "--dp 4" "--dp 8" "--recompute full" "--recompute selective"'
  'fully sharded, host-bound|--layers 4 --hidden 1024 --seq 1024 --dp 4 --fsdp on --micro-batches 2 --steps 8|"--layers 8" "--micro-batches 4" "--dp 8" "--dp 2"'
  'fully sharded, no longer again|--layers 4 --hidden 4096 --dp 4 --fsdp on --micro-batches 2 --recompute full|"--recompute none" "--recompute selective" "--dp 8"'
  'context parallel, longer|--layers 4 --hidden 2048 --seq 8192 --cp 4 --micro-batches 2|"--cp 8" "--cp 2" "--cp 1" "--cp 8 --seq 16384"'
  'context and tensor parallel|--layers 4 --hidden 4096 --seq 4096 --cp 2 --tp 2 --sequence-parallel on --micro-batches 2|"--cp 4" "--cp 1" "--cp 4 --tp 4 --dp 2" "--layers 8"'
  'context parallel, three ways|--layers 4 --hidden 4096 --cp 2 --pp 2 --dp 2 --micro-batches 4 --node-size 16|"--cp 4" "--cp 1 --dp 4" "--cp 4 --pp 4 --dp 1" "--cp 4 --schedule zb-h1"'
  'context parallel, sharded|--layers 4 --hidden 2048 --cp 2 --dp 2 --micro-batches 2 --distributed-optimizer on|"--cp 4" "--cp 1" "--cp 4 --dp 4" "--dp 1"'
  'context parallel, again|--layers 4 --hidden 2048 --seq 4096 --cp 2 --micro-batches 4 --recompute selective|"--cp 4" "--cp 1" "--cp 4 --recompute full" "--cp 4 --recompute none"'
  'context parallel, drawn 1|--layers 4 --hidden 2048 --seq 8192 --micro-batches 4 --cp 2 --pp 2 --dp 2 --distributed-optimizer on --node-size 16|"--cp 8"'
  'context parallel, drawn 2|--layers 8 --hidden 2048 --seq 4096 --micro-batches 4 --cp 2 --tp 2 --sequence-parallel off --dp 2 --node-size 16|"--cp 4 --tp 4"'
  'context parallel, drawn 3|--layers 4 --hidden 4096 --seq 2048 --micro-batches 4 --cp 2 --dp 2 --distributed-optimizer on --node-size 16|"--cp 1"'
  'context parallel, drawn 4|--layers 8 --hidden 1024 --seq 4096 --micro-batches 4 --cp 4 --node-size 16|"--cp 2 --dp 2"'
  'context parallel, drawn 5|--layers 8 --hidden 1024 --seq 4096 --micro-batches 2 --cp 2 --dp 2 --node-size 16|"--cp 1"'
  'context parallel, drawn 6|--layers 4 --hidden 4096 --seq 2048 --micro-batches 4 --cp 4 --tp 2 --sequence-parallel off --node-size 16|"--cp 1 --tp 4"'
  'context parallel, drawn 7|--layers 4 --hidden 2048 --seq 8192 --micro-batches 2 --cp 2 --tp 2 --sequence-parallel on --dp 2 --node-size 16|"--cp 8 --dp 4"'
  'context parallel, drawn 8|--layers 8 --hidden 1024 --seq 8192 --micro-batches 4 --cp 2 --tp 2 --sequence-parallel on --node-size 16|"--cp 4 --layers 16"'
  'context parallel, drawn 9|--layers 4 --hidden 2048 --seq 4096 --micro-batches 4 --cp 2 --dp 2 --node-size 16|"--cp 1 --layers 8"'
  'context parallel, drawn 10|--layers 4 --hidden 4096 --seq 4096 --micro-batches 2 --cp 2 --node-size 16|"--cp 8"'
  'expert parallel, in other ways|--layers 4 --hidden 2048 --experts 8 --ep 2 --dp 4 --micro-batches 2|"--micro-batches 4" "--layers 8" "--dp 8" "--dp 2" "--pp 2" "--distributed-optimizer on"'
  'expert parallel, sharded|--layers 4 --hidden 2048 --experts 8 --ep 2 --dp 4 --micro-batches 2 --distributed-optimizer on|"--ep 4" "--ep 1" "--ep 4 --dp 8" "--distributed-optimizer off"'
  'expert parallel, pipeline|--layers 8 --hidden 2048 --experts 8 --ep 4 --dp 4 --pp 2 --micro-batches 4 --node-size 32|"--ep 2" "--ep 1" "--ep 8 --dp 8" "--pp 4" "--schedule zb-h1" "--schedule interleaved --vp 2"'
  'expert parallel, over nodes|--layers 4 --hidden 1024 --seq 1024 --experts 16 --top-k 4 --ep 4 --dp 8 --micro-batches 2 --node-size 4|"--ep 8" "--ep 2" "--dp 16"'
  'experts, not shared|--layers 4 --hidden 2048 --experts 8 --dp 2 --micro-batches 4|"--dp 4" "--pp 2" "--layers 8" "--micro-batches 8"'
  'expert parallel, drawn 1|--layers 8 --hidden 1024 --seq 4096 --experts 4 --top-k 1 --ep 4 --dp 8 --micro-batches 2 --node-size 16|"--ep 1 --micro-batches 4"'
  'expert parallel, drawn 2|--layers 8 --hidden 1024 --seq 2048 --experts 8 --top-k 2 --ep 2 --dp 2 --micro-batches 4 --recompute full --node-size 16 --record shapes,annotations,collectives,sync|"--ep 8 --pp 2 --dp 8"'
  'expert parallel, drawn 3|--layers 4 --hidden 1024 --seq 4096 --experts 8 --top-k 4 --ep 2 --dp 2 --micro-batches 2 --node-size 16|"--ep 4 --layers 8 --dp 4"'
  'expert parallel, drawn 4|--layers 8 --hidden 2048 --seq 4096 --experts 4 --top-k 4 --ep 2 --dp 4 --micro-batches 4 --node-size 16|"--ep 1"'
  'expert parallel, drawn 5|--layers 4 --hidden 1024 --seq 1024 --experts 4 --top-k 4 --ep 4 --dp 4 --pp 2 --micro-batches 2 --node-size 16|"--ep 2 --dp 8"'
  'expert parallel, drawn 6|--layers 4 --hidden 4096 --seq 2048 --experts 8 --top-k 2 --ep 2 --dp 2 --pp 2 --micro-batches 2 --node-size 16|"--ep 8 --dp 16"'
  'expert parallel, drawn 7|--layers 4 --hidden 2048 --seq 4096 --experts 16 --top-k 2 --ep 4 --dp 8 --micro-batches 4 --node-size 16|"--ep 8 --layers 8"'
  'expert parallel, drawn 8|--layers 8 --hidden 2048 --seq 1024 --experts 16 --top-k 1 --ep 4 --dp 8 --micro-batches 2 --recompute full --node-size 16|"--ep 8"'
  'expert parallel, drawn 9|--layers 4 --hidden 4096 --seq 2048 --experts 8 --top-k 2 --ep 4 --dp 4 --micro-batches 4 --distributed-optimizer on --node-size 16|"--ep 8 --dp 8"'
  'expert parallel, drawn 10|--layers 4 --hidden 1024 --seq 4096 --experts 8 --top-k 1 --ep 2 --dp 2 --micro-batches 4 --recompute full --node-size 16|"--ep 4 --micro-batches 8 --dp 4"'
  'expert parallel, drawn 11|--layers 4 --hidden 4096 --seq 1024 --experts 8 --top-k 4 --ep 4 --dp 4 --micro-batches 4 --distributed-optimizer on --node-size 16|"--ep 1 --dp 8"'
  'expert parallel, drawn 12|--layers 8 --hidden 1024 --seq 2048 --experts 4 --top-k 4 --ep 4 --dp 4 --micro-batches 2 --node-size 16|"--ep 2 --layers 16"'
  'experts and tensors|--layers 4 --hidden 2048 --experts 8 --tp 2 --sequence-parallel on --ep 2 --dp 2 --micro-batches 2|"--ep 4" "--ep 1" "--tp 1" "--tp 4" "--dp 4" "--dp 1" "--pp 2"'
  'experts, no tensors|--layers 4 --hidden 2048 --experts 8 --ep 2 --dp 4 --micro-batches 2|"--tp 2 --sequence-parallel on" "--tp 2 --sequence-parallel on --dp 2" "--tp 2 --sequence-parallel on --ep 4"'
  'experts, no tensors, sharded|--layers 4 --hidden 2048 --experts 8 --ep 2 --dp 2 --micro-batches 2 --distributed-optimizer on|"--tp 2 --sequence-parallel on"'
  'experts, no tensors, not shared|--layers 4 --hidden 2048 --experts 8 --dp 2 --micro-batches 2|"--tp 2 --sequence-parallel on" "--tp 4 --sequence-parallel on"'
  'experts and tensors, one replica|--layers 4 --hidden 2048 --experts 8 --tp 4 --sequence-parallel on --ep 2 --micro-batches 2|"--ep 4" "--ep 1" "--tp 2" "--dp 2"'
  'experts and contexts|--layers 4 --hidden 2048 --seq 4096 --experts 8 --cp 2 --ep 2 --dp 2 --micro-batches 2|"--ep 4" "--ep 1" "--cp 1" "--cp 4" "--dp 4"'
  'experts beside others, drawn 1|--layers 4 --hidden 2048 --seq 4096 --experts 8 --top-k 4 --ep 8 --tp 4 --sequence-parallel on --dp 2 --micro-batches 4 --distributed-optimizer on --node-size 16|"--ep 4"'
  'experts beside others, drawn 2|--layers 4 --hidden 4096 --seq 4096 --experts 16 --top-k 4 --ep 2 --cp 2 --dp 2 --pp 2 --micro-batches 2 --node-size 16|"--dp 4"'
  'experts beside others, drawn 3|--layers 8 --hidden 1024 --seq 4096 --experts 16 --top-k 4 --ep 2 --tp 2 --sequence-parallel on --cp 2 --dp 4 --micro-batches 2 --distributed-optimizer on --node-size 8|"--micro-batches 8"'
  'experts beside others, drawn 4|--layers 4 --hidden 2048 --seq 4096 --experts 8 --top-k 1 --ep 4 --tp 2 --sequence-parallel on --dp 2 --micro-batches 4 --distributed-optimizer on --node-size 16|"--micro-batches 8"'
  'experts beside others, drawn 5|--layers 4 --hidden 1024 --seq 1024 --experts 16 --top-k 2 --ep 4 --tp 2 --sequence-parallel on --cp 2 --dp 2 --pp 2 --micro-batches 2 --recompute full --node-size 16|"--tp 1"'
  'experts beside others, drawn 6|--layers 8 --hidden 4096 --seq 1024 --experts 16 --top-k 1 --ep 4 --tp 2 --sequence-parallel on --cp 2 --micro-batches 4 --node-size 8|"--cp 4"'
  'experts beside others, drawn 7|--layers 4 --hidden 2048 --seq 4096 --experts 16 --top-k 4 --ep 4 --tp 2 --sequence-parallel on --dp 2 --pp 2 --micro-batches 4 --distributed-optimizer on --node-size 16|"--micro-batches 2"'
  'experts beside others, drawn 8|--layers 8 --hidden 1024 --seq 2048 --experts 16 --top-k 2 --ep 8 --cp 2 --dp 4 --micro-batches 2 --recompute full --node-size 16|"--micro-batches 4"'
  'experts beside others, drawn 9|--layers 4 --hidden 2048 --seq 1024 --experts 16 --top-k 1 --ep 2 --tp 2 --sequence-parallel on --cp 2 --dp 2 --pp 2 --micro-batches 4 --recompute full --node-size 8|"--cp 1"'
  'experts beside others, drawn 10|--layers 8 --hidden 1024 --seq 4096 --experts 8 --top-k 4 --ep 4 --tp 2 --sequence-parallel on --cp 2 --micro-batches 4 --node-size 16|"--ep 2"'
  'experts beside others, drawn 11|--layers 8 --hidden 1024 --seq 4096 --experts 8 --top-k 2 --ep 2 --tp 4 --sequence-parallel on --dp 4 --micro-batches 4 --distributed-optimizer on --node-size 16|"--tp 1"'
  'experts beside others, drawn 12|--layers 4 --hidden 1024 --seq 2048 --experts 16 --top-k 2 --ep 4 --tp 2 --sequence-parallel on --dp 4 --micro-batches 4 --distributed-optimizer on --recompute full --node-size 8|"--ep 2"'
  'experts beside others, drawn 13|--layers 4 --hidden 2048 --seq 2048 --experts 8 --top-k 2 --ep 4 --tp 4 --sequence-parallel on --micro-batches 2 --recompute full --node-size 16|"--dp 8"'
  'experts beside others, drawn 14|--layers 4 --hidden 4096 --seq 2048 --experts 16 --top-k 2 --ep 4 --tp 2 --sequence-parallel on --cp 2 --dp 4 --micro-batches 4 --node-size 16|"--dp 2"'
  'sharded, in other ways|--layers 4 --hidden 2048 --dp 2 --micro-batches 4 --distributed-optimizer on|"--distributed-optimizer off" "--overlap-gradients off" "--dp 1"'
)

# group | mean, worst |error| in % that it does not exceed | cases worse than "nothing changes" | what is missing
bars=(
  'recorded|0.2 0.5|0|'
  'layers|0.6 1.7|0|a layer between is like the last of two'
  'micro-batches|0.5 1.8|0|where the host is what counts, its slow stretches lie elsewhere'
  'pp|1.5 3.2|0|kernels take longer beside transfers, and clocks fall after long stretches of matrix products: another pipeline changes both'
  'schedule|1.6 2.5|0|as for pp; products of tensor-parallel layers take another time beside their all-reduce than alone'
  'bucket-mb|0.5 1|0|'
  'overlap-gradients|1 1.5|0|how long replicas then wait for each other'
  'distributed-optimizer|0.8 1|0|without it the emulated cluster converts weights in the forward pass, as autocast does; behind the update here, as Megatron-LM'
  'recompute|0.7 2.1|0|products of tensor-parallel layers take another time beside their all-reduce than alone'
  'fsdp|1.2 6.6|0|one recorded step of eight is half as long again, where a CPU stalls: of twice as many replicas two are taken to, and in the true run one does'
  'cp|2 5.6|1|how long more ranks wait for each other, where their CPUs hold them up'
  'ep|2 6|0|how long ranks wait for each other, where their CPUs hold them up'
  'dp|1.5 3.2|0|all kernels of a sharded optimizer shrink with its shard, though some go through all parameters'
)
all='all|1.2 6.6|1|'

# value NAME DEFAULT OPTIONS: the last value of an option.
value() { sed -nE "s/.*--$1 ([0-9]+).*/\1/p; t; s/.*/$2/p" <<<"$3"; }

# filled OPTIONS: how much of the bubble of 1F1B a schedule leaves: one part of --vp, or a third where weights are apart.
filled() {
  case $(sed -nE 's/.*--schedule ([a-z0-9-]+).*/\1/p' <<<"$1") in
    interleaved) awk "BEGIN { print 1 / $(value vp 1 "$1") }" ;;
    zb-h1) echo 0.3333 ;;
    *) echo 1 ;;
  esac
}

# trivial OPTIONS CHANGE STEP: the step by formula, in ns: as many layers and micro-batches as a stage has, and a pipeline that fills and drains.
trivial() {
  local layers micro_batches stages
  layers=$(value layers 12 "$1") micro_batches=$(value micro-batches 8 "$1") stages=$(value pp 1 "$1")
  awk -v step="$3" -v l="$layers" -v m="$micro_batches" -v p="$stages" -v to_l="$(value layers "$layers" "$2")" \
    -v to_m="$(value micro-batches "$micro_batches" "$2")" -v to_p="$(value pp "$stages" "$2")" \
    -v f="$(filled "$1")" -v to_f="$(filled "$1 $2")" \
    'BEGIN { printf "%.0f\n", step * (to_l / to_p * (to_m + (to_p - 1) * to_f)) / (l / p * (m + (p - 1) * f)) }'
}

# true_shares FOLDER, predicted_shares: of the steps but the first, in % of the ranks' time: exposed computation, overlapped, exposed
# communication, copies, idle; bubble.
true_shares() {
  true_ranks "$1" | awk 'NR == 1 { first = $1 } $1 == first { next }
    { all += $4 - $3; part[1] += $5; part[2] += $6; part[3] += $7 + $8 + $9; part[4] += $10; part[5] += $11; part[6] += $9 }
    END { for (i = 1; i <= 6; i++) printf "%.4f ", 100 * part[i] / all }'
}
predicted_shares() {
  awk "$field"'
    BEGIN { number["exposed_compute"] = 1; number["overlapped"] = 2; number["exposed_communication"] = 3; number["exposed_copy"] = 4; number["idle"] = 5; number["pipeline_bubble"] = 6 }
    !/^\{"type":"metric"/ || !/"source":"simulated"/ || !/"scope":\{"rank":[0-9]+,"step":[0-9]+\}/ { next }
    { step = field("step"); name = field("name") }
    name == "step_time" && (first == "" || step < first) { first = step }
    name == "step_time" { all[step] += field("value") }
    name in number { part[number[name] " " step] += field("value") }
    END {
      for (step in all) if (step != first) { whole += all[step]; for (i = 1; i <= 6; i++) sum[i] += part[i " " step] }
      for (i = 1; i <= 6; i++) printf "%.4f ", 100 * sum[i] / whole
    }' sim
}

# compare_shares GROUP JOB CHANGE FOLDER NEW: a line into the file `shares`: group, job, change, by how many points the worst part is off, the bubble.
# NEW: whether replicas are new. How long these wait for each other no recording of one shows: it counts as communication, beside computation or alone, and
# would be computation alone or idle time. So computation is held as one, and so is what is neither that nor copies.
compare_shares() {
  { true_shares "$4" && echo && predicted_shares && echo; } | awk -v at="$1|$2|$3" -v new="$5" '
    new == "yes" { $1 += $2; $2 = 0; $3 += $5; $5 = 0 }
    NR == 1 { split($0, was) }
    NR == 2 { for (i = 1; i <= 6; i++) { off[i] = $i - was[i]; off[i] = off[i] < 0 ? -off[i] : off[i] }
      for (i = 1; i <= 5; i++) worst = off[i] > worst ? off[i] : worst
      printf "%s|%.2f|%.2f\n", at, worst, off[6] }' >>shares
}

# network OPTIONS: what has to be told of the cluster: how many GPUs a node has shows only where several nodes were recorded.
network() {
  [[ $1 != *--node-size* ]] || { printf '{"node_size": %d}\n' "$(value node-size 8 "$1")" >network.json && echo --network network.json; }
}

# cases JOB OPTIONS|CHANGES: a line a case: group, job, change, step without it, true, predicted, in ns
cases() {
  local job=$1 options="$recording ${2%%|*}" changes=${2#*|} change group without=${2##*|\"}
  local -a list
  without=${without##*\"}
  rm -rf unchanged
  # shellcheck disable=SC2086 # several options
  emulated-cluster $options $without unchanged || fail "$job: the emulated cluster fails"
  lumos-graph unchanged/rank*.json >graph 2>message || fail "$job: no graph: $(head -c 300 message)"
  eval "list=(${changes%"$without"})"
  lumos-transform --rebuild graph -o built 2>message || fail "$job: not built: $(head -c 300 message)"
  printf 'recorded|%s|as recorded|%s|%s|%s\n' "$job" "$(true_steps unchanged | steps)" "$(true_steps unchanged | steps)" "$(predicted_step <built)"
  compare_shares recorded "$job" 'as recorded' unchanged no
  for change in "${list[@]}"; do
    group=${change%% *} group=${group#--}
    [[ $options != *--fsdp* ]] || group=fsdp
    [[ $options != *--cp* ]] || group=cp
    [[ $options != *--experts* ]] || group=ep
    rm -rf changed
    # shellcheck disable=SC2086
    emulated-cluster $options $without $change --ranks none changed || fail "$job, $change: the emulated cluster fails"
    printf '%s %s\n' "$(true_steps changed | steps)" "$(trivial "$options" "$change" "$(true_steps unchanged | steps)")" >>by_formula
    # shellcheck disable=SC2086
    printf '%s|%s|%s|%s|%s|%s\n' "$group" "$job" "$change" "$(true_steps unchanged | steps)" "$(true_steps changed | steps)" \
      "$({ lumos-transform $change $(network "$options") graph 2>message || fail "$job, $change: $(head -c 300 message)"; } |
        predicted_step "$(differ unchanged changed)")"
    compare_shares "$group" "$job" "$change" changed "$([[ $options != *'--dp '* && $change = *'--dp '* ]] && echo yes || echo no)"
  done
}

jobs=("${short[@]}")
[ "${LUMOS_ALL:-no}" != yes ] || jobs+=("${long[@]}")
judge 8 configuration 'configurations' "$@"

# Points of the step that the worst part of the breakdown, and the bubble, may be off: of the recorded configuration, and of others. Of a pipeline
# bound by its CPUs that is made of one GPU the bubble is off by 0.7 to 2.5 points over five seeds, and the step by 1.3 % on average; why is not
# known. Of fully sharded replicas communication takes up to a half of the step, and how much of it is beside computation is off by as much as 3.1 points
# where it comes to go between nodes. Ranks that share experts wait for each other in every layer, and in a
# pipeline that is bubble: more of them than were recorded wait longer.
awk -F'|' '
  { most = 2; bubble = $2 "|" $3 == "one GPU, host-bound, from nothing|--pp 2" ? 2.5 : 1.5 }
  $1 == "fsdp" { most = 3.2 }
  $1 == "cp" { most = 4.5 }
  $1 == "ep" { most = 6; bubble = 2.6 }
  $1 == "recorded" { most = 1; bubble = 1 }
  $4 > most || $5 > bubble' shares >off
[[ " $* " != *' --table '* ]] || { printf '\n| job | configuration | breakdown off by, points | bubble |\n|---|---|---|---|\n' && awk -F'|' '{ printf "| %s | %s | %s | %s |\n", $2, $3, $4, $5 }' shares; }
[[ " $* " == *' --without '* ]] || [ ! -s off ] || fail "where time goes is further off than it may be: $(head -5 off | tr '\n' ' ')"
proved "where the time of a step goes is off by $(awk -F'|' '{ sum += $4; worst = $4 > worst ? $4 : worst; bubble = $5 > bubble ? $5 : bubble }
  END { printf "%.2f points on average and %.2f at worst, the bubble by %.2f at worst", sum / NR, worst, bubble }' shares)"
proved "by formula alone they are off by $(awk '{ error = $2 / $1 - 1; error = error < 0 ? -error : error; sum += error; worst = error > worst ? error : worst }
  END { printf "%.1f %% on average and %.1f %% at worst", 100 * sum / NR, 100 * worst }' by_formula)"
finish

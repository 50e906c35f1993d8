#!/usr/bin/env bash
# Durations from models: another GPU and another network against true runs of the emulated cluster, in both directions; and how well measured
# shapes predict each other.
#
#   tests/cli/models.sh [--table] [--without MECHANISMS] [JOB...]
#
# as in perturbed.sh; the long list of jobs with LUMOS_ALL=yes. The emulated cluster takes the time of a collective from NCCL's published model, as
# Lumos does, and the peaks of GPUs from the same data sheets: on real networks and GPUs errors are larger, which the last part shows on one pair
# of real traces.
. "$(dirname "$0")/lib.sh"
. "$here/predictions.sh"

# name | options | what differs | its variants: a GPU; GPUs in a node, GB/s and us between nodes; or replicas and GPUs in a node
short=(
  'data parallel|--layers 4 --hidden 2048 --dp 2 --micro-batches 2|gpu|a100 h100'
  'two nodes|--layers 4 --hidden 4096 --dp 4 --node-size 2 --micro-batches 2|network|2,50,5 2,25,10'
)
long=(
  'one GPU|--layers 4 --hidden 2048 --micro-batches 2|gpu|a100 h100 h200 b200'
  'data parallel, wide|--layers 4 --hidden 4096 --dp 2 --micro-batches 2|gpu|a100 h100 h200 b200'
  'tensor parallel|--layers 4 --hidden 4096 --tp 2 --micro-batches 2|gpu|a100 h100 b200'
  'pipeline|--layers 8 --hidden 2048 --pp 4 --micro-batches 8|gpu|a100 h100'
  'four nodes|--layers 4 --hidden 2048 --dp 4 --node-size 1 --micro-batches 2|network|1,50,5 1,12.5,20'
  'two nodes, wide|--layers 4 --hidden 4096 --dp 8 --node-size 4 --micro-batches 2|network|4,50,5 4,25,5 4,6,20'
  'nodes of two sizes|--layers 4 --hidden 4096 --dp 4 --micro-batches 2|network|2,50,5 1,50,5'
  'outgrows its node|--layers 4 --hidden 4096 --micro-batches 2|dp|4,4 8,4'
  'outgrows a node of eight|--layers 4 --hidden 4096 --micro-batches 2|dp|8,8 16,8'
  'pipeline over nodes|--layers 8 --hidden 2048 --pp 4 --node-size 1 --micro-batches 8|network|1,50,5 1,5,20'
)
declare -A gpus=([a100]='A100 SXM 80 GB' [h100]='H100 SXM' [h200]=H200 [b200]=B200)

# group | mean, worst |error| in % that it does not exceed | cases worse than "nothing changes" | what is missing
bars=(
  'gpu|2.8 5.6|0|which kernels the libraries of another GPU choose; how long each takes that moves nothing; that the cluster speeds up all that moves with memory, where some real kernels wait for SMs (cli/pairs)'
  'dp|3.5 3.6|0|as for network; and what transfers on the same links lose is fitted'
  'network|1.9 4.3|0|communication that waits for SMs, or whose members end far apart, keeps its measured delay; kernels beside longer transfers take longer'
)
all='all|3.5 10.5|0|'

emulated_options() {
  case $1 in
    gpu) echo "--gpu $2" ;;
    dp) echo "--dp ${2%,*} --node-size ${2#*,}" ;;
    network) awk -F, '{ print "--node-size", $1, "--nic-bandwidth", $2, "--nic-latency", $3 }' <<<"$2" ;;
  esac
}

# transform KIND VARIANT: the graph on standard input, changed to that.
transform() {
  case $1 in
    gpu) lumos-transform --gpu "${gpus[$2]}" ;;
    dp)
      echo "{\"node_size\": ${2#*,}, \"inter\": {\"bandwidth_gbps\": 50, \"latency_us\": 5}}" >network.json
      lumos-transform --dp "${2%,*}" --network network.json
      ;;
    network)
      awk -F, '{ printf "{\"node_size\": %s, \"inter\": {\"bandwidth_gbps\": %s, \"latency_us\": %s}}\n", $1, $2, $3 }' <<<"$2" >network.json
      lumos-transform --network network.json
      ;;
  esac
}

# cases JOB OPTIONS|KIND|VARIANTS: a line a case: group, job, change, step without it, true, predicted, in ns
cases() {
  local job=$1 options kind variants from to
  IFS='|' read -r options kind variants <<<"${2%% --without*}"
  [[ $2 != *' --without'* ]] || options+=" --without${2##* --without}"
  for from in $variants; do
    rm -rf "run.$from"
    # shellcheck disable=SC2046,SC2086 # several options each
    emulated-cluster $options $recording $(emulated_options "$kind" "$from") "run.$from" || fail "$job: the emulated cluster fails"
    lumos-graph "run.$from"/rank*.json >"graph.$from" 2>message || fail "$job: no graph: $(head -c 300 message)"
  done
  for from in $variants; do
    for to in $variants; do
      [ "$from" != "$to" ] && { [ "$kind" != dp ] || [ "${to%,*}" -gt "${from%,*}" ]; } || continue
      printf '%s|%s|%s to %s|%s|%s|%s\n' "$kind" "$job" "$from" "$to" "$(true_steps "run.$from" | steps)" "$(true_steps "run.$to" | steps)" \
        "$({ transform "$kind" "$to" <"graph.$from" 2>message || fail "$job, $to: $(head -c 300 message)"; } | predicted_step)"
    done
  done
}

jobs=("${short[@]}")
[ "${LUMOS_ALL:-no}" != yes ] || jobs+=("${long[@]}")
[ "${LUMOS_ALL:-no}" = yes ] || of_few=yes
judge 4 change 'changes of GPU and network' "$@"

# Nothing changes where the network is as it was fitted, or the GPU the same.
[ ! -e graph.a100 ] || {
  lumos-transform --gpu "${gpus[a100]}" graph.a100 2>message | grep -c '"dur_source":"modelled"' >changed
  [ "$(cat changed)" -eq 0 ] || fail "the same GPU changes $(cat changed) durations"
  lumos-transform --gpu h100x graph.a100 2>message >/dev/null && fail 'a GPU that nobody knows is taken'
  says "'h100x' is not in the table of GPUs"
  lumos-transform --gpu h100 graph.a100 2>message >/dev/null && fail 'one of three H100s is taken'
  says "'h100' may be any of H100 PCIe, H100 NVL, H100 SXM; name one of them"
  echo '{"inter": {"bandwidth": 5}}' >bad.json
  lumos-transform --network bad.json graph.a100 2>message >/dev/null && fail 'a network with an unknown member is taken'
  says 'bad.json: inter has no bandwidth'
}

# --- Shapes left out in turn ---

# percentiles KIND: median and 90th percentile of the table on standard input.
percentiles() { awk -v kind="$1" '$1 == kind { print $5, $6 }'; }
if [ -e graph.h100 ]; then
  lumos-graph --check-models graph.h100 >table
  read -r median ninetieth < <(percentiles gemm <table)
  check "matrix products predict each other: $median, $ninetieth" awk "BEGIN { exit !($median < 6 && $ninetieth < 20) }"
  proved "matrix products left out in turn are off by $median % (median) and $ninetieth % (90th percentile) on the emulated cluster"
fi

# --- Real pairs: an inference of Qwen on two vendors' GPUs, and eight ranks from the trace of one of them ---

# figures SOURCE: "NAME VALUE LOW HIGH" of the job's steps, their mean but for the first of several, and of the time of each kind of kernel, in ns.
figures() {
  only metric | grep -E '"name":"(step_time|device_time|kind_time)".*"scope":\{"step":[0-9]+(,"kind":"[a-z]+")?\},"source":"'"$1" |
    awk "$field"'
      { name = field("kind") == "" ? field("name") : field("kind"); value[name, ++count[name]] = field("value"); low[name, count[name]] = field("low"); high[name, count[name]] = field("high") }
      END { for (name in count) { n = a = b = c = 0; for (i = 1 + (count[name] > 1); i <= count[name]; i++) { n++; a += value[name, i]; b += low[name, i]; c += high[name, i] }
        print name, a / n, b / n, c / n } }' | sort
}
# pair NAME: what `predicted` says, and whether its ranges hold what `true` says, of the step and of attention.
pair() {
  join predicted true | awk -v name="$1" '{ held = $3 > 0 && $3 <= $5 && $5 <= $4
      printf "%s: %s predicted %.2f ms (%.2f to %.2f), measured %.2f ms, %+.0f %%%s\n", name, $1, $2 / 1e6, $3 / 1e6, $4 / 1e6, $5 / 1e6, ($2 / $5 - 1) * 100, (held ? "" : ($4 + 0 > 0) ? ", not within its range" : ", without range")
      if ($1 == "step_time" || $1 == "attention") { asked++; good += held } }
    END { exit !(asked && good == asked) }' || fail "$1: the range of the step, or of attention, does not hold what was measured"
}
if have_traces; then
  qwen=("$traces"/tracelens-qwen-H100-vs-MI300/h100*.json.gz "$traces"/tracelens-qwen-H100-vs-MI300/mi300*.json.gz)
  for way in '0 1 MI300X' '1 0 H100 SXM'; do
    read -r from to gpu <<<"$way"
    { lumos-graph "${qwen[from]}" | lumos-transform --gpu "$gpu" | lumos-sim --opportunities off | figures simulated >predicted; } 2>message || fail "to $gpu: $(head -c 300 message)"
    lumos-sim --opportunities off "${qwen[to]}" 2>message | figures measured >true
    pair "Qwen on $gpu"
  done
  { lumos-graph "$traces"/nanogpt-8xH100-ddp/*rank0*.json.gz | lumos-transform --dp 8 | lumos-sim --opportunities off | figures simulated >predicted; } 2>message || fail "nanogpt: $(head -c 300 message)"
  lumos-sim --opportunities off "$traces"/nanogpt-8xH100-ddp/*.json.gz 2>message | figures measured | grep step_time >true
  pair 'eight replicas of nanogpt from rank 0'
fi
finish

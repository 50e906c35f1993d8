#!/usr/bin/env bash
# Contention: what communication costs the kernels beside it is read off the recording. Without that communication, or with less
# of it, kernels take what they then take on the emulated cluster, however much its GPUs and links share.
. "$(dirname "$0")/lib.sh"

job=(--layers 4 --hidden 2048 --dp 4 --node-size 2 --micro-batches 2 --steps 4)
# The mean of the steps after the first, "STEP NS" a line.
mean() { sort -n | awk 'NR == 1 { first = $1 } $1 > first { sum += $2; n++ } END { printf "%.0f\n", sum / n }'; }
true_compute() { true_ranks "$1" | awk '{ sum[$1] += $5 + $6; n[$1]++ } END { for (step in sum) print step, sum[step] / n[step] }' | mean; }
compute() { # of a simulated job, the mean over its ranks
  awk "$field"'/^\{"type":"metric","name":"(exposed_compute|overlapped)"/ && field("source") == "simulated" && !/"rank":/ { sum[field("step")] += field("value") }
    END { for (step in sum) print step, sum[step] }' "$1" | mean
}
# kernels CONTENTION LIMIT RECORDED TRUE OPTION...: time of kernels within LIMIT %.
kernels() {
  rm -rf emulated changed && mkdir emulated changed
  emulated-cluster --quiet --plain "${job[@]}" --contention "$1" $3 emulated || fail "$1 $3: the emulated cluster fails"
  emulated-cluster --quiet --plain "${job[@]}" --contention "$1" $4 --ranks none changed || fail "$1 $4: the emulated cluster fails"
  { lumos-graph emulated/rank*.json | lumos-transform "${@:5}" | lumos-sim --opportunities off -o job.sim; } 2>message || fail "$1 ${*:5}: $(head -c 300 message)"
  awk -v what="contention $1, ${*:5}" -v limit="$2" -v was="$(true_compute emulated)" -v true="$(true_compute changed)" -v predicted="$(compute job.sim)" '
    BEGIN { error = 100 * (predicted / true - 1)
      printf "%-56s kernels take %.3f ms, then %.3f, predicted %.3f: %+.2f %%\n", what, was / 1e6, true / 1e6, predicted / 1e6, error
      exit !(error < limit && error > -limit) }' || fail "contention $1, ${*:5}: kernels are more than $2 % off"
  cases=$((cases + 1))
}
cases=0
kernels 0.8,0.2 3 '--overlap-gradients on' '--overlap-gradients off' --overlap-gradients off
rarely kernels 0.4,0.1 1.5 '--overlap-gradients on' '--overlap-gradients off' --overlap-gradients off
rarely kernels 0.1,0.05 1.5 '--overlap-gradients on' '--overlap-gradients off' --overlap-gradients off
rarely kernels 0.8,0.2 4 '--bucket-mb 100' '--bucket-mb 25' --bucket-mb 25
echo '{"inter": {"bandwidth_gbps": 25}}' >slow.json
rarely kernels 0.8,0.2 3 '--nic-bandwidth 50' '--nic-bandwidth 25' --network slow.json
echo '{"inter": {"bandwidth_gbps": 50}}' >fast.json
rarely kernels 0.8,0.2 2 '--nic-bandwidth 25' '--nic-bandwidth 50' --network fast.json
# Another pipeline puts other kernels beside communication: the step, of which they are on the critical path.
# step LIMIT RECORDED TRUE OPTION...: the step within LIMIT %.
step() {
  local steps='{ if (NR > 1) { sum += $2; n++ } } END { printf "%.0f\n", sum / n }'
  rm -rf emulated changed
  emulated-cluster --quiet --plain --steps 3 --layers 4 --hidden 4096 --tp 2 --pp 2 --dp 2 --micro-batches 4 --node-size 16 $2 emulated || fail "$2: the emulated cluster fails"
  emulated-cluster --quiet --plain --steps 3 --layers 4 --hidden 4096 --tp 2 --pp 2 --dp 2 --micro-batches 4 --node-size 16 $3 --ranks none changed || fail "$3: the emulated cluster fails"
  echo '{"node_size": 16}' >nodes.json
  lumos-graph emulated/rank*.json 2>message | lumos-transform "${@:4}" --network nodes.json 2>message | lumos-sim --opportunities off 2>message |
    grep '^{"type":"metric","name":"step_time"' | awk "$field"'field("source") == "simulated" && !/"rank":/ { print field("step"), field("value") }' | sort -n | awk "$steps" >predicted
  true_steps changed | sort -n | awk "$steps" >true
  paste predicted true | awk -v what="${*:4}" -v limit="$1" '{ error = 100 * ($1 / $2 - 1)
    printf "%-56s the step takes %.3f ms, predicted %.3f: %+.2f %%\n", what, $2 / 1e6, $1 / 1e6, error
    exit !(error < limit && error > -limit) }' || fail "${*:4}: the step is more than $1 % off"
  cases=$((cases + 1))
}
rarely step 2 '--schedule 1f1b' '--schedule zb-h1' --schedule zb-h1
rarely step 1.5 '--schedule zb-h1' '--schedule 1f1b' --schedule 1f1b

# A network that is what it was changes no kernel.
echo '{}' >same.json
lumos-graph emulated/rank*.json -o job.graph
lumos-transform --network same.json job.graph 2>/dev/null | grep '^{"type":"task"' | sed 's/,"timing":.*//' >then
grep '^{"type":"task"' job.graph | sed 's/,"timing":.*//' >was
same was then 'a network that describes nothing changes tasks'
# A slow rank is no contention: without any, its matrix products take less than a fifth longer beside longer transfers.
emulated-cluster --quiet --plain --steps 2 --layers 4 --hidden 2048 --micro-batches 2 --dp 4 --contention 0,0 --straggler 1=2 slow >/dev/null || fail 'the emulated cluster fails'
lumos-graph slow/rank*.json -o slow.graph 2>/dev/null
echo '{"intra": {"bandwidth_gbps": 20}}' >slower.json
lumos-transform --network slower.json slow.graph 2>/dev/null |
  jq -rn 'reduce (inputs | select(.type == "task" and .was and .kind == "gemm")) as $t ({}; .["\($t.rank)"] += [$t.dur / $t.was]) | to_entries[] | "\(.key) \(.value | max)"' >longest
awk '{ of[$1] = $2 } END { exit !(of[1] > 0 && of[1] < 1.2) }' longest || fail "kernels of the slow rank take longer: $(tr '\n' ';' <longest)"
proved "in $cases cases kernels take what they then take beside more or less communication"
finish

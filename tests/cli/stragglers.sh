#!/usr/bin/env bash
# Slow ranks of emulated jobs are found, however the job is spread, and whoever waits for them is not blamed; where no rank is slow none is
# found. Of the real traces that have stragglers, these.
. "$(dirname "$0")/lib.sh"

# stragglers: the ranks that are said to be, and of which share of the step.
stragglers() { only metric sim | grep '"name":"straggler".*"source":"simulated"' | awk "$field"'{ print field("rank"), field("value") }' | sort -n; }
jobs=0

# found NAME RANK...: these and no others, each by a note that says it, too.
found() {
  local name=$1
  shift
  stragglers >shares
  cut -d' ' -f1 shares | xargs >seen
  jobs=$((jobs + 1))
  [ "$(cat seen)" = "$*" ] || fail "$name: the stragglers are '$(cat shares)', not '$*'"
  [ "$(only note sim | grep '"code":"sim.straggler"' | awk "$field"'{ print field("rank") }' | sort -n | xargs)" = "$*" ] || fail "$name: the notes name others"
}

# job 'RANK...'|none OPTION...
job() {
  local slow=$1
  shift
  rm -rf emulated
  emulated-cluster --quiet --plain --steps 3 "$@" emulated || { fail "the emulated cluster fails: $*"; return; }
  lumos-sim emulated/rank*.json --opportunities off -o sim 2>message || { fail "$*: $(head -c 300 message)"; return; }
  if [ "$slow" = none ]; then found "$*"; else found "$*" $slow; fi
}

# Ranks are in the order tensor, data, pipeline.
gpus=(--layers 4 --hidden 2048 --micro-batches 2)
job none "${gpus[@]}" --dp 4
rarely job 2 "${gpus[@]}" --dp 4 --straggler 2=1.3
job 1 --layers 4 --hidden 1024 --dp 4 --slow-host 1=1.5
job '1 4' "${gpus[@]}" --dp 6 --straggler 1=1.4 --straggler 4=1.35
rarely job 0 "${gpus[@]}" --dp 4 --straggler 0=2 --slow-host 3=2 # while it waits for rank 0, the host of rank 3 gets ahead again
rarely job none --layers 4 --hidden 4096 --tp 4
rarely job 3 --layers 4 --hidden 4096 --tp 4 --straggler 3=1.3
rarely job none "${gpus[@]}" --tp 2 --dp 2
job 1 "${gpus[@]}" --tp 2 --dp 2 --slow-host 1=1.5
rarely job 2 "${gpus[@]}" --tp 2 --dp 2 --straggler 2=1.5
rarely job none "${gpus[@]}" --pp 2 --dp 2
rarely job 0 "${gpus[@]}" --pp 2 --dp 2 --straggler 0=1.5 # the other stage waits for it
rarely job 3 "${gpus[@]}" --pp 2 --dp 2 --straggler 3=1.5
rarely job 2 "${gpus[@]}" --tp 2 --pp 2 --straggler 2=1.5
rarely job none "${gpus[@]}" --tp 2 --pp 2 --dp 2
job 5 "${gpus[@]}" --tp 2 --pp 2 --dp 2 --straggler 5=1.5
rarely job 0 "${gpus[@]}" --tp 2 --pp 2 --dp 2 --straggler 0=1.5
rarely job 4 --layers 16 --hidden 2048 --vocab 8192 --pp 4 --dp 2 --micro-batches 8 --straggler 4=1.5
rarely job none --layers 16 --hidden 2048 --vocab 8192 --pp 4 --dp 2 --micro-batches 8
# Three slow of four: the median, and the mean of the others, are slow then.
job '0 2 3' "${gpus[@]}" --dp 4 --straggler 0=1.3 --straggler 2=1.3 --straggler 3=1.3
rarely job '1 2 3' --layers 4 --hidden 1024 --dp 4 --slow-host 1=1.5 --slow-host 2=1.5 --slow-host 3=1.5
rarely job '1 2 3' --layers 4 --hidden 4096 --tp 4 --straggler 1=1.3 --straggler 2=1.3 --straggler 3=1.3
# Ranks nearly as late as one that is named.
job '1 2' "${gpus[@]}" --dp 4 --straggler 1=1.3 --straggler 2=1.27
# A slow stage beside stages with the same layers; in some of these jobs nobody else meets it.
stages=(--layers 8 --hidden 2048 --vocab 8192 --pp 4 --micro-batches 8)
job none "${stages[@]}"
job 2 "${stages[@]}" --straggler 2=1.4
rarely job 0 "${stages[@]}" --straggler 0=1.4
rarely job '0 1 3' "${stages[@]}" --straggler 0=1.4 --straggler 1=1.4 --straggler 3=1.4
rarely job '2 3' "${stages[@]}" --dp 2 --straggler 2=1.4 --straggler 3=1.4
rarely job none --layers 8 --hidden 512 --vocab 8192 --pp 4 --micro-batches 8
rarely job 1 --layers 8 --hidden 512 --vocab 8192 --pp 4 --micro-batches 8 --slow-host 1=1.6
rarely job none --layers 8 --hidden 2048 --vocab 51200 --pp 2 --micro-batches 8
rarely job 1 --layers 8 --hidden 2048 --vocab 51200 --pp 2 --micro-batches 8 --straggler 1=1.5
rarely job none --layers 8 --hidden 2048 --pp 2 --tp 2 --schedule interleaved --vp 2 --micro-batches 4
rarely job none --layers 8 --hidden 2048 --pp 2 --schedule gpipe --micro-batches 4
job none --layers 8 --hidden 2048 --pp 4 --schedule zb-h1 --micro-batches 8 --recompute full

# Of a rank whose clock is not known nothing is said but that.
keep 'event !~ /"name": "[^"]*nccl/' emulated/rank1.json
lumos-sim emulated/rank*.json --opportunities off -o sim 2>message || fail "without a rank's collectives: $(head -c 300 message)"
found 'without a rank'\''s collectives'

# real SET RANK...
real() {
  local set=$1
  shift
  lumos-sim "$traces/$set"/*.json.gz --opportunities off -o sim 2>message || fail "$set: $(head -c 300 message)"
  found "$set" "$@"
}
if have_traces; then
  real torchrec-4xV100-lateRank2 2
  jq -e -s 'map(select(.name == "straggler_delay" and .scope.rank == 2).value) | length == 6 and all(.[]; . > 950e6 and . < 1050e6)' \
    <(grep '^{"type":"metric"' sim) >/dev/null || fail 'rank 2 does not delay the others by about a second a step'
  real nanogpt-8xH100-ddp 1
  jq -e -s 'map(select(.source == "measured" and .name == "late_arrival" and .scope.rank == 1 and .scope.kind == null).value) | add > 27e6 and add < 36e6' \
    <(grep '^{"type":"metric"' sim) >/dev/null || fail 'rank 1 is not late by what it is behind the last but one, 27 ms in all, and a little more'
  real megatron-tp2-V100 0 # 48 ms of 74, in 12 of 13 collectives
  real dlrm-8xV100
  real emulated-pp4
  for set in hta-diff-A100-8rank-109k emulated-tp2pp2dp2 emulated-dp2; do rarely real "$set"; done
fi
proved "in $jobs jobs the slow ranks are found, and no others"
finish

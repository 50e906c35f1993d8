#!/usr/bin/env bash
# Where communication time goes, against the truth of emulated jobs of every schedule and way to spread a model: transfer, waiting and bubble of
# every rank's step, and the bubble of every stage, are within a point of the step. LUMOS_DRAWN (2) of the jobs are drawn from
# LUMOS_WAITING_SEED, which is the same unless it is given.
#
# What stages send each other is split at an instant on another stage's clock, and stages share one or two collectives a step that tell how their
# clocks differ: to ten microseconds or so. Sixty-four transfers in a step of 50 ms make more than a point of that. Such a job must show that it is
# the clocks alone: they are as near as lumos-graph says, with the true ones all parts are within a tenth of a point, and what is simulated is
# within a point of what is measured.
. "$(dirname "$0")/lib.sh"

seed=${LUMOS_WAITING_SEED:-8}
drawn=${LUMOS_DRAWN:-2}
printf 'LUMOS_WAITING_SEED=%s\n' "$seed"

# The same by stage: of the mean time of the ranks of all stages.
stages_off() {
  sed -nE 's/^\{"step": ([0-9]+), .*"stage_bubble": \[([^]]*)\].*/\1 \2/p' emulated/truth.json | tr -d , >stages
  only metric sim | grep '"name":"bubble".*"stage":' | awk "$field"'
    FILENAME == "parts" { sum[$1] += $4 - $3; ranks[$1]++; next }
    FILENAME == "stages" { for (i = 2; i <= NF; i++) share[i - 2 " " $1] = $i; next }
    { step = field("step"); at = field("stage") " " step }
    at in share { print field("source"), at, "bubble", 100 * (field("value") / (sum[step] / ranks[step]) - share[at]) }' parts stages -
}

# by_true_clocks: `sim` anew, from the same graph with the ranks' true clocks, and in the file `clocks` "RANK NS ERROR": how far each rank's
# clock was off that of rank 0, and how far it might be off. Drift is taken at the middle of the recorded steps.
by_true_clocks() {
  told_of emulated | jq -r '([.steps[0].profiled.start, .steps[-1].profiled.end] | add / 2) as $middle
    | .clocks.rows[] | "\(.[0]) \(.[1] + .[2] * $middle / 1e9 + .[3] | round)"' >true
  lumos-graph emulated/rank*.json 2>message | awk "$field"'
    FILENAME == "true" { ahead[$1] = $2; next }
    /^\{"type":"rank"/ {
      rank = field("rank"); offset = -ahead[rank] + ahead[0] - field("device_offset")
      match($0, /"offset":-?[0-9]+,"drift_ppb":/)
      found = substr($0, RSTART + 9, RLENGTH - 9) + 0
      if (rank == 0) { base = found - offset }
      print rank, found - offset - base, field("error") >"clocks"
      sub(/"offset":-?[0-9]+,"drift_ppb":-?[0-9]+/, "\"offset\":" offset ",\"drift_ppb\":0")
    }
    { print }' true - | lumos-sim --opportunities off -o sim 2>>message
}

# only_clocks: whether nothing but the clocks moves the parts in `points` by more than a point; says what else does.
only_clocks() {
  awk '{ at = $2 " " $3 " " $4 } NR == FNR { if ($1 == "measured") measured[at] = $5; next } $1 == "simulated" { print $0, $5 - measured[at] }' points points |
    awk '$6 > 1 || $6 < -1' >simulated
  [ ! -s simulated ] || { echo "simulated and measured differ: $(head -1 simulated)"; return 1; }
  by_true_clocks || { head -c 300 message; return 1; }
  awk '$2 > $3 || $2 < -$3' clocks >wrong
  [ -s clocks ] && [ ! -s wrong ] || { echo "a clock is further off than its error: $(head -1 wrong)"; return 1; }
  { points_off && stages_off; } | awk '$1 == "measured"' >measured
  awk '$5 > 0.1 || $5 < -0.1' measured >wrong
  [ -s measured ] && [ ! -s wrong ] || { echo "with the true clocks, $(head -1 wrong)"; return 1; }
}

# job OPTION...
jobs=0 clocks_alone=0
job() {
  local pp=1 ranks
  [[ " $* " =~ ' --pp '([0-9]+) ]] && pp=${BASH_REMATCH[1]}
  rm -rf emulated
  emulated-cluster --quiet --plain --steps 2 "$@" emulated || { fail "the emulated cluster fails: $*"; return; }
  ranks=$(sed -n 's/^"world": \([0-9]*\),/\1/p' emulated/truth.json)
  lumos-sim emulated/rank*.json --opportunities off -o sim 2>message || { fail "$*: $(head -c 300 message)"; return; }
  points_off >points
  stages_off >>points
  [ "$(wc -l <points)" -eq $((2 * 2 * (4 * ranks + (pp > 1 ? pp : 0)))) ] || fail "$*: $(wc -l <points) parts are not all"
  jobs=$((jobs + 1))
  awk '$5 > 1 || $5 < -1' points >far
  if [ ! -s far ]; then
    cat points >>all
  elif only_clocks >why; then
    cat measured >>all
    clocks_alone=$((clocks_alone + 1))
  else
    fail "$*: $(wc -l <far) of $(wc -l <points) parts are more than a point off: $(head -3 far | tr '\n' ';') $(cat why)"
  fi
}

# theory KIND SHARE: what the schedule that was recognised would lose.
theory() {
  grep '"name":"bubble_theory"' sim | jq -r '"\(.scope.kind) \(.value)"' | sort -u >found
  [ "$(cat found)" = "$1 $2" ] || fail "the schedule is '$(cat found)', not '$1 $2'"
}

rarely job --layers 2 --hidden 1024 --tp 4 --sequence-parallel on
rarely job --layers 4 --hidden 1024 --dp 4 --distributed-optimizer on
job --layers 8 --hidden 1024 --pp 4 --micro-batches 6
theory 1f1b 0.333333 # 3 of 9
job --layers 8 --hidden 1024 --pp 4 --schedule interleaved --vp 2 --micro-batches 8
theory interleaved 0.157895 # 3 of 19
job --layers 8 --hidden 1024 --pp 2 --dp 2 --schedule gpipe --micro-batches 4
theory gpipe 0.2 # 1 of 5
rarely job --layers 8 --hidden 1024 --pp 4 --schedule zb-h1 --micro-batches 8
job --layers 4 --hidden 2048 --tp 2 --pp 2 --dp 2 --micro-batches 4 --sequence-parallel on

# --- Jobs by chance ---
RANDOM=$((seed % 32768))
one_of() {
  shift $((RANDOM % $#))
  picked=$1
}
draw() {
  local options=() stages
  one_of 512 1024 2048 && options+=(--hidden "$picked")
  one_of 2 2 4 && stages=$picked && options+=(--pp "$picked" --layers 8)
  one_of 1 1 2 && options+=(--tp "$picked")
  one_of 1 1 2 && options+=(--dp "$picked")
  one_of 1 2 3 && options+=(--micro-batches $((stages * picked)))
  one_of 1f1b gpipe interleaved zb-h1 && options+=(--schedule "$picked")
  if [ "$picked" = interleaved ]; then
    options+=(--vp 2)
  fi
  one_of on off && options+=(--batched-p2p "$picked")
  job "${options[@]}" --seed $RANDOM
}
for ((i = 0; i < drawn; i++)); do draw; done
[ $((jobs + left_out)) -eq $((7 + drawn)) ] || fail "only $jobs jobs were compared"
proved "$(wc -l <all) parts of the steps of $jobs jobs, $drawn of them drawn, are at worst $(awk '{ print $5 < 0 ? -$5 : $5 }' all | sort -g | tail -1) points of the step off, those of $clocks_alone jobs with the true clocks"
finish

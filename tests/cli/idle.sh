#!/usr/bin/env bash
# Why devices are idle: the causes add up to idle time, to the nanosecond; and on the emulated cluster they are the true ones: where the
# host is made slower, idle time becomes the host's, as much in the simulated change as in a true run of it. Where kernels are missing in the
# recording that is not idle time.
. "$(dirname "$0")/lib.sh"

causes='idle_host idle_sync idle_launch idle_dependency idle_unexplained'

# idle: the metrics of job.sim about idle time, simulated.
idle() { grep -E '^\{"type":"metric","name":"((stream_)?idle(_[a-z]*)*|step_time|not_recorded)"' job.sim | grep '"source":"simulated"'; }

# adds_up NAME: in job.sim, for every rank's step, the job's, and every stream's.
jobs=0
adds_up() {
  jobs=$((jobs + 1))
  idle | awk -v causes="$causes" "$field"'
    field("name") ~ /^(step_time|not_recorded)$/ { next }
    {
      name = field("name"); value = field("value") + 0; step = field("step")
      if (!/"rank":/ && name ~ /^idle_(host|sync|at_op)$/) by_op[step] += name == "idle_at_op" ? -value : value
      if (/"op":/) next
      sub(/^stream_/, "", name)
      place = step " " field("rank") " " field("lane")
      if (name == "idle") whole[place] = value; else { sum[place] += value; parts[place]++ }
    }
    END {
      for (place in whole) { if (sum[place] != whole[place] || parts[place] != 5) print place, whole[place], sum[place]; n++ }
      for (step in by_op) if (by_op[step] != 0) print "by op, step " step ": " by_op[step] " more"
      if (!n) print "nothing is there to add up"
    }' >off
  [ ! -s off ] || fail "$1: causes do not add up: $(head -3 off)"
}

# told NAME: a figure of the job's steps in job.sim, added up.
told() { idle | grep "\"name\":\"$1\"" | grep -E '"scope":\{"step":[0-9]+\}' | awk "$field"'{ sum += field("value") } END { printf "%d\n", sum }'; }

# emulate OPTION...: job.graph
emulate() {
  rm -rf emulated && mkdir emulated
  emulated-cluster --quiet --plain "$@" emulated || fail "the emulated cluster fails: $*"
  lumos-graph emulated/rank*.json -o job.graph 2>message || fail "$*: $(head -c 300 message)"
}

simulate() { rm -f job.sim && lumos-sim --opportunities off "$@" -o job.sim 2>message || fail "$*: $(head -c 300 message)"; }

# slower NAME MOST OPTION...: a job whose idle time is at most MOST % the host's; three times slower, the host is its cause, in the simulation
# of the change as in a run of it within a tenth.
slower() {
  local name=$1 most=$2 predicted
  shift 2
  emulate "$@"
  simulate job.graph
  adds_up "$name"
  [ $((100 * $(told idle_host))) -le $((most * $(told step_time))) ] || fail "$name: the host is to blame for $(told idle_host) of $(told step_time)"
  lumos-transform --scale host=3 job.graph -o slow.graph 2>message || fail "$name: $(head -c 300 message)"
  simulate slow.graph
  adds_up "$name, predicted with a slow host"
  predicted=$(told idle_host)
  [ $((10 * predicted)) -ge $((8 * $(told idle))) ] || fail "$name: three times slower, the host is not the cause"
  emulate "$@" --slow-host 0=3 --slow-host 1=3
  simulate job.graph
  adds_up "$name, with a slow host"
  awk -v a="$predicted" -v b="$(told idle_host)" 'BEGIN { exit !(a > 0.9 * b && a < 1.1 * b) }' ||
    fail "$name: idle for the host $predicted predicted, $(told idle_host) in a true run"
  printf '%s: idle for the host %s predicted, %s in a true run\n' "$name" "$predicted" "$(told idle_host)"
}

slower 'bound by the device' 1 --layers 4 --hidden 2048 --micro-batches 2 --dp 2 --steps 3
slower 'bound by the host' 100 --layers 4 --hidden 512 --seq 512 --micro-batches 2 --dp 2 --steps 3

# Nine of ten kernels are not in the trace: what they took is not recorded, and idle time does not grow by it.
emulate --layers 4 --hidden 2048 --micro-batches 2 --dp 2 --steps 3
simulate job.graph
idle_before=$(told idle)
for trace in emulated/rank*.json; do
  keep 'event !~ /"cat": "kernel"/ || event ~ /"name": "[^"]*nccl/ || event ~ /"correlation": [0-9]*0[^0-9]/' "$trace"
done
lumos-graph emulated/rank*.json -o job.graph 2>message || fail "sampled kernels: $(head -c 300 message)"
simulate job.graph
adds_up 'sampled kernels'
[ "$(told idle)" -le "$idle_before" ] || fail "with sampled kernels $(told idle) are idle, with all $idle_before"
[ $((10 * $(told not_recorded))) -ge $((6 * $(told step_time))) ] || fail "with sampled kernels only $(told not_recorded) of $(told step_time) are not recorded"

check_job() {
  local name=$1
  shift
  streams "$@" || return 0 # what is no trace that can be used
  ln -sf "$simulated" job.sim
  grep -q '"lane":"s' job.sim || return 0 # no device
  adds_up "$name"
}
check_job 'the example' "${example[@]}"
if have_traces; then
  each_job check_job
fi
proved "the causes of idle time add up to it, to the nanosecond, for every step, rank and stream of $jobs jobs, a slower host adds what is predicted, and missing kernels add none"
finish

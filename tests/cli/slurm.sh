#!/usr/bin/env bash
# Traces parsed a rank at a time by a Slurm job array, by GNU parallel or by xargs, and joined, are the folder parsed on one machine, to the byte.
# Slurm is played here: a job array is a script that runs once for each number, from a copy elsewhere. With LUMOS_ALL=yes 512 emulated ranks, and
# ten with a Slurm of one node where Debian's is installed (apt-get install slurm-wlm munge).
. "$(dirname "$0")/lib.sh"
slurm=$source_folder/examples/slurm
command -v zstd >/dev/null || skip 'zstd is not here (apt-get install zstd)'
! lumos --version | grep -q 'zstd none' || skip 'this build writes no zstd (apt-get install libzstd-dev)'

mkdir played
cat >played/sbatch <<'END'
#!/usr/bin/env bash
echo "sbatch $*" >>"$PLAYED/log"
options=()
while [[ $1 = -* ]]; do options+=("$1"); shift; done
cp "$1" "$PLAYED/slurm_script"
shift
array=$(printf '%s\n' "${options[@]}" | sed -n 's/^--array=//p')

if [ -z "$array" ]; then
  [ ! -e "$PLAYED/failed" ] && env -u SLURM_ARRAY_TASK_ID bash "$PLAYED/slurm_script" "$@" >>"$PLAYED/output" 2>&1
  echo '18;cluster'
  exit 0
fi
for ((task = ${array%-*}; task <= ${array#*-}; task++)); do
  SLURM_ARRAY_TASK_ID=$task SLURM_CPUS_PER_TASK=1 bash "$PLAYED/slurm_script" "$@" >>"$PLAYED/output" 2>&1 || touch "$PLAYED/failed"
done
echo 17
END
cat >played/scontrol <<'END'
#!/usr/bin/env bash
printf 'ClusterName             = played\nMaxArraySize            = %s\n' "${LONGEST:-1001}"
END
chmod +x played/*
# with_slurm COMMAND...
with_slurm() { PLAYED=$work/played PATH=$work/played:$PATH SBATCH_WAIT=1 "$@" 2>message; }

mkdir traces
cp "${example[@]}" traces
lumos-graph traces -o one 2>message || fail "one machine fails: $(head -c 300 message)"

# joined NAME: the graph of this name is that of one machine.
joined() {
  zstd -qdcf "$1.zst" >joined || fail "$1: the graph is not compressed"
  same joined one "$1: the graph is not that of one machine"
  rm -f joined
}

with_slurm "$slurm/run.sh" traces parts array.zst >out || fail "run.sh fails: $(head -c 300 message)"
joined array
grep -q -- '--array=1-2 ' played/log || fail "Slurm is asked for: $(cat played/log)"
grep -q -- '--dependency=afterok:17 ' played/log || fail "Slurm is asked for: $(cat played/log)"
[ "$(ls parts/*.parse.zst | wc -l)" -eq 2 ] || fail 'there is no stream for each rank'

# One task by hand, as the array would.
rm parts/*.parse.zst
SLURM_ARRAY_TASK_ID=2 "$slurm/rank.sh" parts 2>message || fail "a task fails: $(head -c 300 message)"
same <(zstd -dc parts/00002.parse.zst) <(lumos-parse "${example[1]}" 2>/dev/null) 'a task writes something else than lumos-parse'
! "$slurm/join.sh" parts none.zst 2>message || fail 'a job is joined without one of its ranks'
grep -q 'rank0.json.gz was not parsed; run rank.sh parts 1 again' message || fail "of a rank that is missing it says: $(head -c 300 message)"
[ ! -e none.zst ] || fail 'a refused join left a file'
! env -u SLURM_ARRAY_TASK_ID "$slurm/rank.sh" parts 3 2>message || fail 'there is a third rank'

# An array that is shorter than the list; options.
rm -f played/log
LONGEST=2 with_slurm "$slurm/run.sh" --with slurm traces short short.zst --stacks --steps=last >out || fail "a short array fails: $(head -c 300 message)"
grep -q -- '--array=1-1 ' played/log || fail "of a cluster with arrays of at most one, Slurm is asked for: $(cat played/log)"
lumos-parse --stacks --steps=last traces 2>/dev/null | lumos-graph -o last 2>/dev/null
same <(zstd -dc short.zst) last 'a short array, or its options, give something else'

# A rank that fails: nothing is joined, and it is said.
printf '{"traceEvents": 17' >traces/rank2.json
! with_slurm "$slurm/run.sh" traces broken broken.zst >out || fail 'a job with a damaged trace is joined'
grep -q 'not joined: see .*/broken/log-' message || fail "of a rank that failed it says: $(head -c 300 message)"
[ ! -e broken.zst ] || fail 'a job with a damaged trace leaves a file'
rm traces/rank2.json

# In a folder that is there; of a folder that is none.
! "$slurm/run.sh" --with xargs traces parts again.zst 2>message || fail 'streams of two jobs share a folder'
! "$slurm/run.sh" --with xargs nowhere other again.zst 2>message || fail 'there is a job of no folder'

# by TOOL FOLDER
by() {
  rm -rf parts
  "$slurm/run.sh" --with "$1" "$2" parts "$1.zst" >out 2>message || fail "by $1: $(head -c 300 message)"
  joined "$1"
}
by xargs traces
if command -v parallel >/dev/null; then by parallel traces; else echo 'SKIPPED in part: GNU parallel is not here (apt-get install parallel)'; fi

# --- 512 ranks ---

# one_node: a Slurm of one node, in the folder `node`, with keys and ports of its own.
one_node() {
  local host
  host=$(hostname -s)
  mkdir -p node/state node/spool node/munge
  chmod 755 "$work" node && chmod 700 node/munge
  dd if=/dev/urandom of=node/munge/key bs=64 count=1 status=none
  chmod 600 node/munge/key
  munged --socket="$work/node/munge.sock" --key-file="$work/node/munge/key" --log-file="$work/node/munge/log" --pid-file="$work/node/munge.pid" \
    --seed-file="$work/node/munge/seed" --force 2>/dev/null || return
  cat >node/slurm.conf <<END
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
AuthInfo=socket=$work/node/munge.sock
SlurmUser=$(id -un)
SlurmdUser=root
SlurmctldPort=16827
SlurmdPort=16828
StateSaveLocation=$work/node/state
SlurmdSpoolDir=$work/node/spool
SlurmctldPidFile=$work/node/slurmctld.pid
SlurmdPidFile=$work/node/slurmd.pid
SlurmctldLogFile=$work/node/slurmctld.log
SlurmdLogFile=$work/node/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
SchedulerParameters=sched_interval=1,sched_min_interval=0
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
  export SLURM_CONF=$work/node/slurm.conf
  slurmctld -i && slurmd
}
stop_node() {
  local name pid
  for name in slurmd slurmctld munge; do
    if read -r pid <"node/$name.pid" && kill "$pid"; then timeout 30 tail -f --pid="$pid" /dev/null; fi
  done 2>/dev/null
}

many() {
  emulated-cluster --quiet --dp 512 --layers 1 --hidden 64 --heads 1 --seq 32 --vocab 128 --micro-batches 1 --steps 1 many || fail 'the emulated cluster fails'
  rm many/truth.json
  lumos-graph many -o one 2>message || fail "512 ranks fail on one machine: $(head -c 300 message)"
  rm -rf parts played/log played/failed
  with_slurm "$slurm/run.sh" many parts array.zst >out || fail "512 ranks: run.sh fails: $(head -c 300 message)"
  joined array
  by xargs many
  ! command -v parallel >/dev/null || by parallel many
  if [ "$(id -u)" -eq 0 ] && command -v slurmctld >/dev/null && command -v slurmd >/dev/null && command -v munged >/dev/null; then
    trap 'stop_node; cd "$here_was"; rm -rf "$work"' EXIT
    rm -rf parts
    one_node || { fail "no Slurm of one node: $(cat node/munge/log node/*.log | tail -n 5)"; return; }
    mkdir few && cp many/rank?.json.gz few # a task takes Slurm half a second
    lumos-graph few -o one 2>message || fail "ten ranks fail on one machine: $(head -c 300 message)"
    SBATCH_WAIT=1 "$slurm/run.sh" --with slurm few parts slurm.zst >out 2>message || fail "by Slurm: $(head -c 300 message)"
    joined slurm
    proved 'a Slurm of one node parses ten ranks as one machine does'
  else
    echo 'SKIPPED in part: Slurm is not here, or this is not root (apt-get install slurm-wlm munge)'
  fi
}
rarely many
proved 'what an array of single ranks gives is what one machine gives, to the byte'
finish

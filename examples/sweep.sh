#!/usr/bin/env bash
# A search over many configurations on several machines: each predicts a part, and one joins them.
#
#   sweep.sh JOB.graph 'GRID' [PARTS]
#
# JOB.graph is what lumos-graph wrote, on a disk that all machines see. GRID is as of lumos-sim --sweep. Without PARTS one for each core here.
# The lines that other schedulers take:
#
#   GNU parallel   parallel -S host1,host2 lumos-sim --sweep "'GRID'" --part {}/16 /shared/job.graph -o /shared/part{} ::: {1..16}
#   Slurm          sbatch --array=1-16 --wrap 'lumos-sim --sweep "GRID" --part $SLURM_ARRAY_TASK_ID/16 job.graph -o part$SLURM_ARRAY_TASK_ID'
#
# and then, once: lumos-sim --join-sweep part* -o sweep.html
set -euo pipefail

[ $# -ge 2 ] || {
  sed -n '2,13s/^# \{0,1\}//p' "$0"
  exit 2
}
job=$1 grid=$2 parts=${3:-$(nproc)}
folder=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM
for ((part = 1; part <= parts; part++)); do
  lumos-sim --sweep "$grid" --part "$part/$parts" -j 1 "$job" -o "$folder/part$part" &
  pids+=($!)
done
for pid in "${pids[@]}"; do
  wait "$pid"
done
lumos-sim --join-sweep "$folder"/part* -o sweep.html
lumos-sim --join-sweep "$folder"/part*

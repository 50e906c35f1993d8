#!/usr/bin/env bash
# One rank of a folder of traces, as a task of a Slurm job array or of anything else that counts; run.sh starts it.
#
#   rank.sh PARTS [N]
#
# PARTS is the folder that run.sh has made, on a disk that all machines see. N is the line of PARTS/traces, by default SLURM_ARRAY_TASK_ID. Where
# the array is shorter than the list, a task also takes every so many lines on. Ranks that failed can be run again by their numbers, and joined:
#
#   sbatch --array=17,203 rank.sh PARTS
#   sbatch join.sh PARTS job.graph.zst
#
#SBATCH --job-name=lumos-parse
#SBATCH --cpus-per-task=1
set -euo pipefail

[ $# -ge 1 ] || {
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
parts=$1 first=${2:-${SLURM_ARRAY_TASK_ID:?rank.sh: give a number, or start it as a job array}}
mapfile -t traces <"$parts/traces"
mapfile -t options <"$parts/options"
read -r tasks <"$parts/tasks"
if ! [[ $first =~ ^[1-9][0-9]*$ ]] || ((first > ${#traces[@]})); then
  echo "rank.sh: $parts/traces has no line $first" >&2
  exit 2
fi
for ((line = first; line <= ${#traces[@]}; line += tasks)); do
  lumos-parse -j "${SLURM_CPUS_PER_TASK:-1}" "${options[@]}" -o "$parts/$(printf %05d "$line").parse.zst" -- "${traces[line - 1]}"
done

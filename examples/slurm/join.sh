#!/usr/bin/env bash
# The ranks that rank.sh has parsed become one job; run.sh starts it.
#
#   join.sh PARTS JOB.graph.zst
#
#SBATCH --job-name=lumos-graph
set -euo pipefail

[ $# -eq 2 ] || {
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
parts=$1 missing=0
mapfile -t traces <"$parts/traces"
for ((line = 1; line <= ${#traces[@]}; line++)); do
  [ -e "$parts/$(printf %05d "$line").parse.zst" ] || {
    missing=$((missing + 1))
    ((missing > 10)) || echo "join.sh: ${traces[line - 1]} was not parsed; run rank.sh $parts $line again" >&2
  }
done
[ "$missing" -eq 0 ] || {
  echo "join.sh: $missing of ${#traces[@]} ranks are missing; nothing is joined" >&2
  exit 2
}
lumos-graph -j "${SLURM_CPUS_PER_TASK:-0}" -o "$2" "$parts"/*.parse.zst

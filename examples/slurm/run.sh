#!/usr/bin/env bash
# A folder of traces, parsed on many machines, one lumos-parse a rank, and joined. What comes out is what one machine writes, to the byte.
#
#   run.sh [--with slurm|parallel|xargs] TRACES PARTS JOB.graph.zst [OPTION...]
#
# TRACES is a folder with the traces of one run, PARTS a new folder for the streams of single ranks, both on a disk that all machines see. Each
# OPTION goes to every lumos-parse, as --steps=last. Without --with the first of the three that is here.
#
#   slurm      a job array, and a job that joins once all of it has succeeded. SBATCH_PARTITION, SBATCH_ACCOUNT and other variables of sbatch(1)
#              apply, and so do SBATCH_WAIT=1, to come back when all is done, and LUMOS_JOIN='--mem=64G --cpus-per-task=8', for the job that joins
#   parallel   GNU parallel on this machine, or on those of PARALLEL='-S host1,host2'
#   xargs      on this machine, a process for each core
#
# Exit status: 0, or 2 after a message. With slurm the numbers of both jobs are printed.
set -euo pipefail
export LC_ALL=C # the order of names does not depend on who calls

usage() {
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
die() {
  echo "run.sh: $*" >&2
  exit 2
}

with=
if [ "${1:-}" = --with ]; then
  [ $# -ge 2 ] || usage
  with=$2
  shift 2
fi
[ $# -ge 3 ] || usage
[ -n "$with" ] || for with in slurm parallel xargs; do
  command -v "${with/slurm/sbatch}" >/dev/null && break
done
here=$(cd "$(dirname "$0")" && pwd)
folder=$(cd "$1" && pwd) || die "$1 is not a folder of traces"
mkdir -p "$(dirname "$2")"
mkdir "$2" || die "$2 is there already: name a new folder, or run single ranks again with rank.sh"
parts=$(cd "$2" && pwd)
job=$(cd "$(dirname "$3")" && pwd)/$(basename "$3")
shift 3

# What all tasks share is written once: a trace that comes later shifts nothing.
find "$folder" -maxdepth 1 \( -name '*.json' -o -name '*.json.gz' -o -name '*.json.zst' \) |
  sort >"$parts/traces"
count=$(wc -l <"$parts/traces")
[ "$count" -gt 0 ] || die "$folder holds no file *.json, *.json.gz or *.json.zst"
while IFS= read -r trace; do
  [ -f "$trace" ] || die "$trace: there is no such file; a name must not hold a line end"
done <"$parts/traces"
[ $# -eq 0 ] || printf '%s\n' "$@" >"$parts/options"
touch "$parts/options"
echo "$count" >"$parts/tasks"

case $with in
  slurm)
    longest=$(scontrol show config 2>/dev/null | sed -n 's/^MaxArraySize *= *\([0-9]*\)$/\1/p')
    if [ -n "$longest" ] && [ "$count" -ge "$longest" ]; then # the highest number is one below it
      echo $((longest - 1)) >"$parts/tasks"
    fi
    array=$(env -u SBATCH_WAIT sbatch --parsable --array="1-$(<"$parts/tasks")" --output="$parts/log-%a" "$here/rank.sh" "$parts")
    array=${array%%;*}
    echo "$array: a lumos-parse for each of $count ranks"
    read -ra join <<<"${LUMOS_JOIN:-}"
    # shellcheck disable=SC2016 # sbatch prints the number first, and waits then
    sbatch --parsable --dependency="afterok:$array" --kill-on-invalid-dep=yes --output="$parts/log-join" "${join[@]}" "$here/join.sh" "$parts" "$job" |
      sed -u 's/;.*//; s/$/: lumos-graph joins them/' || die "not joined: see $parts/log-*"
    # A join that was cancelled, for a rank has failed, counts as good to sbatch.
    [ -z "${SBATCH_WAIT+set}" ] || [ "$job" -nt "$parts/tasks" ] || die "not joined: see $parts/log-*"
    ;;
  parallel)
    seq "$count" | parallel --halt soon,fail=1 "$here/rank.sh" "$parts" || die 'not all ranks were parsed'
    "$here/join.sh" "$parts" "$job"
    ;;
  xargs)
    seq "$count" | xargs -n 1 -P "$(nproc)" "$here/rank.sh" "$parts" || die 'not all ranks were parsed'
    "$here/join.sh" "$parts" "$job"
    ;;
  *) usage ;;
esac

#!/usr/bin/env bash
# The experiments of the Lumos paper (arXiv 2504.09307) on an emulated cluster, and the report of them.
#
#   run.sh [--quick] [--only CASE]... [FOLDER]
#
# FOLDER (default: reports/paper) gets paper.json with every number, and paper.html, which shows them. --quick runs a few of the jobs. --only
# runs one case, or those that a pattern fits ('replay-*'); the others stay as they are in paper.json. Needs the tools and the emulated
# cluster of a build with tests (build/bin, or LUMOS_BIN), and Python 3. What is finished is kept in FOLDER/cases until all is, so that a
# run that was stopped goes on. README.md says what is run, how long it takes, and in how much memory.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
bin=$(cd "${LUMOS_BIN:-$root/build/bin}" && pwd)
options=()
while [[ ${1-} == -* ]]; do
  case $1 in
    --quick) options+=("$1") ;;
    --only) options+=("$1" "${2-}") && shift ;;
    *) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
  esac
  shift
done
[ -x "$bin/emulated-cluster" ] && [ -x "$bin/model-tables" ] || { echo "No emulated cluster in $bin: build with -DBUILD_TESTING=ON, or set LUMOS_BIN" >&2; exit 2; }
folder=${1:-$root/reports/paper}
mkdir -p "$folder"
python3 -B "$here/experiments.py" "${options[@]}" "$bin" "$folder"
"$here/page.sh" "$folder/paper.json" "$folder/paper.html"

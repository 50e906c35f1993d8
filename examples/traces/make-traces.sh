#!/usr/bin/env bash
# Make the traces in this folder anew: a small GPT on two data-parallel GPUs, the second of which is slower. Run it after a change
# of the emulated cluster; the test cli/example.sh compares.
#
#   examples/traces/make-traces.sh [FOLDER [OPTION...]]     into another folder, with truth.json; further options of emulated-cluster
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
bin=${LUMOS_BIN:-$here/../../build/bin}
folder=${1:-$here}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bin/emulated-cluster" --layers 2 --hidden 2048 --heads 16 --seq 2048 --vocab 32000 --micro-batch 2 --micro-batches 1 --dp 2 \
  --gpu h100 --straggler 1=1.15 --warmup 5 --steps 3 --record shapes,sync,annotations,collectives --quiet --plain "${@:2}" "$work"
gzip -n -9 "$work"/rank*.json
mv "$work"/rank*.json.gz "$folder"
[ $# -eq 0 ] || mv "$work/truth.json" "$folder"

#!/usr/bin/env bash
# Record the small GPT of train_gpt.py in several sizes, one folder of traces each: pairs that differ in one size show whether a
# prediction of the one from the other is right.
#
#   record-pairs.sh FOLDER [SIZE...] [-- OPTION...]
#
# A SIZE is a list of options of train_gpt.py, NAME=VALUE, joined by commas: layers=8,hidden=1024. Without any, the default size and those
# that differ from it in one. What follows -- is given to every run (--bf16), where the size says nothing else. On as many ranks as RANKS says, else on each GPU that there is.
#
# FOLDER/SIZE/rankN.json.gz are the traces. FOLDER/manifest.jsonl has a line for every size: its folder, all options, and the mean time of
# a step without the profiler (unprofiled_step_ns). A size that the manifest has is not recorded again.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
default_sizes=(layers=4 layers=8 hidden=1024 micro-batch=8 micro-batches=2 sequence=512)

case "${1:-}" in
  '' | -*)
    sed -n '2,11s/^# \{0,1\}//p' "$0"
    [ "${1:-}" = --help ] || [ "${1:-}" = -h ] || exit 2
    exit 0
    ;;
esac
folder=$1
shift
sizes=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  sizes+=("$1")
  shift
done
[ $# -eq 0 ] || shift
[ ${#sizes[@]} -gt 0 ] || sizes=("${default_sizes[@]}")
ranks=${RANKS:-$("$python" -c 'import torch; print(max(1, torch.cuda.device_count()))')}
manifest=$folder/manifest.jsonl

# launch RANKS ARGUMENT...: train_gpt.py on so many ranks of this machine; where one fails, the others are ended.
launch() {
  local count=$1 port rank pids=()
  shift
  port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  for ((rank = 0; rank < count; rank++)); do
    RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$count MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$python" "$here/train_gpt.py" "$@" &
    pids+=($!)
  done
  for ((rank = 0; rank < count; rank++)); do
    wait -n || {
      kill "${pids[@]}" 2>/dev/null
      wait
      return 1
    }
  done
}

mkdir -p "$folder"
touch "$manifest"
for size in "${sizes[@]}"; do
  if grep -qF "{\"folder\": \"$size\"," "$manifest"; then
    echo "$size: recorded already" >&2
    continue
  fi
  echo "$size: $ranks rank(s)" >&2
  read -ra options <<<"--${size//,/ --}"
  launch "$ranks" --record "$folder/$size" "$@" "${options[@]}" >"$folder/.line"
  mkdir -p "$folder/$size"
  recorded=$(find "$folder/$size" -name 'rank*.json.gz' | wc -l)
  if [ "$recorded" -ne "$ranks" ]; then
    echo "$size: $recorded of $ranks ranks were recorded; the messages above say why" >&2
    exit 1
  fi
  printf '{"folder": "%s", %s\n' "$size" "$(tail -1 "$folder/.line" | cut -c2-)" >>"$manifest"
done
rm -f "$folder/.line"

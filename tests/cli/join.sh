#!/usr/bin/env bash
# Traces parsed apart and joined are the traces parsed together, to the byte, in any order of arguments.
. "$(dirname "$0")/lib.sh"

# joined NAME TRACE...: for traces that name their rank.
joined() {
  local name=$1 parts=() trace
  shift
  rm -f together reversed ./part.*
  lumos-parse "$@" >together 2>message || { fail "$name: parse fails: $(head -c 300 message)"; return; }
  for trace in "$@"; do
    lumos-parse "$trace" >"part.${#parts[@]}" 2>message || { fail "$name: parse of $trace fails: $(head -c 300 message)"; return; }
    parts+=("part.${#parts[@]}")
  done
  lumos-parse "${parts[@]}" >apart 2>message || fail "$name: the join fails: $(head -c 300 message)"
  same together apart "$name: parsed apart and joined is not parsed together"
  local backwards=() i
  for ((i = ${#parts[@]} - 1; i >= 0; i--)); do backwards+=("${parts[i]}"); done
  lumos-parse "${backwards[@]}" >apart 2>message || fail "$name: the join in another order fails"
  same together apart "$name: the order of the streams shows"
  backwards=()
  for ((i = $#; i >= 1; i--)); do backwards+=("${!i}"); done
  lumos-parse "${backwards[@]}" >reversed 2>message || fail "$name: the traces in another order fail"
  same together reversed "$name: the order of the traces shows"
  printf '%s: %d files, %d records\n' "$name" $# "$(wc -l <together)"
}

joined example "${example[@]}"
for tool in lumos-graph lumos-transform lumos-sim; do
  $tool part.1 part.0 >joined 2>message || fail "$tool does not join: $(head -c 300 message)"
  $tool together >whole || fail "$tool fails"
  same joined whole "$tool joins otherwise than lumos-parse"
done
# A stream beside a trace.
lumos-parse part.0 "${example[1]}" >mixed 2>message || fail "a stream beside a trace fails: $(head -c 300 message)"
same together mixed 'a stream beside a trace gives something else'

expect 2 lumos-sim part.0 part.0 -o none
says 'rank 0' rank0.json.gz
for trace in "${example[@]}"; do
  zcat "$trace" | sed 's/"world_size": 2/"world_size": 4/' >"four.$(basename "$trace" .gz)"
done
lumos-parse four.rank1.json >four || fail 'parse of an edited trace fails'
expect 2 lumos-sim part.0 four -o none
says 'rank 0' 'rank 1' 'of 4'
lumos-transform --scale host=2 part.0 >scaled || fail 'transform fails'
expect 2 lumos-sim scaled part.1 -o none
says lumos-transform join
[ ! -e none ] || fail 'a refused join left a file'

if have_traces; then
  for set in megatron-tp2-V100 torchrec-4xV100-lateRank2 dlrm-8xV100 nanogpt-8xH100-ddp emulated-dp2 emulated-pp4 emulated-tp2pp2dp2; do
    [ ! -d "$traces/$set" ] || joined "$set" "$traces/$set"/*.json.gz
  done
else
  echo 'The real sets are not here (LUMOS_TRACES): joined the example only.'
fi
proved 'ranks parsed apart and joined are the ranks parsed together'
finish

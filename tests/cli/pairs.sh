#!/usr/bin/env bash
# Predictions on real GPUs: a recording of examples/pairs is changed with lumos-transform, and the simulated step held against how long a step
# of the changed job took on the GPU without the profiler (manifest.jsonl).
#
#   tests/cli/pairs.sh [--table]
. "$(dirname "$0")/lib.sh"
pairs=$source_folder/examples/pairs

small=hidden=512,heads=8,sequence=256,micro-batch=4,vocabulary=8192 # that the CPU holds up

# recorded | true | change
cases=(
  'h100/layers=4|h100/layers=8|--layers 8'
  'h100/layers=8|h100/layers=4|--layers 4'
  'h100/layers=4|h100/hidden=1024,heads=8|--hidden 1024'
  'h100/layers=4|h100/hidden=4096,heads=32|--hidden 4096'
  'h100/hidden=4096,heads=32|h100/layers=4|--hidden 2048'
  'h100/layers=4|h100/sequence=2048|--seq 2048'
  'h100/sequence=2048|h100/layers=4|--seq 1024'
  'h100/layers=4|h100/micro-batch=4|--micro-batch 4'
  'h100/layers=4|h100/micro-batch=16|--micro-batch 16'
  'h100/micro-batch=4|h100/micro-batch=16|--micro-batch 16'
  'h100/layers=4|h100/vocabulary=65536|--vocab 65536'
  'h100/layers=4|h100/ffn=4096|--ffn 4096'
  'h100/layers=4|h100/heads=32|--heads 32'
  'h100/layers=4|h100/micro-batches=2|--micro-batches 2'
  'h100/micro-batches=2|h100/layers=4|--micro-batches 1'
  'h100/layers=4|h100/graphs|--launch graph'
  'h100/compile|h100/layers=8,compile|--layers 8'
  'h200/layers=4|h200/layers=8|--layers 8'
  'h200/layers=4|h200/hidden=4096,heads=32|--hidden 4096'
  'h200/layers=4|h200/micro-batch=4|--micro-batch 4'
  'h200/layers=4|h200/graphs|--launch graph'
  "h100/$small|h100/$small|--unprofiled"
  "h100/$small|h100/layers=8,$small|--unprofiled --layers 8"
  "h100/layers=8,$small|h100/$small|--unprofiled --layers 4"
  "h100/$small|h100/$small,graphs|--unprofiled --launch graph"
  'h100/layers=4|h200/layers=4|--gpu H200'
  'h100/layers=8|h200/layers=8|--gpu H200'
  'h100/compile|h200/compile|--gpu H200'
  'h100/graphs|h200/graphs|--gpu H200'
  'h100/hidden=4096,heads=32|h200/hidden=4096,heads=32|--gpu H200'
  'h200/layers=4|h100/layers=4|--gpu H100_SXM'
  'h200/layers=8|h100/layers=8|--gpu H100_SXM'
  'h200/compile|h100/compile|--gpu H100_SXM'
  'h200/hidden=4096,heads=32|h100/hidden=4096,heads=32|--gpu H100_SXM'
)

# truth FOLDER: ns of a step without the profiler.
truth() { jq -r --arg folder "${1#*/}" 'select(.folder == $folder).unprofiled_step_ns' "$pairs/${1%%/*}/manifest.jsonl"; }

for case in "${cases[@]}"; do
  IFS='|' read -r from to change <<<"$case"
  read -ra options <<<"$change"
  options=("${options[@]//_/ }") # a GPU's name may hold a space
  lumos-transform "${options[@]}" "$pairs/$from" 2>message | lumos-sim --opportunities off -o predicted.sim 2>>message || fail "$from $change: $(head -c 300 message)"
  lumos-render predicted.sim --format json -o predicted.json 2>>message
  jq -r --argjson true "$(truth "$to")" --argjson now "$(truth "$from")" --arg name "$from $change" \
    '.step_time | [(.simulated / $true - 1) * 100, ($now / $true - 1) * 100, (.low <= $true and $true <= .high), .simulated / 1e6, .low / 1e6, .high / 1e6, $true / 1e6, $name] | @tsv' predicted.json >>rows
done

# What one recorded micro-batch does not show is said, of two nothing is missing.
lumos-transform --micro-batches 2 "$pairs/h100/layers=4" 2>message >/dev/null
says 'gradients of micro-batches is missing'
lumos-transform --micro-batches 1 "$pairs/h100/micro-batches=2" 2>message >/dev/null
! grep -q 'missing' message || fail "something is missing of two micro-batches: $(cat message)"

# Threads that do not hold the GPU up show nothing of what the profiler costs them.
op_time() { only task | awk "$field"' field("kind") == "op" { sum += field("dur") } END { print sum }'; }
was=$(lumos-graph "$pairs/h100/micro-batch=16" 2>message | op_time) now=$(lumos-transform --unprofiled "$pairs/h100/micro-batch=16" 2>message | op_time)
[ "${was:-0}" -gt 0 ] || fail 'no ops were read'
check "threads of a job that the GPU holds up go on at their pace: $was and $now ns" [ "$was" = "$now" ]

awk -F'\t' '{ printf "%s: %.2f ms (%.2f to %.2f), measured %.2f ms, %+.2f %%%s\n", $8, $4, $5, $6, $7, $1, $3 == "true" ? "" : ", not within its range" }' rows
awk -F'\t' 'function size(x) { return x < 0 ? -x : x }
  { sum += size($1); worst = size($1) > worst ? size($1) : worst; held += $3 == "true"; nothing += size($2); n++ }
  END { printf "%d %.2f %.2f %d %.1f\n", n, sum / n, worst, held * 100 / n, nothing / n }' rows >summary
read -r count mean worst held nothing <summary
check "predictions are off by $mean % on average, $worst % at worst" awk "BEGIN { exit !($count == ${#cases[@]} && $mean < 2 && $worst < 7) }"
check "ranges hold $held % of what was measured" [ "$held" -ge 70 ]
proved "of $count changes on an H100 and an H200 the prediction is off by $mean % on average and $worst % at worst (by $nothing % if nothing changed); its range holds $held %"
finish

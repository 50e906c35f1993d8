#!/usr/bin/env bash
# The traces in examples/traces/ are what the generator makes, to the byte.
. "$(dirname "$0")/lib.sh"

check 'the generator runs' example-generator .
for trace in "${example[@]}"; do
  name=$(basename "$trace" .gz)
  zcat "$trace" >"$name.shipped"
  same "$name" "$name.shipped" "$name is not what the generator makes: run tests/generator/make-traces.sh"
  [ "$(stat -c %s "$trace")" -lt 100000 ] || fail "$name.gz is over 100 kB"
done
mkdir other && check 'another seed runs' example-generator other 2
! cmp -s rank0.json other/rank0.json || fail 'another seed makes the same trace'
finish

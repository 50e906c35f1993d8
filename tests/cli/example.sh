#!/usr/bin/env bash
# The traces in examples/traces/ are what the emulated cluster makes with the command line beside them, to the byte.
. "$(dirname "$0")/lib.sh"
make_traces=$source_folder/examples/traces/make-traces.sh

mkdir made other
check 'the traces cannot be made' "$make_traces" made
for trace in "${example[@]}"; do
  name=$(basename "$trace")
  same <(zcat "made/$name") <(zcat "$trace") "$name is not what the emulated cluster makes: run examples/traces/make-traces.sh"
  [ "$(stat -c %s "$trace")" -lt 120000 ] || fail "$name is over 120 kB"
done
check 'another seed fails' "$make_traces" other --seed 2
! cmp -s made/rank0.json.gz other/rank0.json.gz || fail 'another seed makes the same trace'
proved 'the example traces are those that make-traces.sh makes'
finish

#!/usr/bin/env bash
# A job without streams: what half of the CPU time would save is half of it, and a thread whose tasks carry odd numbers costs no memory.
. "$(dirname "$0")/lib.sh"

# Four operators of 100 us in a row on one thread.
{
  printf '{"traceEvents":['
  for i in 0 1 2 3; do
    printf '{"ph":"X","cat":"cpu_op","name":"work_%d","pid":1,"tid":1,"ts":%d,"dur":100},' "$i" $((1000 + 100 * i))
  done
  printf '{"ph":"X","cat":"cpu_op","name":"work_4","pid":1,"tid":1,"ts":1400,"dur":100}]}'
} >trace.json
expect 0 lumos-parse trace.json -o parsed
expect 0 lumos-graph parsed -o graph
expect 0 lumos-sim graph -o simulated
for name in opportunity_free:0 opportunity_half:250000; do
  grep -q "\"name\":\"${name%:*}\",\"value\":${name#*:}," simulated || fail "no ${name%:*} of ${name#*:}: $(grep -E 'opportunit' simulated | head -3)"
done

# A layer of two billion is one layer.
sed -E 's/("type":"task".*"step":0)/\1,"layer":2000000000/' graph >layers
(ulimit -v 2000000; expect 0 lumos-sim --edited layers -o layered; [ "$failures" -eq 0 ]) || fail 'a large layer number takes memory'
grep -q '"layer":2000000000' layered || fail 'the layer is not told'

echo 'proved: half of the CPU time of a job without streams is saved, and a layer of two billion is one layer'
finish

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
# Memory that nobody has written is no time: here it would be years.
MALLOC_PERTURB_=165 expect 0 lumos-sim graph -o simulated
for name in opportunity_free:0 opportunity_half:250000; do
  grep -q "\"name\":\"${name%:*}\",\"value\":${name#*:}," simulated || fail "no ${name%:*} of ${name#*:}: $(grep -E 'opportunit' simulated | head -3)"
done

# A layer of two billion is one layer.
sed -E 's/("type":"task".*"step":0)/\1,"layer":2000000000/' graph >layers
# limited COMMAND...: with 2 GB of memory; AddressSanitizer, whose shadow is larger, limits what is asked for at once instead.
limited() (
  { (ulimit -v 2000000 && lumos-sim --version); } >/dev/null 2>&1 && ulimit -v 2000000
  export ASAN_OPTIONS=${ASAN_OPTIONS:-}:max_allocation_size_mb=2000
  exec "$@"
)
limited lumos-sim --edited layers -o layered || fail 'a large layer number takes memory'
grep -q '"layer":2000000000' layered || fail 'the large layer is missing'

# A task that comes 300 us too early ends before the one before it, with which the step then ends.
sed -E 's/("name":"work_4".*"step":0)/\1,"residual":-300000/' graph >early
expect 0 lumos-sim --edited early -o moved
grep -q '"name":"step_time","value":400000,.*"source":"simulated"' moved || fail "a step ends with the last task, not the latest: $(grep '"step_time"' moved | head -4)"

# Lags that add up to more time than there is lead nowhere, from however early.
sed -E 's/("name":"work_0","start":)0,/\1-9007199254740000,/; s/("type":"dep".*"at":)0,/\1-9007199254740000,/; s/("name":"work_[12]".*"lag":)0/\19007199254740991/' graph >endless
expect 2 lumos-sim --edited endless -o none
says 'its simulated time is beyond 2^53 ns'

proved 'half of the CPU time of a job without streams is saved; odd layers, residuals and lags of threads do no harm'
finish

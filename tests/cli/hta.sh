#!/usr/bin/env bash
# lumos-sim --hta: every figure is the one that hta.py, which shares nothing with it, reads from the traces themselves; the steps that are chosen
# and the way through files and joins change nothing; and a row count that the tool's own tests state for a trace is ours as well.
. "$(dirname "$0")/lib.sh"
need_python

figures() { grep '^{"type":"metric","name":"hta_' "$1" | "$python" -S "$here/hta.py"; }

jobs=0 equal=0
# equal NAME TRACE...: ranks 0, 1, ... in this order.
equal() {
  local name=$1 ranks='' pairs=() trace
  shift
  for trace; do
    ranks=$ranks${ranks:+,}${#pairs[@]}
    pairs+=("${#pairs[@]}=$trace")
  done
  { lumos-parse --rank "$ranks" "$@" | lumos-sim --opportunities off --hta -o sim; } 2>message || { fail "$name: $(head -c 300 message)"; return; }
  figures sim >ours
  "$python" -S "$here/hta.py" "${pairs[@]}" >theirs || fail "$name: hta.py fails"
  diff ours theirs >difference || fail "$name: $(grep -c '^[<>]' difference) figures differ: $(head -c 300 difference)"
  printf '%-60s %5d figures\n' "$name" "$(wc -l <ours)"
  jobs=$((jobs + 1)) equal=$((equal + $(wc -l <ours)))
}

equal 'example' "${example[@]}"
[ "$(wc -l <ours)" -gt 50 ] || fail 'the example has hardly any figures'
cp ours example-figures

# Another step, a file between, ranks apart: the same.
lumos-parse --steps last "${example[@]}" 2>/dev/null | lumos-sim --opportunities off --hta -o sim 2>/dev/null
figures sim >ours
same example-figures ours 'the chosen steps change the figures'
lumos-parse "${example[1]}" -o rank1 2>/dev/null
lumos-parse "${example[0]}" -o rank0 2>/dev/null
lumos-graph rank1 rank0 -o job.graph 2>/dev/null
lumos-sim --opportunities off --hta job.graph -o sim 2>/dev/null
figures sim >ours
same example-figures ours 'a join changes the figures'

lumos-report "${example[@]}" --opportunities off --hta -o hta.csv 2>/dev/null
lumos-report "${example[@]}" --opportunities off -o plain.csv 2>/dev/null
grep -v '^hta_' hta.csv | same plain.csv - 'lumos-report --hta changes other metrics'
[ "$(grep -c '^hta_' hta.csv)" -eq "$(wc -l <example-figures)" ] || fail 'lumos-report --hta has not all of the figures'

# A page does not list them, and says where they are.
lumos-report "${example[@]}" --opportunities off --hta -o hta.html 2>message || fail "--hta with a page: $(head -c 300 message)"
says "HTA's figures" '.json' '.csv'
grep -qE "HTA(&#39;|’|')s figures" hta.html || fail 'the page does not say where the figures of HTA are'
lumos-report "${example[@]}" --opportunities off --hta -o hta.json 2>message
! grep -q "HTA's figures" message || fail 'a document that has the figures of HTA says that it has not'

# Where they would not be those of a recording.
lumos-transform --scale kind=gemm=0.5 job.graph -o changed 2>/dev/null
expect 2 lumos-sim --hta changed -o sim
says 'was changed'
jq -c 'del(.hta)' rank0 >without
expect 2 lumos-sim --hta without -o sim
says 'parse the recordings again'
jq -c 'if .hta then .hta.rows += " x" else . end' rank0 >damaged
expect 2 lumos-sim --hta damaged -o sim
says 'rank 0' 'parse the recording again'

if have_traces; then
  real_job() {
    local name=$1 files=() trace
    if [ -f "$2" ]; then files=("$2"); else
      for trace in "$2"*.json*; do
        [ "$(basename "$trace")" = truth.json ] || files+=("$trace")
      done
    fi
    equal "$name" "${files[@]}"
    # tests/test_trace_analysis.py of that tool: so many rows of the GPU are left of its trace ns_resolution_trace.
    [ "$name" != hta-epoch-float-ts-V100 ] || grep -qx 'gpu_rows rank=0 4876.0' ours || fail "$name: not the 4876 rows of the tool's own test"
  }
  each_job real_job
fi
proved "$equal figures of $jobs traces and jobs are those that a program which shares no code reads from the files"
finish

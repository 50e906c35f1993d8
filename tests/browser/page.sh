#!/usr/bin/env bash
# The pages in a real browser.
#
#   tests/browser/page.sh           all checks
#   tests/browser/page.sh --bench   how large the pages of the real traces are, and how fast they open
. "$(dirname "$0")/lib.sh"

# tasks SIM: what the page should say of every task, one a line; measured starts in job time, which no clock here drifts from.
tasks() {
  grep '^{"type":"rank"' "$1" | jq -sc 'map({key: "\(.rank)", value: (.clock // {})}) | from_entries' >clocks
  grep '^{"type":"task"' "$1" | jq -c --slurpfile clocks clocks '
    $clocks[0]["\(.rank)"] as $clock
    | (.start // null) as $start
    | {id, rank, lane, seq, kind, name, dur, call, sim_start, sim_dur, phase, micro_batch, layer, span, bytes: (.comm.bytes // .bytes),
       start: (if $start then $start + ($clock.offset // 0) + (if .lane[0:1] == "t" then 0 else $clock.device_offset // 0 end) else null end)}'
}

# page NAME TRACE...: NAME.sim, NAME.tasks, NAME.collectives and NAME.html.
page() {
  local name=$1
  shift
  lumos-parse "$@" 2>message | lumos-sim -o "$name.sim" 2>>message && lumos-render "$name.sim" -o "$name.html" 2>>message || fail "no page of $name: $(head -c 300 message)"
  tasks "$name.sim" >"$name.tasks"
  { grep '^{"type":"collective"' "$name.sim" || true; } >"$name.collectives"
}

# Made by hand. Stream 7: b is queued behind a, and both are launched long before. Streams from 20 on: a kernel of each duration, in ns.
made_by_hand() {
  jq -nc '
    [1, 9, 999, 1000, 1004, 1005, 9994, 9995, 99949, 99950, 99999, 999499, 999500, 999999, 1000000, 1004999, 1005000, 12345678, 99994999,
     999499999, 999500000, 1000000000, 1234567890, 59999999999] as $durations
    | def launch($n; $at): {ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 1, tid: 1, ts: $at, dur: 2, args: {correlation: $n}};
      def kernel($n; $name; $stream; $at; $dur): {ph: "X", cat: "kernel", name: $name, pid: 0, tid: $stream, ts: $at, dur: $dur,
        args: {correlation: $n, stream: $stream, device: 0}};
      {traceEvents: ([
        launch(1; 1000), kernel(1; "sgemm a<1>"; 7; 1010; 20), launch(2; 1005), kernel(2; "sgemm b</script>"; 7; 1031; 10)]
        + [$durations | to_entries[] | launch(10 + .key; 1100 + 5 * .key),
           kernel(10 + .key; "sgemm \(.value)"; 20 + .key; 1110 + 5 * .key; .value / 1000)])}' >hand.json
}

if [ "${1:-}" = --bench ]; then
  need_traces
  for set in "$traces"/*/; do
    name=$(basename "$set")
    page "$name" "$set" 2>/dev/null
    [ ! -s "$name.html" ] || node "$folder/page.js" bench "$name" # a folder of several jobs gives no page
  done
  exit 0
fi
made_by_hand
page hand hand.json
page example "${example[@]}"
export LUMOS_ALL=${LUMOS_ALL:-no} # in every light and width, and a large page, too
node "$folder/page.js" check || fail 'the pages do not hold in a browser'
proved 'what a reader does with two pages in Chromium gives what jq says of their streams'
if [ $LUMOS_ALL = no ]; then
  echo 'SKIPPED in part: twelve checks, other lights and widths for axe-core, and a large page (LUMOS_ALL=yes, as tests/run.sh --all does)'
elif [ -d "$traces/df-index-V100x2-216k" ]; then
  page large "$traces/df-index-V100x2-216k"
  lumos-render large.sim --detail=100ms-105ms -o window.html 2>message || fail "--detail: $(head -c 300 message)"
  node "$folder/page.js" large || fail 'the page of the largest set does not hold'
fi
finish

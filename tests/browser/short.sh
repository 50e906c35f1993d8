#!/usr/bin/env bash
# Before anything is unfolded a page is short, whatever the job: at most 7,000 pixels high at 1280 wide, under 2,500 words, and the first screen holds the
# diagnosis, four figures, the confidence and the first bars. Of the example, of a job of 40 ranks and 280 streams, of one of 40
# pipeline stages, and of all public traces.
. "$(dirname "$0")/lib.sh"

# Every rank has seven streams, and every fifth one is slow.
many_lanes() {
  for rank in {0..39}; do
    jq -nc --argjson rank "$rank" '
      {distributedInfo: {backend: "nccl", rank: $rank, world_size: 40}, traceEvents: [range(7) as $s
        | {ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 1, tid: 1, ts: (1000 + 5 * $s), dur: 2, args: {correlation: $s}},
          {ph: "X", cat: "kernel", name: "kernel of stream \($s)", pid: 0, tid: $s, ts: (1010 + 5 * $s),
           dur: (if $rank % 5 == 4 then 900 else 400 end), args: {correlation: $s, stream: (7 + $s), device: 0}}]}' >"many-$rank.json"
  done
}

names=()
short() {
  local name=${1//\//-}
  shift
  reports "$@" || return 0 # what gives no page is another test's
  ln -s "$page" "$name.html"
  names+=("$name")
}

many_lanes
short many-lanes many-*.json
short example "${example[@]}"
if [ "$all_cases" = yes ]; then # a row of the pipeline and of the bars for each of 40 stages
  emulated-cluster --quiet --layers 40 --hidden 512 --seq 256 --pp 40 --micro-batches 40 --steps 2 stages && short forty-stages stages/rank*
fi
! have_traces || rarely each_job short
[ "$(grep -c 'class="track' many-lanes.html)" -ge 1 ] && [ "$(grep -o 'class="track"' many-lanes.html | wc -l)" -ge 280 ] || fail 'the large job has no 280 lanes'
node "$folder/page.js" short "${names[@]}" || fail 'a page is too long'
proved "the pages of ${#names[@]} jobs fit 7,000 pixels and 2,500 words"
finish

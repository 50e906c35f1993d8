#!/usr/bin/env bash
# Before anything is unfolded a page is short, whatever the job: at most 7,000 pixels high at 1280 wide, under 2,500 words, and the first screen holds the
# diagnosis, four figures, the confidence and the first bars. Of the example and of twice as many ranks of it, of a job of 40 ranks and 280
# streams, of one of 40 pipeline stages, and of all public traces; of some of these after a change, too.
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
  while [ -e "$name.html" ]; do name+=-; done # of two jobs of a set whose names begin alike
  ln -s "$page" "$name.html"
  names+=("$name")
}

# what_if NAME OPTION VALUE TRACE...: the page of a changed job.
what_if() {
  lumos-parse "${@:4}" 2>message | lumos-transform "$2" "$3" 2>>message | lumos-sim 2>>message | lumos-render -o "$1.html" 2>>message ||
    fail "no page of $1: $(head -c 300 message)"
  names+=("$1")
}

many_lanes
short many-lanes many-*.json
short example "${example[@]}"
what_if more-ranks --dp 4 "${example[@]}"
if [ "$all_cases" = yes ]; then # a row of the pipeline and of the bars for each of 40 stages
  emulated-cluster --quiet --layers 40 --hidden 512 --seq 256 --pp 40 --micro-batches 40 --steps 2 stages && short forty-stages stages/rank*
fi
changed_jobs() {
  what_if more-replicas --dp 4 "$traces/emulated-tp2pp2dp2"
  what_if more-stages --pp 4 "$traces/emulated-tp2pp2dp2"
  what_if even-stages --split 2,2,3,1 "$traces/emulated-pp4"
  what_if faster-cpu --scale host=0.5 "$traces/nanogpt-8xH100-ddp"
}
! have_traces || { rarely each_job short && rarely changed_jobs; }
[ "$(grep -c 'class="track' many-lanes.html)" -ge 1 ] && [ "$(grep -o 'class="track"' many-lanes.html | wc -l)" -ge 280 ] || fail 'the large job has no 280 lanes'
node "$folder/page.js" short "${names[@]}" || fail 'a page is too long'
proved "the pages of ${#names[@]} jobs fit 7,000 pixels and 2,500 words"
finish

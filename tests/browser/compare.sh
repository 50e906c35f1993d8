#!/usr/bin/env bash
# The pages of comparisons, of two jobs and of three, in a real browser: they ask for nothing, complain of nothing, axe-core finds nothing, nothing is
# wider than a telephone, tables sort by the numbers of the page, every region that scrolls is reached with the keyboard, and the timelines of all jobs
# zoom, pan and fold on one axis.
. "$(dirname "$0")/lib.sh"

# Two ranks each; one job is slower, of one the link is.
recording='--layers 1 --hidden 512 --seq 256 --micro-batches 1 --dp 2 --steps 3 --quiet'
for job in 'base --seed 1' 'slow --seed 2 --scale gemm=1.5' 'link --seed 3 --slow-link 0-1=3'; do
  # shellcheck disable=SC2086
  emulated-cluster $recording ${job#* } "${job%% *}" && rm "${job%% *}/truth.json" || fail "no emulated job ($job)"
done
lumos-compare base slow -o two.html 2>message || fail "no page: $(head -c 300 message)"
lumos-compare base slow link -o three.html 2>message || fail "no page of three jobs: $(head -c 300 message)"
# One rank alone, whose peers are not there: its verdict has a long name, below a title of one word.
word=$(printf 'm%.0s' {1..200})
lumos-graph base/rank0.json.gz -o base.graph 2>message
lumos-transform -s kind=gemm=9 -s kind=collective=1.2 base.graph -o slow.graph
lumos-compare base.graph slow.graph --title "$word" -o one.html 2>message || fail "no page of one rank: $(head -c 300 message)"
export LUMOS_ALL=${LUMOS_ALL:-no} # in every light and width
node "$folder/compare.js" || fail 'the pages of comparisons do not hold in a browser'
[ $LUMOS_ALL = yes ] || echo 'SKIPPED in part: three lights and widths, and the timelines of two jobs (LUMOS_ALL=yes, as tests/run.sh --all does)'
proved 'the pages of comparisons stand in Chromium, by mouse and keyboard, on a screen, a telephone and paper'
finish

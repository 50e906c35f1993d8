#!/usr/bin/env bash
# Edits: a job is edited when something has changed, in the order given; work that goes leaves nothing behind, and what was never measured is said to
# be.
. "$(dirname "$0")/lib.sh"

# The job's steps, simulated, "STEP NS" a line.
steps() { lumos-sim --opportunities off "$@" 2>/dev/null | grep '^{"type":"metric","name":"step_time"' | jq -r 'select(.source == "simulated" and .scope.rank == null) | "\(.scope.step) \(.value)"'; }
total() { steps "$@" | awk '{ sum += $2 } END { printf "%d", sum }'; }

lumos-parse "${example[@]}" | lumos-graph -o graph || fail 'graph fails'

# Looking at a job is no edit: its replay is still held against what was measured, and lumos-graph still takes it.
lumos-transform graph -o looked && lumos-sim looked -o looked.sim && lumos-render --verdict looked.sim >verdict || fail 'a job that was looked at fails'
head -n 1 looked | jq -e '.edited == 0' >/dev/null || fail "the header says $(head -n 1 looked | jq -c .edited)"
! grep -q 'After the change' verdict || fail "nothing changed: $(cat verdict)"
grep -q '"name":"replay_error"' looked.sim || fail 'a job that was looked at has no replay error'
lumos-graph looked -o again && same <(tail -n +2 graph) <(tail -n +2 again) 'lumos-graph makes another graph of a job that was looked at'
lumos-transform --scale kind=gemm=2 graph -o scaled && expect 2 lumos-graph scaled && says 'has changed this job'
head -n 1 scaled | jq -e '.edited == 1' >/dev/null || fail 'the header of a changed job does not say so'

# Order: as given, but that --unprofiled comes first wherever it stands: what the profiler takes is known of the recording alone.
a=$(lumos-transform --unprofiled --scale host=2 graph | total) b=$(lumos-transform --scale host=2 --unprofiled graph | total)
lumos-transform --scale kind=gemm=3 --remove kind=gemm --scale host=1.5 graph | head -n 1 |
  jq -e '[.history[-3:][].args] == ["--scale kind=gemm=3", "--remove kind=gemm", "--scale host=1.5"] and .edited == 3' >/dev/null ||
  fail 'changes are not in the order given'
[ -n "$a" ] && [ "$a" -gt 0 ] && [ "$a" = "$b" ] || fail "unprofiled and host=2 in both orders: $a, $b"

# Without launches, or without a kind of kernel, no step is longer; and the kernels that stay are all there.
before=$(total graph)
for selector in kind=launch kind=gemm kind=elementwise kind=collective kind=copy kind=launch,rank=0; do
  lumos-transform --remove "$selector" graph -o removed 2>message || fail "--remove $selector fails: $(cat message)"
  after=$(total removed)
  [ -n "$after" ] && [ "$after" -le "$before" ] || fail "--remove $selector makes the steps longer: $before to $after ns"
  # What is gone is referred to by nobody: a second reading refuses dangling references.
  lumos-transform removed >/dev/null 2>message || fail "--remove $selector leaves a job that cannot be read: $(cat message)"
  [ "$selector" != kind=gemm ] || ! grep -q '"kind":"gemm"' <(grep '^{"type":"task"' removed) || fail 'a removed kernel is still there'
done
# A copy that a call waits for goes with that call: CPUs may then get ahead.
for selector in kind=copy kind=gemm; do
  lumos-transform --remove "$selector" graph 2>message | jq -r 'select(.code == "transform.waits_gone").count'
done >found
grep -c '"wait":' graph >before
lumos-transform --remove kind=copy graph 2>message | grep -c '"wait":' >after
[ "$(cat found)" -gt 0 ] && [ "$(cat found)" -eq $(($(cat before) - $(cat after))) ] || fail "calls that waited: $(cat before), then $(cat after); said to be gone: $(tr '\n' ' ' <found)"
lumos-transform --fuse kind=elementwise graph -o fused 2>message || fail "--fuse fails: $(cat message)"
[ "$(total fused)" -le "$before" ] || fail 'fused kernels make the steps longer'

# The page says what was measured before, and what is simulated now.
lumos-transform --remove kind=elementwise graph | lumos-sim -o removed.sim && lumos-render --verdict removed.sim >verdict || fail 'no verdict'
grep -q 'After the change .* instead of' verdict || fail "the verdict lacks what was: $(cat verdict)"
measured() { grep '"name":"step_time"' "$1" | jq -c 'select(.source == "measured") | [.scope, .value]'; }
lumos-sim graph -o plain.sim
same <(measured plain.sim) <(measured removed.sim) 'what was measured is another after the change'

# A job that was never measured has every figure but those.
sed '/^{"type":"task"/s/,"start":-\{0,1\}[0-9]*//' graph >unmeasured
[ "$(steps graph)" = "$(steps unmeasured)" ] || fail 'without measured starts the steps are others'
# And so has a changed one: what is the profiler's part of a task does not hang on when it started, nor on what was removed before.
for change in --scale=host=2 --unprofiled; do
  [ "$(lumos-transform "$change" graph | steps)" = "$(lumos-transform "$change" unmeasured | steps)" ] || fail "without measured starts $change gives other steps"
done
a=$(lumos-transform --scale host=2 --remove op=aten::ones_like graph | total) b=$(lumos-transform --remove op=aten::ones_like --scale host=2 graph | total)
awk -v a="$a" -v b="$b" -v all="$(lumos-transform --scale host=2 graph | total)" 'BEGIN { exit !(a > 0 && a < all && a - b < 100 && b - a < 100) }' ||
  fail "an op removed before and after host=2: $b, $a ns"
lumos-sim unmeasured -o unmeasured.sim || fail 'a job without measured starts is not simulated'
names() { grep '^{"type":"metric"' "$1" | sed 's/.*"name":"\([a-z_0-9]*\)","value".*/\1/' | sort -u; }
comm -23 <(names plain.sim) <(names unmeasured.sim) >lacking
printf '%s\n' annotation_count annotation_cpu_time clock_error clock_offset coverage host_replay_error host_step_time kept_wait replay_error step_spread transplant_error transplant_matched |
  comm -13 - lacking >more
[ ! -s more ] || fail "without measured starts there are no $(paste -sd ' ' more)"
lumos-render unmeasured.sim -o page.html && grep -q 'There is no measured step to compare the model with' page.html || fail 'the page does not say that nothing was measured'
proved "changes apply in the order given, work goes without a trace (six selections and a fusion), and what was never measured is simulated to the nanosecond"
finish

#!/usr/bin/env bash
# One number for one thing: every share that a page states is its time over the time that it names, recomputed by shares.py from the JSON document.
. "$(dirname "$0")/lib.sh"
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) || skip 'python3 is not here'

jobs=0 shares=0
# recompute NAME TRACE...
recompute() {
  local name=$1
  shift
  lumos-report "$@" -o page.html 2>message || return 0 # what gives no page is another test's
  lumos-report "$@" -o document.json 2>message || fail "$name: $(head -c 300 message)"
  "$python" "$here/shares.py" document.json page.html >told 2>&1 || fail "$name: $(head -c 2000 told)"
  jobs=$((jobs + 1))
  shares=$((shares + $(grep -oE '^[0-9]+ shares' told | grep -oE '[0-9]+' || echo 0)))
}

recompute example "${example[@]}"
recompute changed "${example[@]}" -s kind=gemm=0.5
[ "$shares" -gt 200 ] || fail "only $shares shares"
# Broken, it is seen: a rank's idle time that is twice as long.
jq '.rank_steps |= map(if .idle then .idle *= 2 else . end) | .job_steps |= map(if .idle then .idle *= 2 else . end)' document.json >broken.json
! "$python" "$here/shares.py" broken.json page.html >told 2>&1 || fail 'shares of other times are taken for right'
grep -q 'idle' told || fail "it does not say which: $(head -c 300 told)"
! have_traces || each_job recompute every
proved "$shares shares of $jobs pages are their times over what they are of"
finish

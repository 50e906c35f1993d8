#!/usr/bin/env bash
# Memory that the system refuses: each allocation of a tool in turn, or some of them by default. The tool ends with status 2 and says why, and no file
# is there; or it did without, and has written what it always writes. So it is with calls of the system that fail in turn, or do only a part: reads,
# writes, opens, closes, forks, new threads; then the file that was there before is still there. And with 16 descriptors, 64 kB of stack, and nowhere
# else to write.
. "$(dirname "$0")/lib.sh"
starve=$bin/../tests/libstarve.so
[ -e "$starve" ] || skip 'tools with sanitizers have an allocator of their own'
most=10
[ "$all_cases" != yes ] || most=400

lumos-parse "${example[0]}" -o parse 2>message || fail "no stream: $(head -c 300 message)"
lumos-sim parse -o sim 2>message || fail "no simulation: $(head -c 300 message)"

injected=0
# starved COMMAND...: which writes `out`.
starved() {
  local at status count
  rm -f out
  LUMOS_STARVE_COUNT=$work/count LD_PRELOAD=$starve "$@" 2>message || fail "$* fails: $(head -c 300 message)"
  mv out whole
  count=$(cat count)
  check "$* allocates $count times" [ "$count" -gt 100 ]
  for ((at = 1; at <= count; at += count / most + 1)); do
    status=0
    injected=$((injected + 1))
    LUMOS_STARVE_AT=$at LD_PRELOAD=$starve "$@" 2>message || status=$?
    if [ $status -eq 0 ]; then
      cmp -s out whole || fail "$*, without allocation $at of $count, writes something else"
    elif [ $status -ne 2 ] || ! grep -q '^lumos: out of memory: the system refused [0-9]* bytes more' message; then
      fail "$*, without allocation $at of $count, ends with $status: $(tail -c 300 message)"
    elif [ -e out ]; then
      fail "$*, without allocation $at of $count, leaves a file"
    fi
    rm -f out
  done
}

starved lumos-parse "${example[0]}" -o out
starved lumos-graph parse -o out
starved lumos-sim parse -o out
starved lumos-transform --scale kind=gemm=2 parse -o out
starved lumos-transform --layers 2 parse -o out
starved lumos-render sim --format json -o out
starved lumos-compare sim sim --format json -o out
rarely starved lumos-report "${example[0]}" --format json -o out

# --- Calls that fail ---

failed=0
# failing CALL COMMAND...: which writes `out`; CALL as in tests/faults/starve.c.
failing() {
  local name=$1 at status count ended=0 reason=.
  shift
  case $name in
    read | close) reason='Input/output error' ;;
    write) reason='No space left on device' ;;
  esac
  rm -f out
  LUMOS_STARVE_CALL=$name LUMOS_STARVE_COUNT=$work/count LD_PRELOAD=$starve "$@" 2>message || fail "$* fails: $(head -c 300 message)"
  mv out whole
  count=$(cat count)
  for ((at = count > most ? count % (count / most + 1) : 1; at <= count && at > 0; at += count / most + 1)); do
    status=0
    failed=$((failed + 1))
    echo old >out
    LUMOS_STARVE_CALL=$name LUMOS_STARVE_AT=$at LD_PRELOAD=$starve "$@" 2>message || status=$?
    if [ $status -eq 2 ] && [ "$(head -c 9 out)" = old ]; then
      ended=$((ended + 1))
      grep -qE "^lumos-[a-z]+: .*: .*$reason" message || fail "$*, where $name $at of $count fails, says: $(head -c 300 message)"
    elif [ $status -ne 0 ]; then
      fail "$*, where $name $at of $count fails, ends with $status, and its file is no longer the old one: $(tail -c 300 message)"
    elif ! cmp -s out whole && ! grep -q 'Input/output error; every event before it was read' message && ! grep -q 'Graphviz could not lay it out' out; then
      fail "$*, where $name $at of $count fails, writes something else and does not say so"
    fi
  done
  case $name in read | write | close | linkat) [ $((ended + (count == 0))) -gt 0 ] || fail "$* never fails, whichever $name does" ;; esac
}
all_calls() {
  local name
  for name in read write open close mkostemp fchmod rename linkat fork pipe2 poll pthread_create short-read short-write; do failing $name "$@"; done
}
for name in read write close linkat short-read short-write; do failing $name lumos-graph parse -o out; done
if [ "$all_cases" = yes ]; then most=60; fi
rarely all_calls lumos-parse "${example[@]}" -o out
rarely all_calls lumos-graph parse -o out
rarely all_calls lumos-transform --layers 2 parse -o out
rarely all_calls lumos-sim parse -o out
rarely all_calls lumos-render sim -f html -o out
rarely all_calls lumos-compare sim sim -f html -o out
rarely all_calls lumos-report "${example[@]}" -f html -o out
rm -f out

# --- Little of all else ---

# little COMMAND...: the graph of `parse` is the same.
lumos-graph parse -o whole 2>message || fail "no graph: $(head -c 300 message)"
little() {
  "$@" 2>message || fail "$* fails: $(head -c 300 message)"
  same out whole "$* writes something else"
  rm -f out
}
# shellcheck disable=SC2016 # expanded there
little bash -c 'ulimit -n 16 -s 64 && exec "$@"' - env HOME=/nonexistent TMPDIR=/nonexistent lumos-graph parse -o out
[ -z "$(find . -name '.*.*' -type f)" ] || fail "files are left: $(find . -name '.*.*' -type f | head -n 3)"
proved "of $injected allocations that were refused and $failed calls that failed each ends with a message, and the file of before, or without harm"
finish

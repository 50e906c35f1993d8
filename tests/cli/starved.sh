#!/usr/bin/env bash
# Memory that the system refuses: each allocation of a tool in turn, or some of them by default. The tool ends with status 2 and says why, and no file
# is there; or it did without, and has written what it always writes.
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
[ -z "$(find . -name '.*.*' -type f)" ] || fail "files are left: $(find . -name '.*.*' -type f | head -n 3)"
proved "of $injected allocations that were refused each ends with a message, and no file, or without harm"
finish

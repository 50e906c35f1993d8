#!/usr/bin/env bash
# Memory that the system refuses: each allocation of a tool in turn, or some of them by default. The tool ends with status 2 and says why, and no file
# is there; or it did without, and has written what it always writes. So it is with calls of the system that fail in turn, alone or in pairs, or do only a
# part: reads, writes, opens, closes, lists of folders, forks, new threads, and where the file system knows no files without a name; then the file that was
# there before is still there. And with few descriptors, little memory, 64 kB of stack, and nowhere else to write.
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
reason=.
# judge STATUS TEXT: after a run that had `whole` to write over the file `out`, in which "old" stood. `ended` counts those that ended with a message.
judge() {
  failed=$((failed + 1))
  if [ "$1" -eq 2 ] && [ "$(head -c 9 out | tr -d '\0')" = old ]; then
    ended=$((ended + 1))
    grep -qE "^lumos-[a-z]+: .*($reason)" message || fail "$2 fails and says: $(head -c 300 message)"
  elif [ "$1" -ne 0 ]; then
    fail "$2 ends with $1, and its file is no longer the old one: $(tail -c 300 message)"
  elif ! cmp -s out whole && ! grep -q 'warning: .*Input/output error; every event before it was read' message &&
    ! grep -q 'warning: the dependency graph has no picture' message; then
    fail "$2 writes something else and does not say so"
  fi
}

# count CALL COMMAND...: how often it makes that call; what it writes is then `whole`.
count() {
  rm -f out
  LUMOS_STARVE_CALL=$1 LUMOS_STARVE_COUNT=$work/count LD_PRELOAD=$starve "${@:2}" 2>message || fail "${*:2} fails: $(head -c 300 message)"
  mv out whole
  count=$(cat count)
}

# failing CALL COMMAND...: which writes `out`; CALL as in tests/faults/starve.c.
failing() {
  local name=$1 at status count ended=0 reason=.
  shift
  case $name in
    read | close) reason='Input/output error' ;;
    write) reason='No space left on device' ;;
    readdir) reason='Input/output error' ;;
    opendir | pipe2) reason='Too many open files|too many files are open' ;;
  esac
  count "$name" "$@"
  for ((at = count > most ? count % (count / most + 1) : 1; at <= count && at > 0; at += count / most + 1)); do
    status=0
    echo old >out
    LUMOS_STARVE_CALL=$name LUMOS_STARVE_AT=$at LD_PRELOAD=$starve "$@" 2>message || status=$?
    judge $status "$*, where $name $at of $count fails,"
  done
  case $name in read | write | close | linkat) [ $((ended + (count == 0))) -gt 0 ] || fail "$* never fails, whichever $name does" ;; esac
  # The call that fails may be the one that removes it.
  [ "$name" != unlink ] || rm -f .out.*
}
all_calls() {
  local name
  for name in read write open close mkostemp fchmod rename linkat unlink stat fstat access realpath opendir readdir fcntl madvise fork pipe2 poll \
    pthread_create short-read short-write; do failing $name "$@"; done
}

# failing_pairs PAIRS COMMAND...: two calls, whichever they are, drawn by chance, always the same.
failing_pairs() {
  local pairs=$1 one other status count ended=0
  shift
  count any "$@"
  RANDOM=24
  while [ $((pairs--)) -gt 0 ]; do
    one=$((RANDOM % count + 1)) other=$((RANDOM % count + 1)) status=0
    [ $((pairs % 2)) -eq 0 ] || other=$((one + 1 + RANDOM % 4)) # what is done about a failure comes soon after it
    echo old >out
    LUMOS_STARVE_CALL=any LUMOS_STARVE_AT=$one LUMOS_STARVE_AND=$other LD_PRELOAD=$starve "$@" 2>message || status=$?
    judge $status "$*, where calls $one and $other of $count fail,"
    rm -f .out.* # the second may be the one that removes it
  done
}

mkdir ranks && cp "${example[@]}" ranks
for name in read write close linkat short-read short-write; do failing $name lumos-graph parse -o out; done
for name in stat readdir; do failing $name lumos-parse ranks -o out; done
failing fork lumos-render sim -f html -o out
failing pipe2 lumos-render sim -f html -o out
for name in mkostemp fchmod close rename; do LUMOS_STARVE_NAMES=yes failing $name lumos-graph parse -o out; done
failing_pairs 6 lumos-graph parse -o out
LUMOS_STARVE_NAMES=yes failing_pairs 6 lumos-graph parse -o out
if [ "$all_cases" = yes ]; then most=60; fi
rarely all_calls lumos-parse "${example[@]}" -o out
rarely all_calls lumos-parse ranks -o out
rarely all_calls lumos-graph parse -o out
rarely all_calls lumos-transform --layers 2 parse -o out
rarely all_calls lumos-sim parse -o out
rarely all_calls lumos-render sim -f html -o out
rarely all_calls lumos-compare sim sim -f html -o out
rarely all_calls lumos-report "${example[@]}" -f html -o out
rarely failing_pairs 300 lumos-parse ranks -o out
rarely failing_pairs 300 lumos-graph parse -o out
rarely failing_pairs 200 lumos-render sim -f html -o out
rarely failing_pairs 200 lumos-report ranks -f html -o out
named() {
  local -x LUMOS_STARVE_NAMES=yes
  all_calls lumos-parse ranks -o out
  all_calls lumos-graph parse -o out
  failing_pairs 300 lumos-graph parse -o out
}
rarely named
rm -f out

# A link stays a link.
echo old >kept && ln -s kept link
for call in stat\ {3..8} realpath\ {1..2}; do
  LUMOS_STARVE_CALL=${call% *} LUMOS_STARVE_AT=${call#* } LD_PRELOAD=$starve lumos-graph parse -o link 2>message
  [ -L link ] || { fail "where $call fails, a file replaces a link"; break; }
done

# Who stops a tool there finds the old file, and nothing beside it.
mkdir stopped && echo old >stopped/out
for moment in {1..8}; do
  LUMOS_STARVE_NAMES=yes LD_PRELOAD=$starve timeout -s TERM "0.0$moment" lumos-parse "${example[@]}" -o stopped/out
done 2>message
[ "$(ls -A stopped)" = out ] || fail "who is stopped leaves $(ls -A stopped | tr '\n' ' ')"
[ "$(cat stopped/out)" = old ] || lumos-sim stopped/out -o stopped.sim 2>message || fail "who is stopped leaves a half: $(head -c 200 message)"

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

# A page with fewer and fewer descriptors is the same page, or there is a message and none.
lumos-render sim -o whole.html 2>message || fail "no page: $(head -c 300 message)"
for few in 8 5 4; do
  status=0
  (exec 3>&- 4>&- && ulimit -n $few && exec lumos-render sim -o few.html) 2>message || status=$? # those of a caller are closed
  case $status in
    0) same few.html whole.html "with $few descriptors there is another page" ;;
    2) grep -q 'oo many .*files' message || fail "with $few descriptors the message is: $(head -c 300 message)" ;;
    *) fail "with $few descriptors it ends with $status: $(head -c 300 message)" ;;
  esac
  [ "$status" -eq 0 ] || [ ! -e few.html ] || fail "with $few descriptors a page is left"
  rm -f few.html
done

# Memory that the system does not map: less and less address space.
mapped=0 limits=(400000 60000 20000)
[ "$all_cases" != yes ] || mapfile -t limits < <(seq 8000 4000 400000)
for limit in "${limits[@]}"; do
  status=0
  echo old >out
  (ulimit -v "$limit" && exec lumos-graph parse -o out) 2>message || status=$?
  mapped=$((mapped + 1))
  case $status in
    0) same out whole "with $limit kB of address space it writes something else" ;;
    2) grep -q 'out of memory' message && [ "$(head -c 9 out)" = old ] || fail "with $limit kB of address space: $(head -c 300 message)" ;;
    127) grep -q 'error while loading shared libraries' message || fail "with $limit kB of address space: $(head -c 300 message)" ;; # before it begins
    *) fail "with $limit kB of address space it ends with $status: $(head -c 300 message)" ;;
  esac
done
[ -z "$(find . -name '.*.*' -type f)" ] || fail "files are left: $(find . -name '.*.*' -type f | head -n 3)"
proved "of $injected allocations that were refused, $failed calls that failed and $mapped limits of memory each ends with a message, and the file of before, or without harm"
finish

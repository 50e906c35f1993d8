#!/usr/bin/env bash
# Work that takes a while is shown on a terminal, in one line that is gone at the end, and nowhere else.
. "$(dirname "$0")/lib.sh"
command -v script >/dev/null && script -qec true /dev/null </dev/null >/dev/null 2>&1 || skip 'there is no terminal to be had (script)'

# Slow work on any machine: an input that pauses longer than the tenth of a second before anything is shown.
lumos-parse "${example[@]}" -o parse 2>/dev/null
zcat "${example[0]}" >trace.json
cat >slow.sh <<'END'
head -c 200000 "$1"
sleep 0.2
tail -c +200001 "$1"
END

# on_terminal COMMAND: its messages go to a terminal; what the terminal got is in the file `typed`.
on_terminal() {
  NO_COLOR=1 TERM=${terminal-xterm} script -qec "$1" /dev/null </dev/null >typed 2>&1 || fail "'$1' fails: $(head -c 300 typed)"
}

# shows WORK...: each was shown, as a line of its own that erases the one before.
shows() {
  local work
  for work in "$@"; do
    grep -qE "$(printf '\r')$(printf '\033')\[K$work" typed || fail "progress does not show '$work': $(head -c 300 typed | cat -v)"
  done
}

# What a person sees in the end: what stands behind the last erasure of each line.
left() { tr -d '\r' <typed | sed -E 's/.*\x1b\[K//'; }

on_terminal 'bash slow.sh parse | lumos-render -o page.html'
shows 'standard input: [0-9]+ MB' 'graph: [0-9]+ of [0-9]+ tasks, [0-9]+ %' 'simulation: 0 of [0-9]+ tasks, 0 %' report
[ -z "$(left)" ] || fail "something is left on the terminal: '$(left)'"
on_terminal 'bash slow.sh parse | lumos-sim >sim'
shows 'standard input' graph simulation
[ -z "$(left)" ] || fail "something is left on the terminal: '$(left)'"
on_terminal 'bash slow.sh parse | lumos-parse --validate - >valid'
shows 'standard input'
[ -z "$(left)" ] || fail "something is left on the terminal: '$(left)'"
on_terminal 'bash slow.sh trace.json | lumos-report --rank 0 --scale host=0.5 -o page.html'
shows 'standard input' graph simulation report
left | grep '^lumos-report: warning: ' >/dev/null || fail "no warning is left: '$(left)'"
[ "$(left | grep -c .)" -eq 1 ] || fail "something is left beside the warning: '$(left)'"

on_terminal 'bash slow.sh parse | lumos-sim --sweep layers=1,2,3 >swept'
shows 'sweep: [0-9] of 3 configurations, [0-9]+ %'
[ -z "$(left)" ] || fail "something is left on the terminal: '$(left)'"

# A verdict on the same terminal stands on a clean line, and so does a message of failure.
on_terminal 'bash slow.sh parse | lumos-render --verdict'
shows simulation
[ "$(left)" = "$(lumos-render --verdict parse)" ] || fail "the verdict is left as '$(left)'"
on_terminal 'bash slow.sh parse | lumos-render --verdict -o page.html'
shows report
[ "$(left)" = "$(lumos-render --verdict parse)" ] || fail "the verdict is left as '$(left)'"
head -c 400000 parse >cut
on_terminal '! bash slow.sh cut | lumos-sim >sim'
shows 'standard input'
left | grep '^lumos-sim: standard input: line ' >/dev/null || fail "the failure is left as '$(left)'"
[ "$(left | grep -c .)" -eq 1 ] || fail "something is left beside the failure: '$(left)'"

# A file name cannot steer the terminal.
cp parse $'na\033[2Jme'
mkfifo $'fi\033[2Jfo'
on_terminal $'(bash slow.sh parse >fi*fo &) ; lumos-sim fi*fo >sim'
shows 'fi.?\[2Jfo'
! grep -qF $'\033[2J' typed || fail 'a file name steers the terminal'

# No terminal, no progress: not a byte, whatever the rest goes to; nor on one that cannot erase.
for command in 'lumos-render -o page.html' 'lumos-sim -o sim' 'lumos-graph -o graph' 'lumos-report -o page.html'; do
  on_terminal "bash slow.sh parse | $command 2>message"
  [ ! -s typed ] && [ ! -s message ] || fail "$command writes progress into a file: $(head -c 300 message | cat -v)"
  on_terminal "bash slow.sh parse | $command 2>&1 | cat >message"
  [ ! -s typed ] && [ ! -s message ] || fail "$command writes progress into a pipe: $(head -c 300 message | cat -v)"
done
terminal=dumb
on_terminal 'bash slow.sh parse | lumos-render -o page.html'
[ ! -s typed ] || fail "a dumb terminal gets progress: $(head -c 300 typed | cat -v)"
proved 'progress is shown on a terminal, and nowhere else'
finish

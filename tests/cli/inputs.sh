#!/usr/bin/env bash
# Traces are found as a Unix user names them: folders, patterns, lists, names with blanks; and of several runs in one place one is chosen.
. "$(dirname "$0")/lib.sh"

# recording FILE SECONDS: what stands in the trace FILE, recorded so much later.
recording() {
  zcat "$1" | sed -E "s/(\"baseTimeNanoseconds\": *)([0-9]+)/\1$((base + $2 * 1000000000))/"
}
base=$(zcat "${example[0]}" | grep -oE '"baseTimeNanoseconds": *[0-9]+' | grep -oE '[0-9]+$')
mkdir 'first run' 'both runs'
for rank in 0 1; do
  recording "${example[rank]}" 0 >"first run/my rank $rank.json"
  cp "first run/my rank $rank.json" "both runs/1 rank$rank.json"
  recording "${example[rank]}" 3600 | gzip >"both runs/2 rank$rank.json.gz"
done

# inputs NAME ARGUMENT...: these name the two ranks of the first run.
inputs() {
  local name=$1
  shift
  lumos-parse "$@" >parse 2>message || fail "$name: $(head -c 300 message)"
  [ ! -s message ] || fail "$name says: $(head -c 300 message)"
  if [ -e expected ]; then same expected parse "$name gives something else"; else mv parse expected; fi
}
inputs folder 'first run'
inputs pattern 'first run'/*.json
inputs names 'first run/my rank 1.json' 'first run/my rank 0.json'
printf '%s\n' 'first run/my rank 1.json' '' 'first run/my rank 0.json' >'a list'
inputs list --files-from 'a list'
inputs 'list of a folder' --files-from=<(echo 'first run')
inputs 'list and name' -T <(echo 'first run/my rank 0.json') 'first run/my rank 1.json'
find 'first run' -name '*.json' | lumos-parse -T - >parse 2>message || fail "a list on standard input: $(head -c 300 message)"
same expected parse 'a list on standard input gives something else'
lumos-report -T 'a list' -o listed.html 2>message && lumos-report 'first run' -o folder.html || fail "lumos-report -T: $(head -c 300 message)"
same folder.html listed.html 'lumos-report -T gives something else'
expect 2 lumos-parse --files-from missing
says missing
expect 2 lumos-parse --files-from /dev/null
says /dev/null 'one a line'
expect 2 lumos-parse --files-from - - <'a list'
says 'standard input'
expect 2 lumos-parse --validate --files-from 'a list'
says --files-from

expect 2 lumos-parse 'both runs' -o none
says 'these are 2 runs' --run 'run 1 of 20' '1 rank0.json' '1 rank1.json' 'run 2 of 20' '2 rank0.json.gz' '2 rank1.json.gz'
[ ! -e none ] || fail 'a refused parse left a file'
expect 0 lumos-parse 'both runs' --run 1 -o first
expect 0 lumos-parse 'both runs' --run last -o last
sources() { jq -r 'select(.type == "rank") | .source' "$1" | tr '\n' '|'; }
[ "$(sources first)" = '1 rank0.json|1 rank1.json|' ] || fail "--run 1 keeps $(sources first)"
[ "$(sources last)" = '2 rank0.json.gz|2 rank1.json.gz|' ] || fail "--run last keeps $(sources last)"
expect 2 lumos-parse 'both runs' --run 3
says '--run 3' 2
for run in 0 one -1; do
  expect 2 lumos-parse 'both runs' --run=$run
  says --run
done
# Parsed apart, the runs do not come together behind our back.
lumos-parse 'both runs/1 rank0.json' >early && lumos-parse 'both runs/2 rank1.json.gz' >late || fail 'parse of one rank fails'
expect 2 lumos-sim early late -o none
says 'rank 1' 'after rank 0' 'two runs'

# The tools behind lumos-parse parse what is a trace: in every form, from a folder and from standard input.
mkdir forms
zcat "${example[0]}" >forms/rank0.json
zcat "${example[1]}" | gzip -n >forms/rank1.json.gz
lumos-parse forms -o forms.parse
for tool in graph transform sim render; do
  same <(lumos-$tool forms.parse) <(lumos-$tool forms) "lumos-$tool FOLDER is not lumos-parse FOLDER | lumos-$tool"
  same <(zcat "${example[0]}" | lumos-parse | lumos-$tool) <(zcat "${example[0]}" | lumos-$tool) "lumos-$tool of a trace from standard input differs"
done
for tool in graph transform sim; do
  lumos-parse forms/rank1.json.gz >one.parse
  same <(lumos-$tool forms.parse) <(lumos-$tool forms/rank0.json one.parse) "lumos-$tool of a trace and a stream differs"
done
if command -v zstd >/dev/null; then
  zstd -q forms/rank0.json -o rank0.json.zst
  same <(lumos-parse rank0.json.zst | lumos-sim) <(lumos-sim rank0.json.zst) 'lumos-sim of a zstd trace differs'
fi
head -c 40000 "${example[0]}" >cut.json.gz
expect 0 lumos-sim cut.json.gz -o cut.sim
says 'end too early' # nobody else has told of it
lumos-parse cut.json.gz -o cut.parse 2>message
expect 0 lumos-sim cut.parse -o cut.sim
! grep -q 'end too early' message || fail 'lumos-sim repeats what lumos-parse has said'

# One core gives the bytes of many.
on_one_core lumos-parse 'first run' >one 2>message || fail "one core: $(head -c 300 message)"
same expected one 'one core gives something else'
proved 'folders, patterns, lists and names give the same ranks to every tool, and of several runs one is chosen'
finish

#!/usr/bin/env bash
# What goes wrong is said in one line that names the file and the cure, with the right exit status, and leaves nothing behind.
. "$(dirname "$0")/lib.sh"
tools='lumos-parse lumos-graph lumos-transform lumos-sim lumos-render lumos-report'

lumos-parse "${example[@]}" >parse || fail 'parse fails'
lumos-sim parse >sim || fail 'sim fails'
ls -A >before

# Help and version, of all of them.
for tool in $tools; do
  expect 0 $tool --help >help
  [ "$(grep -c '^  # ' help)" -ge 2 ] || fail "$tool --help has fewer than two examples"
  [ "$(awk '{ if (length > 120) n++ } END { print n + 0 }' help)" -eq 0 ] || fail "$tool --help has long lines"
  expect 0 $tool --version >version
  grep -qE "^$tool [0-9]+\.[0-9]+\.[0-9]+$" version || fail "$tool --version says '$(cat version)'"
  expect 2 $tool --no-such-option
  says --no-such-option --help
  expect 2 $tool missing-file </dev/null
  says missing-file
  expect 2 $tool -o
  says -o --help
done
[ "$(lumos-report --help | sed -nE 's/^ ([A-Z][a-z-]+):$/\1/p' | tr '\n' ' ')" = 'Input What-if Output Pictures Details Help ' ] ||
  fail "lumos-report --help has other groups: $(lumos-report --help | grep -E '^ [A-Z]')"
rm -f help version

# Inputs of lumos-parse.
mkdir folder && echo hello >folder/readme.txt
expect 2 lumos-parse folder
says folder
# What is neither a trace nor a stream says what it is and what to do, to every tool.
echo '{"a": 1}' >document.json
echo 'hello' >text.json
: >empty.json
gzip -k empty.json
echo '{"traceEvents": []}' >no-events.json
printf '{"schema": "1.1.1-chakra.0.0.4", "nodes": []}' >execution.json
printf 'PK\3\4\24\0\0\0' >some.zip
tar -cf some.tar text.json
tar -czf some.tar.gz text.json
for tool in $tools; do
  while IFS='|' read -r file what cure; do
    expect 2 $tool "$file" -o none.json
    says "$file: $what; " "$cure"
    if [ $tool = lumos-parse ]; then expect 2 lumos-parse - -o none.json <"$file" && says "standard input: $what; " "$cure"; fi
  done <<'END'
document.json|is JSON without a traceEvents list|export_chrome_trace
text.json|is not JSON|export_chrome_trace
empty.json|is empty|run it again
empty.json.gz|is empty|run it again
no-events.json|holds no event with a duration|ProfilerActivity.CUDA
execution.json|is a PyTorch execution trace|export_chrome_trace
some.zip|is a zip archive|unpack it (unzip)
some.tar|is a tar archive|unpack it (tar -xf)
some.tar.gz|is a tar archive|unpack it (tar -xf)
END
done
expect 2 lumos-parse document.json text.json
says 'document.json: is JSON without' 'text.json: is not JSON'
expect 2 lumos-parse </dev/null
says 'standard input'
expect 2 lumos-parse --steps nonsense "${example[@]}"
says --steps nonsense
expect 2 lumos-parse --steps 9-3 "${example[@]}"
says --steps 9-3
expect 2 lumos-parse --steps 40-41 "${example[@]}"
says 40
expect 2 lumos-parse --rank one "${example[@]}"
says --rank one
expect 2 lumos-parse --rank 0 "${example[@]}"
says --rank
expect 2 lumos-parse --rank 3,3 "${example[@]}"
says 3
expect 0 lumos-parse --rank 3,5 -o renamed "${example[@]}"
[ "$(jq -r 'select(.type=="rank") | .rank' renamed | tr '\n' ' ')" = '3 5 ' ] || fail '--rank does not give the ranks'
expect 0 lumos-parse text.json "${example[@]}" -o skipped # what is no trace is skipped beside one, and said
says text.json
jq -es 'any(.[]; .type == "note" and (.text | contains("text.json")))' skipped >/dev/null || fail 'no note of what was skipped'

# A cut gzip gives every complete event and a note; --strict refuses it.
head -c 40000 "${example[0]}" >cut.json.gz
expect 0 lumos-parse cut.json.gz -o cut
says 'end too early'
jq -es 'any(.[]; .type == "note" and .level != "info")' cut >/dev/null || fail 'no note of the cut'
expect 0 lumos-sim cut -o cut.sim
expect 1 lumos-parse --strict cut.json.gz -o none
says cut.json.gz
head -c 5 "${example[0]}" >stub.json.gz
expect 2 lumos-parse stub.json.gz -o none
says stub.json.gz

for tool in lumos-graph lumos-transform lumos-sim lumos-render; do
  expect 2 $tool </dev/null
  says 'standard input: is empty'
done
expect 2 lumos-sim parse empty.json # the rank of a tool that failed is not left out behind our back
says 'empty.json: is empty'
sed '1s/"format":1/"format":99/' parse >newer
expect 2 lumos-sim newer
says newer 99
sed '200s/.*/{"type":"task","id":/' parse >broken
expect 2 lumos-sim broken
says broken
expect 2 lumos-parse --validate broken
says broken

expect 0 lumos-parse --validate <sim >valid
grep -q '^standard input: valid: stage sim' valid || fail "--validate says '$(cat valid)' of standard input"
expect 2 lumos-parse --validate --steps last sim
says --validate --steps
rm -f valid

# Options of the others.
for scale in nonsense kind=gemm kind=gemm=x kind=gemm=-1 kind=gemm=1e3 kind=nokind=2 =2 gemm=2 'name~[=2' 'name~(=2' rank=x=2 ''; do
  expect 2 lumos-transform --scale "$scale" parse -o none
  says --scale
done
expect 0 lumos-transform --scale 'name~no such kernel=2' parse -o nothing
says 'no such kernel'
# shellcheck disable=SC2046
expect 2 lumos-render $(printf 'sim %.0s' {1..27}) -o none.html
says '26'
expect 2 lumos-render sim -o none.docx
says none.docx .html .json --format
expect 2 lumos-render sim -o html
says .html
expect 2 lumos-render sim --format docx
says docx html json
expect 2 lumos-render sim -o none.html --format json
says none.html json --format
# Where the output goes is tried before the input is looked at.
for option in lumos-{parse,graph,transform,sim,render,report}' -o' 'lumos-sim -o sim2 --trace' 'lumos-sim -o sim2 --critical-path' 'lumos-parse --check -o'; do
  expect 2 $option no/such/folder/page.html missing-file
  says no/such/folder/page.html 'there is no folder no/such/folder' mkdir
done
expect 2 lumos-render missing-file -o text.json/page.html
says 'there is no folder text.json'
# What is read is not written to, and nothing is written twice, through links, folders, lists and other names of a file; nothing is done then.
mkdir -p own/traces own/nights own/templates
cp "${example[0]}" own/traces/rank0.json.gz
# A short one, for after every call all is compared.
printf '{"traceEvents":[%s,%s]}' '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":10,"dur":2,"args":{"correlation":1}}' \
  '{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":20,"dur":5,"args":{"correlation":1,"stream":7}}' | lumos-parse - 2>message | lumos-sim -o own/job.sim ||
  fail "no short job: $(head -c 300 message)"
printf '{"format":1,"metrics":[{"metric":"step_time","relative":0.02}]}' >own/limits.json
cp own/limits.json own/nights/2026-07-01.json
touch own/templates/report.html
ln -s ../job.sim own/traces/link
ln own/job.sim own/hard.sim
printf 'own/traces\nown/job.sim\n' >own/list
cp -r own kept
own() { # WORD TOOL ARGUMENT...
  expect 2 "${@:2}"
  says "$1"
  diff -r kept own >difference || fail "'${*:2}' changes $(head -n 3 difference)"
}
for same in job.sim traces/link hard.sim ../own/./job.sim; do
  for tool in 'graph -o' 'transform -o' 'sim -o' 'sim --trace' 'sim --critical-path' 'render -f html -o' 'render --summary' 'render --picture' 'report -f html -o' 'compare own/list -o' 'compare own/list --trace' \
    'render --baseline own/job.sim --junit'; do
    own 'overwrite' lumos-$tool own/$same own/job.sim
  done
done
for tool in 'parse -o' 'report -f html -o' 'sim -o x --trace'; do own 'overwrite' lumos-$tool own/traces/rank0.json.gz own/traces; done
own 'what --files-from reads' lumos-report -f html -o own/traces/rank0.json.gz --files-from own/list
own 'what --files-from reads' lumos-parse -o own/list --files-from own/list
own 'what --gate reads' lumos-render --gate own/limits.json --baseline own/nights own/job.sim -o own/limits.json
own 'what --gate reads' lumos-render --gate own/limits.json --baseline own/nights own/job.sim --junit own/limits.json
own 'what --baseline reads' lumos-render --gate own/limits.json --baseline own/nights own/job.sim -o own/nights/2026-07-01.json
own 'what --template reads' lumos-render -t own/templates own/job.sim -o own/templates/report.html
own 'what --hardware reads' lumos-sim --hardware own/limits.json own/job.sim -o own/limits.json
own 'what --network reads' lumos-transform --network own/limits.json own/job.sim -o own/limits.json
own 'what --gpu reads' lumos-transform --gpu X@own/limits.json own/job.sim -o own/limits.json
for pair in 'compare own/traces own/job.sim -o own/new.json --trace' 'sim own/job.sim -o own/new.json --trace' 'sim own/job.sim -o own/new.json --critical-path' 'sim own/job.sim -o x --trace own/new.json --critical-path' \
  'render own/job.sim -o own/new.json --summary' 'render own/job.sim -o own/new.json --picture' 'report own/traces -o own/new.json --summary' 'render --gate own/limits.json --baseline own/nights own/job.sim -o own/new.json --junit'; do
  own 'writes to that file, too' lumos-$pair own/traces/../new.json
done
lumos-sim -o own/job.sim <own/job.sim 2>message && fail 'standard input is overwritten'
says 'standard input'
expect 2 lumos-compare sim sim --trace - >/dev/null # of a regular file tools/places.c says the same
says 'send one of them to a file'
diff -r kept own >difference || fail "refused calls change $(head -n 3 difference)"
# Every option that names a file is known as one that is read or written.
for tool in parse graph transform sim render report compare; do lumos-$tool --help; done | grep -oE -- '--[a-z-]+[= ](FILE|DIR)' | tr = ' ' | sort -u >options
while read -r option what; do
  grep -qF "\"${option#--}\"" "$source_folder/src/tools/places.c" || fail "$option $what is not among the files of src/tools/places.c"
done <options
[ "$(wc -l <options)" -gt 10 ] || fail "only $(wc -l <options) options name files"
expect 2 lumos-render --template no-such-folder sim -o none.html
says no-such-folder
expect 2 lumos-render --verdict sim -o -
says --verdict

# An option that is nearly right.
expect 2 lumos-report --formta html
says 'unknown option --formta; did you mean --format?' --help
expect 2 lumos-parse --ranks 0
says 'unknown option --ranks; did you mean --rank?'
expect 2 lumos-sim --oportunities=off
says 'unknown option --oportunities; did you mean --opportunities?'
expect 2 lumos-parse --qqqqqq
says "unknown option --qqqqqq; try 'lumos-parse --help'"
expect 2 lumos-parse --st=3
says 'option --st is ambiguous: --steps, --stacks, --strict;'

# A terminal: lumos-report writes a file and says which, lumos-render refuses; a tool with nothing to read says so at once.
if command -v script >/dev/null && script -qec true /dev/null </dev/null >/dev/null 2>&1; then # a container may have none
  script -qec 'lumos-render sim' /dev/null </dev/null >typed 2>&1
  grep -q 'terminal' typed || fail "a page on a terminal is not refused: $(head -c 300 typed)"
  mkdir terminal
  (
    cd terminal || exit 1
    script -qec "lumos report '${example[0]}'" /dev/null </dev/null >../typed 2>&1
    # A slow run shows its progress, which it clears.
    [ "$(tail -n 1 ../typed | tr -d '\r' | sed 's/.*\x1b\[K//')" = 'lumos-report: wrote report.html' ] && [ "$(ls)" = report.html ]
  ) || fail "lumos report on a terminal writes '$(ls terminal)' and says: $(head -c 300 typed)"
  same terminal/report.html <(lumos-report "${example[0]}" 2>/dev/null) 'the report of a terminal is another one'
  (cd terminal && script -qec "lumos-report -f png '${example[0]}'" /dev/null </dev/null >../typed 2>&1)
  grep -q 'wrote report.png' typed && [ -s terminal/report.png ] || fail "lumos report -f png on a terminal says: $(head -c 300 typed)"
  script -qec "lumos-report --verdict '${example[0]}'" /dev/null </dev/null >typed 2>&1
  ! grep -q wrote typed && [ ! -e report.html ] || fail "lumos report --verdict on a terminal says: $(head -c 300 typed)"
  rm -rf terminal
  for tool in $tools; do
    timeout 10 script -qec "$tool" /dev/null >typed 2>&1 </dev/null || true
    grep -q 'nothing to read\|-o report.html' typed || fail "$tool waits silently on a terminal: $(head -c 300 typed)"
  done
  rm -f typed
fi

# A full disk is an error; a closed pipe is none.
for tool in $tools; do
  input=parse
  [ $tool != lumos-parse ] && [ $tool != lumos-report ] || input=${example[0]}
  expect 2 sh -c "$tool '$input' >/dev/full"
  says 'standard output' space
  { $tool "$input"; echo $? >status; } 2>message | head -n 1 >/dev/null
  [ "$(cat status)" -eq 0 ] || fail "$tool ends with $(cat status) when its reader has gone"
  [ ! -s message ] || grep -q warning message || fail "$tool complains when its reader has gone: $(cat message)"
  expect 2 sh -c "$tool '$input' >&-"
  says 'standard output'
done
expect 0 sh -c 'lumos-render sim -o closed.html <&- >&-'
[ -s closed.html ] || fail 'closed descriptors cost the report'
expect 2 lumos-sim parse -o /dev/full
says /dev/full

# Who stops a tool finds the old file, and nothing beside it; cli/starved.sh has file systems that know no files without names.
mkdir stopped && echo old >stopped/out
for moment in {1..24}; do # while it reads, works or writes
  timeout -s TERM "0.0$((moment % 8 + 1))" lumos-parse "${example[@]}" -o stopped/out
done 2>message
[ "$(ls -A stopped)" = out ] || fail "who is stopped leaves $(ls -A stopped | tr '\n' ' ')"
[ "$(cat stopped/out)" = old ] || lumos-sim stopped/out -o stopped.sim 2>message || fail "who is stopped leaves a half: $(head -c 200 message)"
rm -rf stopped stopped.sim

# What a selector may name is said alike by the message and by --help.
expect 2 lumos-transform -s kind=none=1 parse
kinds=$(sed 's/.*; kinds are //' message)
[ "$(wc -w <<<"$kinds")" -gt 10 ] || fail "the kinds are '$kinds'"
lumos-transform --help | tr -cs 'a-z0-9' '\n' >words
for kind in $kinds; do
  grep -qx "$kind" words || fail "--help does not name the kind $kind"
done

[ -z "$(find . -name '.*.??????' -type f)" ] || fail "temporary files are left: $(find . -name '.*.??????')"
for name in none none.json none.html none.docx html; do [ ! -e "$name" ] || fail "a failed run left $name"; done
proved 'every failure ends with its status, one line that says what to do, and no file'
finish

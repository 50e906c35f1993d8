#!/usr/bin/env bash
# The five tools on the example traces: every stage by itself, all in one pipe, and what a text tool sees in between.
. "$(dirname "$0")/lib.sh"

# valid FILE STAGE: the validator accepts the stream, and it is at this stage.
valid() {
  lumos-parse --validate "$1" >validated || fail "$1 is not valid"
  grep -q "valid: stage $2," validated || fail "$1 is not at stage $2: $(cat validated)"
  clean "$1"
  jq -es 'map(select(.type == "end").counts | to_entries[]) | length > 0' "$1" >/dev/null || fail "$1 is no JSON Lines"
}

expect 0 lumos-parse "${example[@]}" -o parse
expect 0 lumos-graph parse -o graph
expect 0 lumos-transform --scale kind=gemm=0.5 graph -o transform
expect 0 lumos-sim transform -o sim
expect 0 lumos-render sim -o page.html
for stage in parse graph transform sim; do valid $stage $stage; done
valid_html page.html

# The same through pipes, to the byte.
lumos-parse "${example[@]}" | lumos-graph | lumos-transform --scale kind=gemm=0.5 | lumos-sim | lumos-render >piped.html ||
  fail 'the pipe of five fails'
same page.html piped.html 'files and pipes give different pages'

# Missing stages run by themselves and give the same.
lumos-parse "${example[@]}" | lumos-sim >short.sim || fail 'parse | sim fails'
lumos-sim graph >long.sim || fail 'sim of a graph fails'
same short.sim long.sim 'sim does not run graph as lumos-graph does'
lumos-transform --scale kind=gemm=0.5 parse >short.transform || fail 'parse | transform fails'
same transform short.transform 'transform does not run graph as lumos-graph does'
lumos-render parse >short.html || fail 'parse | render fails'
lumos-render long.sim >long.html || fail 'sim | render fails'
same short.html long.html 'render does not run sim as lumos-sim does'

# Stages go back: a graph of a simulated job drops what sim wrote.
lumos-graph long.sim >again.graph || fail 'graph of a simulated job fails'
same graph again.graph 'graph does not drop what later stages wrote'
expect 2 lumos-graph transform -o none
says transform
[ ! -e none ] || fail 'a failed graph left a file'

# What a text tool sees: the matrix products, against a count over the traces themselves.
jq -c 'select(.type=="task" and .kind=="gemm") | [.name,.dur]' parse >gemms
zcat "${example[@]}" | jq -c '.traceEvents[] | select(.cat == "kernel" and (.name | test("gemm|nvjet"))) | [.name, (.dur * 1000 | round)]' >expected
sort gemms >gemms.sorted && sort expected >expected.sorted
same gemms.sorted expected.sorted 'the gemm tasks are not the gemm kernels of the traces'
[ -s gemms ] || fail 'no gemm task'

# Half as long, each.
jq -c 'select(.type=="task" and .kind=="gemm") | [.name,.was,.dur,.dur_source]' transform >scaled
jq -e -s 'all(.[]; .[3] == "scaled" and ((.[1] - 2 * .[2]) | fabs) <= 1)' scaled >/dev/null || fail 'a scaled gemm is not half as long'

# Two steps of three; the last alone; streams in the middle of a file name list.
lumos-parse --steps last "${example[@]}" | jq -r 'select(.type=="task" and .step != null) | .step' | sort -u >steps
[ "$(cat steps)" = 7 ] || fail "--steps last gives steps $(tr '\n' ' ' <steps)"
lumos-parse --steps 5-6 "${example[@]}" | jq -r 'select(.type=="task" and .step != null) | .step' | sort -u | tr '\n' ' ' >steps
[ "$(cat steps)" = '5 6 ' ] || fail "--steps 5-6 gives steps $(cat steps)"

expect 0 lumos-render --verdict sim >verdict
[ "$(wc -l <verdict)" -eq 1 ] || fail 'the verdict is not one line'
clean verdict
expect 0 lumos-render --verdict -o with.html sim >verdict.again
same verdict verdict.again 'the verdict changes with -o'
same page.html with.html 'the page changes with --verdict'
cat verdict
proved 'the tools of the pipe work on each other, from files and through pipes'
finish

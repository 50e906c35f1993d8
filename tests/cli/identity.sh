#!/usr/bin/env bash
# A transform that changes nothing changes nothing but the header; and nothing depends on the run, the locale or the time zone.
. "$(dirname "$0")/lib.sh"

lumos-graph <(lumos-parse "${example[@]}") >graph || fail 'graph fails'
body() { tail -n +2 "$1"; }
body graph >graph.body
for scale in '' device=1 kind=gemm=1.0 name~gemm=1.000000 rank=0,kind=collective=1; do
  lumos-transform ${scale:+--scale "$scale"} graph >transform || fail "transform '$scale' fails"
  body transform >transform.body
  same graph.body transform.body "transform '$scale' is not the identity"
  head -n 1 transform | jq -e '.stage == "transform"' >/dev/null || fail "transform '$scale' does not say its stage"
done
lumos-sim graph >plain.sim && lumos-sim transform >transform.sim || fail 'sim fails'
grep '^{"type":"task"' plain.sim >plain.tasks && grep '^{"type":"task"' transform.sim >transform.tasks
same plain.tasks transform.tasks 'the identity is simulated otherwise'

# Locales that write numbers with a comma, made here where the system has the means, for else their names mean nothing.
export LOCPATH=$PWD/locales
mkdir locales
# Of few letters: to make those of UTF-8 takes four times as long, and the small letter of I is another only where it is one byte.
{ localedef -c -i de_DE -f ISO-8859-1 locales/de_DE && localedef -c -i tr_TR -f ISO-8859-9 locales/tr_TR; } 2>/dev/null
[ "$(LC_ALL=de_DE locale decimal_point 2>/dev/null)" = , ] || echo 'localedef makes no locales here: run without a decimal comma.'

# chain NAME ENVIRONMENT...: the whole chain under an environment, the page and the stream.
chain() {
  local name=$1
  shift
  env "$@" lumos-parse "${example[@]}" | env "$@" lumos-transform --scale 'name~[Nn]ccl=0.5' | env "$@" lumos-sim >"$name.sim" ||
    fail "$name: the chain fails"
  env "$@" lumos-render "$name.sim" >"$name.html" || fail "$name: render fails"
}
chain first LC_ALL=C TZ=UTC
chain second LC_ALL=C TZ=UTC
chain elsewhere LC_ALL=de_DE TZ=Asia/Tokyo HOME=/nonexistent COLUMNS=40
chain turkish LC_ALL=tr_TR LANG=tr_TR TZ=America/St_Johns TERM=xterm MALLOC_PERTURB_=165
for name in second elsewhere turkish; do
  same first.sim $name.sim "$name: other bytes in the stream"
  same first.html $name.html "$name: other bytes in the page"
done
# Several ranks, so that all that is done rank by rank, file by file or run by run is done by several threads; by more than there are cores, too.
emulated-cluster --quiet --plain --layers 2 --hidden 256 --heads 4 --seq 128 --vocab 1024 --pp 2 --dp 2 --micro-batches 2 --steps 2 ranks ||
  fail 'the emulated cluster fails'
for threads in 1 2 16; do
  lumos-parse -j $threads ranks/rank*.json >parse.$threads 2>message && lumos-sim --jobs $threads parse.$threads >sim.$threads 2>message &&
    lumos-report --jobs=$threads ranks/rank*.json -o page.$threads.html 2>message &&
    lumos-report --jobs=$threads --pp 1 ranks/rank*.json -f json -o rebuilt.$threads.json 2>message || fail "$threads threads: $(head -c 300 message)"
  for output in parse.$threads sim.$threads page.$threads.html rebuilt.$threads.json; do
    same "${output/$threads/1}" "$output" "$threads threads give other bytes than one"
  done
done
expect 2 lumos-sim -j several graph
says -j "'several'"

proved 'the same bytes again, in other locales and time zones, with 1, 2 and 16 threads, and from a change that changes nothing'
finish

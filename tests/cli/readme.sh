#!/usr/bin/env bash
# What the README names is there: folders, files and tests, marked where they read real traces; its picture is small; and the sample page
# is the page of the example traces.
. "$(dirname "$0")/lib.sh"
readme=$source_folder/README.md

# Names in backquotes that hold a slash, and the targets of links; tests are named as they are in tests/.
grep -oE '`[A-Za-z_.-]+/[A-Za-z_./-]*`|\]\([^)]+\)' "$readme" | tr -d '`]()' | grep -v NAME | sort -u >names
[ "$(wc -l <names)" -gt 40 ] || fail "only $(wc -l <names) names found in the README"
while read -r name; do
  [ -e "$source_folder/$name" ] || [ -e "$source_folder/tests/$name" ] || fail "the README names $name, which is not there"
done <names

# Those marked * read real traces, the others do not.
grep -oE '`(unit|property|cli)/[a-z_-]+\.(c|sh)`\*?' "$readme" | sort -u >named
while read -r test; do
  file=$source_folder/tests/$(tr -d '`*' <<<"$test")
  reads=no
  if grep -qE 'LUMOS_TRACES|(need|have|unit)_traces|"\$traces"' "$file"; then reads=yes; fi
  [[ $test == *'*' ]] && marked=yes || marked=no
  [ $reads = $marked ] || fail "the README marks $test wrongly: it reads real traces: $reads"
done <named

# But for the graph's places, which are those of one version of Graphviz.
without_places() { awk '/data-picture="graph"/ { inside = 1 } !inside; /<\/svg>/ { inside = 0 }' "$1"; }
lumos-report "${example[@]}" -o page.html || fail 'no page'
without_places page.html >made
without_places "$source_folder/reports/samples/gpt-dp2.html" >kept
[ "$(wc -l <kept)" -gt 500 ] || fail "only $(wc -l <kept) lines of the sample page are compared"
same made kept 'the page has changed: run examples/make-sample.sh and look at it'
[ "$(stat -c %s "$source_folder/reports/samples/gpt-dp2.png")" -lt 300000 ] || fail 'reports/samples/gpt-dp2.png is over 300 kB'
proved 'what the README names is there, and the sample page is that of the example'
finish

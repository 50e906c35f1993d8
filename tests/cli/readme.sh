#!/usr/bin/env bash
# What README.md, src/README.md and tests/README.md name is there: folders, files and tests, marked where they read real traces. The README
# is short and its picture small, and the sample page is the page of the example traces.
. "$(dirname "$0")/lib.sh"
readme=$source_folder/README.md
promises=$source_folder/tests/README.md
[ "$(wc -l <"$readme")" -lt 150 ] || fail "README.md has $(wc -l <"$readme") lines"

# Names in backquotes that hold a slash, and the targets of links: as they are in the project, or in the folder of the file that names them.
for file in "$readme" "$promises" "$source_folder/src/README.md"; do
  grep -oE '`[A-Za-z_.-]+/[A-Za-z_./-]*`|\]\([^)]+\)' "$file" | tr -d '`]()' | grep -v NAME | sort -u >names
  cat names >>all_names
  while read -r name; do
    [ -e "$source_folder/$name" ] || [ -e "$(dirname "$file")/$name" ] || fail "$file names $name, which is not there"
  done <names
done
[ "$(wc -l <all_names)" -gt 100 ] || fail "only $(wc -l <all_names) names found"

# Those marked * read real traces, the others do not.
grep -oE '`(unit|property|cli)/[a-z_-]+\.(c|sh)`\*?' "$promises" | sort -u >named
[ "$(wc -l <named)" -gt 60 ] || fail "only $(wc -l <named) tests found in tests/README.md"
while read -r test; do
  file=$source_folder/tests/$(tr -d '`*' <<<"$test")
  reads=no
  if grep -qE 'LUMOS_TRACES|(need|have|unit)_traces|"\$traces"' "$file"; then reads=yes; fi
  [[ $test == *'*' ]] && marked=yes || marked=no
  [ $reads = $marked ] || fail "tests/README.md marks $test wrongly: it reads real traces: $reads"
done <named

# But for the graph's places, which are those of one version of Graphviz.
without_places() { awk '/data-picture="graph"/ { inside = 1 } !inside; /<\/svg>/ { inside = 0 }' "$1"; }
lumos-report "${example[@]}" -o page.html || fail 'no page'
without_places page.html >made
without_places "$source_folder/reports/samples/gpt-dp2.html" >kept
[ "$(wc -l <kept)" -gt 500 ] || fail "only $(wc -l <kept) lines of the sample page are compared"
same made kept 'the page has changed: run examples/make-sample.sh and look at it'
[ "$(stat -c %s "$source_folder/reports/samples/gpt-dp2.png")" -lt 300000 ] || fail 'reports/samples/gpt-dp2.png is over 300 kB'
proved 'what README.md, src/README.md and tests/README.md name is there, and the sample page is that of the example'
finish

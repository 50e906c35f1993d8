#!/usr/bin/env bash
# The page of the example job is valid HTML, the same twice, and asks nothing of any network.
set -euo pipefail
command -v tidy >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$LUMOS_BIN/lumos-parse" "$LUMOS_SOURCE"/examples/traces/*.json.gz | "$LUMOS_BIN/lumos-sim" >"$folder/sim"
"$LUMOS_BIN/lumos-render" -o "$folder/page.html" "$folder/sim"
"$LUMOS_BIN/lumos-render" <"$folder/sim" >"$folder/again.html"
cmp "$folder/page.html" "$folder/again.html"

# tidy writes a line for every error and warning, and none otherwise.
tidy -q -e "$folder/page.html" 2>"$folder/faults" || true
if [ -s "$folder/faults" ]; then
  cat "$folder/faults" >&2
  exit 1
fi
if grep -n '://' "$folder/page.html"; then
  echo 'the page holds an address' >&2
  exit 1
fi

# script_digest FILE: of the one script that runs, as the page's policy should name it.
script_digest() {
  printf 'sha256-'
  awk '/^<script>/ { sub(/^<script>/, ""); inside = 1 } inside && /<\/script>$/ { sub(/<\/script>$/, ""); printf "%s", $0; exit } inside' "$1" |
    printf "$(sha256sum | cut -c1-64 | sed 's/../\\x&/g')" | base64
}
# Nothing runs but the page's own script, which its policy names by what it says.
policy() { grep -o "content=\"default-src 'none'[^\"]*" "$1"; }
test "$(policy "$folder/page.html")" = "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src '$(script_digest "$folder/page.html")'; img-src data:"
test "$(grep -c '<script' "$folder/page.html")" = 3
test "$(grep -c '<script type="application/json"' "$folder/page.html")" = 2
if grep -nE ' on[a-z]+=|javascript:|eval\(|innerHTML|new Function' "$folder/page.html"; then
  echo 'the page has code beside its script' >&2
  exit 1
fi

# A template of one's own: a file that is not there is the one compiled in, a name that is not known is said with its byte.
mkdir "$folder/templates"
printf '<p>{{verdict}}</p>\n{{oops}}' >"$folder/templates/report.html"
status=0
"$LUMOS_BIN/lumos-render" --template "$folder/templates" -o "$folder/own.html" "$folder/sim" 2>"$folder/message" || status=$?
test "$status" = 2
grep -q 'report.html: byte 19: an unknown name "oops"' "$folder/message"
test ! -e "$folder/own.html"
printf '<p>{{verdict}}</p>\n' >"$folder/templates/report.html"
"$LUMOS_BIN/lumos-render" --template "$folder/templates" -o "$folder/own.html" "$folder/sim"
grep -q '^<p>.* takes .*</p>$' "$folder/own.html"

# The script is all of its files, whole.
page=$(<"$folder/page.html")
for file in "$LUMOS_SOURCE"/templates/*.js; do
  if [[ $page != *$'\n'"$(<"$file")"$'\n'* ]]; then
    echo "the page is without ${file##*/}" >&2
    exit 1
  fi
done

# A file of one's own of the script is named by the policy too; one that would end its element is refused.
rm "$folder/templates/report.html"
printf "document.title = 'mine';" >"$folder/templates/script-page.js"
"$LUMOS_BIN/lumos-render" --template "$folder/templates" -o "$folder/own.html" "$folder/sim"
grep -A 1 -xF "document.title = 'mine';" "$folder/own.html" | grep -qxF '})();</script>'
policy "$folder/own.html" | grep -qF "script-src '$(script_digest "$folder/own.html")'"
printf "const end = '</SCRIPT>';" >"$folder/templates/script-page.js"
status=0
"$LUMOS_BIN/lumos-render" --template "$folder/templates" -o "$folder/refused.html" "$folder/sim" 2>"$folder/message" || status=$?
test "$status" = 2
grep -q 'script-page.js: byte 13: ' "$folder/message"
test ! -e "$folder/refused.html"

#!/usr/bin/env bash
# The page of the example job is valid HTML, the same twice, and asks nothing of any network; nothing runs but its own script.
. "$(dirname "$0")/lib.sh"

lumos-parse "${example[@]}" | lumos-sim >sim || fail 'the example cannot be simulated'
lumos-render -o page.html sim
lumos-render <sim >again.html
same page.html again.html 'two pages of one job differ'
valid_html page.html
! grep -n '://' page.html || fail 'the page holds an address'

# script_digest FILE: of the one script that runs, as the page's policy should name it.
script_digest() {
  printf 'sha256-'
  awk '/^<script>/ { sub(/^<script>/, ""); inside = 1 } inside && /<\/script>$/ { sub(/<\/script>$/, ""); printf "%s", $0; exit } inside' "$1" |
    printf "$(sha256sum | cut -c1-64 | sed 's/../\\x&/g')" | base64
}
# Nothing runs but the page's own script, which its policy names by what it says.
policy() { grep -o "content=\"default-src 'none'[^\"]*" "$1"; }
[ "$(policy page.html)" = "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src '$(script_digest page.html)'; img-src data:" ] ||
  fail "the policy is $(policy page.html)"
[ "$(grep -c '<script' page.html)" = 3 ] && [ "$(grep -c '<script type="application/json"' page.html)" = 2 ] || fail 'the page has other scripts'
! grep -nE ' on[a-z]+=|javascript:|eval\(|innerHTML|new Function' page.html || fail 'the page has code beside its script'

# A template of one's own: a file that is not there is the one compiled in, a name that is not known is said with its byte.
mkdir templates
printf '<p>{{diagnosis}}</p>\n{{oops}}' >templates/report.html
expect 2 lumos-render --template templates -o own.html sim
says 'report.html: byte 21: an unknown name "oops"'
[ ! -e own.html ] || fail 'a page of a template with a fault'
printf '<p>{{diagnosis}}</p>\n' >templates/report.html
expect 0 lumos-render --template templates -o own.html sim
grep -q '^<p>.* takes .*</p>$' own.html || fail "a template of one's own is not used"

# The script is all of its files, whole.
page=$(<page.html)
for file in "$source_folder"/templates/*.js; do
  [[ $page == *$'\n'"$(<"$file")"$'\n'* ]] || fail "the page is without ${file##*/}"
done

# A file of one's own of the script is named by the policy too; one that would end its element is refused.
rm templates/report.html own.html
printf "document.title = 'mine';" >templates/script-page.js
expect 0 lumos-render --template templates -o own.html sim
[ "$(grep -A 1 -xF "document.title = 'mine';" own.html | tail -1)" = '})();</script>' ] || fail "a script of one's own is not the last of the page's"
[[ $(policy own.html) == *"script-src '$(script_digest own.html)'"* ]] || fail "the policy does not name the script: $(policy own.html)"
printf "const end = '</SCRIPT>';" >templates/script-page.js
expect 2 lumos-render --template templates -o refused.html sim
says 'script-page.js: byte 13: '
[ ! -e refused.html ] || fail 'a page of a script that ends its element'
proved 'pages are valid HTML that asks nothing of a network'
finish

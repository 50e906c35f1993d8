#!/usr/bin/env bash
# A stream cut anywhere never becomes a report: the next tool ends with 2, says so, and leaves no file.
. "$(dirname "$0")/lib.sh"

lumos-parse --steps last "${example[@]}" >parse || fail 'parse fails'
lumos-graph parse >graph || fail 'graph fails'
lumos-transform --scale host=2 graph >transform || fail 'transform fails'
lumos-sim transform >sim || fail 'sim fails'

# cut STREAM BYTES TOOL SUFFIX
cut_at() {
  head -c "$2" "$1" >cut
  expect 2 "$3" cut -o "out.$4"
  says cut "$3"
  ! compgen -G '*out.*' >/dev/null && ! compgen -G '.*out.*' >/dev/null || { fail "$3 left a file after $2 bytes of $1"; rm -f ./*out.* ./.*out.*; }
}

while read -r stream tool suffix; do
  size=$(stat -c %s "$stream")
  last_line=$(tail -n 1 "$stream" | wc -c)
  for i in $(seq 0 49); do
    cut_at "$stream" $((size * i / 50)) "$tool" "$suffix"
  done
  cut_at "$stream" $((size - last_line)) "$tool" "$suffix"     # only the end line is missing
  cut_at "$stream" $((size - last_line - 1)) "$tool" "$suffix" # and the line end before it
  cut_at "$stream" $((size - 3)) "$tool" "$suffix"             # in the end line
done <<'STREAMS'
parse lumos-graph graph
graph lumos-transform transform
transform lumos-sim sim
sim lumos-render html
STREAMS

# Through a pipe, from a tool that dies: the shell that asks gets the failure of the last tool.
head -c 100000 sim | lumos-render -o out.html 2>message && fail 'a cut pipe became a report'
[ ! -e out.html ] || fail 'a cut pipe left a report'

# An older report stays as it was.
echo old >out.html
head -c 100000 sim | lumos-render -o out.html 2>message && fail 'a cut pipe became a report'
[ "$(cat out.html)" = old ] || fail 'a failed run touched the report that was there'
proved 'streams cut at 212 places never become a report, and leave no file'
finish

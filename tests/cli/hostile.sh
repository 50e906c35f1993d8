#!/usr/bin/env bash
# Names in traces are untrusted. A trace full of markup, quotes, control bytes and terminal escapes becomes a page that shows
# them as text, and nothing of it reaches a terminal raw.
. "$(dirname "$0")/lib.sh"

# Every string that a trace can choose, replaced by one that tries to break out of where it is written.
zcat "${example[0]}" | jq -c '
  def evil($i): ["</script><script>alert(\($i))</script>", "\" onmouseover=\"alert(\($i))", "'"'"' onload='"'"'alert(1)",
    "</style><style>*{display:none}</style>", "</svg><img src=x onerror=alert(\($i))>", "<!--", "-->", "]]>", "&lt;&#x3c;&",
    "\u001b[31mred\u001b]0;title\u0007", "\u0000\u0001\u0008\u007f\u009b31m\u0085", "line\nbreak\r\ttab", "${x}`id`$(id)",
    "\u202eoverride\u2028separator\u2029", "\\u003cscript\\u003e\\", "{{verdict}}{% %}<%= %>", "\ud83d\ude00 x \ufffd",
    "%s%n%d", "javascript:alert(1)"][$i % 19] + " \($i)";
  (.traceEvents |= [range(length) as $i | .[$i]
    | if .ph == "X" and (.cat == "cpu_op" or .cat == "kernel") then .name = evil($i) + (if .cat == "kernel" and .tid == 20 then " nccl" else "" end)
      elif .cat == "user_annotation" and (.name | startswith("ProfilerStep") | not) then .name = evil($i)
      elif .name == "thread_name" or .name == "process_name" then .args.name = evil($i)
      else . end])
  | .deviceProperties[].name = evil(0) | .distributedInfo.pg_config[0].pg_name = evil(3) | .distributedInfo.backend = evil(1)
  | .distributedInfo.pg_config[0].pg_desc = evil(4) | .distributedInfo.nccl_version = evil(9) | .trace_id = evil(2)' >hostile.json ||
  fail 'jq cannot make the trace'
# Bytes that are no UTF-8, where jq would not write them.
LC_ALL=C sed -i 's/%s%n%d /\xff\xfe\xc0\xaf\xed\xa0\x80 /g' hostile.json

{ lumos-parse hostile.json | tee parse | lumos-sim | tee sim | lumos-render -o page.html; } 2>messages || fail "the pipeline fails: $(head -c 500 messages)"
clean messages
for stream in parse sim; do
  expect 0 lumos-parse --validate $stream >/dev/null
  clean $stream
  iconv -f UTF-8 -t UTF-8 $stream >/dev/null || fail "$stream is no UTF-8"
done
expect 0 lumos-render --verdict sim >verdict
clean verdict

valid_html page.html
clean page.html
iconv -f UTF-8 -t UTF-8 page.html >/dev/null || fail 'the page is no UTF-8'
for raw in '<script>alert' '</script><script>' '<img src=x' '<style>*{display' '" onmouseover="alert'; do
  ! grep -qF -- "$raw" page.html || fail "the page holds $raw raw"
done
# A single quote harms in markup, not in the data of a script.
perl -0pe 's/<script.*?<\/script>//gs' page.html | grep -F "' onload='alert" && fail 'the markup holds a quote raw'
grep -qF 'alert(' page.html || fail 'the page shows none of the names: this test tests nothing'
# As many scripts and styles as the page of the plain trace.
lumos-parse "${example[0]}" | lumos-render >plain.html 2>/dev/null || fail 'the plain trace fails'
for tag in '<script' '</script' '<style' '</style' '<!--'; do
  [ "$(grep -oiF -- "$tag" page.html | wc -l)" -eq "$(grep -oiF -- "$tag" plain.html | wc -l)" ] || fail "names add a $tag to the page"
done

# File names are names, too.
evil=$'evil\033[31m\n<script>.json'
expect 2 lumos-parse "$evil"
says 'evil'
[ "$(wc -l <message)" -eq 1 ] || fail 'a file name broke the message into lines'
cp "${example[0]}" "$evil"
lumos-parse "$evil" 2>messages | lumos-render >page.html || fail 'a trace with an evil file name fails'
clean messages
clean page.html
cp parse "$evil.stream"
lumos-parse --validate "$evil.stream" >valid || fail 'a stream with an evil file name fails'
clean valid
! grep -qF '<script>.json' page.html || fail 'the page holds a file name raw'
head -c 3000 hostile.json >"$evil"
lumos-parse --strict "$evil" >/dev/null 2>messages
clean messages
proved 'nothing in a trace steers a page, a terminal or a shell'
finish

#!/usr/bin/env bash
# check.sh FILE: the lines of a benchmark are whole: every stage at every scale, every figure a number above zero.
set -euo pipefail
jq -es '
  (map(.stage) | unique) as $stages
  | (map(.scale) | unique) as $scales
  | (["memchr", "tokenizer", "inflate_gzip", "parse", "parse_gzip", "stream_copy", "stream_tokenizer", "stream_write", "stream_read",
      "walk", "graph", "engine", "sim", "render_html", "render_png", "render_pdf", "in_process", "pipe"] - $stages) as $missing
  | if $missing != [] then error("stages without a line: \($missing)") else . end
  | if $scales != [1, 4, 16] then error("scales \($scales)") else . end
  | if length != ($stages | length) * 3 then error("\(length) lines of \($stages | length) stages") else . end
  | map(select([.bytes, .tasks, .string_bytes, .runs, .seconds, .rate, .peak_rss, .bytes_per_task]
        | any(type != "number" or . <= 0))) as $bad
  | if $bad != [] then error("no figure in \($bad[0])") else . end
  | map(select(.stage == "parse" and (.floor != "tokenizer" or .ratio <= 0))) as $bad
  | if $bad != [] then error("parse has no floor") else . end
  | map(select(.stage == "graph") | .tasks) | .[0] < .[1] and .[1] < .[2]
' "$1" >/dev/null

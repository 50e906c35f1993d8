#!/usr/bin/env bash
# check.sh FILE: the lines of a smoke test are whole: every stage at every scale, every figure a number above zero, and a trace that is
# repeated has as many more tasks as it has bytes.
set -euo pipefail
jq -es '
  def stages($of; $wanted): (map(.stage) | unique) as $stages | ($wanted - $stages)
    | if . != [] then error("stages of \($of) without a line: \(.)") else . end;
  def scales($of; $wanted): (map(.scale) | unique)
    | if . != $wanted then error("scales \(.) of \($of)") else . end;
  ["memchr", "tokenizer", "inflate_gzip", "parse", "parse_gzip"] as $reading
  | ["stream_copy", "stream_tokenizer", "stream_write", "stream_read", "walk", "graph", "engine", "sim", "rebuild", "render_html", "render_png",
      "render_pdf", "in_process", "pipe"] as $behind
  | map(select(.input == "emulated")) as $job | map(select(.input == "16 emulated ranks")) as $ranks
  | map(select(.input == "emulated repeated")) as $long
  | if length != ($job + $ranks + $long | length) then error("an input that is not known") else . end
  | ($job | scales("the job"; [1, 4, 16])), ($ranks | scales("the ranks"; [1, 4])), ($long | scales("the long trace"; [1, 4]))
  | ($job | stages("the job"; $reading + $behind)), ($ranks | stages("the ranks"; $reading + $behind)),
    ($long | stages("the long trace"; $reading)), ($long | map(select(.scale == 4)) | stages("the peers"; ["lumos_parse"]))
  | if $job | length != (map(.stage) | unique | length) * 3 then error("\($job | length) lines of the job") else . end
  | [$job + $ranks + $long | .[] | select([.bytes, .tasks, .string_bytes, .runs, .seconds, .rate, .peak_rss, .bytes_per_task]
        | any(type != "number" or . <= 0))] as $bad
  | if $bad != [] then error("no figure in \($bad[0])") else . end
  | [$job + $ranks + $long | .[] | select(.stage == "parse" and (.floor != "tokenizer" or .ratio <= 0))] as $bad
  | if $bad != [] then error("parse has no floor") else . end
  | [$long[] | select(.stage == "parse") | .tasks / .bytes] as $share
  | if $share[1] / $share[0] - 1 | fabs > 0.01 then error("tasks by bytes: \($share)") else . end
  | [$job[] | select(.stage == "graph") | .tasks] | .[0] < .[1] and .[1] < .[2]
' "$1" >/dev/null

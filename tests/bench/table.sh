#!/usr/bin/env bash
# table.sh FILE: the lines of a benchmark as a table, how every stage grows, and the budgets with their verdicts.
set -euo pipefail

printf '\n%-21s %5s  %-16s %9s %9s %12s %-8s %7s %9s %7s\n' input scale stage seconds CPU 'rate by CPU' '' ratio 'peak MB' B/task
jq -r '[.input, .scale, .stage, .seconds, .cpu_seconds, .cpu_rate, .rate_unit, (.ratio // "-"), .peak_rss / 1e6, .bytes_per_task] | @tsv' "$1" |
  awk -F'\t' '{
    if (NR > 1 && ($1 != input || $2 != scale)) print ""
    input = $1; scale = $2
    rate = $7 == "tasks/s" ? sprintf("%.2f", $6 / 1e6) : sprintf("%.0f", $6)
    printf "%-21s %4dx  %-16s %9.4f %9.4f %12s %-8s %7s %9.1f %7.0f\n", $1, $2, $3, $4, $5, rate, $7 == "tasks/s" ? "Mtasks/s" : $7,
      $8 == "-" ? "-" : sprintf("%.2f", $8), $9, $10
  }'

# For each stage: CPU time at 4x over 1x, and at 16x over 4x; 4 is linear. Memory likewise, between the scales: bytes for one task more.
printf '\nGrowth of the emulated job      time 1x to 4x   4x to 16x   bytes for each further task, 4x to 16x\n'
jq -rs 'map(select(.input == "emulated")) | group_by(.stage)
  | map(sort_by(.scale)) | map(select(length == 3)) | sort_by(.[2].cpu_seconds) | .[]
  | [.[0].stage, .[1].cpu_seconds / ([.[0].cpu_seconds, 1e-6] | max), .[2].cpu_seconds / ([.[1].cpu_seconds, 1e-6] | max),
     (.[2].peak_rss - .[1].peak_rss) / (.[2].tasks - .[1].tasks)] | @tsv' "$1" |
  awk -F'\t' '{ printf "  %-29s %14.2f %11.2f %22d\n", $1, $2, $3, $4 + ($4 < 0 ? -0.5 : 0.5) }'

# The budgets that exist today. Of the pipe the CPU time of all tools is judged, as if one core were there: more cores and a quiet machine
# make the wall time shorter, other programs longer.
printf '\n%-78s %9s %9s  %s\n' 'Budget' 'measured' 'allowed' 'verdict'
jq -rs '
  def of($stage): map(select(.stage == $stage)) | .[0];
  def row($what; $measured; $limit; $good): [$what, $measured, $limit, (if $good then "met" else "MISSED" end)];
  def most($what; $measured; $limit): row($what; $measured; $limit; $measured <= $limit);
  def least($what; $measured; $limit): row($what; $measured; $limit; $measured >= $limit);
  group_by([.input, .scale]) | map(select(.[0].scale == 16 or .[0].input != "emulated")) | .[]
  | (.[0].input + (if .[0].input == "emulated" then " 16x" else "" end)) as $input
  | (.[0].tasks) as $tasks | (.[0].bytes) as $bytes
  | least("\($input): parse, share of the tokenizer'"'"'s speed"; 1 / of("parse").ratio; 0.6),
    least("\($input): parse, MB/s"; of("parse").cpu_rate; 500),
    most("\($input): parse of gzip, times (inflate + parse)"; of("parse_gzip").ratio; 1.25),
    most("\($input): parse of gzip, peak MB (64 MB + 96 B a task + strings)"; of("parse_gzip").peak_rss / 1e6;
      (64e6 + 96 * $tasks + of("parse").string_bytes) / 1e6),
    least("\($input): graph, million tasks/s"; of("graph").cpu_rate / 1e6; 3),
    least("\($input): simulate, one run, million tasks/s"; of("engine").cpu_rate / 1e6; 5),
    least("\($input): all of lumos-sim (two runs, metrics), million tasks/s"; of("sim").cpu_rate / 1e6; 5),
    most("\($input): stream written, s per million tasks"; of("stream_write").cpu_seconds / $tasks * 1e6; 0.3),
    most("\($input): stream read, s per million tasks"; of("stream_read").cpu_seconds / $tasks * 1e6; 0.3),
    (if .[0].input == "emulated" then most("\($input), 1 M events: pipe to the finished page, s (wall: \(of("pipe").seconds * 100 | round / 100))"; of("pipe").cpu_seconds; 3) else empty end)
  | @tsv' "$1" |
  awk -F'\t' '{ printf "%-78s %9.3f %9.3f  %s\n", $1, $2, $3, $4 }'

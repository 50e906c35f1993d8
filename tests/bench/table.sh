#!/usr/bin/env bash
# table.sh FILE: the lines of a benchmark as a table, how every stage grows, and the budgets with their verdicts.
set -euo pipefail

printf '\n%-29s %5s  %-16s %9s %9s %12s %-8s %7s %9s %7s\n' input scale stage seconds CPU 'rate by CPU' '' ratio 'peak MB' B/task
jq -r '[.input, .scale, .stage, .seconds, .cpu_seconds, .cpu_rate, .rate_unit, (.ratio // "-"), .peak_rss / 1e6, .bytes_per_task] | @tsv' "$1" |
  awk -F'\t' '{
    if (NR > 1 && ($1 != input || $2 != scale)) print ""
    input = $1; scale = $2
    rate = $7 == "tasks/s" ? sprintf("%.2f", $6 / 1e6) : sprintf("%.0f", $6)
    printf "%-29s %4dx  %-16s %9.4f %9.4f %12s %-8s %7s %9.1f %7.0f\n", $1, $2, $3, $4, $5, rate, $7 == "tasks/s" ? "Mtasks/s" : $7,
      $8 == "-" ? "-" : sprintf("%.2f", $8), $9, $10
  }'

# For each stage of an input that was measured at several scales: CPU time by bytes against that at the smallest scale, 1 is linear; and
# bytes of memory for one task more, from the scale before the largest to the largest. Of the runs the shortest: a virtual machine may
# have to fetch memory that nothing used lately, and then gives it thirty times slower.
printf '\nGrowth                          of CPU time by bytes, at each scale                    bytes for each further task\n'
jq -rs 'def times: . * 100 | round / 100;
  group_by(.input)[] | (map(.scale) | unique) as $scales | select($scales | length > 1)
  | group_by(.stage) | map(sort_by(.scale) | select(length == ($scales | length))) | sort_by(.[-1].cpu_least)[]
  | (.[0].cpu_least / .[0].bytes) as $first
  | [.[0].input, .[0].stage,
     (map("\(.scale)x: \(.cpu_least / .bytes / ([$first, 1e-15] | max) | times)") | join("  ")),
     (.[-1].peak_rss - .[-2].peak_rss) / (.[-1].tasks - .[-2].tasks)] | @tsv' "$1" |
  awk -F'\t' '{
    if ($1 != input) print "  " $1
    input = $1
    printf "    %-25s %-50s %27d\n", $2, $3, $4 + ($4 < 0 ? -0.5 : 0.5)
  }'

# The budgets that exist today, of every input at its largest scale. Of the pipe the CPU time of all tools is judged, as if one core were
# there: more cores and a quiet machine make the wall time shorter, other programs longer.
printf '\n%-86s %9s %9s  %s\n' 'Budget' 'measured' 'allowed' 'verdict'
jq -rs '
  def row($what; $measured; $limit; $good): [$what, $measured, $limit, (if $good then "met" else "MISSED" end)];
  def most($what; $measured; $limit): row($what; $measured; $limit; $measured <= $limit);
  def least($what; $measured; $limit): row($what; $measured; $limit; $measured >= $limit);
  group_by(.input)[] | group_by(.scale) | map(map({key: .stage, value: .}) | from_entries) as $all | $all[-1]
  | .parse as $parse | $parse.tasks as $tasks
  | ($parse.input + (if $parse.scale > 1 then " \($parse.scale)x" else "" end)) as $input
  | least("\($input): parse, share of the tokenizer'"'"'s speed"; 1 / $parse.ratio; 0.65),
    least("\($input): parse, MB/s"; $parse.cpu_rate; 500),
    most("\($input): parse of gzip, times (inflate + parse)"; .parse_gzip.ratio; 1.25),
    most("\($input): parse of gzip, peak MB (64 MB + 96 B a task + strings)"; .parse_gzip.peak_rss / 1e6;
      (64e6 + 96 * $tasks + $parse.string_bytes) / 1e6),
    ($all[0].parse | select(.scale < $parse.scale)
      | most("\($input): parse, CPU time by bytes against \(.bytes / 1e6 | round) MB"; $parse.cpu_least / $parse.bytes / (.cpu_least / .bytes); 1.25)),
    (select(.graph) | least("\($input): graph, million tasks/s"; .graph.cpu_rate / 1e6; 4)),
    (select(.engine) | least("\($input): simulate, one run, million tasks/s"; .engine.cpu_rate / 1e6; 15)),
    (select(.sim) | least("\($input): all of lumos-sim (three runs, metrics), million tasks/s"; .sim.cpu_rate / 1e6; 5)),
    (select(.stream_write) | most("\($input): stream written, s per million tasks"; .stream_write.cpu_seconds / $tasks * 1e6; 0.1)),
    (select(.stream_read) | most("\($input): stream read, s per million tasks"; .stream_read.cpu_seconds / $tasks * 1e6; 0.2)),
    (select(.pipe) | most("\($input): pipe of three tools against lumos-report, times"; .pipe.ratio; 1.6)),
    ({"df-index-V100x2-216k": [0.20, 64], "nanogpt-8xH100-ddp": [0.30, null]}[$input] as $most | select($most and .in_process)
      | most("\($input): lumos-report, s"; .in_process.cpu_seconds; $most[0]),
        (select($most[1]) | most("\($input): lumos-report, peak MB"; .in_process.peak_rss / 1e6; $most[1]))),
    (select(.pipe and $input == "emulated 16x") | most("\($input), 1 M events: pipe to the finished page, s (wall: \(.pipe.seconds * 100 | round / 100))"; .pipe.cpu_seconds; 3))
  | @tsv' "$1" |
  awk -F'\t' '{ printf "%-86s %9.3f %9.3f  %s\n", $1, $2, $3, $4 }'

#!/usr/bin/env bash
# Where the measured steps of the example went, worked out once more from the traces themselves with jq and awk, to the
# nanosecond: step k of a rank ends with the last device task that it launched, and begins where step k-1 ended.
. "$(dirname "$0")/lib.sh"

# device_rows TRACE: start, end, step (4: launched before the first mark or the recording) and class of every device row, in ns.
device_rows() {
  zcat "$1" | jq -r '
    [.traceEvents[] | select(.ph == "X")] as $rows
    | [$rows[] | select(.cat == "user_annotation" and (.name | startswith("ProfilerStep#")))
        | {step: (.name | ltrimstr("ProfilerStep#") | tonumber), start: .ts, end: (.ts + .dur)}] as $marks
    | ([$rows[] | select(.cat == "cuda_runtime" or .cat == "cuda_driver")
        | {key: (.args.correlation | tostring), value: .ts}] | from_entries) as $called
    | $rows[] | select(.cat == "kernel" or .cat == "gpu_memcpy" or .cat == "gpu_memset")
    | $called[.args.correlation | tostring] as $at
    | (.ts * 1000 | round) as $start
    | [$start, $start + (.dur * 1000 | round),
       (if $at == null then 4 else [4, ($marks[] | select(.start <= $at) | .step)] | max end),
       (if .cat != "kernel" then "copy" elif (.name | test("nccl")) then "communication" else "compute" end)]
    | @tsv'
}

# partition RANK: from device rows, lines "RANK STEP NAME VALUE".
partition() {
  awk -v rank="$1" '
    { start[NR] = $1; end[NR] = $2; class[NR] = $4; if ($2 > last[$3]) last[$3] = $2; print $1, 1, $4 > "edges"; print $2, -1, $4 > "edges" }
    END {
      close("edges")
      sorted = "sort -n edges"
      while ((sorted | getline) > 0) {
        for (step = 5; step <= 7; step++) {
          from = before > last[step - 1] ? before : last[step - 1]
          to = $1 < last[step] ? $1 : last[step]
          if (to > from) time[step, where()] += to - from
        }
        open[$3] += $2
        before = $1
      }
      for (step = 5; step <= 7; step++) {
        printf "%d %d step_time %d\n", rank, step, last[step] - last[step - 1]
        split("exposed_compute overlapped exposed_communication exposed_copy idle", names, " ")
        for (i = 1; i <= 5; i++) printf "%d %d %s %d\n", rank, step, names[i], time[step, names[i]]
      }
    }
    function where() {
      if (open["compute"] > 0) return open["communication"] > 0 ? "overlapped" : "exposed_compute"
      if (open["communication"] > 0) return "exposed_communication"
      return open["copy"] > 0 ? "exposed_copy" : "idle"
    }'
}

for rank in 0 1; do
  device_rows "${example[rank]}" | partition "$rank"
done | sort >expected
[ "$(wc -l <expected)" -eq 36 ] || fail 'the partition was not worked out'

lumos-parse "${example[@]}" | lumos-sim >sim || fail 'the pipeline fails'
jq -r 'select(.type == "metric" and .source == "measured" and .scope.rank != null and .scope.step != null)
  | "\(.scope.rank) \(.scope.step) \(.name) \(.value)"' sim |
  grep -E ' (step_time|exposed_compute|overlapped|exposed_communication|exposed_copy|not_recorded|idle) ' | sed 's/ not_recorded / idle /' |
  awk '{ sum[$1 " " $2 " " $3] += $4 } END { for (part in sum) print part, sum[part] }' | sort >found # by the rows nothing runs in either
diff expected found || fail 'the partition is not what the traces say'

# Every collective that was launched within the recording has its members on both ranks, by communicator and sequence number.
for trace in "${example[@]}"; do
  zcat "$trace" | jq -c '.traceEvents[] | select(.cat == "kernel" and .args.Seq != null) | .args["Process Group Name"]' | sort | uniq -c
done | sort -u | awk '{ gsub(/"/, ""); print $2, "all_reduce 2 comms_id", $1 }' >expected
[ "$(wc -l <expected)" -eq 1 ] || fail 'the ranks did not take part in the same collectives'
jq -r 'select(.type == "collective") | "\(.group) \(.op) \(.members | length) \(.matched)"' sim | sort | uniq -c | awk '{ print $2, $3, $4, $5, $1 }' >found
diff expected found || fail 'the collectives are not joined'

# The kernels of rank 1 take 1.15 times as long: rank 0 waits for it in every step, and rank 1 for nobody.
jq -es '[.[] | select(.type == "metric" and .source == "measured" and .name == "communication_wait" and .scope.step != null)]
  | ([.[] | select(.scope.rank == 0)] | length == 3 and all(.[]; .value > 1000000)) and
    ([.[] | select(.scope.rank == 1)] | length == 3 and all(.[]; .value < 10000))' sim >/dev/null ||
  fail 'the slow rank does not show'
proved 'measured steps and their parts are those that jq and awk find in the example, to the nanosecond'
finish

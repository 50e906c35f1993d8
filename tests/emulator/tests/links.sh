#!/usr/bin/env bash
# What belongs together in a trace, as PyTorch and Kineto define it: launches and device rows, ops and their backward passes, annotations and their images
# on the device, calls that wait and what waits for them.
. "$(dirname "$0")/lib.sh"
small=(--hidden 1024 --seq 1024 --vocab 8192 --layers 2 --micro-batches 2 --steps 2 --warmup 1 --record "shapes,sync,annotations,collectives")

# parts JOB RANK: JOB/parts, a line a row: phase (X; s and f of a flow), category, name, process, thread, start, end, id (External id; a flow's own), correlation,
# sequence number (-1: none), 1 if its op is of a backward pass, its device stream. Microseconds with three decimals are whole nanoseconds as doubles.
parts() {
  jq -r '.traceEvents[] | select(.ph | IN("X", "s", "f")) | select(.cat != "Trace") | (.ts * 1000 | round) as $start
    | [.ph, .cat, .name, .pid, .tid, $start, $start + ((.dur // 0) * 1000 | round), .args["External id"] // .id // -1, .args.correlation // -1,
       .args["Sequence number"] // -1, (if (.args["Fwd thread id"] // 0) > 0 then 1 else 0 end), .args.stream // -1] | @tsv' "$1/rank$2.json" >"$1/parts"
}

# A forward op takes part in a flow if its node ran in a backward pass. Of all ops with a sequence number that one made the node which began last; the flow ends at the
# first op of the backward pass with the number, which is the node, not at the engine that evaluates it; flows are numbered as they end. What a backward pass computes anew is of another thread.
# passes JOB
passes() {
  holds "$1: flows lead from the op that made a node to the node" '
    $1 == "X" && $2 == "cpu_op" && $10 >= 0 && !$11 && $4 == $5 && (!($10 in made) || $6 >= start[$10]) { start[$10] = $6; made[$10] = $5 OFS $6 }
    $1 == "X" && $2 == "cpu_op" && $10 >= 0 && $11 && $3 !~ /^autograd::engine::evaluate_function/ && (!($10 in ran) || $6 < first[$10]) { first[$10] = $6; ran[$10] = $5 OFS $6 }
    $1 != "X" && $2 == "fwdbwd" { if (($1, $8) in flow) print "flow", $8, "comes twice"; flow[$1, $8] = $5 OFS $6; ids[$8] }
    $1 == "f" && $2 == "fwdbwd" && $8 != ++ended { print "flow", $8, "is the", ended "th that ends" }
    END {
      for (i in ids) to[flow["s", i]] = flow["f", i]
      for (n in made) if (n in ran) { seen++; if (to[made[n]] != ran[n]) print "number", n, "flows from", made[n], "to", to[made[n]], "not", ran[n] }
      for (i in ids) flows++
      if (flows != seen) print flows, "flows,", seen, "pairs"
    }' "$1/parts"
}

# The image of an annotation on a stream covers what its thread launched in it, in no annotation within it: from the first to the last, a nanosecond more on either side.
# images JOB MOST: the longest covers so many launches at least
images() {
  holds "$1: images of annotations cover what was launched in them" '
    $1 != "X" { next }
    FILENAME == ARGV[1] && FNR == NR {
      if ($2 ~ /^(kernel|gpu_mem)/) { stream[$9] = $5; from[$9] = $6; to[$9] = $7 }
      else if ($2 == "gpu_user_annotation") { if (($8, $5) in image) print "two images of", $8, $3, "on stream", $5; image[$8, $5] = $3 OFS $6 OFS $7 }
      else if ($2 == "user_annotation") { n++; thread[n] = $5; begin[n] = $6; end[n] = $7; id[n] = $8; name[n] = $3 }
      next
    }
    $2 !~ /^cuda_(runtime|driver)$/ || !($9 in stream) { next }
    { inner = 0; for (i = 1; i <= n; i++) if (thread[i] == $5 && begin[i] <= $6 && $6 < end[i] && (!inner || begin[i] >= begin[inner])) inner = i }
    inner { at = id[inner] SUBSEP stream[$9]; of[at] = name[inner]; launches[at]++
      if (!(at in first) || from[$9] < first[at]) first[at] = from[$9]
      if (!(at in last) || to[$9] > last[at]) last[at] = to[$9] }
    END {
      for (at in of) { seen++; want = of[at] OFS first[at] - 1 OFS last[at] + 1; if (image[at] != want) print "the image is", image[at], "not", want; if (launches[at] > most) most = launches[at] }
      for (at in image) if (!(at in of)) print image[at], "covers nothing"
      if (most < '"$2"') print "no image of more than", most, "launches"
    }' "$1/parts" "$1/parts"
}

# Every call that waits or asks for an event has its row, and no other row is there: of a stream that waits for an event only where the stream has work to show.
# waits JOB
waits() {
  holds "$1: what waits is shown" '
    $1 != "X" { next }
    $2 ~ /^(kernel|gpu_mem)/ { works[$5]; if ($3 ~ /^nccl/) { launched++; nccl[$9] } }
    $2 ~ /^cuda_runtime$/ && $3 ~ /^cuda(StreamWaitEvent|EventSynchronize|EventQuery|StreamSynchronize|DeviceSynchronize)$/ { call[$9] = $3; begin[$9] = $6; end[$9] = $7 }
    $2 == "cuda_sync" { if ($9 in row) print $9, "comes twice"; row[$9] = $3; on[$9] = $12; from[$9] = $6; to[$9] = $7 }
    END {
      kind["cudaStreamWaitEvent"] = "Stream Wait Event"; kind["cudaEventSynchronize"] = kind["cudaEventQuery"] = "Event Sync"; kind["cudaStreamSynchronize"] = "Stream Sync"; kind["cudaDeviceSynchronize"] = "Context Sync"
      for (c in call) {
        seen++
        if (!(c in row)) { if (call[c] != "cudaStreamWaitEvent" || !(c - 2 in nccl)) print c, call[c], "is not shown"; continue } # of NCCL, on its own stream
        shown[call[c]]++
        if (row[c] != kind[call[c]]) print c, call[c], "is shown as", row[c]
        if (from[c] < begin[c] || to[c] > end[c]) print c, call[c], "from", begin[c], "to", end[c], "is shown from", from[c], "to", to[c]
        if (call[c] == "cudaStreamWaitEvent" && !(on[c] in works)) print c, "waits on stream", on[c], "which does nothing"
        if ((call[c] ~ /^cuda(Event|Device)/) != (on[c] == -1)) print c, call[c], "is of stream", on[c]
      }
      for (c in row) if (!(c in call)) print c, row[c], "is no call"
      for (k in kind) if (!shown[k]) print "no", k
      for (c in nccl) if (c - 2 in call && c + 2 in call && (!(c - 2 in row) || c + 2 in row)) print "of NCCL, launch", c, "has other waits"
    }' "$1/parts"
}

# A launch has a flow to its device row (Kineto ends one at calls that launch nothing, too); rows of one op have its id, and no two ops have the same.
# launches JOB
launches() {
  holds "$1: flows lead from launches to what they launched" '
    $1 != "X" && $2 == "ac2g" { if ($1 == "s" && $8 in start) print "flow", $8, "begins twice"; if ($1 == "s") start[$8] = $4 OFS $5 OFS $6; ends[$8, $4 OFS $5 OFS $6]; next }
    $1 == "X" && $2 ~ /^cuda_(runtime|driver)$/ { begin[$9] = $4 OFS $5 OFS $6; op[$9] = $8 }
    $1 == "X" && $2 ~ /^(kernel|gpu_mem)/ { device[$9] = $4 OFS $5 OFS $6; of[$9] = $8 }
    $1 == "X" && ($2 == "cpu_op" || $2 == "user_annotation") { if ($8 in id) print $3, "has the id of", id[$8]; id[$8] = $3 }
    END {
      for (c in device) {
        if (!((c, device[c]) in ends)) print "no flow ends at", c, device[c]
        if (!(c in begin)) { if (of[c] != -1) print c, "has the id", of[c], "and no launch"; continue }
        seen++
        if (start[c] != begin[c]) print "flow", c, "begins at", start[c], "not", begin[c]
        if (of[c] != op[c]) print c, "is of", of[c], "launched by", op[c]
        if (op[c] != -1 && !(op[c] in id)) print c, "is of no op"
      }
    }' "$1/parts"
}

# Every event that was recorded shows where its stream came to the record: behind what was enqueued before it, before what was enqueued behind it.
# events JOB
events() {
  holds "$1: events show where streams come to them" '
    $1 != "X" { next }
    $2 == "cuda_runtime" && $3 ~ /^cudaEventRecord/ { op[$9] = $8; calls++ }
    $2 == "cuda_event" { if ($9 in at) print "event", $9, "comes twice"; at[$9] = $6; on[$9] = $5; id[$9] = $8; if ($7 != $6 + 1 || $3 != "cudaEvent" || $5 != $12) print "it is", $0 }
    $2 ~ /^(kernel|gpu_mem)/ { n = ++work[$5]; launch[$5, n] = $9; start[$5, n] = $6; end[$5, n] = $7 }
    END {
      for (c in at) {
        seen++
        if (!(c in op)) { print "no call recorded", c; continue }
        if (id[c] != (op[c] == -1 ? c : op[c])) print "event", c, "is of", id[c], "recorded by", op[c]
        for (n = 1; n <= work[on[c]]; n++) {
          if (launch[on[c], n] + 0 < c + 0 && end[on[c], n] > at[c]) { print "event", c, "comes before the end of", launch[on[c], n]; break }
          if (launch[on[c], n] + 0 > c + 0 && start[on[c], n] < at[c]) { print "event", c, "comes behind the start of", launch[on[c], n]; break }
        }
      }
      if (seen < 0.95 * calls) print calls, "events,", seen, "are shown" # the last streams come to when the recording is over
    }' "$1/parts"
}

# Every lane of the device is named and sorted, also that of what concerns it as a whole; images come stream by stream, and what a stream waits for behind all calls.
# lanes JOB RANK
lanes() {
  jq -r '.traceEvents | to_entries[] | .key as $at | .value | select(.pid | type == "number")
    | if .ph == "M" and (.name | startswith("thread_")) then ["M", .name, .pid, .tid, (.args.name // .args.sort_index), $at]
      elif .ph == "X" then ["X", (if .name == "Stream Wait Event" then "wait" else .cat end), .pid, .tid, "-", $at] else empty end | @tsv' "$1/rank$2.json" >"$1/lanes"
  holds "$1: lanes of the device" '
    $1 == "M" { said[$2, $3, $4] = $5; next }
    $3 > 1000 { if ($2 ~ /^cuda_/) call = $6; next }
    { seen++; rows[$2]++; if (!(("thread_name", $3, $4) in said) || !(("thread_sort_index", $3, $4) in said)) print $2, "of", $3, $4, "has no name" }
    $4 == 1 && (said["thread_name", $3, 1] != "Device " $3 || said["thread_sort_index", $3, 1] != -1) { print "the device is", said["thread_name", $3, 1] }
    $2 == "gpu_user_annotation" { if ($4 < stream) print "stream", $4, "comes behind", stream; stream = $4 }
    $2 == "wait" { if (!first) first = $6 }
    END {
      if (first < call) print "waits come before a call"
      for (i = split("gpu_user_annotation wait cuda_event cuda_sync", kinds, " "); i; i--) if (!rows[kinds[i]]) print "no", kinds[i]
    }' "$1/lanes"
}

for job in one grid; do
  options=()
  [ $job = one ] || options=(--tp 2 --pp 2 --dp 2 --batched-p2p off --bucket-mb 8)
  emulate $job "${small[@]}" "${options[@]}"
  ranks=(0)
  [ $job = one ] || ranks=(0 6)
  for rank in "${ranks[@]}"; do
    parts $job "$rank"
    passes $job
    images $job 20
    waits $job
    events $job
    launches $job
    lanes $job "$rank"
  done
done
proved 'flows, images, waits and events in traces link what belongs together'
finish

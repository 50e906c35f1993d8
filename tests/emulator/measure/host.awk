# The threads: gaps, calls, operators. Reads the records twice, at first for what comes after the threads. Prints a row for every device
# task, with what the host knows of it:
# rank start end stream id kind name occupancy bytes step called quiet operator shapes offset
#   called: when it could start (empty: launched before the recording); quiet: 1 when nothing told the stream to wait since its previous
#   task; offset: of the device's clock.
pass == 1 {
  if ($1 == "L") lane_kind[$2, $3] = $4
  if ($1 == "D") arrives_by[$3] = $4
  if ($1 == "D" && $4 == "handover") put("01d", "hand-over between threads", "us", $5 / 1000)
  if ($1 == "R") { offset[$2] = $3; drift[$2] = $4; device_offset[$2] = $5 }
  if ($1 == "T" && lane_kind[$3, $4] == "thread") { call_start[$2] = $7; if ($5 == "launch") launches[$3, $4] = 1 }
  if ($1 == "T" && lane_kind[$3, $4] == "stream") full_queue($12, $3 FS $4, $7 + device_offset[$3])
  next
}
$1 == "O" { operator[$2] = $3; shapes[$2] = $4 }
$1 == "P" { step_span[$2 FS $3] = $4 }
$1 == "T" && lane_kind[$3, $4] == "thread" { host_task($2, $3 FS $4, $7, $8, $9, $3 FS $10) }
$1 == "T" && lane_kind[$3, $4] == "stream" { device_task($12) }
END {
  if (gaps + covered) {
    put("01c", "consecutive host events without a gap", "%", 100 * covered / (gaps + covered))
    put("01c", "uncovered host time in gaps of 1 ms or more", "%", gap_time ? 100 * long_gap_time / gap_time : 0)
  }
  launch_cost()
  repeated_segments()
}

# A stream takes about a thousand tasks; behind them a call waits for one to start.
function full_queue(call, stream, start) {
  start_of[stream, ++tasks[stream]] = start
  if (call == "") return
  launched[call]++
  if (tasks[stream] > 1000 && start_of[stream, tasks[stream] - 1000] > call_start[call]) full[call] = 1
}

function host_task(id, thread, start, dur, lag, step,   waits) {
  if ($14 == "wait") stream_waits[thread]++
  waits_before[id] = stream_waits[thread] + 0
  caller[id] = thread
  call_end[id] = start + dur
  op_of[id] = $11
  if (thread == thread_before && ($3, $4) in launches && arrives_by[id] != "handover") gap(lag)
  else lag = 0
  thread_before = thread

  waits = ($15 != "" && $14 != "wait") || arrives_by[id] == "host_wait"
  if ($5 == "op") { if (dur > 0) put("04a", "operator segment", "us", dur / 1000) }
  else if (waits) put("02c", "wait in " $6, "us", dur / 1000)
  else if ($13 == "") put(full[id] ? "02b" : "02a", "call " $6 (full[id] ? " on a full queue" : ""), "us", dur / 1000)
  if ($10 == "") return
  if (id in launched) launches_in[step] += launched[id]
  if (waits || full[id]) return
  work_in[step] += dur + (lag < 1000000 ? lag : 0)
  if (dur > 0 && $13 == "") segment(thread FS $5 FS $6, step, dur)
}

function gap(lag) {
  if (lag == 0) { covered++; return }
  gaps++
  gap_time += lag
  if (lag >= 1000000) long_gap_time += lag
  put(lag < 1000000 ? "01a" : "01b", "host gap " (lag < 1000000 ? "below 1 ms" : "of 1 ms or more"), "us", lag / 1000)
}

function device_task(call,   stream, start, quiet) {
  stream = $3 FS $4
  start = $7 + device_offset[$3]
  quiet = call != "" && caller[call] == caller_before[stream] && waits_before[call] == waits_then[stream]
  caller_before[stream] = caller[call]
  waits_then[stream] = waits_before[call]
  print $3, start, start + $8, $4, $2, $5, $6, $17, $16, $10,
    call == "" ? "" : $18 == "start" ? call_start[call] : call_end[call], quiet ? 1 : 0, operator[op_of[call]], shapes[op_of[call]],
    int(offset[$3] + drift[$3] * start / 1e9)
}

function launch_cost(   step) {
  for (step in launches_in) if (launches_in[step] >= 20) {
    if (step in step_span) put("03a", "step span per launch", "us", step_span[step] / launches_in[step] / 1000)
    put("03b", "host work per launch", "us", work_in[step] / launches_in[step] / 1000)
  }
}

function segment(name, step, dur) {
  segments++
  segment_dur[segments] = dur
  segment_thread[segments] = thread_before
  segment_name[segments] = name
  segment_step[segments] = step
  segment_nth[segments] = ++times[name, step]
}

# Segments at one place: the n-th of its name in steps that have as many.
function repeated_segments(   i, c, place, list, typical, count, member, median_of, row_dur, row_median, row) {
  for (i = 1; i <= segments; i++) {
    place = segment_name[i] FS times[segment_name[i], segment_step[i]] FS segment_nth[i]
    member[place, ++count[place]] = i
  }
  for (place in count) if (count[place] >= 3) {
    for (c = 1; c <= count[place]; c++) list[c] = segment_dur[member[place, c]]
    typical = median(list, count[place])
    for (c = 1; c <= count[place]; c++) median_of[member[place, c]] = typical
  }
  for (i = 1; i <= segments; i++) if (i in median_of) {
    put("04b", "host segment / median over steps" (median_of[i] < 2000 ? ", below 2 us" : ""), "ratio", segment_dur[i] / median_of[i])
    if (segment_thread[i] != segment_thread[i - 1]) row = row_dur = row_median = 0
    row_dur += segment_dur[i]
    row_median += median_of[i]
    if (++row == 200) {
      put("04c", "200 host segments in a row / their medians", "ratio", row_dur / row_median)
      row = row_dur = row_median = 0
    }
  }
}

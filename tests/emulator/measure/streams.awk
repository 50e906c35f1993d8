# The streams: what stands between a task's start and what it waited for. Reads device rows by rank and start; prints them with a last
# column, the task's company: 0 alone, 1 communication ran for a part of it, 2 all along.
$1 != rank {
  rank = $1
  streams = 0
  split("", known)
}
{
  start = $2
  end = $3
  stream = rank FS $4
  called = $11
  communication = $6 == "collective" || $6 == "p2p"
  what = communication ? "communication" : $6 == "copy" || $6 == "memset" ? "copy or memset" : "kernel"
  if (!(stream in known)) { known[stream] = 1; name[++streams] = stream; last_end[stream] = end_before[stream] = "" }
  before = last_end[stream]
  if (before != "" && called != "") {
    if ($12 == 1) delays()
    else event_latency(before > called ? before : called)
  }
  row[++rows] = $0
  company[rows] = communication ? "" : met()
  if (communication) meet()
  end_before[stream] = before
  last_end[stream] = end
  last_row[stream] = rows
  communicates[stream] = communication
}
END {
  if (pairs) put("06a", "overlaps among back-to-back kernels", "%", 100 * overlaps / pairs)
  for (i = 1; i <= rows; i++) print row[i], company[i]
}

# Of a task that waited for nothing but its call and its stream.
function delays() {
  if (before <= called) put("05a", "launch delay on an idle stream, " what, "us", (start - called) / 1000)
  if (communication || called >= before - 10000) return
  if (what == "kernel") pairs++
  if (start >= before) put("05b", "back-to-back gap, " what, "us", (start - before) / 1000)
  else if (what == "kernel") { overlaps++; put("06b", "overlap of back-to-back kernels", "us", (before - start) / 1000) }
}

function event_latency(bound,   i, ended, awaited) {
  awaited = bound + 5000
  for (i = 1; i <= streams; i++) if (name[i] != stream) {
    ended = last_end[name[i]] <= start ? last_end[name[i]] : end_before[name[i]]
    if (ended != "" && ended <= start && ended > awaited) awaited = ended
  }
  if (awaited > bound + 5000 && start - awaited < 50000) put("07", "event latency", "us", (start - awaited) / 1000)
}

# The communication that runs when this task starts.
function met(   i, until) {
  until = start
  for (i = 1; i <= streams; i++) if (communicates[name[i]] && last_end[name[i]] > until) until = last_end[name[i]]
  return until >= end ? 2 : until > start ? 1 : 0
}

# The tasks that run when this communication starts.
function meet(   i) {
  for (i = 1; i <= streams; i++)
    if (last_end[name[i]] > start && company[last_row[name[i]]] == "0") company[last_row[name[i]]] = 1
}

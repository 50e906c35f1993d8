#!/usr/bin/env bash
# What can happen at all, in traces whose clocks are right: streams run in order, nothing runs before its launch or before what it waits for,
# members of a collective meet and part, every schedule's passes are executed in its own legal order.
. "$(dirname "$0")/lib.sh"

# Figures of irregularities.c: the least gap on a busy stream, how much earlier than its call's end a kernel may be seen, what a
# member may end later than the transfer, from where on a sender waits for its receiver.
least_gap=900 early=800 late_start=1000 late_share=0.7 eager=65536

# machine JOB LATENCY: 1 if the job has latencies, 0 if it has none.
machine() {
  local gap=$((least_gap * $2)) before=$((early * $2))
  holds "$1: a stream's tasks are in the order of their launches, one behind another" '
    { s = $1 OFS $3 } (s in end) { seen++; if ($4 < end[s] + '$gap') print s, "correlation", $6, "starts at", $4, "before", end[s] } { end[s] = $5 }' "$1/work"
  holds "$1: no task lasts less than nothing, none comes twice" '
    { seen++ } $5 < $4 { print $1, $6, "ends before it starts" } ($1, $6) in was { print $1, $6, "comes twice" } { was[$1, $6] }' "$1/work"
  holds "$1: no task starts before its launch" '
    $7 >= 0 { seen++; if ($4 < $8 - '$before' || $4 < $7) print $1, $6, "starts at", $4, "launched at", $7, "to", $8 }' "$1/work"
  holds "$1: every launch has its task" '
    FILENAME ~ /work$/ { task[$1, $6] = 1; next }
    $3 ~ /^(cudaLaunchKernel|cudaLaunchKernelExC|cuLaunchKernel|cuLaunchKernelEx|cudaMemcpyAsync|cudaMemsetAsync)$/ { seen++; if (!(($1, $7) in task)) print $1, $3, $7 }' "$1/work" "$1/rows"
  holds "$1: what a thread calls lies within what calls it" '
    { d = 0; split("", end) } { t = $1 OFS $4 } t != last { depth = 0; last = t }
    { seen++; while (depth > 0 && stack[depth] <= $5 && !($6 <= stack[depth])) depth--
      if (depth > 0 && $6 > stack[depth]) print t, $3, $5, $6, "crosses the end of its caller at", stack[depth]
      stack[++depth] = $6 }' <(grep -P '\t(cpu_op|user_annotation|cuda_runtime|cuda_driver)\t' "$1/rows" | sort -t$'\t' -k1,1n -k4,4n -k5,5n -k6,6nr)
  holds "$1: what waits for another stream starts behind it" '
    FILENAME ~ /work$/ { start[$1, $6] = $4; end[$1, $6] = $5; stream[$1, $6] = $3; next }
    { seen++ } start[$1, $3] < end[$1, $2] { print $1, $2, "ends at", end[$1, $2], $3, "starts at", start[$1, $3] }
    stream[$1, $2] == stream[$1, $3] || !(($1, $2) in start) || !(($1, $3) in start) { print $1, $2, $3, "is no edge between streams" }' "$1/work" "$1/edges"
  holds "$1: a thread that waits for a stream or the device goes on behind all that was launched there" '
    FILENAME ~ /work$/ { n[$1]++; at[$1, n[$1]] = $6; stream[$1, n[$1]] = $3; end[$1, n[$1]] = $5; next }
    $2 == "cuda_sync" && $3 == "Stream Sync" { waits[$1, $7] = $4 - 1000000; next }
    $3 == "cudaDeviceSynchronize" { waits[$1, $7] = "all" }
    $3 == "cudaDeviceSynchronize" || $3 == "cudaStreamSynchronize" { call[++calls] = $0 }
    END { for (i = 1; i <= calls; i++) {
        split(call[i], c, FS); of = waits[c[1], c[7]]; seen++
        if (of == "") print c[1], c[3], c[7], "waits for nothing"
        for (k = 1; k <= n[c[1]] && at[c[1], k] < c[7]; k++)
          if ((of == "all" || of == stream[c[1], k]) && end[c[1], k] > c[6]) print c[1], c[3], "ends at", c[6], "before", at[c[1], k], "at", end[c[1], k]
      } }' "$1/work" "$1/rows"
}

# bindings JOB LEAST: without latencies a task is ready when its call is over, the task before it in its stream has ended, and so have all that
# it waits for; a wait binds if the others would have let it be ready earlier, whether or not SMs are free then. At least so many bind
# although their task starts later.
bindings() {
  holds "$1: the waits that bind are those that decide when a task is ready" '
    FILENAME ~ /work$/ { s = $1 OFS $3; if ($2 > first && $8 >= 0) { own[$1, $6] = $8 > free[s] ? $8 : free[s]; start[$1, $6] = $4 } end[$1, $6] = free[s] = $5; next }
    !(($1, $3) in own) { next }
    { row[++rows] = $0; e = end[$1, $2]; if (e > ready[$1, $3]) ready[$1, $3] = e }
    END {
      for (i = 1; i <= rows; i++) {
        split(row[i], r, FS); at = r[1] SUBSEP r[3]; e = end[r[1], r[2]]; seen++
        binds = e == ready[at] && own[at] < e
        bound += binds; late += binds && start[at] > e; loose += !binds
        if (binds != r[4]) print r[1], r[2], "ends at", e, "for", r[3], "which could start at", own[at], "and starts at", start[at], "binds:", r[4]
      }
      if (late < least || !bound || !loose) print late + 0, "of", bound + 0, "that bind start late", loose + 0, "do not bind"
    }' first="$3" least="$2" "$1/work" "$1/edges"
}

# members JOB SKEW
members() {
  holds "$1: a transfer begins when its last member has started; members end together" '
    { seen++; n = split($11, starts, ","); split($12, ends, ","); last = 0
      for (i = 1; i <= n; i++) {
        if (starts[i] > last) last = starts[i]
        early = $2 == "send_receive" && i == 1 && $5 < '$eager'
        if (!early && (ends[i] < $9 || ends[i] > $9 + '"$2"' * ('$late_start' + '$late_share' * ($9 - $8)) + 1)) print $1, $2, $3, "ends at", ends[i], "the transfer at", $9
      }
      if ($8 != last) print $1, $2, $3, "begins at", $8, "not at", last }' "$1/collectives"
  holds "$1: the kernels of collectives are those of the traces, all of them" '
    FILENAME ~ /work$/ { start[$1, $6] = $4; end[$1, $6] = $5; if ($13 ~ /^nccl/) missed[$1, $6]; next }
    { n = split($10, ranks, ","); split($11, starts, ","); split($12, ends, ","); split($13, tasks, ",")
      for (i = 1; i <= n; i++) {
        t = ranks[i] SUBSEP tasks[i]
        if (!(t in start)) continue
        seen++
        delete missed[t]
        if (start[t] != starts[i] || end[t] < ends[i] || ($2 != "send_receive" && end[t] != ends[i])) print $1, $2, $3, "on rank", ranks[i], "from", starts[i], "to", ends[i], "not", start[t], end[t]
        if (end[t] > latest[t]) latest[t] = ends[i] > latest[t] ? ends[i] : latest[t]
      } }
    END { for (t in missed) print t, "belongs to no collective"; for (t in latest) if (latest[t] != end[t]) print t, "ends at", end[t], "its last part at", latest[t] }' "$1/work" "$1/collectives"
  holds "$1: a communicator's collectives come in one order" '
    $2 != "send_receive" { seen++; if ($1 in sequence && ($3 != sequence[$1] + 1 || $8 < begin[$1])) print $1, $2, $3, "comes behind", sequence[$1]; sequence[$1] = $3; begin[$1] = $8 }' <(sort -t$'\t' -k1,1 -k3,3n "$1/collectives")
}

# The passes that a stage executed, in order, one a line: rank, step, stage, virtual stage, phase (F B W), micro-batch, start, end. Of
# its layers only; a pass that another interrupts comes twice.
# passes JOB
passes() {
  awk -F'\t' -v OFS='\t' -v CONVFMT=%.0f -v OFMT=%.0f -v width=$((tp * dp)) -v layers=$((layers / (pp * vp))) '
    $2 >= 0 && $3 == 7 && $11 >= 0 && $10 >= 0 {
      pass = $1 OFS $2 OFS int($1 / width) OFS int($11 / layers) OFS toupper(substr($9, 1, 1)) OFS $10
      if (pass != last) { if (last != "") print last, start, end; start = $4; last = pass }
      end = $5
    }
    END { print last, start, end }' <(sort -t$'\t' -k1,1n -k2,2n -k4,4n -k6,6n "$1/work")
}

# What the schedules of Megatron-LM and of the zero-bubble paper prescribe for a stage, one pass a line: phase, virtual stage, micro-batch.
# order STAGE
order() {
  awk -v schedule="$schedule" -v s="$1" -v p="$pp" -v v="$vp" -v m="$micro_batches" '
    function forward(k) { print "F", s + p * (int(k / p) % v), int(k / (p * v)) * p + k % p }
    function backward(k) { print "B", s + p * (v - 1 - int(k / p) % v), int(k / (p * v)) * p + k % p }
    BEGIN {
      all = m * v
      ahead = schedule == "gpipe" ? all : schedule == "interleaved" ? 2 * (p - s - 1) + (v - 1) * p : p - s - 1
      if (ahead > all) ahead = all
      delay = s
      if (schedule == "gpipe" || v == 1) { for (k = 0; k < ahead; k++) print "F", s, k } else for (k = 0; k < ahead; k++) forward(k)
      for (k = 0; k < all; k++) {
        if (ahead + k < all) { if (v == 1) print "F", s, ahead + k; else forward(ahead + k) }
        if (v == 1) print "B", s, k; else backward(k)
        if (schedule == "zb-h1" && k >= delay) print "W", s, k - delay
      }
      for (k = all > delay ? all - delay : 0; schedule == "zb-h1" && k < all; k++) print "W", s, k
    }'
}

# schedule JOB OPTION...: run and check; the variables tp pp dp vp layers micro_batches schedule say what.
schedule() {
  local job=$1 stage rank step
  shift
  emulate "$job" --without clocks --tp "$tp" --pp "$pp" --dp "$dp" --vp "$vp" --layers "$layers" --micro-batches "$micro_batches" --schedule "$schedule" \
    --hidden 1024 --seq 1024 --vocab 8192 --steps 2 --record annotations "$@"
  tables "$job"
  passes "$job" >"$job/passes"
  for ((stage = 0; stage < pp; stage++)); do order "$stage" >"$job/order$stage"; done
  for ((rank = 0; rank < tp * pp * dp; rank++)); do
    for step in 2 3; do
      awk -F'\t' -v r="$rank" -v s="$step" '$1 == r && $2 == s { print $5, $4, $6 }' "$job/passes" >executed
      same "$job/order$((rank / (tp * dp)))" executed "$job: rank $rank executes step $step in another order"
    done
  done
  holds "$job: passes wait for those of the stages before them" '
    { at = $1 % width OFS $2 OFS $6; start[at, $5, $4] = $7; end[at, $5, $4] = $8; place[NR] = at SUBSEP $5 SUBSEP $4 }
    END {
      for (i = 1; i <= NR; i++) {
        split(place[i], k, SUBSEP)
        if (k[2] == "F") need = k[1] SUBSEP "F" SUBSEP k[3] - 1
        if (k[2] == "B") need = k[3] == stages - 1 ? k[1] SUBSEP "F" SUBSEP k[3] : k[1] SUBSEP "B" SUBSEP k[3] + 1
        if (k[2] == "W") need = k[1] SUBSEP "B" SUBSEP k[3]
        if (k[2] == "F" && k[3] == 0) continue
        seen++
        if (!(need in end) || start[place[i]] < end[need]) print k[2], "of virtual stage", k[3], k[1], "starts at", start[place[i]], "before", end[need]
      } }' width=$((tp * dp)) stages=$((pp * vp)) "$job/passes"
  holds "$job: no stage holds more micro-batches than the schedule allows" '
    { at = $1 OFS $2; seen++
      if ($5 == "F") held[at]++
      if ($5 == (schedule == "zb-h1" ? "W" : "B")) held[at]--
      most = schedule == "gpipe" ? m : schedule == "interleaved" ? 2 * (p - $3 - 1) + (v - 1) * p + 1 : schedule == "zb-h1" ? p : p - $3
      if (held[at] > most) print at, "holds", held[at], "of", most
      if (held[at] > reached[$3]) reached[$3] = held[at]; least[$3] = most < m * v ? most : m * v }
    END { for (s in least) if (reached[s] != least[s]) print "stage", s, "holds", reached[s], "and may hold", least[s] }' schedule="$schedule" p="$pp" v="$vp" m="$micro_batches" "$job/passes"
  holds "$job: the optimizer runs when all gradients are there, and the next step behind it" '
    FILENAME ~ /passes$/ { at = $1 OFS $2; if (!(at in first)) first[at] = $7; if ($8 > last[at]) last[at] = $8; next }
    $9 == "optimizer" && $2 >= 0 { at = $1 OFS $2; seen++
      if ($3 == 7 && $13 ~ /Adam/ && $4 < last[at]) print at, $6, "starts at", $4, "before", last[at]
      behind = $1 OFS $2 + 1
      if (behind in first && $5 > first[behind] && $13 ~ /Adam/) print at, $6, "ends at", $5, "behind", first[behind] }' "$job/passes" "$job/work"
}

# A job with every mechanism, one without latencies and skew, and one whose sends and receives are apart.
wide=(--tp 2 --pp 2 --dp 2 --layers 2 --hidden 1024 --seq 1024 --vocab 8192 --steps 2 --record "annotations,sync")
emulate real "${wide[@]}" --without clocks
tables real
machine real 1
members real 1
emulate exact "${wide[@]}" --without clocks,latency,collective-skew --sequence-parallel on --distributed-optimizer on
tables exact
machine exact 0
members exact 0
emulate apart "${wide[@]}" --without clocks --batched-p2p off --recompute full --overlap-gradients off
tables apart
machine apart 1
members apart 1

emulate contexts --tp 2 --cp 2 --dp 2 --layers 2 --hidden 1024 --seq 1024 --vocab 8192 --steps 2 --record "annotations,sync" --without clocks
tables contexts
machine contexts 1
members contexts 1

emulate bound --tp 2 --dp 2 --layers 2 --hidden 4096 --seq 2048 --vocab 8192 --micro-batches 2 --sequence-parallel on --bucket-mb 4 \
  --only host,host-jitter,kernel-jitter,contention,free-sms
tables bound
bindings bound 20 2
emulate roomy "${wide[@]}" --steps 3 --only host,host-jitter,kernel-jitter,contention
tables roomy
bindings roomy 0 2

tp=1 dp=1 vp=1 layers=4 micro_batches=6
for pp in 2 4; do
  for schedule in 1f1b gpipe zb-h1; do schedule "$schedule-$pp"; done
done
schedule=1f1b tp=2 pp=2 dp=2 micro_batches=1
schedule one-micro-batch --recompute full
schedule=zb-h1 tp=1 pp=4 dp=1 micro_batches=2
schedule few-micro-batches
schedule few-micro-batches-again --recompute selective
schedule=interleaved pp=2 vp=2 micro_batches=4
schedule interleaved --batched-p2p off
schedule=interleaved pp=2 vp=3 layers=6 micro_batches=8
schedule interleaved-3 --recompute full
schedule=interleaved pp=4 vp=2 layers=8 micro_batches=8
schedule interleaved-4

# Buckets of gradients are reduced as the last backward pass makes them, or behind it; never before. The groups of two ranks that are a
# tensor's width apart are replicas of one another.
gradients() {
  emulate "$1" "${wide[@]}" --without clocks --bucket-mb 4 --overlap-gradients "$2"
  tables "$1"
  holds "$1: gradients are reduced when they are made" '
    FILENAME ~ /work$/ {
      at = $1 OFS $2
      if ($9 == "backward" && $3 == 7 && $2 >= 0 && $10 >= batch[at]) { if ($10 > batch[at] || !(at in start)) start[at] = $4; batch[at] = $10; end[at] = $5 }
      next
    }
    { split($10, r, ","); split($11, s, ","); at = r[1] OFS $4 }
    $2 == "all_reduce" && r[2] - r[1] == 2 && r[3] == "" && $5 > 4 && at in start {
      seen++
      if (s[1] < start[at]) print "reduced at", s[1], "before", start[at]
      if (s[1] < end[at]) within++
    }
    END { if ((within > 0) != on) print within + 0, "reductions begin within the last backward pass" }' "$1/work" on="$3" "$1/collectives"
}
gradients overlapped on 1
gradients behind off 0
proved 'streams, waits, collectives and schedules keep their order'
finish

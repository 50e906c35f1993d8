#!/usr/bin/env bash
# Every mechanism shows in something that can be seen, alone too, and switched off it brings back the ideal; the ideal machine itself is what
# closed formulas say. --scale, --straggler, --slow-host, --slow-link and --slow-data change what they name, by what they say, and nothing else.
. "$(dirname "$0")/lib.sh"
small=(--hidden 1024 --seq 1024 --vocab 8192 --steps 2 --warmup 1)
one=("${small[@]}" --layers 3 --micro-batches 3)
grid=("${small[@]}" --layers 2 --micro-batches 3 --steps 1 --tp 2 --pp 2 --dp 2 --bucket-mb 10 --sequence-parallel on)

# run JOB OPTION...
run() {
  local job=$1
  shift
  emulate "$job" --record annotations "$@"
  tables "$job"
}

# ---- the ideal machine ----

run one "${one[@]}" --ideal
holds 'one ideal rank does one task after the other: a step lasts as long as they all' '
  FILENAME ~ /steps$/ { if ($1 == "profiled") { n++; start[n] = $4; end[n] = $5 } next }
  $3 == 7 { for (i = 1; i <= n; i++) if (start[i] < $5 && $5 <= end[i]) sum[i] += $5 - $4 }
  END { for (i = 1; i <= n; i++) { seen++; if (sum[i] != end[i] - start[i]) print "step", i, "takes", end[i] - start[i], "its tasks", sum[i] } }' one/steps one/work
jq -r '.steps[].profiled | [.executed_flops / (.end - .start)] | @tsv' one/truth.json >rate
holds 'no faster than matrix products can be' '{ seen++ } !($1 > 0 && $1 < 0.803 * 989000)' rate
holds 'ideal steps are all alike' '{ seen++; if (NR > 1 && $5 - $4 != last) print; last = $5 - $4 }' one/steps
holds 'an ideal host takes no time' '$2 ~ /^(cpu_op|cuda_runtime|cuda_driver)$/ && $3 !~ /Synchronize$|^cudaMemcpyAsync/ && $3 ~ /^cuda|^cuL/ { seen++; if ($5 != $6) print $3, $6 - $5 }' one/rows

# NCCL's own cost model for two H100 of one node: 24 channels of 15 bytes a ns; latencies in us of the protocols LL and SIMPLE, base and one
# step within the node. A pair passes one hop at 88 % of NVLink.
# wire JOB KINDS: so many kinds of transfers at least
wire() {
  holds "$1: transfers take what NCCL's cost model says" '
    function round(x) { return int(x + 0.5) }
    { n = split($10, ranks, ","); bytes = $5; seen++
      steps = $2 == "all_reduce" ? 2 * (n - 1) : n - 1
      if ($2 == "broadcast") steps = n
      hops = $2 == "broadcast" ? 1 : steps
      quick = 6600 + 600 * hops; slow = 8400 + 3400 * hops; ll = 141 * n / steps; simple = 360 * n / steps
      time = quick + bytes / ll < slow + bytes / simple ? quick + round(bytes / ll) : slow + round(bytes / simple)
      if ($2 == "send_receive") time = bytes <= 16384 ? 6600 + 600 + round(bytes / 198) : 8400 + 3400 + round(bytes / 396)
      if ($9 - $8 != time) print $2, "of", bytes, "bytes takes", $9 - $8, "not", time; kinds[$2] }
    END { for (k in kinds) count++; if (count < '"$2"') print "only", count, "kinds" }' <(awk -F'\t' '{ n = split($10, r, ",") } n <= 2' "$1/collectives")
}
run ideal "${grid[@]}" --ideal --distributed-optimizer on
wire ideal 5
run far "${grid[@]}" --layers 4 --tp 1 --dp 1 --pp 4 --ideal --sequence-parallel off --node-size 1 --batched-p2p off
holds 'between nodes too' '$2 == "send_receive" { seen++; time = 8400 + 14000 + 5000 + int($5 / 50 + 0.5); if ($9 - $8 != time) print $5, $9 - $8, time }' far/collectives
run replicas "${one[@]}" --dp 2 --ideal --overlap-gradients off --bucket-mb 1000
wire replicas 1
holds 'replicas take what their kernels and the transfers of their gradients take' '
  FILENAME ~ /steps$/ { if ($1 == "profiled") { n++; rank[n] = $3; start[n] = $4; end[n] = $5 } next }
  FILENAME ~ /work$/ { if ($3 == 7) for (i = 1; i <= n; i++) if ($1 == rank[i] && start[i] < $5 && $5 <= end[i]) sum[i] += $5 - $4; next }
  { for (i = 1; i <= n; i++) if (start[i] < $9 && $9 <= end[i]) { sum[i] += $9 - $8; moved[i]++ } }
  END { for (i = 1; i <= n; i++) { seen++; if (sum[i] != end[i] - start[i] || moved[i] < 1) print "rank", rank[i], "takes", end[i] - start[i], "its tasks and", moved[i] + 0, "transfers", sum[i] } }' replicas/steps replicas/work replicas/collectives

# ---- each mechanism alone and each left out ----

# different TEXT, alike TEXT FILE: its lines are more than one different, all the same.
different() { [ "$(sort -u "$2" | wc -l)" -gt 1 ] || fail "$1: $(sort -u "$2" | head -n 1 | cut -c -100)"; }
alike() { [ "$(sort -u "$2" | wc -l)" -eq 1 ] || fail "$1: $(sort "$2" | uniq -c | sort -rn | head -n 4 | cut -c -100 | tr '\n' ';')"; }

# Host work, and how irregular it is: the calls that launch kernels.
launches() { awk -F'\t' '$3 == "cudaLaunchKernel" { print $6 - $5 }' "$1/rows" >launches; }
run host "${one[@]}" --only host
launches host
alike 'host: regular launches take one time' launches
grep -qx 0 launches && fail 'host: launches take no time'
run x "${one[@]}" --only host,host-jitter
launches x
different 'host-jitter: launches take no different times' launches
run x "${one[@]}" --without host,clocks
launches x
alike 'without host: launches take different times' launches
grep -qx 0 launches || fail 'without host: launches take time'
run x "${one[@]}" --without host-jitter,clocks
launches x
alike 'without host-jitter: launches take different times' launches

# Latency: of what starts behind a task of its stream that was still running when it had been launched.
gaps() {
  awk -F'\t' '{ s = $1 OFS $3 } s in end && $8 >= 0 && $8 < end[s] - 5000 && $3 == 7 && $13 !~ /^nccl/ { print $4 - end[s] } { end[s] = $5 }' "$1/work" >gaps
  check "$1: no task follows another" [ -s gaps ]
}
gaps one
alike 'ideal: streams pause' gaps
run x "${one[@]}" --only latency
gaps x
different 'latency: streams do not pause' gaps
holds 'latency: streams pause by 0.9 to 3.5 us' '{ seen++ } $1 < 900 || $1 > 3500' gaps
run x "${one[@]}" --without latency,clocks --slow-host 0=0.1
gaps x
alike 'without latency: streams pause' gaps

# against JOB OTHER PROGRAM: the device rows of two runs of one program side by side; o is the other's duration, d the job's.
against() { # JOB OTHER TEXT PROGRAM
  holds "$3" 'FILENAME == ARGV[1] { other[$1, $6] = $5 - $4; name[$1, $6] = $13; from[$1, $6] = $4; next }
    !(($1, $6) in other) || $2 < 0 { next }
    { d = $5 - $4; o = other[$1, $6]; o_name = name[$1, $6]; nccl = $13 ~ /^nccl/; seen++ }
    '"$4" "$2/work" "$1/work"
}
# The times that one kernel of a layer takes in one micro-batch and another, from the second on.
same_kernels() { awk -F'\t' -v kinds="$2" '
  $2 >= 0 && $10 > 0 && $11 >= 0 && $13 !~ /^nccl/ && $13 ~ kinds { at = $2 OFS $9 OFS $10 OFS $11; i = ++n[at]; print $9, $11, i, $13, $5 - $4 }' OFS='\t' "$1/work" |
  sort | uniq | cut -f 1-4 | uniq -d >twice; }
same_kernels one .
[ ! -s twice ] || fail "ideal: a kernel takes different times: $(head -n 2 twice)"
run x "${one[@]}" --only kernel-jitter
same_kernels x .
[ -s twice ] || fail 'kernel-jitter: every kernel takes one time'
against x one 'kernel-jitter: kernels are the same, and by less than twice longer or shorter' '$13 != o_name || (o > 2000 && (d > 2 * o || d < o / 2)) { print $6, o_name, o, $13, d }'
run x "${one[@]}" --without kernel-jitter,clocks
same_kernels x '^(void at|triton)'
[ ! -s twice ] || fail "without kernel-jitter: a kernel takes different times: $(head -n 2 twice)"
run x "${one[@]}" --only kernel-jitter --jitter 0
against x one 'jitter 0 is none' 'd != o { print $6, o, d }'

# Variety: the names of a layer's kernels.
names() { # by layer, in one line each
  awk -F'\t' '$2 >= 0 && $10 == 1 && $11 >= 0 { line[$11] = line[$11] " | " $13 } END { for (l in line) print line[l] }' "$1/work" >names
  check "$1: several layers" [ "$(wc -l <names)" -ge 3 ]
}
names one
alike 'ideal: layers run different kernels' names
run x "${one[@]}" --layers 6 --only variety
names x
different 'variety: all layers run the same kernels' names
run x "${one[@]}" --without variety
names x
alike 'without variety: layers run different kernels' names

# Waves: matrix products take longer, by less than one wave of several; nothing else does.
run waves "${one[@]}" --only waves
against waves one 'waves: matrix products take whole waves' '
  $13 != o_name || d < o || (d > o && $13 !~ /nvjet|gemm|cutlass|flash|cudnn/) { print $6, o_name, o, $13, d } d > o { longer++ } END { if (!longer) print "none takes longer" }'
run x "${one[@]}" --without waves,variety,kernel-jitter,throttle,clocks
against x one 'without waves: kernels take what they take on an ideal machine' 'd - o > 1 || o - d > 1 { print $6, o_name, o, $13, d }'

# Launch queue: how many launches of a stream have begun and not yet run.
queue() {
  awk -F'\t' '$7 >= 0 && $3 == 7 { print $8, 1; print $4, -1 }' "$1/work" | sort -n -k1,1 -k2,2n | awk '{ n += $2; if (n > most) most = n } END { print most }'
}
waiting=(--layers 3 --micro-batches 3 --hidden 4096 --seq 2048 --steps 2 --warmup 1)
run x "${waiting[@]}" --only host,launch-queue --queue-depth 16
[ "$(queue x)" -eq 16 ] || fail "launch-queue: $(queue x) launches wait where 16 may"
run x "${waiting[@]}" --only host --queue-depth 16
[ "$(queue x)" -gt 100 ] || fail "without launch-queue: only $(queue x) launches wait"

# Contention of 0.25 and 0.1: beside a transfer a kernel takes a quarter longer; communication kernels keep an SM a block, also while they wait, from matrix
# products and attention, at most half of them; a transfer beside kernels on all sides takes a tenth longer.
run ideal "${grid[@]}" --ideal
run x "${grid[@]}" --only contention --contention 0.25,0.1
awk -F'\t' -v OFS='\t' 'FILENAME ~ /work$/ { if ($13 ~ /^nccl/) print $1, $4, $5, $14; next }
  { n = split($10, r, ","); for (i = 1; i <= n; i++) print r[i], $8, $9, 0 }' x/work x/collectives >beside
holds 'contention: kernels beside communication take longer by what it takes from them' '
  FILENAME ~ /beside$/ { n++; rank[n] = $1; from[n] = $2; to[n] = $3; blocks[n] = $4; next }
  FILENAME ~ /^ideal/ { other[$1, $6] = $5 - $4; next }
  $2 < 0 || $13 ~ /^(nccl|Mem)/ || !(($1, $6) in other) || NR % 5 { next }
  { d = $5 - $4; o = other[$1, $6]; changes = transfers = held = 0; seen++
    for (i = 1; i <= n; i++) if (rank[i] == $1 && from[i] < $5 && $4 < to[i]) {
      if (from[i] > $4 || to[i] < $5) changes = 1
      if (blocks[i]) held += blocks[i]; else transfers = 1
    }
    hot = $13 ~ /nvjet|gemm|cutlass|flash|cudnn/
    want = o * (transfers ? 1.25 : 1) * (hot ? 132 / (132 - (held < 66 ? held : 66)) : 1) }
  !changes && (d - want > 1 || want - d > 1) { print $6, $13, "alone", o, "beside", held, transfers, d, "not", want }
  d < o || d > want + 1 { print $6, $13, o, d, "more than", want }
  !changes && transfers { beside[hot]++ }
  END { if (!beside[0] || !beside[1]) print "no kernels beside transfers:", beside[0], beside[1] }' beside ideal/work x/work
transfers() { awk -F'\t' '{ n = split($10, r, ","); print $2, $5, n, $9 - $8 }' "$1/collectives" | sort -u | awk '{ print $1, $2, $3 }' | uniq -d >several; }
transfers ideal
[ ! -s several ] || fail "ideal: the same transfer takes different times: $(head -n 2 several)"
transfers x
[ -s several ] || fail 'contention: transfers do not suffer'

# Free SMs: what communicates starts at once when it is launched and what it waits for is over, or when a kernel that fills the device
# comes to its last wave.
delays() {
  awk -F'\t' 'FILENAME ~ /edges$/ { behind[$1, $3] = behind[$1, $3] " " $2; next }
    { end[$1, $6] = $5; s = $1 OFS $3 }
    $13 ~ /^nccl/ && $2 >= 0 && s in free {
      n = split(behind[$1, $6], from, " "); due = $8 > free[s] ? $8 : free[s]
      for (i = 1; i <= n; i++) if (end[$1, from[i]] > due) due = end[$1, from[i]]
      print $4 - due
    }
    { free[s] = $5 }' "$1/edges" "$1/work" >delays
  check "$1: nothing communicates" [ -s delays ]
}
run large "${grid[@]}" --ideal --hidden 4096
delays large
alike 'ideal: what is ready does not start' delays
run x "${grid[@]}" --only free-sms --hidden 4096
delays x
different 'free-sms: nobody waits for SMs' delays
against x large 'free-sms: kernels themselves take the same time' '!nccl && d != o { print $6, o, d }'
run x "${grid[@]}" --without free-sms,latency,clocks --hidden 4096
delays x
alike 'without free-sms: what is ready does not start' delays

# Shared links: two transfers on one link take longer; the step does.
run x "${grid[@]}" --only shared-links
transfers x
[ -s several ] || fail 'shared-links: the same transfer always takes one time'
against x ideal 'shared-links: kernels themselves take the same time' '!nccl && d != o { print $6, o, d }'
holds 'shared-links: a transfer that takes longer passes another of its ranks' '
  { n = split($10, r, ","); kind = $2 OFS $5 OFS n; time[NR] = $9 - $8; of[NR] = kind; begin[NR] = $8; end[NR] = $9; ranks[NR] = $10
    if (!(kind in least) || time[NR] < least[kind]) least[kind] = time[NR] }
  END { for (i = 1; i <= NR; i++) if (time[i] > least[of[i]] + 1) {
      seen++; n = split(ranks[i], r, ","); met = 0
      for (k = 1; k <= NR && !met; k++) if (k != i && begin[k] < end[i] && begin[i] < end[k]) for (j = 1; j <= n; j++) if (index("," ranks[k] ",", "," r[j] ",")) met = 1
      if (!met) print of[i], "takes", time[i], "alone"
    } }' x/collectives
step() { true_steps "$1" | awk '{ sum += $2 } END { printf "%.0f\n", sum }'; }
[ "$(step x)" -gt "$(step ideal)" ] || fail "shared-links: the steps take $(step x), $(step ideal) without"
run x "${grid[@]}" --without shared-links,contention,kernel-jitter
transfers x
[ ! -s several ] || fail "without shared-links: the same transfer takes different times: $(head -n 2 several)"

# Throttling: after long stretches of matrix products clocks fall, by 4 % at most; the step takes longer.
hot=(--layers 2 --micro-batches 3 --hidden 8192 --seq 4096 --steps 2 --warmup 1)
run cool "${hot[@]}" --ideal
run x "${hot[@]}" --only throttle
against x cool 'throttle: matrix products and attention take longer, nothing else does' '
  d < o || d > 1.04 * o + 1 || (d != o && $13 !~ /nvjet|gemm|cutlass|flash|cudnn/) { print $6, o_name, o, d } d > o { longer++ } END { if (!longer) print "none takes longer" }'
[ "$(step x)" -gt "$(step cool)" ] || fail "throttle: the steps take $(step x), $(step cool) without"
run x "${hot[@]}" --without throttle,kernel-jitter,variety,waves,clocks
against x cool 'without throttle: kernels take what they take on an ideal machine' 'd - o > 1 || o - d > 1 { print $6, o_name, o, d }'

# Skew: members end with the transfer, or up to a moment behind it.
skews() { awk -F'\t' '$2 != "send_receive" { n = split($12, e, ","); for (i = 1; i <= n; i++) print e[i] - $9 }' "$1/collectives" >skews; }
skews ideal
alike 'ideal: members of a collective do not end together' skews
run x "${grid[@]}" --only collective-skew
skews x
different 'collective-skew: members end together' skews
run x "${grid[@]}" --without collective-skew,clocks
skews x
alike 'without collective-skew: members of a collective do not end together' skews
grep -qx 0 skews || fail 'without collective-skew: members end behind the transfer'

# Profiler: the recorded run's host is slower than the other's, and only then.
runs() { cmp -s <(grep ^profiled "$1/steps" | cut -f 2-) <(grep ^unprofiled "$1/steps" | cut -f 2-); }
check 'host: the recorded run is another' runs host
run x "${one[@]}" --only host,profiler
! runs x || fail 'profiler: recording costs nothing'
[ "$(jq '[.steps[] | (.profiled | .end - .start) - (.unprofiled | .end - .start)] | min > 0' x/truth.json)" = true ] || fail 'profiler: a recorded step takes less'

# Clocks: of an ideal machine they are right. truth.sh has what they do.
holds 'ideal clocks are right' '{ seen++ } $2 != 0 || $3 != 0 || $4 != 0' ideal/clocks

# ---- changes ----

# scaled WHAT NAMES [PARTS]: under --scale WHAT=2 rows of these names (and parts of the model) take twice as long, all others as long as ever.
scaled() {
  run x "${grid[@]}" --ideal --scale "$1=2"
  against x ideal "--scale $1=2 doubles what it names and nothing else" '
    nccl { next } { hit = $13 ~ /'"$2"'/ && $12 ~ /'"${3:-.}"'/; hits += hit } d != (hit ? 2 : 1) * o { print $6, $12, $13, o, d } END { if (!hits) print "nothing has that name" }'
}
scaled gemm 'nvjet|gemm|cutlass'
scaled attention 'flash|cudnn'
scaled copy '^Memcpy'
scaled memset '^Memset'
scaled device .
# The kinds that names do not tell so plainly: with those above, every device row is of one kind.
: >kinds
for kind in gemm attention elementwise norm reduction optimizer embedding copy memset; do
  emulate x "${grid[@]}" --ideal --scale $kind=2 --ranks 0,4
  tables x
  awk -F'\t' -v OFS='\t' -v kind=$kind '
    FILENAME ~ /^ideal/ { other[$1, $6] = $5 - $4; next }
    $2 < 0 || !(($1, $6) in other) || $13 ~ /^nccl/ { next }
    { o = other[$1, $6]; d = $5 - $4; print kind, $1 OFS $6, d == o ? 0 : d == 2 * o ? 1 : "not doubled", $13 }' ideal/work x/work >>kinds
done
holds 'every kernel is of one kind' '
  { seen++; if ($4 ~ /not/) print; n[$2, $3] += $4; hits[$1] += $4; name[$2, $3] = $5; kinds[$1] }
  $4 && $1 != "norm" && $5 ~ /layer_norm/ { print $1, $5 }
  $4 && $1 != "optimizer" && $5 ~ /Adam/ { print $1, $5 }
  END { for (t in n) if (n[t] != 1) print t, name[t], "is of", n[t], "kinds"; for (k in kinds) if (!hits[k]) print "nothing is of kind", k }' kinds
scaled part-head . '^head$'
scaled part-embedding . '^embedding$'
scaled part-optimizer . '^optimizer$'

# scaled_transfers WHAT OP
scaled_transfers() {
  run x "${grid[@]}" --ideal --distributed-optimizer on --scale "$1=2"
  holds "--scale $1=2 doubles what it names and nothing else" '
    { n = split($10, r, ","); kind = $2 OFS $5 OFS n; d = $9 - $8 }
    FILENAME ~ /^spread/ { time[kind] = d; next }
    { hit = $2 ~ /'"$2"'/; seen += hit; want = (hit ? 2 : 1) * time[kind] } d - want > 1 || want - d > 1 { print kind, time[kind], d }' spread/collectives x/collectives
}
run spread "${grid[@]}" --ideal --distributed-optimizer on
scaled_transfers communication .
scaled_transfers all-reduce '^all_reduce$'
scaled_transfers all-gather '^all_gather$'
scaled_transfers reduce-scatter '^reduce_scatter$'
scaled_transfers broadcast '^broadcast$'
scaled_transfers p2p '^send_receive$'

run x "${one[@]}" --only host --scale host=2
launches host
sort -u launches | awk '{ print 2 * $1 }' >twice
launches x
same twice <(sort -u launches) '--scale host=2: launches do not take twice as long'

# A straggler's kernels are slow, those of others and its copies, which are no kernels, are not; everybody waits for it.
run x "${one[@]}" --dp 2 --ideal --straggler 1=1.5
run even "${one[@]}" --dp 2 --ideal
against x even 'a straggler is slow, others are not' '!nccl { copy = $13 ~ /^Mem/; copies += copy; want = ($1 == 1 && !copy ? 1.5 : 1) * o; if (d - want > 1 || want - d > 1) print $1, $6, o, d }
  END { if (!copies) print "nothing is copied" }'
[ "$(jq '[.steps[].profiled.ranks | .[0][2] - .[0][1] == .[1][2] - .[1][1] and .[0][6] > 1000000 and .[1][6] < 10] | all' x/truth.json)" = true ] || fail 'nobody waits for the straggler'
run x "${one[@]}" --dp 2 --only host --slow-host 1=3
holds 'a slow host is slow, others are not' '$3 == "cudaLaunchKernel" { seen++; if ($6 - $5 != ($1 == 1 ? 15000 : 5000)) print $1, $6 - $5 }' x/rows

# A slow link: transfers of whoever passes it take as many times as long, and nothing else does.
slow_transfers() { # LINK AWK, true of the ranks it slows down: has(N) tells whether rank N is one of the transfer
  run x "${grid[@]}" --ideal --distributed-optimizer on --slow-link "$1=3"
  holds "--slow-link $1=3 slows down what passes it, and nothing else" '
    function has(rank) { return index("," $10 ",", "," rank ",") }
    { n = split($10, r, ","); kind = $2 OFS $5 OFS n; d = $9 - $8 }
    FILENAME ~ /^spread/ { time[kind] = d; next }
    { hit = '"$2"'; seen += hit; others += !hit; want = (hit ? 3 : 1) * time[kind] } d - want > 1 || want - d > 1 { print kind, $10, time[kind], d }
    END { if (!others) print "all transfers pass it" }' spread/collectives x/collectives
}
slow_transfers 1 'has(1)'
slow_transfers 1-3 'has(1) && has(3)'

# Data that come late: every step of the rank begins with the wait for them, however slow its host is, and takes so much longer; nothing else is
# drawn otherwise.
late=("${one[@]}" --dp 2 --only host --slow-host 1=3)
run even "${late[@]}"
run x "${late[@]}" --slow-data 1=40
holds 'the rank waits in each step for as long as was said, the others do not' '
  $3 ~ /^ProfilerStep/ { step[$1] = $5; next }
  $3 == "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__" { seen++; if ($1 != 1 || $2 != "user_annotation" || $6 - $5 != 40000000 || $5 != step[1]) print $1, $2, $5 - step[1], $6 - $5 }
  END { if (seen != 2) print seen, "waits" }' <(sort -s -t"$(printf '\t')" -k1,1n -k5,5n x/rows)
longer=$((($(step x) - $(step even)) / 2)) # the device still had the end of the step before to do
[ "$longer" -le 40000000 ] && [ "$longer" -gt 39000000 ] || fail "steps that wait 40 ms for data take $longer ns longer"
run even "${one[@]}" --dp 2 --without clocks
run x "${one[@]}" --dp 2 --without clocks --slow-data 1=40
holds 'late data change no chance of the host' '$3 != "cudaLaunchKernel" { next } FILENAME ~ /^even/ { time[$1, $7] = $6 - $5; next } { seen++ } $6 - $5 != time[$1, $7] { print $1, $7, time[$1, $7], $6 - $5 }' even/rows x/rows

# Values that the host reads: so many of each layer and micro-batch, and of each the call ends when the stream has done all before it.
run x "${one[@]}" --read-back 2 --only host,latency
holds 'each layer is read back, forward' '
  FILENAME ~ /tasks$/ { layer[$2] = $3 OFS $5; next }
  $3 ~ /^Memcpy DtoH/ { copies++; if (layer[$7] ~ /^forward/) { reads[layer[$7]]++; seen++ } }
  $3 == "cudaStreamSynchronize" { from[++syncs] = $5; to[syncs] = $6 }
  $2 == "kernel" { launched[++kernels] = $7; end[kernels] = $6 }
  $2 ~ /^cuda_/ { call[$7] = $5 }
  END {
    if (syncs != copies || seen != 36) print syncs, "waits for", copies, "copies,", seen, "of layers"
    for (l in reads) if (reads[l] != 12) print l, reads[l], "reads"
    for (i = 1; i <= syncs; i++) for (k = 1; k <= kernels; k++) if (call[launched[k]] && call[launched[k]] < from[i] && end[k] > to[i]) print "a call ends before what it waits for"
  }' x/tasks x/rows

# ---- chance ----

for job in first second; do emulate $job "${grid[@]}" --seed 7 --record all --micro-batches 2; done
emulate third "${grid[@]}" --seed 8 --record all --micro-batches 2
for file in first/*; do
  same "$file" "second/${file#*/}" 'the same seed gives other bytes'
  ! cmp -s "$file" "third/${file#*/}" || fail "$file: another seed gives the same bytes"
done
emulate x "${grid[@]}" --ideal --seed 8
truth x
same x/steps ideal/steps 'chance acts on an ideal machine'
proved 'each mechanism shows alone, and left out it is gone'
finish

#!/usr/bin/env bash
# Who waits for SMs where they have a queue, and copies that pass through their calls.
. "$(dirname "$0")/lib.sh"

# ---- a queue for SMs ----

job=(--hidden 4096 --layers 4 --micro-batches 6 --steps 2 --warmup 1 --tp 2 --dp 2 --prepare on --ranks 0 --without clocks)
emulate queue "${job[@]}" --sm-queue on
emulate tail "${job[@]}"
tables queue
tables tail
# waits JOB: device work that was ready more than 20 us before it started: stream, ready, start, kernels of the compute stream of more than 20 us
# that began between, how far before the last one's end it starts, name.
waits() {
  awk -F'\t' -v OFS='\t' -v CONVFMT=%.0f -v OFMT=%.0f '
    FILENAME ~ /tasks$/ { ready[$2] = $7; next }
    { n++; start[n] = $4; end[n] = $5; stream[n] = $3; correlation[n] = $6; name[n] = $13 }
    END { for (i = 1; i <= n; i++) {
      from = ready[correlation[i]]
      if (stream[i] == 7 || start[i] - from <= 20000) continue
      passed = 0; last = 0
      for (k = 1; k <= n; k++) if (stream[k] == 7 && end[k] - start[k] > 20000 && start[k] < start[i] && end[k] > from) { passed += start[k] >= from; if (end[k] > last) last = end[k] }
      print stream[i], from, start[i], passed, last - start[i], name[i]
    } }' "$1/tasks" "$1/work"
}
waits queue >waits
holds 'what waits starts before the last kernel ahead of it ends, or some microseconds later' '{ seen++ } $5 < -30000' waits
holds 'communication waits behind a run of kernels' '$6 ~ /^nccl/ && $4 >= 1 { seen++ }' waits
holds 'memsets and kernels of the copy stream wait, too' '$1 == 49 && $6 == "Memset (Device)" { cleared++ } $1 == 49 && $6 !~ /^Mem/ { filled++ } END { seen = 1; if (!cleared || !filled) print "memsets", cleared + 0, "kernels", filled + 0 }' waits
holds 'nothing starts before it is ready' 'FILENAME ~ /tasks$/ { ready[$2] = $7; next } { seen++; if ($4 < ready[$6]) print $6, $4, ready[$6] }' queue/tasks queue/work
holds 'without a queue memsets wait for nobody, and communication starts in the tail of the kernel that ran when it was ready' '
  $3 == 49 && $13 == "Memset (Device)" { seen++; late += $4 - $8 > 20000 } END { if (late) print late }' tail/work
jq -r '.configuration.sm_queue, .configuration.prepares_inputs' queue/truth.json | sort -u | grep -qx true || fail 'the truth does not say so'

# ---- copies that pass through their calls ----

emulate copies --pageable on --hidden 512 --seq 512 --vocab 8192 --layers 2 --micro-batches 6 --steps 4 --without clocks
emulate pinned --hidden 512 --seq 512 --vocab 8192 --layers 2 --micro-batches 6 --steps 4 --without clocks
rows copies 0 >copies.rows
holds 'copies to the device start 5 to 40 us behind the start of their call, of which some take more than a millisecond; those to the host lie in it' '
  $2 == "gpu_memcpy" { start[$7] = $5; end[$7] = $6; name[$7] = $3 }
  $3 == "cudaMemcpyAsync" && ($7 in start) {
    seen++; from = start[$7] - $5
    if (name[$7] == "Memcpy HtoD (Pageable -> Device)") { to++; long += $6 - $5 > 1e6; if (from < 5000 || from > 70000) print name[$7], from; next }
    if (name[$7] != "Memcpy DtoH (Device -> Pageable)" || from < 0 || end[$7] > $6) print name[$7], from, $6 - end[$7]
    back++ }
  END { if (long < 1 || long > to / 2 || !back) print long + 0, "of", to + 0, "take long,", back + 0, "back" }' <(sort -t "$(printf '\t')" -k2,2r copies.rows)
grep -q Pageable pinned/rank0.json && fail 'pinned copies are pageable'
grep -q Pinned copies/rank0.json && fail 'pageable copies are pinned'
proved 'SMs have a queue, and pageable copies pass through their calls'
finish

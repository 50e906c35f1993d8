#!/usr/bin/env bash
# What a trace leaves out: older forms have less of the same rows; what was launched before the recording, or is not in the sample, is missing,
# and all else is as it was; early device rows stand early by what was asked for.
. "$(dirname "$0")/lib.sh"
job=(--hidden 1024 --seq 1024 --vocab 8192 --layers 2 --micro-batches 2 --steps 2 --warmup 1 --tp 2 --record all)

for form in 2026 2024 2022 cuda; do emulate "$form" "${job[@]}" --form "$form"; done
# events JOB FILTER: its trace's rows, one in a line, without what later forms add.
events() { jq -cS '.traceEvents[] | select(.ph == "X" and .cat != "Trace") | '"$2" "$1/rank0.json" | sort; }
newest='del(.args["Seq", "Comms Id", "occupancy", "graph id", "graph node id"])'

events 2026 'select(.cat != "cuda_event") | '"$newest" >wanted
events 2024 . >got
cmp -s wanted got || fail "2024: rows are not those of 2026: $(diff wanted got | head -n 3 | cut -c -300)"
check '2024: no kernel names its group' grep -q '"Process Group Name".*"cat":"kernel"' got
grep -qE '"(Seq|Comms Id|occupancy|graph id)"' got && fail '2024: there is what came later'

groups='del(.args | select(.) | .["Collective name", "In msg nelems", "Out msg nelems", "Group size", "dtype", "In split size", "Out split size", "Process Group Name", "Process Group Description", "Process Group Ranks", "Dst Rank", "Src Rank", "Rank", "Global rank start", "Global rank stride", "Is asynchronized op"])'
unlinked='del(.args["External id", "Ev Idx", "Python id", "Python parent id"])'
events 2024 'select(.name != "record_param_comms") | '"$groups | $unlinked" >wanted
events 2022 "$unlinked" >got
cmp -s wanted got || fail "2022: rows are not those of 2024: $(diff wanted got | head -n 3 | cut -c -300)"
grep -qE 'record_param_comms|Process Group|Collective name|"Seq"' 2022/rank0.json && fail '2022: there is a word of collectives'
[ "$(jq -c '.distributedInfo | keys' 2022/rank0.json)" = '["backend","rank","world_size"]' ] || fail '2022: groups are listed'

events 2022 'select(.cat | test("^(kernel|gpu_mem|cuda_)")) | '"$unlinked" >wanted
events cuda "$unlinked" >got
cmp -s wanted got || fail "cuda: rows are not those of CUDA: $(diff wanted got | head -n 3 | cut -c -300)"
grep -qE '"cat":"(kernel|cuda_runtime)"' got || fail 'cuda: there is nothing'
for form in 2024 2022 cuda; do
  diff <(jq -S 'del(.arguments, .configuration)' 2026/truth.json) <(jq -S 'del(.arguments, .configuration)' "$form/truth.json") >differences ||
    fail "$form: something else happened: $(head -n 3 differences)"
  [ "$(jq -r .configuration.form "$form/truth.json")" = "$form" ] || fail "$form: the truth does not say so"
done

# ---- device rows that stand too early ----

for options in '' '--without clocks'; do
  read -ra words <<<"$options"
  emulate plain "${job[@]}" "${words[@]}"
  emulate early "${job[@]}" "${words[@]}" --device-early 30
  rows plain 0 >plain.rows
  rows early 0 >early.rows
  holds "--device-early 30 $options: device rows are 30 us early, no others" '
    $2 ~ /annotation$/ { next } { key = $2 OFS $3 OFS $4 OFS $7 OFS $9 OFS ($7 < 0 ? $5 : "") }
    FILENAME ~ /plain/ { start[key] = $5; next }
    { moved = $2 ~ /^(kernel|gpu_memcpy|gpu_memset|cuda_event)$/ ? 30000 : 0 }
    key in start { seen++; early += moved > 0; if (start[key] - $5 != moved) print key, start[key] - $5 }
    END { if (early < 100) print "few device rows" }' plain.rows early.rows
  truth plain
  truth early
  holds "--device-early 30 $options: the truth says so" 'FILENAME ~ /plain/ { offset[$1] = $4; next } { seen++; if (offset[$1] - $4 != 30000) print }' plain/clocks early/clocks
done

# ---- what was launched before ----

busy=(--hidden 4096 --layers 4 --vocab 8192 --micro-batches 2 --steps 2 --warmup 1 --without clocks)
emulate seen "${busy[@]}"
emulate unseen "${busy[@]}" --unseen on
[ "$(jq '.recorded[0].counts.launched_before' seen/truth.json)" -gt 20 ] || fail 'the host is not ahead of the device'
[ "$(jq '.recorded[0].counts.launched_before' unseen/truth.json)" -eq 0 ] || fail '--unseen: the truth counts work that was launched before'
rows unseen 0 >unseen.rows
holds '--unseen: no work without its launch; the first step begins with a wait of milliseconds, and no work is before its end' '
  $3 ~ /^ProfilerStep/ && !step { step = $5 }
  $3 == "cudaDeviceSynchronize" && !waited { waited = $6; length_of = $6 - $5; from = $5 }
  $2 ~ /^cuda_(runtime|driver)$/ { called[$7] }
  $2 ~ /^(kernel|gpu_memcpy|gpu_memset)$/ { work[$7] = $5 }
  END { for (w in work) { seen++; if (!(w in called)) print w, "has no launch"; if (work[w] < waited) print w, "runs during the wait" }
        if (length_of < 5e6 || from < step || from > step + 1e6) print "the wait takes", length_of, "from", from - step, "on" }' unseen.rows

# ---- a sample ----

emulate whole "${job[@]}"
emulate sample "${job[@]}" --sample 4
events whole 'select(.cat == "kernel") | del(.args["Seq", "Comms Id"])' >wanted
events sample 'select(.cat == "kernel") | del(.args["Seq", "Comms Id"])' >got
[ "$(comm -13 wanted got | wc -l)" -eq 0 ] || fail '--sample: kernels are there that were not'
awk -v all="$(wc -l <wanted)" -v some="$(wc -l <got)" 'BEGIN { exit !(some > all / 5.5 && some < all / 3) }' || fail "--sample 4: $(wc -l <got) of $(wc -l <wanted) kernels"
diff <(events whole 'select(.cat | test("^(gpu_mem|cuda_r)"))') <(events sample 'select(.cat | test("^(gpu_mem|cuda_r)"))') >/dev/null || fail '--sample: other rows are missing'
[ "$(jq '.recorded[0].counts.kernels' sample/truth.json)" -eq "$(wc -l <got)" ] || fail '--sample: the truth counts others'
proved 'older forms, early device rows, unseen work and samples leave out what they say, and nothing else'
finish

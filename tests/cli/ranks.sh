#!/usr/bin/env bash
# What ranks did to each other, against the truth of emulated jobs: waiting, bubble and transfer in every rank's steps within one point of the step,
# clocks within their stated error in 95 % of the ranks, a device's within a launch of its host's; without numbers, where no trace says
# who talks to whom, from a rank that began to record late, from three ranks of eight.
. "$(dirname "$0")/lib.sh"

# emulate OPTION...: traces and truth.json in `emulated`.
emulate() {
  rm -rf emulated
  emulated-cluster --quiet --plain "$@" emulated || fail "the emulated cluster fails: $*"
}

# simulate NAME TRACE...: the finished stream as `sim`.
simulate() {
  local name=$1
  shift
  lumos-sim --opportunities off "$@" -o sim 2>message || fail "$name: $(head -c 300 message)"
}

# splits NAME: every part of every rank and step is within a point.
splits() {
  points_off | grep '^measured ' >points
  [ "$(wc -l <points)" -ge "$2" ] || fail "$1: $(wc -l <points) parts are too few"
  awk '$5 > 1 || $5 < -1' points >far
  [ ! -s far ] || fail "$1: $(wc -l <far) of $(wc -l <points) parts are more than a point off: $(head -3 far | tr '\n' ';')"
}

# clocks: a line for every rank but the lowest: how far its device rows are put from where they truly belong against those of the lowest, at
# the middle of its recording, and the stated error.
clocks() {
  told_of emulated >truth
  only 'lumos|rank' sim | jq -rn --slurpfile truth truth '
    [inputs] as $records
    | ($truth[0].epoch | tonumber) as $begin | ($records[0].epoch | tonumber) as $epoch
    | [$records[] | select(.type == "rank")] as $ranks
    | def is($rank; $t): $truth[0].clocks.rows[$rank] | .[1] + .[3] + .[2] * ($t + $epoch - $begin) / 1e9;
      def put($rank; $t): $rank.clock | .offset + .device_offset + .drift_ppb * $t / 1e9;
    $ranks[1:][] | select(.clock.evidence == "collectives") | ((.window[0] + .window[1]) / 2) as $t
    | "\(.rank) \(put(.; $t) - put($ranks[0]; $t) + is(.rank; $t) - is($ranks[0].rank; $t) | fabs) \(.clock.error)"'
}

noted() { only note sim | grep "\"code\":\"$1\"" | awk "$field"'{ sum += field("count") } END { print sum + 0 }'; }
matched() { only collective sim | awk "$field"'{ print field("rule"), field("matched") }' | sort -u | paste -sd,; }

# split NAME LEAST OPTION...: such a job's parts.
split() {
  emulate "${@:3}"
  simulate "$1" emulated/rank*.json
  splits "$1" "$2"
}

# --- Jobs of every kind ---
split 'tensor parallel' 32 --layers 2 --hidden 1024 --tp 4 --sequence-parallel on --steps 2
check 'broadcasts are joined' [ "$(only collective sim | grep -c '"op":"broadcast"')" -gt 0 ]

split 'an interleaved pipeline' 32 --layers 8 --hidden 512 --pp 4 --schedule interleaved --vp 2 --micro-batches 8 --steps 2
check 'kernels belong to several pairs' [ "$(matched)" = 'batched pair_order,pair pair_order,symmetric comms_id' ]

# Kernels end with whichever of their transfers is last, so ends do not tell which belong together.
rarely split 'an interleaved pipeline of tensor-parallel ranks' 64 --layers 8 --hidden 1024 --tp 2 --pp 4 --schedule interleaved --vp 2 --micro-batches 8 \
  --steps 2 --seed 202

rarely split 'a pipeline' 32 --layers 4 --hidden 1024 --pp 4 --micro-batches 6 --steps 2
split 'three ways' 64 --layers 4 --hidden 1024 --tp 2 --pp 2 --dp 2 --micro-batches 4 --steps 2

# --- Three ranks of eight ---
simulate 'three of eight' emulated/rank[0-2].json
check 'absent members are said' [ "$(noted graph.absent_members)" -gt 0 ]
check 'what can be split is' [ "$(only collective sim | grep -c '"transfer":')" -gt 0 ]
points_off | awk '$1 == "measured" && $4 == "communication_unsplit" && $5 > 1' >unsplit
check 'waiting for who is not there is not split' [ -s unsplit ]

# --- Without numbers, and late ---
unnumbered() {
  sed -i 's/"Seq": [0-9]*, "Comms Id": [0-9]*, //; s/, "Seq": [0-9]*, "Comms Id": [0-9]*//' "$@"
  ! grep -qE '"(Seq|Comms Id)"' "$@" || fail 'numbers of collectives are left'
}
emulate --layers 2 --hidden 1024 --dp 4 --micro-batches 2 --steps 3
unnumbered emulated/rank*.json
simulate 'without numbers' emulated/rank*.json
splits 'without numbers' 48
check 'ends tell' [ "$(matched)" = 'symmetric order' ]
from=$(awk '/"cat": "kernel", "name": "[^"]*nccl/ { getline; sub(/,$/, "", $2); print $2 }' emulated/rank2.json | sort -n | sed -n 6p)
keep "event ~ /\"ph\": \"M\"/ || ts > ${from:-0}" emulated/rank2.json
simulate 'a late recorder' emulated/rank*.json
check 'the others are joined' [ "$(matched)" = 'symmetric order' ]
check 'what it missed is said' [ "$(noted graph.late_members)" -ge 12 ]
points_off | awk '$1 == "measured" && $3 == '"$(true_steps emulated | tail -1 | cut -d' ' -f1)"' && ($5 > 1 || $5 < -1)' >far
check "the last step is as well known as before: $(head -3 far)" [ ! -s far ]

# What happens once a step, too; and where nothing is left but sends and receives, those tell the clocks.
emulate --layers 8 --hidden 512 --pp 4 --micro-batches 6 --steps 3 --node-size 1
unnumbered emulated/rank*.json
simulate 'a pipeline without numbers' emulated/rank*.json
splits 'a pipeline without numbers' 48
check "six all-reduces are joined by order: $(matched)" [ "$(only collective sim | grep -c '"rule":"symmetric".*"matched":"order"')" -eq 6 ]
for trace in emulated/rank*.json; do
  keep 'event !~ /"cat": "kernel", "name": "[^"]*nccl[^"]*AllReduce/' "$trace"
done
simulate 'sends and receives alone' emulated/rank*.json
check "they are joined: $(matched)" [ "$(matched)" = 'batched pair_order,pair pair_order' ]
clocks >alone
awk '$2 > $3' alone | grep -q . && fail "clocks from sends and receives are further off than they say: $(tr '\n' ';' <alone)"
check 'they tell the clocks of all ranks' [ "$(wc -l <alone)" -eq 3 ]

# Where no trace says who talks to whom, who waits and when both end do.
# true_partners: "RANK:CORRELATION RANK:CORRELATION" of all transfers; found_partners: of those that are joined.
true_partners() {
  jq -r '.collectives.rows[] | select(.[1] == "send_receive") | [.[9], .[12]] | transpose | sort | map("\(.[0]):\(.[1])") | join(" ")' emulated/truth.json | sort -u
}
found_partners() {
  # The n-th kernel of a rank in the trace is its n-th in the stream.
  awk '
    FNR == 1 { rank = FILENAME; gsub(/[^0-9]/, "", rank) }
    /"cat": "kernel", "name": "[^"]*SendRecv/ { getline; ts = $2; sub(/,$/, "", ts); inside = 1 }
    inside && match($0, /"correlation": [0-9]+/) { print rank, ts, rank ":" substr($0, RSTART + 15, RLENGTH - 15); inside = 0 }' emulated/rank*.json | sort -k1,1n -k2,2n >kernels
  only task sim | grep SendRecv | awk "$field"'{ print field("rank"), field("start"), substr($0, index($0, "\"id\":\"") + 6) }' | sed 's/".*//' | sort -k1,1n -k2,2n >tasks
  paste -d' ' kernels tasks | cut -d' ' -f3,6 >names
  only collective sim | grep '"matched":"order"' | awk '
    FILENAME == "names" { name[$2] = $1; next }
    match($0, /"members":\[[^]]*/) {
      count = split(substr($0, RSTART + 11, RLENGTH - 11), members, ",")
      line = ""
      for (i = 1; i <= count; i++) { gsub(/"/, "", members[i]); line = line (i > 1 ? " " : "") name[members[i]] }
      if (name[members[1]] != "") print line
    }' names - | sort
}
partners() {
  emulate "$@"
  simulate "partners of $*" emulated/rank*.json
  found_partners >found
  true_partners >truly
  check "no false partner: $(comm -13 truly found | head -3 | tr '\n' ';') in $*" [ -z "$(comm -13 truly found)" ]
}
partners --form 2022 --layers 4 --hidden 1024 --pp 4 --micro-batches 6 --steps 2 --seed 3
check "all partners are found: $(comm -23 truly found | wc -l) of $(wc -l <truly) are not" cmp -s truly found
# No stage is known, so bubble is waiting.
points_off >points
awk 'FILENAME == "parts" { waiting[$2 " " $1] = -100 * $9 / ($4 - $3); next }
  $1 == "measured" { at = $2 " " $3; waiting[at] += $4 == "communication_wait" ? $5 : 0; unsplit[at] += $4 == "communication_unsplit" ? $5 : 0 }
  END { for (at in unsplit) if (waiting[at] > 1 || waiting[at] < -1 - unsplit[at]) print at, waiting[at], unsplit[at] }' parts points >far
check "$(awk '$1 == "measured"' points | wc -l) parts are too few" [ "$(awk '$1 == "measured"' points | wc -l)" -ge 24 ]
check "waiting is as long as it truly is, but for what is unsplit: $(head -3 far | tr '\n' ';')" [ ! -s far ]
clocks >alone
check 'they tell the clocks' [ "$(awk '$2 <= $3' alone | wc -l)" -eq 3 ]
rarely partners --form cuda --layers 8 --hidden 512 --tp 2 --pp 4 --schedule interleaved --vp 2 --micro-batches 8 --steps 2 --seed 202
[ "$all_cases" != yes ] || check "in an interleaved schedule $(wc -l <found) are found" [ "$(wc -l <found)" -ge 80 ]

# What happens once a step fits a step apart, too; but all ranks of a run number their steps alike.
# Where no step is known the clocks decide, for of so few the ends lie a step apart by chance.
once_a_step() {
  emulate "$@"
  simulate "two ranks that join once a step, $*" emulated/rank*.json
  check "clocks of one host are one, $*: $(only rank sim | jq -c .clock.offset | tr '\n' ' ')" [ "$(only rank sim | jq '.clock.offset | fabs | select(. < 100000)' | wc -l)" -eq 2 ]
}
once_a_step --form 2022 --pp 2 --schedule gpipe --layers 4 --steps 3 --seed 7
once_a_step --form cuda --dp 2 --layers 2 --hidden 1024 --overlap-gradients off --bucket-mb 10000 --once --steps 3 --seed 7

# --- CUDA activity alone ---
# No group has a name, no op was recorded, and each communicator has a stream: who takes part in what is found by when kernels end. So a
# change of kernels is predicted as well as where all is recorded.
group_of() { only 'task|collective' sim | grep '^{"type":"collective"\|"kind":"collective"' | jq -rn '
  [inputs] | (map(select(.type == "task" and .kind == "collective")) | map({key: .id, value: .lane}) | from_entries) as $lanes
  | [.[] | select(.type == "collective" and .op == "all_reduce") | [.members[] | (split(":")[0]) + $lanes[.]] | join(" ")] | group_by(.) | map("\(.[0]) \(length)") | .[]'; }
half_gemm() {
  emulate "$@" --ranks none --scale gemm=0.5
  true_steps=$(told_of emulated | jq '[.steps[].profiled | .end - .start] | add')
  emulate "$@"
  lumos-graph emulated/rank*.json 2>/dev/null | lumos-transform --scale kind=gemm=0.5 2>message >changed || fail "$*: transform fails"
  check "no part of the job is untied, $*: $(head -c 100 message)" [ ! -s message ]
  lumos-sim --opportunities off changed -o sim 2>message || fail "$*: sim fails"
  range=$(only metric sim | jq -c 'select(.name == "step_time" and .source == "simulated" and .scope.rank == null) | [.low, .value, .high]')
  check "the range $range holds the true $true_steps, $*" [ "$(jq --argjson is "$true_steps" '.[0] <= $is and $is <= .[2]' <<<"$range")" = true ]
}
half_gemm --form cuda --pp 4 --layers 8 --hidden 1024 --micro-batches 4 --steps 3
groups=$(group_of | tr '\n' ';')
check "communicators by stream: $groups" [ "$groups" = '0s21 3s21 3;0s25 1s25 2s25 3s25 3;' ]
rarely half_gemm --form cuda --pp 4 --layers 8 --micro-batches 8
emulate --form cuda --tp 2 --dp 2 --layers 2 --hidden 1024 --steps 3
simulate 'communicators without names' emulated/rank*.json
group_of >groups
check "communicators by stream: $(awk '{ print NF - 1, $1, $2 }' groups | tr '\n' ';')" [ "$(grep -cE '^(0s13 1s13|2s13 3s13|0s17 2s17|1s17 3s17) ' groups)" -eq 4 ]

# On another network transfers take what the size of their group says, and that is a guess here.
printf '{"node_size":2,"inter":{"bandwidth_gbps":12.5,"latency_us":5}}' >net.json
lumos-graph emulated/rank*.json 2>/dev/null | lumos-transform --network net.json 2>message >changed
check "a guess is no prediction of another network: $(head -c 200 message)" grep -q 'that is inferred; do not read the step time' message

# Two streams that wait for each other in turn, with nothing between, pass on what they wait for once.
emulate --form cuda --ideal --tp 2 --layers 2 --hidden 512 --seq 256 --steps 2
timeout 60 lumos-graph emulated/rank*.json -o waits 2>message || fail "waits in turn: graph fails: $(head -c 200 message)"
check "few edges between streams: $(grep -c '"kind":"event"' waits)" [ "$(grep -c '"kind":"event"' waits)" -lt 4000 ]

# --- Clocks ---
# Its device's clock is 18.8 us behind, and the host is ahead: few launches find the stream idle, and those tell.
emulate --seed 5 --layers 4 --hidden 2048 --micro-batch 4 --micro-batches 2 --steps 2
simulate 'a host that is ahead' emulated/rank0.json
told_of emulated | jq '.clocks.rows[0][3]' >behind
only rank sim | jq --slurpfile behind behind -e '.clock.device_offset + $behind[0] | . < 1000 and . > -8000' >/dev/null ||
  fail "a device's clock that is $(cat behind) ns off is moved by $(only rank sim | jq .clock.device_offset)"

for seed in 1 2 3 4 5 6 7 8; do
  [ $seed -le 3 ] || [ "$all_cases" = yes ] || continue
  case $((seed % 4)) in
    0) emulate --seed $seed --layers 2 --hidden 512 --tp 2 --pp 2 --dp 2 --micro-batches 2 --steps 2 ;;
    1) emulate --seed $seed --layers 2 --hidden 512 --dp 4 --node-size 2 --micro-batches 2 --steps 3 ;;
    2) emulate --seed $seed --layers 4 --hidden 512 --pp 4 --node-size 1 --micro-batches 4 --steps 3 ;;
    3) emulate --seed $seed --layers 2 --hidden 512 --tp 4 --dp 2 --node-size 4 --micro-batches 2 --steps 2 ;;
  esac
  simulate "seed $seed" emulated/rank*.json
  clocks >>clocks
done
awk '{ outside += $2 > $3 } END { printf "%d of %d clocks are outside their error\n", outside, NR; exit !(NR >= 13 && outside <= NR / 20) }' clocks ||
  fail 'clocks are further off than they say'
proved "waiting, bubble and transfer within a point of the step, and $(wc -l <clocks) clocks within their error but for $(awk '$2 > $3' clocks | wc -l)"
finish

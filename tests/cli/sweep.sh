#!/usr/bin/env bash
# Searches over many configurations of one recorded job, against true runs of all of them on the emulated cluster: is the best one found?
#
#   tests/cli/sweep.sh [--table]
#
# LUMOS_ALL=yes: 20 searches, 16 of them from jobs drawn from LUMOS_SEED.
. "$(dirname "$0")/lib.sh"
. "$here/predictions.sh"

# options of the recorded job | GPUs | grid
searches=('--layers 4 --hidden 2048 --pp 2 --dp 2 --micro-batches 4|4|pp=1,2,4 schedule=1f1b,zb-h1')
if [ "${LUMOS_ALL:-no}" = yes ]; then
  searches+=('--layers 8 --hidden 2048 --pp 2 --dp 2 --micro-batches 8|8|pp=1,2,4 schedule=1f1b,zb-h1,interleaved vp=1,2'
    '--layers 4 --hidden 4096 --tp 2 --pp 2 --micro-batches 4|8|tp=2,4 pp=1,2 schedule=1f1b,zb-h1'
    '--layers 8 --hidden 1024 --seq 1024 --micro-batches 8|4|pp=1,2,4 schedule=1f1b,zb-h1')
  RANDOM=${LUMOS_SEED:-7}
  for i in {1..16}; do
    pick() { local of=("$@"); picked=${of[RANDOM % $#]}; } # in this shell, whose RANDOM goes on
    pick 1 2 && pp=$picked && pick 1 2 && dp=$picked && pick 1024 2048 3072 && hidden=$picked && pick 4 8 && layers=$picked && pick 4 8 && batches=$picked
    # Replicas alone have no bubble, and win; so every other search is among pipelines, where sequences of a micro-batch cost a bubble.
    [ $((i % 2)) -eq 0 ] && grid='pp=1,2,4 schedule=1f1b,zb-h1' || grid='pp=2,4 schedule=1f1b,zb-h1,interleaved vp=1,2 micro-batch=1,2'
    searches+=("--layers $layers --hidden $hidden --pp $pp --dp $dp --micro-batches $batches|4|$grid")
  done
fi

# search NUMBER OPTIONS GPUS GRID: a line a configuration into `rows`: search, place, predicted, low, high, true
search() {
  local number=$1 options="$recording $2" line
  rm -rf recorded
  # shellcheck disable=SC2086 # several options
  emulated-cluster $options recorded || fail "$2: the emulated cluster fails"
  lumos-graph recorded/rank*.json -o recorded.graph 2>message
  lumos-sim recorded.graph --sweep "$4" --gpus "$3" --all -o swept 2>message || fail "$2: $(head -c 300 message)"
  lumos-sim recorded.graph --sweep "$4" --gpus "$3" -o bounded 2>message || fail "$2: $(head -c 300 message)"
  bounds swept bounded
  jq -r 'select(.type == "configuration") | [.place, .step_time, .low, .high,
    "--pp \(.pp) --dp \(.dp) --micro-batches \(.micro_batches) --schedule \(.schedule // "1f1b")" + (if .vp then " --vp \(.vp)" else "" end) + (if .tp then " --tp \(.tp)" else "" end) + (if .micro_batch then " --micro-batch \(.micro_batch)" else "" end)] | @tsv' swept >configurations
  while IFS=$'\t' read -r place step low high line; do
    rm -rf changed
    # shellcheck disable=SC2086
    emulated-cluster $options $line --ranks none changed || fail "$2, $line: the emulated cluster fails"
    printf '%s|%s|%s|%s|%s|%s|%s\n' "$number" "$place" "$step" "$low" "$high" "$(true_steps changed | steps)" "$line" >>rows
  done <configurations
}

# bounds ALL BOUNDED: of one sweep with --all and without. No step is shorter than what it takes at least; what was predicted is the same; and what was
# skipped takes more than another one that fits at the upper end of its range: by arithmetic on what --all says of them.
bounds() {
  jq -s 'map(select(.number != null) | {key: (.number | tostring), value: .}) | from_entries' "$1" >all.json
  jq -s -e --slurpfile all all.json 'map(select(.number != null) | . + {full: $all[0][.number | tostring]})
    | all(.type == "refused" or .at_least == null or .at_least < .full.step_time)' "$2" >/dev/null || fail "$1: a step is shorter than its least"
  jq -s -e --slurpfile all all.json 'map(select(.type == "configuration")) | length > 0 and all($all[0][.number | tostring].step_time == .step_time
    and $all[0][.number | tostring].high == .high)' "$2" >/dev/null || fail "$1: a configuration is another one where others are skipped"
  jq -s -e '(map(select(.type == "configuration" and .fits != false) | .high / (.step_time * .tokens_per_second_per_gpu)) | min) as $most
    | map(select(.at_least != null)) | all((.type == "skipped") == (1 / .tokens_per_second_per_gpu_at_most > $most))' "$2" >/dev/null ||
    fail "$1: skipped is what may be the best, or not what cannot"
  skipped=$((${skipped:-0} + $(jq -r 'select(.type == "sweep").skipped' "$2")))
}

for ((i = 0; i < ${#searches[@]}; i++)); do
  IFS='|' read -r options gpus grid <<<"${searches[i]}"
  search "$i" "$options" "$gpus" "$grid"
done
# Pipelines of jobs that their GPUs hold up, of more stages than were recorded; transfers that nothing couples; and layers that are computed again, on a
# real GPU, where PyTorch stops early.
# bounded TRACE... GRID: a sweep of it with --all and without.
bounded() {
  local grid=${*: -1}
  lumos-graph "${@:1:$#-1}" -o bounded.graph 2>message || fail "$*: $(head -c 300 message)"
  lumos-sim --sweep "$grid" --all bounded.graph -o all 2>message || fail "$*: $(head -c 300 message)"
  lumos-sim --sweep "$grid" bounded.graph -o bounded 2>message || fail "$*: $(head -c 300 message)"
  bounds all bounded
}
emulated-cluster $recording --pp 2 --layers 4 --hidden 4096 --seq 4096 --micro-batch 2 --micro-batches 4 --steps 2 busy
bounded busy/rank*.json 'pp=4 schedule=1f1b,gpipe,zb-h1 layers=8 micro-batches=4'
emulated-cluster $recording --pp 2 --layers 2 --hidden 4096 --seq 4096 --micro-batch 2 --jitter 8 --steps 2 uncoupled
bounded uncoupled/rank*.json 'pp=4 schedule=1f1b,gpipe,zb-h1 layers=8 micro-batches=4'
bounded "$source_folder/examples/pairs/h100/layers=8,compile" 'layers=2,4,8 micro-batches=1,2 recompute=full,none'

[ "${1-}" != --table ] || awk -F'|' '{ printf "%d %d: %.2f ms (%.2f to %.2f), true %.2f ms  %s\n", $1, $2, $3 / 1e6, $4 / 1e6, $5 / 1e6, $6 / 1e6, $7 }' rows

# By search: the place of the truly best, and how far the first is behind it, in %.
awk -F'|' '!($1 in best) || $6 < best[$1] { best[$1] = $6; place[$1] = $2 } $2 == 1 { first[$1] = $6 } { n[$1]++ }
  END { for (s in best) printf "%d %d %d %.3f\n", s, n[s], place[s], (first[s] / best[s] - 1) * 100 }' rows | sort -n >searched
read -r count few found near behind < <(awk '{ n++; few += $2 < 5; found += $3 <= 3; near += $4 <= 3; worst = $4 > worst ? $4 : worst } END { print n, few + 0, found + 0, near + 0, worst + 0 }' searched)
check 'some configurations are skipped' [ "$skipped" -gt 0 ]
check 'every search has at least five configurations' [ "$few" -eq 0 ]
check "the truly best is among the first three in $found of $count searches" [ "$found" -ge $((count * 9 / 10)) ]
check "the first is within 3 % of the truly best in $near of $count searches" [ "$near" -ge $((count * 9 / 10)) ]

# What is written does not depend on how many processes predict, and the job is not changed by it.
emulated-cluster $recording --layers 4 --hidden 1024 --seq 512 --micro-batches 4 --steps 2 small
lumos-graph small/rank*.json -o small.graph 2>message
grid='pp=1,2 schedule=1f1b,interleaved vp=1,2 micro-batches=2,3'
lumos-sim --sweep "$grid" -j 1 small.graph -o one 2>message
lumos-sim --sweep "$grid" -j 3 small.graph -o three 2>message
check 'one process and three write the same' cmp -s one three
# pp 1 has no schedule; interleaved has two chunks, 1f1b one: 3 pipelines, twice.
check 'combinations that mean the same are there once' [ "$(jq -s 'map(select(.type != "sweep")) | length' one)" -eq 6 ]
check 'what cannot be is there with the reason' [ "$(jq -s '.[0].refused == (map(select(.type == "refused" and .why != "")) | length)' one)" = true ]
# What all configurations begin with is found once; one that is swept alone finds it by itself, and nothing else comes of it.
mixed='tp=1,2 pp=1,2 schedule=1f1b,zb-h1 micro-batch=1,2 recompute=selective,none'
emulated-cluster $recording --layers 2 --hidden 1024 --seq 512 --tp 2 --dp 2 --micro-batches 2 --steps 3 shared && lumos-graph shared/rank*.json -o shared.graph 2>message
lumos-sim --sweep "$mixed" --all shared.graph -o mixed 2>message || fail "$mixed: $(head -c 300 message)"
figures() { jq -c 'select(.type == "configuration") | [.step_time, .low, .high, .memory, .mfu]'; }
while read -r number values; do
  lumos-sim --sweep "$values" shared.graph 2>message | figures >alone
  jq -c "select(.number == $number)" mixed | figures >among
  same alone among "configuration $number ($values) is another one alone: $(paste -s alone among)"
done < <(jq -r 'select(.type == "configuration" and (.number | IN(3, 11, 15, 16, 17, 24))) | "\(.number) tp=\(.tp) pp=\(.pp) \(if .schedule then "schedule=\(.schedule) " else "" end)micro-batch=\(.micro_batch) recompute=\(.recompute)"' mixed)
[ -s alone ] || fail 'no configuration was compared'

# Sizes whose product is no number of 32 bits are refused.
sed '/"type":"model"/s/"dp":[0-9]*/"dp":2147483647/' shared.graph >many.graph
! lumos-transform --rebuild many.graph >alone 2>message && grep -q 'ranks are more than the 1048576 that can be planned' message || fail "a model of too many ranks: $(head -c 300 message)"

lumos-transform --pp 2 --schedule 1f1b --vp 1 --micro-batches 2 small.graph 2>message | lumos-sim --opportunities off -o alone 2>>message
lumos-render alone --format json -o alone.json 2>message
lumos-sim --sweep "$grid" --all small.graph -o all 2>message
check 'a configuration is predicted as it is alone' [ "$(jq 'select(.pp == 2 and .schedule == "1f1b" and .micro_batches == 2).step_time' all)" = "$(jq .step_time.simulated alone.json)" ]

# Parts, predicted anywhere, are joined into the whole; parts that are missing, there twice or of another sweep are refused.
# Whether what cannot be the best is refused when it is built shows only where it is: it is skipped in any case.
emulated-cluster $recording --tp 2 --dp 2 --layers 4 --hidden 1024 --seq 1024 --micro-batches 4 --steps 2 late && lumos-graph late/rank*.json -o late.graph 2>message
for jobs in 1 2; do lumos-sim --sweep 'layers=1,4 dp=1,2 distributed-optimizer=on' -j $jobs late.graph -o late$jobs 2>message; done
for part in 1 2; do lumos-sim --sweep 'layers=1,4 dp=1,2 distributed-optimizer=on' --part $part/2 late.graph -o part$part 2>message; done
lumos-sim --join-sweep part1 part2 -o joined 2>message
check 'what is skipped does not depend on how many predict' cmp -s late1 late2
check 'nor on parts' cmp -s late1 joined

# By hand: the first takes 110 ns at most; the third takes 50, and does not fit. So 109 ns may be the best, and 111 may not.
cat >byhand <<'END'
{"type":"sweep","format":1,"grid":"layers=1,2,3,4,5,6","configurations":6,"predicted":4,"skipped":0,"refused":2}
{"type":"configuration","place":1,"number":1,"layers":1,"step_time":100,"low":90,"high":110,"at_least":80,"could_be_best":true}
{"type":"configuration","place":2,"number":2,"layers":2,"step_time":120,"low":111,"high":130,"at_least":109,"could_be_best":false}
{"type":"configuration","place":3,"number":4,"layers":4,"step_time":125,"low":121,"high":130,"at_least":111,"could_be_best":false}
{"type":"configuration","place":4,"number":3,"layers":3,"step_time":45,"low":40,"high":50,"at_least":30,"memory":9,"memory_capacity":8,"fits":false,"could_be_best":false}
{"type":"refused","number":5,"layers":5,"why":"so"}
{"type":"refused","number":6,"layers":6,"why":"so","at_least":120}
END
lumos-sim --join-sweep byhand -o joined 2>message
check 'what takes more at least than another one at most is skipped' [ "$(jq -r 'select(.number) | "\(.number)\(.type[:1])"' joined | paste -s -d ' ')" = '1c 2c 3c 4s 6s 5r' ]
check 'they are counted' [ "$(jq -c 'select(.type == "sweep") | [.predicted, .skipped, .refused]' joined)" = '[3,2,1]' ]

for part in 1 2 3; do lumos-sim --sweep "$grid" --part $part/3 small.graph -o part$part 2>message || fail "part $part: $(cat message)"; done
lumos-sim --join-sweep part3 part1 part2 -o joined 2>message
check 'parts make the whole, byte for byte' cmp -s one joined
cat part3 part1 part2 | lumos-sim --join-sweep -o joined 2>message
check 'so they do in a pipe, one behind the other' cmp -s one joined
lumos-render <one >page.html 2>message && fail 'a sweep is rendered as a job'
says 'lumos-sim --join-sweep -o page.html'
PATH=$(dirname "$(command -v lumos-sim)"):$PATH "$source_folder/examples/sweep.sh" small.graph "$grid" 3 >joined 2>message || fail "examples/sweep.sh: $(cat message)"
check 'so does the example' cmp -s one joined
check 'which writes a page, too' [ -s sweep.html ]
refused() { # WORDS FILE...
  local words=$1
  shift
  lumos-sim --join-sweep "$@" >out 2>message && fail "joined: $*"
  [ ! -s out ] && says "$words"
}
refused 'configuration 3 of 6 is missing' part1 part2
refused 'configuration 1 is there twice' part1 part1 part2 part3
lumos-sim --sweep 'micro-batches=2,3' small.graph -o other 2>message
refused 'is of another sweep' part1 other
refused 'is not a sweep' small.graph
: >empty && refused 'is empty' empty
sed '2s/"step_time":[0-9]*/"step_time":-1/' one >bad && refused 'line 2: is not a configuration' bad
sed '2s/"number":[0-9]*/"number":77/' one >bad && refused 'line 2: is not a configuration' bad
sed '2s/"pp":1/"pp":[1]/' one >bad && refused 'line 2: is not a configuration' bad
head -c 400 one >bad && refused 'is not a configuration' bad
for bad in 0/3 4/3 3 1/ /2 1/0 x/2 1/2x; do
  lumos-sim --sweep "$grid" --part "$bad" small.graph >out 2>message && fail "--part $bad is taken"
  says 'does not read PART/PARTS'
done

# The page has the first line's figures, and nothing in it is markup that a line brought.
lumos-sim --join-sweep one -o page.html 2>message
[ -s page.html ] && ! grep -q 'http://\|https://' <(grep -v 'www.w3.org' page.html) || fail 'the page asks the network for something, or is not there'
best=$(jq -r 'select(.place == 1).step_time' one)
check 'the page names the best time' grep -q "<h1>.*a step takes $(awk "BEGIN { printf \"%.3g\", $best / 1e6 }")" page.html
sed '2s/"schedule":"[^"]*"/"schedule":"<script>alert(1)<\/script>"/; 3s/"schedule":"[^"]*"/"schedule":"<script>alert(1)<\/script>"/; 4s/"schedule":"[^"]*"/"schedule":"<script>alert(1)<\/script>"/' one >bad
grep -q 'alert' bad || fail 'the hostile sweep is not hostile'
lumos-sim --join-sweep bad -o page.html 2>message
! grep -q '<script>alert' page.html || fail 'a line brought markup into the page'

# What a GPU cannot hold comes behind all that it can.
layers4=$source_folder/examples/pairs/h100/layers=4
lumos-sim --sweep 'micro-batch=4,8' "$layers4" -o real 2>message || fail "a recording of a real GPU: $(cat message)"
lumos-transform --rebuild --micro-batches 1 "$layers4" 2>message | lumos-sim --opportunities off -o alone 2>>message
check 'a GPU needs what it needs alone' [ "$(jq 'select(.micro_batch == 8).memory' real)" = "$(jq 'select(.name == "memory_peak").value' alone)" ]
check 'and it fits' [ "$(jq -s 'map(select(.place != null).fits) | all' real)" = true ]
best=$(jq 'select(.place == 1).micro_batch' real)
sed '2s/"memory":[0-9]*/"memory":99000000000/' real >large
lumos-sim --join-sweep large -o joined 2>message
check 'what does not fit is last' [ "$(jq -c 'select(.place == 2) | [.micro_batch, .fits, .could_be_best]' joined)" = "[$best,false,false]" ]

sed 's/"memory":[0-9]*/"memory":99000000000/' real >large
lumos-sim --join-sweep large -o page.html 2>message
check 'a page on which nothing fits says so' grep -q '<h1>None of 2 configurations fits' page.html
lumos-sim --join-sweep large -o joined 2>message
check 'and none of them could be best' [ "$(jq -s 'map(select(.could_be_best)) | length' joined)" -eq 0 ]

# Without shapes micro-batches are counted instead of sequences; how many sequences there are cannot be asked for.
sed -E 's/"shapes":"[^"]*",?//; s/,"micro_batch":[0-9]+,"micro_batches"/,"micro_batches"/' small.graph >unshaped.graph
check 'micro-batches are shared out' [ "$(lumos-sim --sweep dp=1,2 --edited unshaped.graph 2>message | jq -s -c 'map(select(.place != null)) | sort_by(.dp) | map([.dp, .micro_batches])')" = '[[1,4],[2,2]]' ]
lumos-sim --sweep global-batch=4 --edited unshaped.graph >out 2>message && fail 'sequences are counted that nobody knows'
says 'give micro-batches, not global-batch'
check 'one stage has no schedule' [ "$(lumos-sim --sweep schedule=1f1b,zb-h1 small.graph 2>message | jq -s 'map(select(.place != null)) | length')" -eq 1 ]
check '1f1b is there once, whatever the chunks' [ "$(lumos-sim --sweep 'pp=2 schedule=1f1b,interleaved vp=2,4 micro-batches=4' small.graph 2>message | jq -s 'map(select(.schedule == "1f1b" and .vp == 1)) | length')" -eq 1 ]
# Ranks that share sequences: of each number the same figures as alone, on as many GPUs as that takes.
emulated-cluster $recording --layers 2 --hidden 1024 --seq 512 --cp 2 --dp 2 --micro-batches 2 --steps 3 contexts && lumos-graph contexts/rank*.json -o contexts.graph 2>message
lumos-sim --sweep 'cp=1,2,4 dp=1,2' --all contexts.graph -o mixed 2>message || fail "cp=1,2,4: $(head -c 300 message)"
lumos-sim --sweep 'cp=1,2,4 dp=1,2' contexts.graph -o bounded 2>message || fail "cp=1,2,4: $(head -c 300 message)"
bounds mixed bounded
# What ranks did to share tensors and sequences goes where none does any more, on threads, too.
lumos-sim --sweep 'tp=1,2 pp=1,2' shared.graph -o bounded 2>message
lumos-sim --sweep 'tp=1,2 pp=1,2' --all shared.graph -o all 2>message
bounds all bounded
check 'GPUs are those of replicas times contexts' [ "$(jq -s -c 'map(select(.place != null)) | sort_by(.number) | map([.cp, .dp, .gpus])' mixed)" = '[[1,1,1],[1,2,2],[2,1,2],[2,2,4],[4,1,4],[4,2,8]]' ]
lumos-sim --sweep 'cp=4 dp=1' contexts.graph 2>message | figures >alone
jq -c 'select(.number == 5)' mixed | figures >among
same alone among "cp=4 dp=1 is another one alone: $(paste -s alone among)"
check 'ranks that share sequences are swept by themselves' [ "$(lumos-sim --sweep auto --gpus 4 --all contexts.graph 2>message | jq -s -c 'map(.cp | select(. != null)) | unique')" = '[1,2,4]' ]
lumos-sim --sweep cp=2,4 small.graph >out 2>message && fail 'ranks share sequences that none did'
says 'no context-parallel group was recovered'
# Ranks that share experts are replicas, too: GPUs are those of replicas, and what they cannot be divided by is no configuration.
emulated-cluster $recording --layers 2 --hidden 1024 --seq 512 --experts 4 --ep 2 --dp 4 --micro-batches 2 --steps 3 experts && lumos-graph experts/rank*.json -o experts.graph 2>message
lumos-sim --sweep 'ep=1,2,4 dp=2,4,8' --all experts.graph -o mixed 2>message || fail "ep=1,2,4: $(head -c 300 message)"
lumos-sim --sweep 'ep=1,2,4 dp=2,4,8' experts.graph -o bounded 2>message || fail "ep=1,2,4: $(head -c 300 message)"
bounds mixed bounded
check 'GPUs are those of replicas, whoever shares experts' [ "$(jq -s -c 'map(select(.place != null)) | sort_by(.number) | map([.ep, .dp, .gpus])' mixed)" = '[[1,2,2],[1,4,4],[1,8,8],[2,2,2],[2,4,4],[2,8,8],[4,4,4],[4,8,8]]' ]
lumos-sim --sweep 'ep=4 dp=8' experts.graph 2>message | figures >alone
jq -c 'select(.ep == 4 and .dp == 8)' mixed | figures >among
same alone among "ep=4 dp=8 is another one alone: $(paste -s alone among)"
check 'ranks that share experts are swept by themselves' [ "$(lumos-sim --sweep auto --gpus 4 --all experts.graph 2>message | jq -s -c 'map(.ep | select(. != null)) | unique')" = '[1,2,4]' ]
lumos-sim --sweep ep=2,4 small.graph >out 2>message && fail 'ranks share experts that no layer has'
says 'no expert-parallel group was recovered'
check 'layers, their attention, or nothing are computed again, the least first' [ "$(lumos-sim --sweep 'recompute=full,selective,none' --all small.graph 2>message | jq -s -r 'map(select(.place != null)) | sort_by(.place) | map(.recompute) | join(" ")')" = 'none selective full' ]
for part in 1 2; do lumos-sim --sweep dp=8,16 --part $part/2 small.graph -o part$part 2>message || fail "part $part of nothing: $(cat message)"; done
refused 'none of 2 configurations can be predicted' part1 part2

# The global batch stays: 4 micro-batches of one replica are 2 of each of two.
check 'replicas share the batch' [ "$(lumos-sim --sweep dp=2 small.graph 2>message | jq -c 'select(.place == 1) | [.micro_batches, .gpus]')" = '[2,2]' ]
check 'GPUs are shared out' [ "$(lumos-sim --sweep auto --gpus 2 small.graph 2>message | jq -s 'map(select(.gpus != null)) | map(.gpus) | unique | .[]')" = 2 ]
lumos-sim --sweep 'dp=8' small.graph 2>message && fail 'a batch of 4 is divided among 8'
says 'cannot be divided among micro-batches of 8'
for bad in 'pp' 'pp=' 'pp=1,,2' 'pp=1,1' 'pp=1 pp=2' 'stages=2' 'pp=x' 'pp=0' 'pp=-1' 'pp=99999999999999999999' 'schedule=none' 'pp=1,01' 'pp=1 schedule=none' 'tp=16777216 pp=16777216'; do
  lumos-sim --sweep "$bad" small.graph >out 2>message && fail "--sweep '$bad' is taken"
  [ $? -ne 139 ] && [ ! -s out ] || fail "--sweep '$bad' writes something, or crashes"
  grep -q '^lumos-sim: ' message || fail "--sweep '$bad' says nothing: $(cat message)"
done
lumos-sim --gpus 8 small.graph >out 2>message && fail '--gpus is taken without --sweep'
says 'it belongs to --sweep'
proved "in $found of $count searches the truly best configuration is among the first three, and the first is at most $behind % behind it"
finish

#!/usr/bin/env bash
# Two jobs side by side: drawn halves of one recording do not differ, and of two of them one of which was changed by 2 % more than noise that change
# is found and named; what is split adds up; counts and GPU time of a real pair are those that a program which shares no code reads from the files.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip 'jq is not here (apt-get install jq)'
need_python

# --- What is said, in all forms ---

expect 0 lumos-compare "${example[@]}" -o text
expect 0 lumos-compare "${example[@]}" -f markdown -o markdown
expect 0 lumos-compare "${example[@]}" -f json -o json
expect 0 lumos-compare "${example[@]}" --full -o full
expect 0 env TERM=xterm lumos-compare "${example[@]}" -o again.html
! grep -q $'\r' message || fail 'progress is shown where nobody sits'
clean text
[ "$(wc -l <full)" -ge "$(wc -l <text)" ] || fail '--full shows less'
[ "$(head -n 1 text | tr -d '\302\240')" = "$(jq -r .verdict json | tr -d '\302\240')" ] || fail 'the verdict of the text is not that of the JSON document'
jq -e '[.classes, .kinds, .layers, .ranks] as $lists | .a.step as $a | .b.step as $b |
  all($lists[]; (map(.a) | add) == $a and (map(.b) | add) == $b)' json >/dev/null || fail 'parts do not add up to the steps'
jq -e '(.kinds[] | select(.part == "GPU idle")) as $idle |
  ([.rows[].a.step // 0] | add) + $idle.a == .a.step and ([.rows[].b.step // 0] | add) + $idle.b == .b.step' json >/dev/null ||
  fail 'rows and idle time do not add up to the steps'
# All forms have both diagnoses, which are those of the jobs' own reports.
for job in a:0 b:1; do
  lumos-report "${example[${job#*:}]}" -f json 2>message | jq -r .verdict | tr -d '\302\240' >own
  jq -r ".${job%:*}.diagnosis | .sentence" json | tr -d '\302\240' >sentence
  [ -s sentence ] && grep -qF "$(<sentence)" own || fail "the diagnosis of ${job%:*} is $(<sentence), and its report says $(<own)"
  jq -e ".${job%:*}.diagnosis | (.confidence | IN(\"good\", \"fair\", \"poor\")) and (.reason | length > 0)" json >/dev/null || fail "the diagnosis of ${job%:*} has no confidence"
  name=$(tr ab AB <<<"${job%:*}")
  for form in text markdown; do tr -d '\302\240\\' <$form | grep -qF "Diagnosis of $name: $(<sentence)" || fail "$form lacks the diagnosis of $name"; done
done
# Rows of a kind add up to it, to the nanosecond; of jobs of several steps, for rounding is what could break it.
jq -e 'def of($job): [.rows | group_by(.kind)[] | map(.[$job].step // 0) | add | select(. != 0)] | sort;
  def kinds($job): [.kinds[] | select(.part != "GPU idle") | .[$job] | select(. != 0)] | sort;
  of("a") == kinds("a") and of("b") == kinds("b")' json >/dev/null || fail 'rows of a kind do not add up to it'
jq -e '.a.gpu_time - ([.a.matched[]] | add) >= 0' json >/dev/null || fail 'more is matched than there is'

# The page has the same verdict and numbers, in pictures whose last bar is B's step, and both diagnoses as each job's own report has them.
expect 0 lumos-compare "${example[@]}" --title 'Before & after' -o page.html
valid_html page.html
summary page.html >numbers
jq -S . json >plain && jq -S 'del(.tables)' numbers | cmp - plain || fail 'the page does not hold the numbers of the JSON document'
jq -e '. as $all | all("classes", "kinds", "layers"; . as $list | ($all.tables[$list].rows[:-1] | map(.[3]) | add) == $all.b.step - $all.a.step)' numbers >/dev/null ||
  fail 'the rows of a table do not add up to the difference'
grep -qF '<h1>Before &amp; after</h1>' page.html || fail 'the page lacks its title'
# The last time that each picture but the timeline shows is B's step; the one before each bar's name but the first A's.
shown_step=$(sed -n 's/^B: \(.*\) a step, .*/\1/p' text)
tr -d '\n' <page.html | sed 's/<svg /\n&/g; s/<\/svg>/&\n/g' | grep '^<svg ' >pictures
[ "$(wc -l <pictures)" -eq 7 ] || fail "the page has $(wc -l <pictures) pictures, not three splits twice and a timeline"
head -n 6 pictures | while read -r picture; do grep -o '>[^<>]*s</text>' <<<"$picture" | tail -n 1; done | sort -u >last
[ "$(<last)" = ">$shown_step</text>" ] || fail "the last bars are $(tr '\n' ' ' <last), not B's step, $shown_step"
# Lanes are drawn once for either job, A above B, and as long as its step: as the steps are to each other.
lanes=$(tail -n 1 pictures | grep -o '<rect class="track"[^>]*>' | sed 's/.* width="\([0-9.]*\)".*/\1/' | uniq -c | awk '{ print $2 }' | paste -sd' ')
jq -e --arg lanes "$lanes" '($lanes | split(" ") | map(tonumber)) as $widths | ($widths | length) == 2 and
  ($widths[1] / $widths[0] - (.b.longest + .b.shortest) / (.a.longest + .a.shortest) | fabs) < 0.1' numbers >/dev/null || fail "lanes of A and B are $lanes pixels long"

# Traces, folders and streams of any stage are the same jobs.
mkdir one two
cp "${example[0]}" one
cp "${example[1]}" two
lumos-graph one -o one.graph 2>message && lumos-sim two -o two.sim 2>message || fail 'no streams of the example'
expect 0 lumos-compare one two.sim -f json -o mixed
same json mixed 'a folder and a stream are not compared as the traces in them'
# lumos-render writes the same of two jobs.
expect 0 lumos-compare one two.sim -o page.html
expect 0 lumos-render one two.sim -o rendered.html
same page.html rendered.html 'lumos-render writes another page of two jobs'
expect 0 lumos-render one two.sim -f json -o rendered
same json rendered 'lumos-render writes other numbers of two jobs'
# Of a changed job, simulated times of both: half as long matrix products are half as long, and nothing else is.
lumos-transform -s kind=gemm=0.5 one.graph -o half.graph || fail 'no changed job'
expect 0 lumos-compare one.graph half.graph -f json -o changed
jq -e '.simulated and ([.rows[] | select(.kind == "gemm" and .a and .b) | .a.time / 2 - .b.time | fabs] | max) <= 20 and
  ([.rows[] | select(.kind != "gemm" and .kind != "collective" and .a and .b) | .a.time - .b.time | fabs] | max) <= 20' changed >/dev/null ||
  fail 'a changed job is not compared with simulated times'

# What differs then is the change alone, however small and of however few steps.
lumos-transform -s kind=gemm=0.99 one.graph -o less.graph || fail 'no slightly changed job'
expect 0 lumos-compare one.graph less.graph -f json -o changed
jq -e '.outcome == "different" and .noise == 0 and (.verdict | startswith("B takes ") and contains("matrix products")) and ([.rows[] | select(.time_differs)] | length > 0 and all(.kind | IN("gemm", "collective")))' changed >/dev/null ||
  fail "one per cent less is $(jq -c '[.outcome, .noise, .verdict, ([.rows[] | select(.time_differs) | .kind] | unique)]' changed)"
expect 0 lumos-compare one.graph one.graph less.graph -f json -o changed # a job beside itself, measured
jq -e '.[0].outcome == "alike" and .[0].simulated == false' changed >/dev/null || fail "a job beside itself is $(jq -c '.[0].outcome' changed)"

# --- What goes wrong ---

expect 2 lumos-compare one.graph
says 'two jobs are compared, and 1 is named'
expect 2 lumos-compare one.graph missing
says missing
expect 2 lumos-compare one.graph two.sim --steps-a 3-
says --steps-a 'is not a list of steps'
expect 2 lumos-compare one.graph two.sim --steps-b 999
says 'B has no complete step 999'
expect 2 lumos-compare one.graph two.sim -f svg
says 'is not a format' markdown
# More than two: each against the first, with the verdict of its own comparison, one line each.
expect 0 lumos-compare one two.sim one -o three
lumos-compare one two.sim -f json -o first.json && lumos-compare one one -f json -o second.json
expect 0 lumos-compare one two.sim one -f json -o three.json
# The third is called C, in its verdict alone.
jq -s '(.[0] | map(del(.verdict))) == (.[1:] | map(del(.verdict)))' three.json first.json second.json | grep -qx true || fail 'a job of three is compared in another way than one of two'
[ "$(head -n 2 three)" = "$(jq -r '"B: " + .verdict' first.json; jq -r '"C: " + .verdict' second.json | sed 's/ in B/ in C/')" ] || fail "the lines of three jobs are: $(head -n 3 three)"
# Their page has all of that, and tables with a row for each job whose parts add up to its step, which is that of its comparison.
expect 0 lumos-compare one two.sim one -o three.html
valid_html three.html
summary three.html >numbers
jq -s '.[0].comparisons == .[1]' numbers three.json | grep -qx true || fail 'the page of three jobs does not hold the numbers of the JSON document'
jq -e '[.comparisons[0].a.step, .comparisons[].b.step] as $steps | .tables | all(.steps, .work; .rows | length == 3 and map(.[1:-1] | add) == $steps and map(.[-1]) == $steps) and
  (.jobs.rows | map(.[0]) == ["A", "B", "C"] and map(.[1]) == $steps) and (.changed_c.rows | length) == 0' numbers >/dev/null || fail 'the tables of three jobs do not add up'
# What is known of each difference is in the table of jobs, and with few steps in the title.
jq -e '[.comparisons[] | {different: (if .b.step < .a.step then "shorter" else "longer" end), alike: (if .b.step == .a.step then "no difference" else "within noise" end), inconclusive: "inconclusive",
  unknown: "noise unknown"}[.outcome]] == (.tables.jobs.rows[1:] | map(.[5]))' numbers >/dev/null || fail "the table of jobs says $(jq -c '.tables.jobs.rows | map(.[5])' numbers)"
[[ $(jq -r '.comparisons[0].outcome' numbers) != inconclusive ]] || grep -q '^<h1>.*Whether B differs from A is inconclusive: the steps are too few' three.html || fail 'the title of three jobs hides that B is inconclusive'
# A waterfall ends with the step of its own job, and every job has its lanes.
tr -d '\n' <three.html | sed 's/<svg /\n&/g; s/<\/svg>/&\n/g' | grep '^<svg ' >pictures
[ "$(wc -l <pictures)" -eq $((2 + 1 + 2 * 6)) ] || fail "the page of three jobs has $(wc -l <pictures) pictures"
[ "$(sed -n 3p pictures | grep -o '>[ABC]</text>' | sort | uniq -c | wc -l)" -eq 3 ] || fail 'not every job has its lanes'
expect 0 lumos-render one two.sim one -o rendered.html
same three.html rendered.html 'lumos-render writes another page of three jobs'
# Beside a changed job simulated times of all are compared on the page, so that the first has one step.
lumos-compare one.graph two.sim half.graph -o three.html 2>message || fail "no page beside a changed job: $(head -c 300 message)"
summary three.html | jq -e 'all(.comparisons[]; .simulated) and (.comparisons | map(.a.step) | unique | length == 1)' >/dev/null || fail 'the first job has two steps on one page'
expect 2 lumos-compare $(printf 'one %.0s' {1..27}) -o three.html
says '26 jobs are compared at most'
# Both in one file for Perfetto: processes told apart, each job's rows those of its own file, at another time.
# Of a shorter job, for jq takes long.
mkdir short
LUMOS_BIN=$bin "$source_folder/examples/traces/make-traces.sh" short --layers 1 --steps 2 && mkdir first && mv short/rank0.json.gz first || fail 'no traces'
lumos-sim short/rank1.json.gz -o second.sim 2>message || fail "no stream: $(head -c 300 message)"
expect 0 lumos-compare first second.sim --trace both.json -o text
lumos-compare first second.sim --trace - -o text 2>message | cmp -s - both.json || fail '--trace - writes something else'
"$python" -S "$here/events.py" both.json >told || fail "$(head -c 300 told)"
"$python" -S "$here/counters.py" both.json >told || fail "$(head -c 300 told)"
lumos-sim --opportunities off first --trace alone.json -o alone.sim 2>message || fail 'no timelines of one job'
# rows FILE PREFIX: rows of a process that begins so, by its name and what is in them, from their first on.
rows() {
  jq -r --arg prefix "$2" '(.traceEvents | map(select(.name == "process_name") | {key: "\(.pid)", value: .args.name}) | from_entries) as $names |
    [.traceEvents[] | select(.ph == "X" and ($names["\(.pid)"] | startswith($prefix)))] | (map(.ts * 1000 | round) | min) as $first |
    .[] | [($names["\(.pid)"] | ltrimstr($prefix)), (.ts * 1000 | round) - $first, .dur, .name, (.args | tojson)] | @tsv' "$1"
}
rows alone.json '' >alone.rows
rows both.json 'A: ' >a.rows
expect 0 lumos-compare first second.sim first --trace all.json -o text
[ "$(jq -r '[.traceEvents[] | select(.name == "process_name") | .args.name[:3]] | unique | join("")' all.json)" = 'A: B: C: ' ] || fail 'timelines of three jobs are not told apart'
rows all.json 'C: ' >c.rows
cmp -s alone.rows c.rows || fail 'rows of C are others than in its own file'
[ -s alone.rows ] && cmp -s alone.rows a.rows || fail "rows of A are others than in its own file: $(diff alone.rows a.rows | head -n 3)"
[ -n "$(rows both.json 'B: ' | head -n 1)" ] || fail 'there are no rows of B'
jq -e '[.traceEvents[] | select(.ph == "s")] | length > 0 and (group_by([.cat, .id]) | all(length == 1))' both.json >/dev/null || fail 'arrows of both jobs have one number'
expect 2 lumos-parse both.json -o none
says 'both.json: holds the timelines of several jobs, which lumos-compare --trace writes for Perfetto; give the traces of one job'
expect 2 lumos-compare one.graph two.sim -f text -o page.html
says 'its ending says html, but --format says text'
expect 2 lumos-render one.graph two.sim --view gantt -o page.html
says '--view is for the report of one job'
grep -v '"lane":"s' one.graph >cpu.graph
expect 2 lumos-compare --edited one.graph cpu.graph
says 'B has no complete step with GPU work'
# A name cannot steer a terminal or mark up a comment.
sed 's/"name":"aten::mm"/"name":"aten::mm\\u001b[31m<b>|x"/' one.graph >evil.graph
expect 0 lumos-compare evil.graph two.sim --full -o text
clean text
expect 0 lumos-compare evil.graph two.sim -o evil.html
valid_html evil.html
! grep -q '<b>|x' evil.html || fail 'a name marks up the page'
expect 0 lumos-compare evil.graph two.sim --full -f markdown -o markdown
clean markdown
! grep -qF '<b>|' markdown || fail 'a name marks up a comment'

# --- Drawn halves of one recording ---

emulate() { # NAME OPTION...
  emulated-cluster --layers 2 --hidden 1024 --seq 512 --micro-batches 1 --vocab 8192 --steps 31 --quiet "${@:2}" emulated && lumos-graph emulated/rank0.json.gz -o "$1" 2>message ||
    fail "no emulated job ($*)"
}
# halve TRIAL: the steps of the recording but the first, in two halves $half and $other, drawn anew for each trial.
halve() {
  local drawn
  drawn=$(seq 3 32 | awk -v trial="$1" 'BEGIN { srand(trial) } { print rand(), $0 }' | sort | cut -d' ' -f2)
  half=$(head -n 15 <<<"$drawn" | paste -sd,) other=$(tail -n 15 <<<"$drawn" | paste -sd,)
}
emulate unchanged1
[ "$(only task unchanged1 | awk "$field"'{ step[field("step")] } END { n = 0; for (s in step) n += s + 0 >= 2 && s + 0 <= 32; print n }')" -ge 31 ] || fail 'the recorded steps are not 2 to 32'
# A trace that is cut in its midst: that it is cut, and where, is on the page and in all forms; whether the job changed is not said.
gzip -dc emulated/rank0.json.gz >whole.json
cut_at=$(($(wc -c <whole.json) / 2))
head -c $cut_at whole.json >cut.json
expect 0 lumos-compare unchanged1 cut.json -f json -o cut
jq -e --arg at $cut_at '.outcome == "inconclusive" and .a.damage == null and .b.damage == "rank 0: the trace is cut at byte \($at)" and
  (.verdict | startswith("Inconclusive: steps of B may lack work (rank 0: the trace is cut at byte \($at)). As read, a step takes "))' cut >/dev/null ||
  fail "a cut trace is $(jq -c '[.outcome, .b.damage, .verdict]' cut)"
# So is one with a hole, as of a copy that lost blocks; one of few bytes is an event that was skipped.
for hole in 1000 100000; do
  { head -c $cut_at whole.json && head -c $hole /dev/zero && tail -c +$((cut_at + hole + 1)) whole.json; } >hole.json
  expect 0 lumos-compare unchanged1 hole.json -f json -o hole
  jq -e --argjson large $((hole > 65536)) '((.b.damage // "") | startswith("rank 0: the trace is damaged at byte ")) == ($large == 1) and (.outcome == "inconclusive") == ($large == 1)' hole >/dev/null ||
    fail "a hole of $hole bytes is $(jq -c '[.outcome, .b.damage]' hole)"
done
# Of several jobs none that lacks work has the shortest step, and the title says which one does.
expect 0 lumos-compare unchanged1 cut.json unchanged1 -o three-cut.html
grep -q '^<h1>[AC] has the shortest step.*Steps of B may lack work (rank 0: the trace is cut at byte' <(sed 's/\xc2\xa0/ /g' three-cut.html) || fail "the title with a cut trace is $(grep -o '^<h1>.*' three-cut.html | head -c 400)"
expect 0 lumos-compare cut.json unchanged1 -o cut.html
sed -i 's/\xc2\xa0/ /g' cut.html
for place in '<h1>Inconclusive: steps of A may lack work' "; steps may lack work: rank 0: the trace is cut at byte $cut_at"; do
  grep -qF "$place" cut.html || fail "the page of a cut trace lacks '$place'"
done
trials=0 alike=0
halves() { # RECORDING FIRST LAST
  local trial
  for ((trial = $2; trial <= $3; trial++)); do
    halve "$trial"
    lumos-compare "$1" "$1" --steps-a "$half" --steps-b "$other" -f json -o halves || fail 'halves are not compared'
    trials=$((trials + 1))
    jq -e '.outcome == "alike" and (.verdict | startswith("No difference beyond noise: "))' halves >/dev/null && alike=$((alike + 1))
  done
}
halves unchanged1 1 5
more_halves() {
  local seed
  halves unchanged1 6 50
  for seed in 2 3 4; do
    emulate unchanged$seed --seed $seed
    halves unchanged$seed $((50 * seed - 49)) $((50 * seed))
  done
}
rarely more_halves
[ "$alike" -eq "$trials" ] || fail "of $trials drawn halves only $alike do not differ from the others"

# --- A planted change ---

# The change is 2 % more than the noise floor of the kind's largest row, as two unchanged halves have it: a share of what it takes, in percent.
planted=0 found=0
plant() { # SEED KIND TRIALS
  local trial noise factor
  [ -e unchanged$1 ] || emulate unchanged$1 --seed $1
  halve 1
  lumos-compare unchanged$1 unchanged$1 --steps-a "$half" --steps-b "$other" -f json -o halves
  noise=$(jq --arg kind "$2" '[.rows[] | select(.kind == $kind)] | max_by(.a.time) | 100 * .noise / .a.time' halves)
  factor=$(awk -v noise="$noise" 'BEGIN { print 1 + (noise + 2) / 100 }')
  emulate changed --seed $1 --scale "$2=$factor"
  for ((trial = 1; trial <= $3; trial++)); do
    halve "$trial"
    lumos-compare unchanged$1 changed --steps-a "$half" --steps-b "$other" -f json -o change || fail 'a changed job is not compared'
    planted=$((planted + 1))
    if jq -e --arg kind "$2" --argjson factor "$factor" '.verdict as $verdict | ([.rows[] | select(.kind == $kind)] | max_by(.a.time)) as $largest |
      $largest.time_differs and $largest.b.time > $largest.a.time and all(.rows[]; .kind == $kind or (.time_differs or .count_differs | not)) and
      any(.rows[]; .kind == $kind and .time_differs and (.a.op // .a.name | .[:40]) as $op | $verdict | contains($op))' change >/dev/null; then
      found=$((found + 1))
    else
      jq -c --arg kind "$2" --argjson factor "$factor" '[$kind, $factor, .verdict]' change >>missed
    fi
  done
}
plant 1 gemm 2
plant 1 attention 2
more_plants() {
  local kind seed
  for seed in 1 2; do
    for kind in gemm attention elementwise norm optimizer; do
      if [ $seed$kind != 1gemm ] && [ $seed$kind != 1attention ]; then plant $seed $kind 10; else plant $seed $kind 8; fi
    done
  done
}
rarely more_plants
((100 * found >= 95 * planted)) || fail "of $planted planted changes only $found are found and named: $(head -n 5 missed)"
[ ! -e missed ] || printf 'missed: %s\n' "$(<missed)"

# --- A slow rank ---

# Of four replicas rank 1 is slow, its GPU or its CPU: it is named, either way round, and nobody of a job and another run of it.
replicas() { emulated-cluster --layers 2 --hidden 2048 --seq 2048 --micro-batches 2 --vocab 8192 --steps 4 --dp 4 --quiet "${@:2}" "$1" && rm "$1/truth.json" || fail "no emulated job ($*)"; }
replicas alike
replicas slow --straggler 1=1.3
replicas slow_cpu --slow-host 1=3
for pair in 'alike slow' 'slow alike' 'alike slow_cpu'; do
  read -r one other <<<"$pair"
  lumos-compare $one $other -f json -o slower 2>message || fail "$pair is not compared: $(head -c 300 message)"
  jq -e '.carrier.rank == 1 and .carrier.others_wait and (.carrier.own > 0) == (.b.step > .a.step) and (.verdict | gsub("\u00a0"; " ") | contains("rank 1 takes") and contains("the other 3 ranks wait"))' slower >/dev/null ||
    fail "of $pair the slow rank is not named: $(jq -c '[.verdict, .carrier]' slower)"
done
lumos-compare alike alike -f json -o itself 2>message
jq -e '.carrier == null and (.verdict | startswith("No difference"))' itself >/dev/null || fail 'a job is not like itself'
jq -e '.carrier.kind == "idle"' slower >/dev/null || fail "a slow CPU is not idle time: $(jq -c .carrier slower)"
more_replicas() { replicas again --seed 5; lumos-compare alike again -f json -o slower 2>message; jq -e '.carrier == null' slower >/dev/null || fail "another run has a slow rank: $(jq -c .verdict slower)"; }
rarely more_replicas

# --- A real pair ---

real=${LUMOS_PAIRS:-$traces/../pairs}
control=$traces/hta-diff-A100-8rank-109k/control.json.gz test=$real/hta-diff-A100/test.json.gz
if [ -e "$control" ] && [ -e "$test" ]; then
  # counts FIRST ONE OTHER: calls and GPU time of both, of their steps from ordinal FIRST on, as counted and as said.
  counts() {
    local side trace=$2
    expect 0 lumos-compare "$2" "$3" -f json -o pair
    for side in a b; do
      [ $side = a ] || trace=$3
      "$python" -S "$source_folder/tests/cli/compare.py" "$trace" "$1" | sort >counted
      jq -r --arg side $side '(.calls[] | .[$side] | select(. != null) | "\(.name) \(.count)"), "(gpu) \(.[$side].gpu_time)"' pair | sort >said
      [ "$(wc -l <counted)" -gt 5 ] || fail "only $(wc -l <counted) calls are counted"
      diff counted said >difference || fail "calls and GPU time of $trace, as counted (<) and as said (>), differ: $(head -n 5 difference)"
    done
  }
  # Of other vendors each row of work matches at the level of its op, and noise of one step each is unknown.
  counts 0 "$traces"/tracelens-qwen-H100-vs-MI300/h100*.json.gz "$traces"/tracelens-qwen-H100-vs-MI300/mi300*.json.gz
  jq -e '.outcome == "unknown" and (.verdict | contains("on another GPU, of one step each, so noise is unknown")) and ([.b.matched[]] | add) > 0.98 * .b.gpu_time and .b.matched.kernel > 0.5 * .b.gpu_time and
    all(.rows[]; ((.a.shapes // "") + (.b.shapes // "")) | contains("?") or contains("\n") | not)' pair >/dev/null || fail "of two vendors: $(jq -c '[.outcome, .verdict, .b.matched]' pair)"
  counts 1 "$control" "$test"
  [ "$(jq -r '.calls[] | select(.a.name == "cudaMemcpyAsync") | "\(.a.count) to \(.b.count) in \(.a.op)"' pair)" = '38 to 802 in aten::copy_' ] ||
    fail 'cudaMemcpyAsync does not go from 38 to 802 calls'
  [[ $(jq -r .verdict pair) == *' cudaMemcpyAsync goes from 38 to 802 calls a step.' ]] || fail "the verdict does not say that calls changed: $(jq -r .verdict pair)"
  counted="; counts of all $(jq '.calls | length' pair) calls and the GPU time of a real pair are those counted elsewhere"
else
  printf "SKIPPED in part: the real pair is not here (LUMOS_TRACES='%s')\n" "$traces"
  counted=
fi
proved "$alike of $trials drawn halves of a recording do not differ, $found of $planted changes of 2 % over the noise are found and named$counted"
finish

#!/usr/bin/env bash
# Run the fuzzers from their corpora on, and say what they did. What is found lies in FOLDER/findings, and the command that runs it again is printed; a
# finding that is mended becomes a file of tests/fuzz/corpus with a telling name. New inputs are kept in FOLDER/corpus for the next time.
#
#   tests/fuzz/run.sh [OPTION]... [FUZZER...]     all fuzzers by default
#     --seconds N       for each fuzzer, 60 by default
#     --hours N         in total, shared out evenly; decimals are allowed
#     --jobs N          fuzzers at a time; one for each core by default
#     --coverage        instead of that, the lines of each reader that its corpus and the new inputs reach; --least PERCENT fails below that
#     --folder FOLDER   of the build, which clang makes with AddressSanitizer and UBSan; build/fuzz by default
set -euo pipefail
fuzz=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$fuzz/../.." && pwd)
folder=$root/build/fuzz seconds=60 hours='' jobs=$(nproc) coverage=no least=0 names=()
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=$2 && shift ;;
    --hours) hours=$2 && shift ;;
    --jobs) jobs=$2 && shift ;;
    --least) least=$2 && shift ;;
    --folder) folder=$(mkdir -p "$2" && cd "$2" && pwd) && shift ;;
    --coverage) coverage=yes ;;
    -*) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit 2 ;;
    *) names+=("$1") ;;
  esac
  shift
done

# Each reader of files, the fuzzer that is its own, and its sources.
readers=(
  'traces;trace;trace/(?!hta)[a-z_]+'
  'streams;stream;stream/[a-z_]+'
  'plans of sweeps;plan;sweep/(grid|rows)'
  'tables of GPUs;hardware;cost/hardware'
  'networks;network;cost/network'
  'models;model;program/model_file'
  'thresholds;gate;gate/(thresholds|reports)'
  'histories;history;history/night'
)

# build FOLDER CMAKE-OPTION...
build() {
  local folder=$1
  shift
  CC=clang cmake -S "$root" -B "$folder" -DLUMOS_WERROR=ON -DBUILD_TESTING=ON "$@" >/dev/null
  cmake --build "$folder" -j "$jobs" --target fuzzers >"$folder/build.log" 2>&1 || { tail -n 20 "$folder/build.log" >&2; exit 1; }
}

# --- Coverage ---

# cover READER FUZZER SOURCES: a line of the table; the lines that are not reached go to a file.
cover() {
  local reader=$1 name=$2 corpora=("$fuzz/corpus/$2") build=$folder/coverage
  local program=$build/fuzz/fuzz-$name profile=$build/$name.profdata
  [ ! -d "$folder/corpus/$name" ] || [ -z "$(ls "$folder/corpus/$name")" ] || corpora+=("$folder/corpus/$name")
  LLVM_PROFILE_FILE=$build/$name.profraw "$program" "${corpora[@]}" >"$build/$name.log" 2>&1 || { tail -n 3 "$build/$name.log" >&2; return 1; }
  llvm-profdata merge -sparse "$build/$name.profraw" -o "$profile"
  cd "$build" # names of sources may be relative to it
  llvm-cov export -summary-only "$program" -instr-profile="$profile" |
    jq --arg sources "/src/$3\\.c$" '[.data[0].files[] | select(.filename | test($sources))]' >"$build/$name.json"
  llvm-cov show "$program" -instr-profile="$profile" |
    awk -v sources="/src/${3/(?!hta)/}[.]c:$" '/^[^ ].*:$/ { shown = $0 ~ sources } shown && (/^[^ ].*:$/ || /^ *[0-9]+\| +0\|/)' >"$build/$name.missed"
  jq -r --arg reader "$reader" --arg inputs "$(tail -n 1 "$build/$name.log" | cut -d ' ' -f 1)" \
    '(map(.summary.lines.covered) | add) as $reached | (map(.summary.lines.count) | add) as $all |
     "| \($reader) | \($inputs) | \($reached) of \($all) | \(1000 * $reached / $all | floor / 10) % |"' "$build/$name.json"
  jq -e --argjson least "$least" '(map(.summary.lines.covered) | add) >= $least / 100 * (map(.summary.lines.count) | add)' "$build/$name.json" >/dev/null
}

if [ "$coverage" = yes ]; then
  build "$folder/coverage" -DCMAKE_BUILD_TYPE=Coverage -DCMAKE_C_FLAGS='-O1 -fprofile-instr-generate -fcoverage-mapping'
  printf '| reader | inputs | lines reached | share |\n|---|---|---|---|\n'
  status=0
  for row in "${readers[@]}"; do
    IFS=';' read -r reader name sources <<<"$row"
    [ ${#names[@]} -eq 0 ] || [[ " ${names[*]} " == *" $name "* ]] || continue
    (cover "$reader" "$name" "$sources") || status=1
  done
  echo "Lines that are not reached: $folder/coverage/*.missed"
  exit $status
fi

# --- Fuzzing ---

build "$folder" -DLUMOS_FUZZ=ON -DLUMOS_SANITIZE=address,undefined
findings=$folder/findings
mkdir -p "$findings"

# fuzz_one NAME SECONDS: after a finding it goes on, up to ten of them.
fuzz_one() {
  local name=$1 begin=$SECONDS log=$folder/fuzz-$1.log found=0 runs=0 added=0 edges=- left=$2
  local options=(-timeout=10 -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1)
  mkdir -p "$folder/corpus/$name"
  case $name in
    job | stream | trace) options+=(-max_len=24576) ;;
    plan | gate | history) options+=(-max_len=8192) ;;
    selector) options+=(-max_len=256) ;;
  esac
  [ ! -e "$fuzz/$name.dict" ] || options+=(-dict="$fuzz/$name.dict")
  while [ "$left" -gt 0 ] && [ $found -lt 10 ]; do
    "$folder/fuzz/fuzz-$name" "$folder/corpus/$name" "$fuzz/corpus/$name" "${options[@]}" -max_total_time="$left" \
      -artifact_prefix="$findings/$name-" >"$log" 2>&1 || {
      found=$((found + 1))
      grep -a -m1 -E '^SUMMARY|does not hold|ERROR:' "$log" | sed "s/^/$name: /" >&2
      sed -n "s|.*Test unit written to |  $folder/fuzz/fuzz-$name |p" "$log" >&2
    }
    runs=$((runs + $(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | grep . || echo 0)))
    added=$((added + $(sed -n 's/^stat::new_units_added: *//p' "$log" | grep . || echo 0)))
    edges=$(grep -a -o ' cov: [0-9]*' "$log" | tail -n 1 | tr -dc 0-9)
    left=$(($2 - (SECONDS - begin)))
  done
  printf '| %s | %d | %d | %d | %s | %d |\n' "$name" $((SECONDS - begin)) "$runs" "$added" "${edges:--}" "$found"
}
export -f fuzz_one
export fuzz folder findings

[ ${#names[@]} -gt 0 ] || for source in "$fuzz"/corpus/*/; do names+=("$(basename "$source")"); done
[ -z "$hours" ] || seconds=$(awk -v hours="$hours" -v count=${#names[@]} 'BEGIN { print int(hours * 3600 / count) }')
[ "$seconds" -gt 0 ] || { echo "That is less than a second for each of ${#names[@]} fuzzers." >&2; exit 2; }
printf '%s\n' "${names[@]}" | xargs -P "$jobs" -I{} bash -euo pipefail -c "fuzz_one {} $seconds" >"$folder/summary.rows"
{
  printf '| fuzzer | seconds | runs | new inputs | edges reached | findings |\n|---|---|---|---|---|---|\n'
  sort "$folder/summary.rows"
  awk -F '|' '{ time += $3; runs += $4; added += $5; found += $7 } END { printf "| all | %d | %d | %d | | %d |\n", time, runs, added, found }' "$folder/summary.rows"
} | tee "$folder/summary.md"
! awk -F '|' '$7 > 0' "$folder/summary.rows" | grep -q .

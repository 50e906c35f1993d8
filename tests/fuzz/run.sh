#!/usr/bin/env bash
# Run every fuzzer of a fuzzing build for a while, on all cores, from its corpus on. What is found lies in FOLDER/findings, and the
# command that runs it again is printed; a finding that is mended becomes a file of tests/fuzz/corpus with a telling name.
#
#   tests/fuzz/run.sh FOLDER [SECONDS [FUZZER...]]     FOLDER: built with clang, -DLUMOS_FUZZ=ON -DLUMOS_SANITIZE=address,undefined
set -euo pipefail
fuzz=$(cd "$(dirname "$0")" && pwd)
folder=$1
seconds=${2:-60}
shift $(($# < 2 ? $# : 2))
findings=$folder/findings
mkdir -p "$findings"

# fuzz_one NAME: new inputs are kept in FOLDER/corpus/NAME for the next time.
fuzz_one() {
  local name=$1 options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096)
  mkdir -p "$folder/corpus/$name"
  case $name in
    job | stream | trace) options+=(-max_len=24576) ;;
    selector) options+=(-max_len=256) ;;
  esac
  [ ! -e "$fuzz/$name.dict" ] || options+=(-dict="$fuzz/$name.dict")
  if "$folder/fuzz/fuzz-$name" "$folder/corpus/$name" "$fuzz/corpus/$name" "${options[@]}" \
    -artifact_prefix="$findings/$name-" >"$folder/fuzz-$name.log" 2>&1; then
    printf '%-10s %s\n' "$name" "$(grep -a 'DONE' "$folder/fuzz-$name.log" | tr -s ' \t' ' ' | cut -c1-90)"
  else
    printf '%-10s FOUND SOMETHING: %s\n' "$name" "$(grep -am1 -E '^SUMMARY|does not hold|ERROR:' "$folder/fuzz-$name.log")"
    grep -a -o "$findings/$name-.*" "$folder/fuzz-$name.log" | sed "s|^|           $folder/fuzz/fuzz-$name |"
    return 1
  fi
}
export -f fuzz_one
export fuzz folder seconds findings

names=("$@")
[ ${#names[@]} -gt 0 ] || for source in "$fuzz"/corpus/*/; do names+=("$(basename "$source")"); done
printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -I{} bash -euo pipefail -c 'fuzz_one {}'

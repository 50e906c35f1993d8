#!/usr/bin/env bash
# All checks, as continuous integration runs them: build with gcc and with clang and its sanitizers, every test in both,
# then format, clang-tidy and cppcheck, then the fuzzers, half a minute each. Stops at the first step that fails.
#
#   tests/run.sh           everything
#   tests/run.sh --quick   the gcc build and its tests only
set -euo pipefail
cd "$(dirname "$0")/.."

quick=no
case "${1:-}" in
  '') ;;
  --quick) quick=yes ;;
  *)
    sed -n '2,6s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac

jobs=$(nproc 2>/dev/null || echo 2)
started=$SECONDS

# step TEXT COMMAND...: run a step in full view and say how long it took.
step() {
  local text=$1 begin=$SECONDS
  shift
  printf '\n=== %s\n' "$text"
  if ! "$@"; then
    printf '=== FAILED: %s\n' "$text" >&2
    exit 1
  fi
  printf '=== done in %d s: %s\n' $((SECONDS - begin)) "$text"
}

install_packages() {
  # shellcheck source=examples/install.sh
  . examples/install.sh
  lumos_install "${lumos_build_packages[@]}" "${lumos_test_packages[@]}" &&
    { lumos_install "${lumos_browser_packages[@]}" || echo 'The tests in a browser will be skipped.'; }
}

# build FOLDER COMPILER CMAKE-OPTION...
build() {
  local folder=$1 compiler=$2
  shift 2
  CC=$compiler cmake -S . -B "$folder" -DLUMOS_WERROR=ON -DBUILD_TESTING=ON "$@" >/dev/null && cmake --build "$folder" -j "$jobs"
}

build_fuzzers() {
  CC=clang cmake -S . -B build/fuzz -DLUMOS_WERROR=ON -DBUILD_TESTING=ON -DLUMOS_FUZZ=ON \
    -DLUMOS_SANITIZE=address,undefined >/dev/null && cmake --build build/fuzz -j "$jobs" --target fuzzers
}

run_tests() (
  cd "$1"
  ctest -j2 --output-on-failure --no-tests=error || exit 1
  grep '^SKIPPED: ' Testing/Temporary/LastTest.log || true
)

sources() { find src include tests -name '*.[ch]' -print0 | sort -z; }

check_format() { sources | xargs -0 clang-format --dry-run -Werror; }

# Only what this build compiles: clang-tidy needs each file's flags.
check_tidy() {
  sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' build/sanitize/compile_commands.json | grep -v '/templates\.c$' |
    tr '\n' '\0' | xargs -0 -P "$jobs" -n 2 clang-tidy --quiet -p build/sanitize
}

# objectIndex: it takes &vector.items[n] for the address of the pointer, not of what it points to.
check_cppcheck() {
  cppcheck --enable=warning,performance,portability --std=c11 --language=c --inline-suppr --error-exitcode=1 --quiet \
    --suppress=missingIncludeSystem --suppress=objectIndex -D_GNU_SOURCE -DHAVE_ISAL -DHAVE_ZSTD -j "$jobs" -Iinclude -Isrc src
}

# lint TEXT COMMAND: a step that reads nothing but the sources and its own settings, so the same ones need no second look.
lint() {
  local passed=build/passed-$2 digest
  digest=$({ sources; printf '%s\0' .clang-format .clang-tidy .cmake/*.cmake CMakeLists.txt tests/CMakeLists.txt tests/run.sh; } | xargs -0 sha256sum | sha256sum)
  if [ "$(cat "$passed" 2>/dev/null)" = "$digest" ]; then
    printf '\n=== %s: nothing has changed since it last passed\n' "$1"
    return
  fi
  step "$1" "$2"
  printf '%s\n' "$digest" >"$passed"
}

step 'Packages' install_packages
step 'Build with gcc (build/)' build build gcc
step 'Tests' run_tests build
step 'Quickstart' examples/quickstart.sh
if [ $quick = no ]; then
  # zlib in place of ISA-L, so that both ways to inflate gzip pass all tests.
  step 'Build with clang, AddressSanitizer and UBSan (build/sanitize/)' \
    build build/sanitize clang -DLUMOS_SANITIZE=address,undefined -DLUMOS_ISAL=OFF
  step 'Tests with AddressSanitizer and UBSan' run_tests build/sanitize
  lint 'Format (clang-format)' check_format
  lint 'clang-tidy' check_tidy
  lint 'cppcheck' check_cppcheck
  step 'Build the fuzzers (build/fuzz/)' build_fuzzers
  step 'Fuzzers, half a minute each' tests/fuzz/run.sh "$PWD/build/fuzz" 30
fi
printf '\nAll steps passed in %d s.\n' $((SECONDS - started))

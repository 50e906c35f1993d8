#!/usr/bin/env bash
# Build with gcc, run every test, make a page: what holds the promises of tests/README.md. The aim: five minutes on two cores.
# Stops at the first step that fails.
#
#   tests/run.sh                 all that
#   tests/run.sh --all [LIMIT]   what takes longer, the most telling first: the tests with AddressSanitizer, UBSan and ThreadSanitizer, all cases of all scripts,
#                                hundreds of drawn jobs and damaged traces, the public traces that take long, all of the browser,
#                                clang-format, cppcheck, clang-tidy, fuzzers. LIMIT: seconds; what no longer fits is skipped, and named
set -euo pipefail
cd "$(dirname "$0")/.."

jobs=$(nproc 2>/dev/null || echo 2)

install_packages() {
  # shellcheck source=examples/install.sh
  . examples/install.sh
  lumos_install "${lumos_build_packages[@]}" "${lumos_test_packages[@]}" &&
    { lumos_install "${lumos_browser_packages[@]}" || echo 'The tests in a browser will be skipped.'; }
}

# build FOLDER COMPILER CMAKE-OPTION...: by ninja in a new folder, which has less to do for each file.
build() {
  local folder=$1 compiler=$2 generator=()
  shift 2
  [ -e "$folder/CMakeCache.txt" ] || ! command -v ninja >/dev/null || generator=(-G Ninja)
  CC=$compiler cmake "${generator[@]}" -S . -B "$folder" -DLUMOS_WERROR=ON -DBUILD_TESTING=ON "$@" >/dev/null && cmake --build "$folder" -j "$jobs"
}

# run_tests FOLDER CTEST-OPTION...: more at a time than there are cores, for tests wait, too: on files, browsers and each other; and what each has proved, or has left out.
run_tests() (
  cd "$1"
  shift
  ctest -j "$((jobs + jobs / 2 + 1))" --output-on-failure --no-tests=error "$@" || exit 1
  awk '
    /^[0-9]+\/[0-9]+ Test: / { test = $3 }
    /^(proved|SKIPPED)/ { print test ": " $0 }
    /\[       OK \]/ { cases++; if (!(test in seen)) { seen[test]; files++ } }
    END { if (cases) printf "unit, property and emulator: proved: %d cases in %d files\n", cases, files }' Testing/Temporary/LastTest.log | sort -u
)

sources() { find src include tests -name '*.[ch]' -print0 | sort -z; }

# --- The steps; those of --all by the names in the list below, each with the build that it needs ---

gcc_build() { build build gcc; }
# What holds no promise of tests/README.md alone: the emulated cluster's own scripts, and edges in real traces.
cluster='emulator/(bubble|communication|files|inputs|left_out|links|mechanisms|options|order|recording|stacks)$|cli/edges-real$'
gcc_tests() { run_tests build -E "^(bench/|$cluster)"; }
benchmark() { gcc_build && run_tests build -R ^bench/; }
check_format() { sources | xargs -0 -P "$jobs" -n 40 clang-format --dry-run -Werror; }

# zlib in place of ISA-L, so that both ways to inflate gzip pass the tests.
sanitized_build() { build build/sanitize clang -DLUMOS_SANITIZE=address,undefined -DLUMOS_ISAL=OFF; }
# The scripts whose jobs are small: each tool once at least, with good input and bad.
small='cli/(completion|cut|deadlock|driver|edited|errors|example|hostile|inputs|measure|pipeline|progress|steps)$'
sanitized_tests() { sanitized_build && run_tests build/sanitize -R "^(unit|property|fuzz|emulator/test_)|$small"; }
# What several threads do: each tool with 1, 2 and 16 of them, the library's pieces of work by themselves, and tools side by side in a pipe.
threads='^(unit/test_(base_parallel|rebuild_library|sim_(opportunity|ranges))|cli/(identity|pipeline))$'
threaded_tests() { build build/thread clang -DLUMOS_SANITIZE=thread && run_tests build/thread -R "$threads"; }
sanitized_scripts() { sanitized_build && run_tests build/sanitize -R '^(cli|emulator)/' -E "emulator/test_|$small"; }

# What is predicted is a step of its own, for it takes longest.
predicted='cli/(learned|models|perturbed|ranges|rebuild|rebuilt|removed|sizes|sweep)$'
all_cases() { gcc_build && LUMOS_ALL=yes run_tests build -R '^(cli|browser|emulator)/' -E "^($predicted|emulator/test_)"; }
predictions() { gcc_build && LUMOS_ALL=yes run_tests build -R "^$predicted"; }
drawn_jobs() { gcc_build && LUMOS_DRAWN=100 run_tests build -R '^(cli/(program|waiting)|property/test_rebuild_plans)$'; }
damaged_traces() { gcc_build && LUMOS_WAYS=200 run_tests build -R '^property/test_trace_(damage|result)$'; }
# Only what this build compiles: clang-tidy needs each file's flags. A file that is compiled several times is named once, for clang-tidy looks at
# it in all these ways.
check_tidy() {
  sanitized_build
  sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' build/sanitize/compile_commands.json | grep -v '/templates\.c$' | sort -u |
    tr '\n' '\0' | xargs -0 -P "$jobs" -n 2 clang-tidy --quiet -p build/sanitize
}

# objectIndex: it takes &vector.items[n] for the address of the pointer, not of what it points to.
check_cppcheck() {
  cppcheck --enable=warning,performance,portability --std=c11 --language=c --inline-suppr --error-exitcode=1 --quiet \
    --suppress=missingIncludeSystem --suppress=objectIndex -D_GNU_SOURCE -DHAVE_ISAL -DHAVE_ZSTD -j "$jobs" -Iinclude -Isrc src
}

fuzz() { tests/fuzz/run.sh --seconds 60; }
fuzz_coverage() { tests/fuzz/run.sh --coverage --least 90; }

# step | seconds that it takes on two cores | what it is
all=(
  'sanitized_tests   |  550 | Unit and property tests, fuzzing corpora and a small job for each tool, with AddressSanitizer and UBSan'
  'check_format      |   20 | clang-format'
  'threaded_tests    |  200 | Tools with 1, 2 and 16 threads, with ThreadSanitizer'
  'check_cppcheck    |  120 | cppcheck'
  'all_cases         | 2400 | All cases of all scripts but predictions, the emulated cluster by itself, the public traces that take long, all of the browser'
  'damaged_traces    |   60 | Two hundred ways to damage each trace'
  'benchmark         |   30 | The benchmark, as a smoke test'
  'predictions       |  900 | All predictions held against what then happens'
  'drawn_jobs        |  500 | Two hundred jobs drawn by chance, and a thousand configurations'
  'check_tidy        |  800 | clang-tidy'
  'fuzz              |  700 | Fuzzers, a minute each'
  'fuzz_coverage     |  200 | Lines of each reader that the inputs of its fuzzer reach'
  'sanitized_scripts | 1200 | All scripts with the sanitizers'
)

# step TEXT COMMAND...: run a step in full view and say how long it took.
step() {
  local text=$1 begin=$SECONDS status=0
  shift
  printf '\n=== %s\n' "$text"
  "$@" || status=$?
  # timeout's: the limit has come, which is no fault of what was running.
  if [ "$status" -eq 124 ] && [ "$1" = timeout ]; then
    skipped+=("$text (begun)")
    printf '=== SKIPPED, for the limit has come: %s\n' "$text"
    return
  fi
  [ "$status" -eq 0 ] || { printf '=== FAILED: %s\n' "$text" >&2; exit 1; }
  printf '=== done in %d s: %s\n' $((SECONDS - begin)) "$text"
}

skipped=()
case "${1:-}" in
  '')
    step 'Packages' install_packages
    step 'Build with gcc (build/)' gcc_build
    step 'Tests' gcc_tests
    step 'Quickstart' examples/quickstart.sh
    ;;
  --all)
    limit=${2:-1000000}
    [[ $limit =~ ^[0-9]{1,9}$ ]] || { echo "--all: '$limit' is no number of seconds" >&2; exit 2; }
    limit=$((10#$limit)) # of 08, too
    step 'Packages' install_packages
    for row in "${all[@]}"; do
      IFS='|' read -r name seconds text <<<"$row"
      name=${name// /} text=${text# }
      left=$((limit - SECONDS))
      if [ "$left" -lt $((seconds)) ]; then
        skipped+=("$text")
        printf '\n=== SKIPPED, for it takes %d s, and %d of %d are left: %s\n' $((seconds)) "$left" "$limit" "$text"
      else
        step "$text" timeout "$left" tests/run.sh --step "$name"
      fi
    done
    ;;
  --step) # of --all, in a process of its own
    "$2"
    exit
    ;;
  *)
    sed -n '2,8s/^# \{0,1\}//p' tests/run.sh
    exit 2
    ;;
esac
[ ${#skipped[@]} -eq 0 ] || printf '\nSKIPPED: %s' "${skipped[@]}"
printf '\nAll %ssteps passed in %d s.\n' "$([ ${#skipped[@]} -eq 0 ] || echo other\ )" $SECONDS

# Sourced by the scripts beside it: runs the emulator and lays its traces and its truth out as tables for awk, one line a row, tabs
# between columns, times in whole nanoseconds of the job.
. "$(dirname "${BASH_SOURCE[0]}")/../../cli/lib.sh"
[ -x "$bin/emulated-cluster" ] || { echo "No emulated-cluster in $bin: build first, or set LUMOS_BIN" >&2; exit 1; }

# emulate JOB OPTION...: the folder JOB with its traces and truth.
emulate() {
  local job=$1
  shift
  rm -rf "$job"
  emulated-cluster --quiet --plain "$@" "$job" || fail "emulated-cluster $* fails"
}

# Rows of a trace that last. TIME is where the job's time 0 lies in the trace's, in microseconds.
read -r -d '' rows_program <<'AWK'
function told() { if (category != "") print rank, category, name, thread, start, end, correlation, blocks, node; category = "" }
function nanoseconds(text,   parts) { split(text, parts, "."); return (parts[1] - TIME) * 1000 + parts[2] }
/"ph": "/ {
  told()
  if (!/"ph": "X"/) next
  match($0, /"cat": "[^"]*"/); category = substr($0, RSTART + 8, RLENGTH - 9)
  match($0, /"name": "[^"]*"/); name = substr($0, RSTART + 9, RLENGTH - 10); gsub(/\t/, " ", name)
  match($0, /"tid": -?[0-9]+/); thread = substr($0, RSTART + 7, RLENGTH - 7); correlation = blocks = -1; node = 0
  next
}
category != "" && /^ *"ts": / {
  match($0, /"ts": [0-9.]+/); start = nanoseconds(substr($0, RSTART + 6, RLENGTH - 6))
  match($0, /"dur": [0-9.]+/); split(substr($0, RSTART + 7, RLENGTH - 7), parts, "."); end = start + parts[1] * 1000 + parts[2]
}
category != "" && match($0, /"correlation": [0-9]+/) { correlation = substr($0, RSTART + 15, RLENGTH - 15) }
category != "" && match($0, /"grid": \[[0-9, ]+/) { split(substr($0, RSTART + 9, RLENGTH - 9), parts, ", "); blocks = parts[1] * parts[2] * parts[3] }
category != "" && match($0, /"graph node id": [0-9]+/) { node = substr($0, RSTART + 17, RLENGTH - 17) % 4294967296 }
END { told() }
AWK

# rows JOB RANK: rank, category, name, thread or stream, start, end, correlation, blocks of the grid (-1: none), place in a graph (0: in none); as the rank's clocks show time.
rows() {
  local epoch base
  epoch=$(sed -n 's/^"epoch": "\([0-9]*\)".*/\1/p' "$1/truth.json")
  base=$(sed -n 's/^ *"baseTimeNanoseconds": \([0-9]*\).*/\1/p;/baseTime/q' "$1/rank$2.json")
  awk -v OFS='\t' -v CONVFMT=%.0f -v OFMT=%.0f -v rank="$2" -v TIME=$(((epoch - base) / 1000)) "$rows_program" "$1/rank$2.json"
}

# truth JOB: JOB/steps (run, number, rank and on as step_columns say), JOB/tasks (rank, correlation, phase, micro-batch, layer, part, what options add),
# JOB/edges (rank, from, to, binding), JOB/collectives (columns to end, then lists), JOB/clocks, JOB/windows.
truth() {
  local table
  for table in steps tasks edges collectives clocks windows; do : >"$1/$table"; done
  awk -v OFS='\t' -v folder="$1" '
    # What a row of truth.json holds, its lists joined by commas.
    function columns(   list, lists) {
      lists = gsub(/\[/, "[")
      sub(/[]},]*$/, lists > 1 ? "]" : "") # what closes the table, too
      sub(/^\[/, "")
      while (match($0, /\[[^]]*\]/)) {
        list = substr($0, RSTART + 1, RLENGTH - 2)
        gsub(/, /, ",", list)
        $0 = substr($0, 1, RSTART - 1) list substr($0, RSTART + RLENGTH)
      }
      gsub(/"/, ""); gsub(/, /, "\t")
      return $0
    }
    /^"(phases|parts)"/ { what = $1; gsub(/.*\[|\].*|[",]/, ""); number = split($0, names, " "); for (i = 1; i <= number; i++) word[what, i - 1] = names[i]; next }
    /^\{"step"/ { table = "steps"; run = "profiled"; step = $2 + 0; next }
    /^"unprofiled"/ { run = "unprofiled"; next }
    /^\{"rank"/ { rank = $2 + 0; next }
    /^"/ { table = $1; gsub(/[":]/, "", table); next }
    !/^\[/ { next }
    table == "steps" { print run, step, columns() >(folder "/steps") }
    table == "tasks" { split(columns(), at, "\t"); print rank, at[1], word["\"phases\":", at[2]], at[3], at[4], word["\"parts\":", at[5]], at[6] >(folder "/tasks") }
    table == "edges" { print rank, columns() >(folder "/edges") }
    table ~ /^(collectives|clocks|windows)$/ { print columns() >(folder "/" table) }' "$1/truth.json"
}

# tables JOB: those of `truth`, JOB/rows of all its traces, and JOB/work, its device work by rank and correlation: rank, step (its launch's, -1:
# launched before the recording), stream, start, end, correlation, the launch's start and end (-1), phase, micro-batch, layer, part, name, blocks of its grid (-1: none).
tables() {
  local trace rank
  truth "$1"
  for trace in "$1"/rank*.json; do
    rank=${trace##*/rank}
    rows "$1" "${rank%.json}"
  done >"$1/rows"
  awk -F'\t' -v OFS='\t' -v CONVFMT=%.0f -v OFMT=%.0f '
    FILENAME ~ /tasks$/ { task[$1, $2] = $3 OFS $4 OFS $5 OFS $6; next }
    $2 == "user_annotation" && $3 ~ /^ProfilerStep#/ { step_start[$1, ++steps[$1]] = $5; step_number[$1, steps[$1]] = substr($3, 14) }
    $2 ~ /^cuda_(runtime|driver)$/ { call_start[$1, $7] = $5; call_end[$1, $7] = $6 }
    $2 ~ /^(kernel|gpu_memcpy|gpu_memset)$/ { row[++count] = $0 }
    END {
      for (i = 1; i <= count; i++) {
        split(row[i], at, FS)
        known = (at[1], at[7]) in call_start
        from = known ? call_start[at[1], at[7]] : -1
        step = -1
        for (k = steps[at[1]]; known && k > 0 && step < 0; k--) if (step_start[at[1], k] <= from) step = step_number[at[1], k]
        print at[1], step, at[4], at[5], at[6], at[7], from, known ? call_end[at[1], at[7]] : -1, task[at[1], at[7]], at[3], at[8]
      }
    }' "$1/tasks" "$1/rows" | sort -n -k1,1 -k6,6 >"$1/work"
}

# holds TEXT PROGRAM TABLE...: an awk program over tables prints what is wrong, and that it saw something to check: `seen` is not 0.
holds() {
  local text=$1 program=$2
  shift 2
  awk -F'\t' -v OFS='\t' -v CONVFMT=%.0f -v OFMT=%.0f "$program"'
    END { if (!seen) print "nothing was checked" }' "$@" >wrong 2>&1
  [ ! -s wrong ] || fail "$text: $(head -n 3 wrong | tr '\n\t' '; ' | cut -c -400) ($(wc -l <wrong) lines)"
}

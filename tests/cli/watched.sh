#!/usr/bin/env bash
# A watched folder for a month of nights, three runs of examples/nightly.sh a night: new recordings, the same ones once more, some of them cut, files
# that are no traces. Nothing grows: the files of the history, their bytes, what the tools need of memory, what is left in the folder of temporary
# files, processes, the loop's descriptors. With LUMOS_ALL=yes alone, for it takes a minute.
. "$(dirname "$0")/lib.sh"
[ "$all_cases" = yes ] || skip 'a month takes a minute; LUMOS_ALL=yes adds it'
need_python
mkdir traces tmp

# Memory of the largest process in it, in kB.
measured() {
  TMPDIR=$work/tmp "$python" -c 'import resource, subprocess, sys
status = subprocess.run(sys.argv[2:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=open(sys.argv[1], "w"))
sys.exit(status)' memory "$@"
}

printf '{"format":1,"metrics":[{"metric":"step_time","relative":0.5}]}' >thresholds.json
record() { # of the night SEED
  rm -rf emulated
  emulated-cluster --quiet --dp 2 --layers 2 --hidden 64 --heads 1 --seq 32 --vocab 128 --micro-batches 1 --steps 3 --seed "$1" emulated || fail 'the emulated cluster fails'
  cp emulated/rank*.json.gz traces
}
descriptors() { find "/proc/$$/fd" -type l | wc -l; }
for ((night = 1; night <= 30; night++)); do
  record "$night"
  printf 'no trace' >"traces/notes-$((night % 3)).txt"
  [ $((night % 7)) -ne 0 ] || { gzip -dc emulated/rank1.json.gz | head -c 20000 >traces/rank1.json; rm traces/rank1.json.gz; }
  most=0
  for run in 1 2 3; do
    status=0
    measured "$source_folder/examples/nightly.sh" traces history --night "2026-06-$(printf %02d "$night")" --gate thresholds.json --keep 7 2>message || status=$?
    [ $status -lt 126 ] || fail "night $night, run $run ends with $status: $(head -c 300 message)"
    [ "$(<memory)" -le "$most" ] || most=$(<memory)
  done
  rm -f traces/rank1.json
  printf '%d %d %d %d %d %d\n' "$night" "$(find history | wc -l)" "$(du -sb history | cut -f1)" "$most" "$(find tmp -mindepth 1 | wc -l)" "$(descriptors)" >>nights
done
reports=$(find history -name '2026-06-*.html' | wc -l)
[ "$reports" -ge 7 ] && [ "$reports" -le 17 ] || fail "$reports nights are kept: $(ls history/*)"
[ "$(find history -name '2026-06-*.gate.json' | wc -l)" -ge 7 ] || fail 'the gate did not run'
[ -z "$(find history -name '.made*' -o -name '.*.*')" ] || fail "hidden files are left: $(find history -name '.*.*')"
[ -z "$(jobs -p)" ] && [ -z "$(pgrep -P $$ lumos)" ] || fail 'processes are left'
awk '
  $5 != 0 { print "night " $1 " leaves " $5 " temporary files"; exit 1 }
  $6 != (first = first == "" ? $6 : first) { print "night " $1 ": " $6 " descriptors, before " first; exit 1 }
  # The first ten nights stay for the gate, and the last seven: from the nineteenth on as many come as go.
  $1 >= 19 && $1 <= 25 { for (i = 2; i <= 4; i++) if ($i > before[i]) before[i] = $i }
  $1 > 25 { for (i = 2; i <= 4; i++) if ($i > after[i]) after[i] = $i }
  END {
    split("0 files bytes kB-of-memory", name, " ")
    for (i = 2; i <= 4; i++) {
      print name[i] ": " before[i] " in nights 19 to 25, " after[i] " in nights 26 to 30"
      if (after[i] > before[i] * (i == 2 ? 1 : 1.03)) exit 1
    }
  }' nights >growth || fail "it grows: $(tail -n 1 growth)"
cat growth
proved 'a month of nights leaves no more files, bytes, memory, descriptors and processes than three weeks'
finish

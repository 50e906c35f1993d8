#!/usr/bin/env bash
# Every set of real traces ends with a page, the same from the pipe and from lumos-report, or with status 2 and a message that a user can act on. One line for each set.
. "$(dirname "$0")/lib.sh"
need_traces

# The parts of every step's partition add up to the step, to the nanosecond, measured and simulated, recomputed here.
adds_up() {
  only metric "$1" | grep -E '"scope":\{"rank":[0-9]+,"step":[0-9]+\}' | awk "$field"'
    { at = field("rank") " " field("step") " " field("source"); name = field("name"); value = field("value") }
    name == "step_time" { step[at] = value + 0 }
    name ~ /^(exposed_(compute|communication|copy)|overlapped|not_recorded|idle)$/ { sum[at] += value; parts[at]++ }
    END { for (at in parts) if (parts[at] == 6) { n++; bad += sum[at] != step[at] }; exit !n || bad }'
}

count() { grep -c "^{\"type\":\"$1\"" sim; }

jobs=0
run() {
  local name=$1 status=0
  shift
  jobs=$((jobs + 1))
  rm -f page.html direct.html
  if ! streams "$@"; then
    lumos-parse "$@" -o never 2>message || status=$?
    [ $status -eq 2 ] && [ -s message ] || fail "$name: lumos-parse ends with $status: $(head -c 300 message)"
    says ''
    printf '%-40s exit 2: %s\n' "$name" "$(head -c 200 message)"
    return
  fi
  ln -sf "$parsed" parse && ln -sf "$graphed" graph && ln -sf "$simulated" sim
  lumos-render sim -o page.html 2>message || { fail "$name: lumos-render: $(head -c 300 message)"; return; }
  lumos-report "$@" -o direct.html 2>message || fail "$name: lumos-report: $(head -c 300 message)"
  same page.html direct.html "$name: lumos-report and the pipe give different pages"
  for stage in parse graph sim; do
    lumos-parse --validate $stage >/dev/null 2>message || fail "$name: $stage is not valid: $(head -c 300 message)"
    clean $stage
  done
  lumos-parse sim -o again 2>message || fail "$name: lumos-parse refuses what lumos-sim wrote: $(head -c 300 message)"
  same parse again "$name: lumos-parse does not give its own work back"
  ! grep -q '"kind":"stream"' sim || adds_up sim || fail "$name: the parts do not add up to the step"
  valid_html page.html
  printf '%-40s page of %3d kB: %d ranks, %d steps, %d tasks, %d deps, %d collectives, %d warnings\n' "$name" \
    $(($(stat -c %s page.html) / 1000)) "$(count rank)" "$(grep -oE '"step":[0-9]+' sim | sort -u | wc -l)" "$(count task)" \
    "$(count dep)" "$(count collective)" "$(grep -cE '^{"type":"note".*"level":"(warning|error)"' sim)"
}

each_job run
proved "$jobs public traces and jobs end with a page, the same from the pipe and from one process, or with what to do; parts of steps add up to them"
finish

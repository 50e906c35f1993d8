#!/usr/bin/env bash
# Every set of real traces ends with a page, or with status 2 and a message that a user can act on. One line for each set.
. "$(dirname "$0")/lib.sh"
need_traces

# The parts of every step's partition add up to the step, to the nanosecond, measured and simulated, recomputed here.
adds_up() {
  grep '^{"type":"metric"' "$1" | jq -es '
    [.[] | select(.scope.rank != null and .scope.step != null)]
    | group_by([.scope.rank, .scope.step, .source])
    | map(map({key: .name, value: .value}) | from_entries | select(.exposed_compute != null))
    | length > 0 and all(.[]; .exposed_compute + .overlapped + .exposed_communication + .exposed_copy + .idle == .step_time)' >/dev/null
}

count() { grep -c "^{\"type\":\"$1\"" sim; }

run() {
  local name=$1 status=0
  shift
  rm -f parse sim page.html
  lumos-parse "$@" -o parse 2>message || status=$?
  if [ $status -ne 0 ]; then
    [ $status -eq 2 ] && [ -s message ] || fail "$name: lumos-parse ends with $status: $(head -c 300 message)"
    says ''
    printf '%-40s exit 2: %s\n' "$name" "$(head -c 200 message)"
    return
  fi
  lumos-graph parse -o graph 2>message || { fail "$name: lumos-graph: $(head -c 300 message)"; return; }
  lumos-sim graph -o sim 2>message || { fail "$name: lumos-sim: $(head -c 300 message)"; return; }
  lumos-render sim -o page.html 2>message || { fail "$name: lumos-render: $(head -c 300 message)"; return; }
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
finish

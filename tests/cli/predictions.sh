# Sourced by scripts that hold predictions against what then happens on the emulated cluster: how steps are read, and how the cases are judged.
# The script says `jobs` (name | options), `bars` and `all` (group | mean, worst |error| in % | cases that may be worse than "nothing changes" |
# what is missing), and `cases JOB OPTIONS`, which writes a line a case: group, job, change, step without it, true, predicted, low, high, in ns.
# For ranges.sh: LUMOS_CASES=FILE keeps the cases and holds no bars, which are of LUMOS_SEED 7 and three steps (LUMOS_STEPS) alone.
recording="--steps ${LUMOS_STEPS:-3} --seed ${LUMOS_SEED:-7} --quiet --plain"

# due SHARE: whether a case is made unless LUMOS_ALL=yes makes them all: one in SHARE, each job with other changes than the one before, so that every job
# and every change has some. A group's mean is then held against the bar of the worst, for it is of few.
jobs_seen=0 cases_seen=0 of_few=no
due() {
  cases_seen=$((cases_seen + 1))
  [ "${LUMOS_ALL:-no}" != yes ] || return 0
  of_few=yes
  [ $(((cases_seen + jobs_seen) % $1)) -eq 0 ]
}

# steps: the mean of "STEP NS" but the first.
steps() { awk 'NR > 1 { sum += $2 } END { if (NR < 2 || sum <= 0) exit 1; printf "%.1f\n", sum / (NR - 1) }'; }

# differ UNCHANGED CHANGED: how far the mean of the true steps of CHANGED, but the first, lies from that of runs with other chances, as a share, one
# standard deviation: by how much steps of both, which have the same chances as far as they do the same, are not in one proportion.
differ() {
  join <(true_steps "$1" | sort -k1,1) <(true_steps "$2" | sort -k1,1) | sort -n |
    awk 'NR > 1 { n++; ratio = $3 / $2; sum += ratio; squares += ratio * ratio }
      END { share = n > 1 ? (squares / n / (sum / n) ^ 2 - 1) / (n - 1) : 0; printf "%.6f\n", (share > 0 ? sqrt(share) : 0) }'
}

# predicted_step [APART]: "STEP|LOW|HIGH|SOURCES" of the stream at hand, with the 90 % range; "STEP|||" where it has none. A true run of the same
# program has the recording's chances, so the range is without what it has for those: differences between steps. A job with another program has other
# chances from the first call on that the recorded one lacks: of its range so much stays as true steps show to differ, APART (differ). SOURCES:
# "NAME=SHARE;...", one standard deviation of each source of error, of the step; in the end the parts of the step, in ns, as measured and as simulated. What is simulated is in the file `sim` afterwards.
predicted_step() {
  lumos-sim --opportunities off 2>message | only metric | tee sim |
    awk "$field"'
      { name = substr($0, 26, 40); sub(/".*/, "", name) }
      name == "prediction_error" && (value = field("value")) ~ /^[0-9.]+$/ {
        while (at = index($0, "\"name\":\"")) $0 = substr($0, at + 8)
        print "source", value, substr($0, 1, index($0, "\"") - 1)
      }
      name ~ /^(step_time|exposed_compute|overlapped|exposed_communication|exposed_copy|idle|pipeline_bubble)$/ && /"scope":\{"step":[0-9]+\},"source":"(measured|simulated)"/ {
        source = field("source")
        if (name == "step_time" && source == "simulated") print field("value"), field("low"), field("high")
        else print "part", source, name, field("step"), field("value")
      }' |
    awk -v apart="${1:-0}" '
      # No time is below 0, so a range that ends there says nothing of that side: it is as wide as on the other.
      function below(step, low, high) { return low > 0 ? step - low : high - step }
      function without(width) { width = width * width - (1.645 * step) ^ 2 * (chance * chance - stays * stays); return width > 0 ? sqrt(width) : 0 }
      $1 == "source" { share = $2; sub(/^source [^ ]* /, ""); sources = sources $0 "=" share ";"; if ($0 == "differences between steps") chance = share; next }
      $1 == "part" { at = $2 "." $3; if (!(at in sum)) first[at] = $5; sum[at] += $5; count[at]++; next }
      n++ { step += $1; low += $2; high += $3; ranges += NF == 3 }
      END {
        if (--n < 1 || step <= 0) exit 1
        step /= n; low /= n; high /= n; stays = apart < chance ? apart : chance
        if (apart > 0) sources = sources "true.apart=" apart ";"
        for (at in sum) if (count[at] > 1) sources = sources at "=" (sum[at] - first[at]) / (count[at] - 1) ";"
        if (ranges == n) printf "%.1f|%.1f|%.1f|%s\n", step, step - without(below(step, low, high)), step + without(high - step), sources; else printf "%.1f|||%s\n", step, sources
      }' ||
    fail "the simulation fails: $(head -c 300 message)"
}

# judge LEAST CHANGE WHAT [--table] [--without MECHANISMS] [JOB...]: all cases, at least so many. CHANGE: the column's name; WHAT: what is predicted.
judge() {
  local least=$1 change=$2 what=$3 table=no without='' job name bar group limits worse missing mean_limit worst_limit count mean worst behind
  shift 3
  while [[ ${1-} = --* ]]; do
    case $1 in
      --table) table=yes ;;
      --without) without=$2 && shift ;;
      *) fail "$1 is no option" ;;
    esac
    shift
  done
  [ $table = no ] && [ $# -eq 0 ] && [ -z "${LUMOS_CASES-}" ] || LUMOS_ALL=yes # whoever asks by hand, and ranges.sh
  for job in "${jobs[@]}"; do
    name=${job%%|*}
    name=${name%"${name##*[! ]}"}
    [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
    jobs_seen=$((jobs_seen + 1)) cases_seen=0
    cases "$name" "${job#*|}${without:+ --without $without}" >>results
  done

  [ -z "${LUMOS_CASES-}" ] || { sed "s/^/$(basename "$0" .sh), /" results >>"$LUMOS_CASES"; finish; }
  check 'every step has its length' [ "$(awk -F'|' '$4 > 0 && $5 > 0 && $6 > 0' results | wc -l)" -eq "$(wc -l <results)" ]
  # By case: the change of the truth, the error, and that of "nothing changes", in %.
  awk -F'|' -v OFS='|' '{ print $1, $2, $3, $4 / 1e6, $5 / 1e6, $6 / 1e6, ($5 / $4 - 1) * 100, ($6 / $5 - 1) * 100, ($4 / $5 - 1) * 100 }' results >errors
  size='function size(x) { return x < 0 ? -x : x }'
  if [ $table = yes ]; then
    printf '| job | '"$change"' | step, ms | true, ms | predicted, ms | change, %% | error, %% | error of "nothing changes", %% |\n|---|---|---|---|---|---|---|---|\n'
    awk -F'|' '{ printf "| %s | %s | %.2f | %.2f | %.2f | %+.2f | %+.2f | %+.2f |\n", $2, $3, $4, $5, $6, $7, $8, $9 }' errors
    printf '\n| '"$change"' | cases | mean error, %% | worst, %% | worse than "nothing changes" | what is missing |\n|---|---|---|---|---|---|\n'
  fi
  [ $# -gt 0 ] || [ "$(wc -l <errors)" -ge "$least" ] || fail "$(wc -l <errors) cases are too few"
  for bar in "${bars[@]}" "$all"; do
    IFS='|' read -r group limits worse missing <<<"$bar"
    read -r mean_limit worst_limit <<<"$limits"
    [ $of_few = no ] || [ "$group" = all ] || mean_limit=$worst_limit
    read -r count mean worst behind < <(awk -F'|' -v group="$group" "$size"'
    $1 == group || group == "all" { n++; error = size($8); sum += error; worst = error > worst ? error : worst; behind += size($7) > 3 && error > size($9) }
    END { printf "%d %.3f %.3f %d\n", n, n ? sum / n : 0, worst, behind }' errors)
    [ $table = no ] || printf '| %s | %d | %.2f | %.2f | %d | %s |\n' "$group" "$count" "$mean" "$worst" "$behind" "$missing"
    awk "BEGIN { exit !($mean <= $mean_limit && $worst <= $worst_limit && $behind <= $worse) }" ||
      [ -n "$without" ] || [ $# -gt 0 ] || fail "$group: mean error $mean %, worst $worst %, $behind cases worse than no prediction; up to now $mean_limit, $worst_limit, $worse"
  done
  proved "of $count $what the prediction is off by $mean % on average and $worst % at worst, $behind times by more than no prediction"
}

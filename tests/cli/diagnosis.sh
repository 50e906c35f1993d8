#!/usr/bin/env bash
# The diagnosis against jobs of the emulated cluster that are slow for one known reason, and jobs that are not: which cause it names first, and
# whom it accuses. A job is right where the first finding has its cause, its rank and its stage, and no finding names a rank that has no part in it.
# 95 in 100 jobs are right, those of the seed that is always drawn all, and in none is anybody accused who is innocent.
#
#   tests/cli/diagnosis.sh [--all] [--table] [--check] [--keep FOLDER] [JOB...]
#
#   --all      six jobs of each cause, not one (LUMOS_ALL=yes does so, too)   --table   as Markdown, too
#   --check    that each cause is real, too: that it costs more than anything else in the job does, by runs without it
#   --keep     traces, report and truth.txt of each job stay, in FOLDER/JOB
#   JOB        of these only, such as slow_gpu-2
#   LUMOS_DIAGNOSIS_SEED   which jobs are drawn (1)
. "$(dirname "$0")/lib.sh"
. "$here/causes.sh"

seed=${LUMOS_DIAGNOSIS_SEED:-1}
every=$all_cases table='' check='' keep='' only=()
while [ $# -gt 0 ]; do
  case $1 in
    --all) every=yes ;;
    --table) table=yes ;;
    --check) check=yes ;;
    --keep) keep=$2 && shift ;;
    *) only+=("$1") ;;
  esac
  shift
done
case $keep in '' | /*) ;; *) keep=$here_was/$keep ;; esac
printf 'LUMOS_DIAGNOSIS_SEED=%s\n' "$seed"

# parts FOLDER: "STEP NAME SHARE...": the mean step, ns, and what share of all ranks' steps is lost in which way, in a run without the profiler.
parts() {
  jq -r '[.steps[1:][].unprofiled] as $steps | [$steps[].ranks[]] as $ranks | ([$ranks[] | .[2] - .[1]] | add) as $all
    | "\([$steps[] | .end - .start] | add / length) transfer \([$ranks[][5]] | add / $all) waiting \([$ranks[][6]] | add / $all) bubble \([$ranks[][7]] | add / $all) idle \([$ranks[][9]] | add / $all)"' "$1/truth.json"
}

# costs NAME CAUSE: "SHARE NEXT": what the cause costs of the step, and the most that anything else does.
costs() {
  local step rest healthy_step healthy_rest
  emulated-cluster --quiet --ranks none "${options[@]}" sick && read -r step rest < <(parts sick)
  if [ "$2" = bubble ] || [ "$2" = compute ]; then
    awk -v cause="$2" '{ for (i = 1; i < NF; i += 2) if ($i == cause) cost = $(i + 1); else if ($(i + 1) > most) most = $(i + 1); print cost + 0, most }' <<<"$rest"
    return
  fi
  emulated-cluster --quiet --ranks none "${healthy[@]}" healthy && read -r healthy_step healthy_rest < <(parts healthy)
  awk -v step="$step" -v healthy="$healthy_step" '{ for (i = 2; i <= NF; i += 2) if ($i > most) most = $i; print (step - healthy) / step, most * healthy / step }' <<<"$healthy_rest"
}

check_cause() {
  local cost next
  read -r cost next < <(costs "$1" "$2")
  cost_shown=$(awk "BEGIN { printf \"%.1f | %.1f\", 100 * $cost, 100 * $next }")
  if [ "$2" = compute ]; then
    awk "BEGIN { exit !($next < 0.02) }" || fail "$1: nothing is wrong, but $next of the step are lost in one way"
  else
    awk "BEGIN { exit !($cost > 0.1 && $cost > 1.3 * $next) }" || fail "$1: the cause costs $cost of the step, something else $next"
  fi
}

# judge CAUSE: of report.json, "right|", "wrong|" or "false, of whom|", and the first findings. An imbalance accuses a stage, not its ranks.
judge() {
  jq -r --arg cause "$1" --arg stage "$stage" --arg culprit "$culprit" --arg guilty "$guilty" '
    def names: map(tostring) | join(", ");
    ($guilty | split(" ") | map(tonumber)) as $guilty
    | [(.diagnosis.findings // [])[] | .ranks = [.ranks[]?.rank]] as $findings | ($findings[0] // {"cause": "nothing"}) as $first
    | ([$findings[] | select(.cause != "imbalance").ranks[]] | unique - $guilty) as $innocent
    | ([$findings[] | select(.cause == "imbalance").stage | tostring] - [$stage, "'"$((stages - 1))"'"]) as $even
    | (if ($innocent | length) > 0 then "false, rank \($innocent | names)"
       elif ($even | length) > 0 then "false, stage \($even | names)"
       elif $first.cause == $cause and ($stage == "" or ($first.stage | tostring) == $stage) and ($culprit == "" or ($first.ranks | names) == $culprit)
         and ($cause != "slow_link" or ($first.ranks | length) > 0) then "right"
       else "wrong" end)
      + "|" + ([$findings[0:3][] | .cause + (if (.ranks | length) > 0 then " of \(.ranks | names)" else "" end)
          + (if .stage != null then " on stage \(.stage)" else "" end) + " \((.share // 0) * 1000 | round / 10) %"] | join("; "))' report.json
}

jobs=0
[ -z "$table" ] || printf '| job | what is true | options |%s findings | |\n|---|---|---|%s---|---|\n' "${check:+ cost, %% | something else, %% |}" "${check:+---|---|}"

# job CAUSE NUMBER
job() {
  local name=$1-$2 verdict
  [ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " == *" $name "* ]] || return
  jobs=$((jobs + 1))
  draw "$1" "$2"
  stages=$(sed -n 's|.*--pp \([0-9]*\).*|\1|p' <<<"${options[*]}")
  rm -rf traces sick healthy
  emulated-cluster --quiet --plain "${options[@]}" traces || { fail "$name: the emulated cluster fails: ${options[*]}"; return; }
  printf 'cause %s\nranks %s\nstage %s\nmeans %s\noptions %s\nhealthy %s\n' "$1" "$guilty" "$stage" "$means" "${options[*]}" "${healthy[*]}" >truth.txt
  [ -z "$check" ] || check_cause "$name" "$1"
  lumos-report --format json -o report.json traces/rank*.json 2>message || { fail "$name: $(head -c 300 message)"; return; }
  if [ -n "$keep" ]; then
    rm -rf "${keep:?}/$name" && mkdir -p "$keep/$name" && cp -r traces/rank*.json traces/truth.json truth.txt report.json "$keep/$name"
  fi
  verdict=$(judge "$1")
  printf '%s|%s\n' "$name" "$verdict" >>verdicts
  [ -z "$table" ] || printf '| %s | %s | `%s` |%s %s | %s |\n' "$name" "$means" "${options[*]}" "${check:+ $cost_shown |}" "${verdict#*|}" "${verdict%%|*}"
}

: >verdicts
for cause in "${causes[@]}"; do
  for ((number = 0; number < kinds; number++)); do
    # One kind of each, others with each seed.
    [ "$every" = yes ] || [ ${#only[@]} -gt 0 ] || [ $(((number + seed + ${#cause}) % 6)) -eq 0 ] || continue
    job "$cause" "$number"
  done
done

[ $jobs -gt 0 ] || fail 'no job has such a name'
right=$(grep -c '|right|' verdicts)
grep -v '|right|' verdicts | while IFS='|' read -r name verdict said; do printf '%s is %s: %s\n' "$name" "$verdict" "$said"; done
! grep -q '|false' verdicts || fail "$(grep -c '|false' verdicts) of $jobs jobs accuse the innocent"
least=$((seed == 1 ? 100 : 95))
[ $((100 * right)) -ge $((least * jobs)) ] || fail "$right of $jobs jobs are diagnosed, not $least in 100"
proved "the cause is named in $right of $jobs drawn jobs, and nobody innocent in any"
finish

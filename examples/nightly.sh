#!/usr/bin/env bash
# Every night: from a folder of traces to reports, gate and history.
#
#   nightly.sh TRACES HISTORY [--night NAME] [--gate THRESHOLDS.json] [--keep N]
#
# TRACES holds a folder for each job, or traces whose names differ from job to job: before "rank" (gpt-rank0.json.gz), behind it (rank0-gpt.json.gz)
# or, without a rank, in words (gpt.json.gz, bert.json.gz; worker0.json and worker1.json are one job). Where several runs of a job lie there, the last
# counts. What is left out is named. HISTORY gets for each job a folder with
#
#   NIGHT.html, NIGHT.json            the report and its summary; latest.html is the last good report
#   NIGHT.gate.json, NIGHT.gate.md    with --gate: held against the job's first 10 nights, once there are 5
#   NIGHT.failed                      instead of these, where there is no report: why; beside them, where a later run of that night failed
#
# and index.html, the page of all jobs. NAME is today, as 2026-07-01. The last N nights of each job are kept (90), and those that the gate refers
# to. So a regression stays one, night for night, and a slow one is found, until somebody accepts it: after "echo NIGHT >HISTORY/JOB/accepted" the
# gate refers to the 10 nights from that one on.
#
# Exit status: 0, 1 where a job regressed, 2 where one failed. Messages go to standard error.
#
#   crontab   PATH=/usr/local/bin:/usr/bin:/bin   (its own line, with where the tools are)
#             30 6 * * *  /opt/lumos/examples/nightly.sh /data/traces /srv/www/nights --gate /etc/lumos/thresholds.json
#   systemd   lumos-nightly.service and lumos-nightly.timer beside this file
set -uo pipefail
export LC_ALL=C # names and their order do not depend on who calls

usage() {
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
say() { printf 'nightly: %s\n' "$*" >&2; }

[ $# -ge 2 ] || usage
traces=$1 history=$2 night=$(date +%F) thresholds='' keep=90 fewest=5 most=10 named=20
shift 2
while [ $# -ge 2 ]; do
  case $1 in
    --night) night=$2 ;;
    --gate) thresholds=$2 ;;
    --keep) keep=$2 ;;
    *) usage ;;
  esac
  shift 2
done
[[ $# -eq 0 && $keep =~ ^[1-9][0-9]*$ && $night =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]] || usage
command -v lumos-report >/dev/null || { say "lumos-report is not on the PATH ($PATH); cron wants a line PATH=..."; exit 2; }
[ "$traces" = / ] || traces=${traces%"${traces##*[!/]}"} # names in it stand behind one slash
[ -d "$traces" ] || { say "$traces is not a folder of traces"; exit 2; }
[ -z "$thresholds" ] || [ -r "$thresholds" ] || { say "$thresholds cannot be read"; exit 2; }
# Reports of one would be traces of the other.
from=$(realpath "$traces")/ to=$(realpath -m "$history")/
[[ $from != "$to"* && $to != "$from"* ]] || { say "the traces ($traces) and the history ($history) lie in each other; name two folders apart"; exit 2; }
mkdir -p "$history" || exit 2

# One at a time: whoever comes second goes away.
exec 9>"$history/.lock"
flock -n 9 || { say "another run works on $history; nothing is done"; exit 2; }

# What is made comes into the history whole, or not at all.
rm -rf "$history"/.made-* # of a run that was killed: nobody else works here now
made=$(mktemp -d "$history/.made-XXXXXX") || exit 2
trap 'rm -rf "$made"' EXIT
trap 'exit 2' INT TERM HUP

# jobs: "NAME TAB SOURCE TAB FILE OR FOLDER" for each that there is, by name. SOURCE: what has that name.
is_trace='.*\.json\(\.gz\|\.zst\)?'
jobs() {
  local file
  find -L "$traces" -maxdepth 1 -type f ! -name '.*' -regex "$is_trace" -printf '%f\n' | sort | name_files "$(basename "$(realpath "$traces")")" "$traces"
  find -L "$traces" -mindepth 1 -maxdepth 1 -type d ! -name '.*' -print | while IFS= read -r file; do
    ! has_traces "$file" || printf '%s\t%s\t%s\n' "${file##*/}" "${file##*/}/" "$file"
  done
}

# name_files NAME FOLDER <FILES: their lines of `jobs`. Where a name has "rank" and a number, the job is what stands before; files of one rank that
# differ in words behind it are of several jobs, named by these. Names without a rank are of one job where they differ in numbers and in hashes alone
# (worker0, worker1): ranks are in the traces then. NAME is the job that has no name of its own.
name_files() {
  general=$1 folder=$2 awk '
    # Words of a name, without what is not of the job: numbers, hashes, months, and what traces are called.
    function words(text,   count, i, word, found, all) {
      count = split(text, all, /[-_. =]+/)
      found = ""
      for (i = 1; i <= count; i++) {
        word = tolower(all[i])
        if (word ~ /^[0-9]*$/ || (word ~ /[0-9]/ && word ~ /^[0-9a-f]+$/ && length(word) >= 8) || word ~ /^(pt|trace|chrome|step|epoch|utc)$/ ||
            word ~ /^(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)$/) continue
        if (word ~ /^(worker|node|host|proc|process|pid|gpu|dp|tp|pp)[0-9]+$/) sub(/[0-9]+$/, "", all[i])
        found = found (found == "" ? "" : "-") all[i]
      }
      return found
    }
    function trim(text) { sub(/[-_. ]+$/, "", text); return text }
    {
      file[NR] = stem = $0
      sub(/\.json(\.gz|\.zst)?$/, "", stem)
      before[NR] = after[NR] = ""
      if (match(tolower(stem), /rank[-_.= ]?[0-9]+/)) {
        ranked[NR] = 1
        before[NR] = trim(substr(stem, 1, RSTART - 1))
        number = substr(stem, RSTART, RLENGTH)
        gsub(/[^0-9]/, "", number)
        after[NR] = words(substr(stem, RSTART + RLENGTH))
        key = before[NR] "\t" (number + 0)
        if (key in first && first[key] != after[NR]) several[before[NR]] = 1
        first[key] = after[NR]
      } else {
        before[NR] = words(stem)
      }
    }
    END {
      for (i = 1; i <= NR; i++) {
        name = before[i]
        source = ranked[i] ? (name == "" ? "rank*" : name "*") : (name == "" ? "*" : name "*, without a rank")
        if (ranked[i] && (before[i] in several)) {
          name = name (name == "" || after[i] == "" ? "" : "-") after[i]
          source = (before[i] == "" ? "" : before[i] "-") "rank*" after[i]
        }
        printf "%s\t%s\t%s/%s\n", name == "" ? ENVIRON["general"] : name, source, ENVIRON["folder"], file[i]
      }
    }'
}

# left_out: what lies in the traces, and in the folders of jobs, and is of no job, and why, a line each.
left_out() {
  local file name job=
  find -L "$traces" -mindepth 1 -maxdepth 2 -print 2>/dev/null | tr / '\001' | sort | tr '\001' / | while IFS= read -r file; do # what is in a folder behind it
    name=${file#"$traces"/}
    if [[ $name == */* && ${file%/*} != "$job" ]]; then
      continue # its folder is named
    elif [[ /$name == */.* ]]; then
      if [[ -f $file && $file =~ \.json(\.gz|\.zst)?$ ]]; then
        printf '%s (its name begins with a dot)\n' "$name"
      elif [[ -d $file ]] && has_traces "$file"; then
        printf '%s/ (its name begins with a dot)\n' "$name"
      fi
    elif [ -d "$file" ]; then
      if ! has_traces "$file"; then
        printf '%s/ (a folder without traces)\n' "$name"
      elif [[ $name == */* ]]; then
        printf '%s/ (a folder in a job)\n' "$name"
      else
        job=$file
      fi
    elif [ ! -e "$file" ]; then
      printf '%s (a link that leads nowhere)\n' "$name"
    elif [ ! -f "$file" ] || [[ ! $file =~ \.json(\.gz|\.zst)?$ ]]; then
      printf '%s (not named *.json, *.json.gz or *.json.zst)\n' "$name"
    fi
  done
}
has_traces() { [ -n "$(find -L "$1" -maxdepth 1 -type f ! -name '.*' -regex "$is_trace" -print -quit)" ]; }

# report NAME INPUT...: into $made; its messages into $made/message.
report() {
  if lumos-report --run last "${@:2}" -o "$made/$night.html" --summary "$made/$night.json" 2>"$made/message"; then
    # Of a trace that is cut or damaged in its midst the report is of what is left, which is no night to compare with.
    if grep -E '^lumos-report: warning: .*the trace is (cut|damaged) at byte' "$made/message" >"$made/damage"; then
      mv "$made/damage" "$made/message"
      rm "$made/$night.html" "$made/$night.json"
      return 1
    fi
    rm "$made/damage"
    sed -n 's/^lumos-report: warning: \(.* left out.*\)/\1/p' "$made/message" | while IFS= read -r line; do say "$1: $line"; done
    return
  fi
  [ -s "$made/message" ] || echo 'lumos-report failed without a message' >"$made/message"
  return 1
}

# earlier FOLDER [NIGHT]: its nights before this one, or that one, that have a report, the oldest first.
earlier() {
  local file name night=${2:-$night}
  for file in "$1"/*.json; do
    name=${file##*/} name=${name%.json}
    [[ ! -e $file || $name == *.gate || ! $name < $night ]] || printf '%s\n' "$name"
  done
}

# references FOLDER: the nights that the gate compares with.
references() {
  local name from=''
  [ ! -r "$1/accepted" ] || read -r from <"$1/accepted"
  earlier "$1" | while IFS= read -r name; do [[ $name < $from ]] || printf '%s\n' "$name"; done | head -n "$most"
}

# gate FOLDER: of $made, where there are enough nights. 2 with a message: it says nothing.
gate() {
  local name status options=()
  if [ -e "$1/accepted" ]; then
    read -r name <"$1/accepted"
    [ "$name" = "$night" ] || [ -e "$1/$name.json" ] || {
      echo "$1/accepted names '$name', and there is no report of such a night; write the name of one into it" >"$made/message"
      return 2
    }
  fi
  while IFS= read -r name; do
    # A summary that was cut, on a disk that was full, is no baseline; those that are left are.
    [ "$(tail -c 2 "$1/$name.json")" != '}' ] || options+=(--baseline "$1/$name.json")
  done < <(references "$1")
  [ ${#options[@]} -ge $((2 * fewest)) ] || return 0
  lumos-render --gate "$thresholds" "${options[@]}" "$made/$night.json" -o "$made/$night.gate.json" 2>"$made/message"
  status=$?
  [ $status -gt 1 ] || lumos-render --gate "$thresholds" "${options[@]}" "$made/$night.json" -o "$made/$night.gate.md" 2>/dev/null
  return $status
}

# forget FOLDER: all but the last nights and those that the gate refers to.
forget() {
  local name
  find "$1" -maxdepth 1 -type f \( -name '*.json' -o -name '*.failed' \) ! -name '*.gate.json' -printf '%f\n' |
    sed 's/\.[^.]*$//' | sort -u | head -n "-$keep" | comm -23 - <(references "$1") | while IFS= read -r name; do
    rm -f "$1/$name".{html,json,failed,gate.json,gate.md}
    printf '%s\n' "$name" >"$1/forgotten" # the page takes the gap for no missing night
  done
}

failed=0 regressed=0
# fail FOLDER NAME: the night has no report; earlier ones, and one of an earlier run in the same night, stay.
fail() {
  mv "$made/message" "$1/$night.failed"
  say "$2: no report of $night: $(head -n 1 "$1/$night.failed")"
  failed=1
}

# one NAME INPUT...: a job.
one() {
  local folder=$history/$1 last
  mkdir -p "$folder" || { failed=1; return; }
  rm -f "${made:?}"/*
  if ! report "$@"; then
    fail "$folder" "$1"
    return
  fi
  last=$(earlier "$folder" | tail -n 1)
  if [ -n "$last" ] && cmp -s "$folder/$last.json" "$made/$night.json"; then
    echo "the same recording as $last: nothing new was recorded" >"$made/message"
    fail "$folder" "$1"
    return
  fi
  if [ -n "$thresholds" ]; then
    gate "$folder"
    case $? in
      0) ;;
      1) regressed=1 && say "$1: $(head -n 1 "$made/message")" ;;
      *) failed=1 && say "$1: no gate: $(head -n 1 "$made/message")" ;;
    esac
  fi
  rm -f "$made/message" "$folder/$night".{failed,gate.json,gate.md}
  mv "$made"/* "$folder/" || { failed=1; return; }
  last=$(earlier "$folder" '~' | while IFS= read -r last; do [ ! -e "$folder/$last.html" ] || printf '%s\n' "$last"; done | tail -n 1)
  ln -sfn "$last.html" "$made/latest" && mv -T "$made/latest" "$folder/latest.html" # of an older night it stays where it is
  forget "$folder"
}

declare -A inputs=() sources=() clashes=()
found=0
while IFS=$'\t' read -r name source input; do
  name=${name//[!A-Za-z0-9._-]/_} name=${name/#./_}
  [ "${sources[$name]:-$source}" = "$source" ] || clashes[$name]="${sources[$name]} and $source"
  sources[$name]=$source
  inputs[$name]+=$input$'\n'
  found=1
done < <(jobs | sort)
mapfile -t lines < <(left_out)
for line in "${lines[@]:0:$named}"; do say "left out: $line"; done
[ "${#lines[@]}" -le $named ] || say "left out: $((${#lines[@]} - named)) more files and folders"
[ $found -eq 1 ] || { say "$traces holds no traces (*.json, *.json.gz, *.json.zst), nor folders of them"; failed=1; }
for name in $(printf '%s\n' "${!inputs[@]}" | sort); do
  mapfile -t files <<<"${inputs[$name]%$'\n'}"
  if [ -n "${clashes[$name]:-}" ]; then
    mkdir -p "$history/$name" && echo "two jobs have this name, ${clashes[$name]}; rename one of them" >"$made/message"
    fail "$history/$name" "$name"
    continue
  fi
  one "$name" "${files[@]}"
done
if [ -n "$(find "$history" -mindepth 2 -maxdepth 2 \( -name '*.json' -o -name '*.failed' \) -print -quit)" ]; then
  lumos-render --index "$history" -o "$history/index.html" || failed=1
fi
[ $failed -eq 0 ] || exit 2
exit $regressed

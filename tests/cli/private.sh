#!/usr/bin/env bash
# A report in any format names no host, no user and no folder of the traces that it was made from: a job with such names in
# every field, and all real sets.
. "$(dirname "$0")/lib.sh"

# Every format and every picture that there is: the messages about one that is not there name them.
known() { lumos-render "--$1" none sim 2>&1 | sed -E 's/.* (formats are|name one of) //' | tr -d ,; }

# texts FILE: what can be read in a report.
texts() {
  case $1 in
    *.pdf) ! command -v pdftotext >/dev/null || pdftotext "$1" - ;&
    *) cat "$1" ;;
  esac
}

# hides_in NAME PATTERN-FILE FORMAT OPTION...: a report of `sim` holds none of these, in either case.
hides_in() {
  local name=$1 patterns=$2 format=$3
  shift 3
  lumos-render sim --template "$work/topsecret" "$@" -o "report.$format" 2>message ||
    { grep -qE 'nothing to show: (no layers|the trace has no memory events)' message && return; fail "$name: $format $*: $(head -c 300 message)"; return; }
  ! texts "report.$format" | grep -aoiFf "$patterns" >found || fail "$name: $format $* holds '$(sort -u found | head -5 | tr '\n' ' ')'"
}

# tells NAME: with --details the page and its numbers hold every host and trace that the stream names for a rank.
tells() {
  lumos-render sim --details -o details.html 2>message || { fail "$1: --details: $(head -c 300 message)"; return; }
  grep '^{"type":"rank"' sim | jq -c '[.host, .source]' >recorded
  summary details.html |
    jq -c '.tables.ranks | (.columns | index("host")) as $host | (.columns | index("trace")) as $trace | .rows[] | [.[$host], .[$trace]]' >told
  same recorded told "$1: --details does not tell the ranks' hosts and traces"
  head -1 sim | jq -r '.history[].inputs[]' | while read -r input; do
    grep -qF "$input" details.html || echo "$input"
  done >untold
  [ ! -s untold ] || fail "$1: --details does not tell the input $(head -1 untold)"
}

# --- One job with all of it. Every name, every text argument, the metadata, the traces' own names, a trace that is none, a change. ---
mkdir zoesec topsecret short
leak='def leak($i): [" /home/zoesec/topsecret/f\($i).py(3): g", " C:\\Users\\Zoesec\\topsecret\\f.py", " \\\\vaultnode9\\topsecret\\f.bin",
  " on VaultNode9.corp.internal", " by zoesec@vaultnode9", " \"file:///srv/topsecret/my data/f.bin\"", " ~zoesec/topsecret/f.py:3",
  " /tmp/torchinductor_zoesec/topsecret/f.py"][$i % 8];'
spoil="$leak"'
  .host_name = "vaultnode9.corp.internal" | .traceName = "/home/zoesec/topsecret/t.json" | .username = "zoesec"
  | .deviceProperties[].name += leak(3) | .distributedInfo.pg_config[].pg_desc += leak(1)
  | .traceEvents = ([.traceEvents | to_entries[] | .key as $i | .value
      | if .ph == "X" and (.cat | test("runtime") | not) and (.name | startswith("ProfilerStep") | not) then .name += leak($i) else . end
      | if .args then .args.Where = leak($i) | .args["Process Group Description"] = leak($i + 1) else . end]
    + [{ph: "M", name: "process_name", pid: 20240, args: {name: "python 20240 zoesec@vaultnode9"}},
       {ph: "M", name: "thread_name", pid: 20240, tid: 20240, args: {name: "thread of /home/zoesec/topsecret"}},
       {ph: "X", cat: "cpu_op", name: "/home/zoesec/topsecret/alone.py(7): h", pid: "zoesec@vaultnode9", tid: "/home/zoesec/topsecret",
        ts: ([.traceEvents[] | select(.ph == "X").ts] | min), dur: 900}])'
LUMOS_BIN=$bin "$source_folder/examples/traces/make-traces.sh" short --layers 1 --steps 2 || fail 'no traces'
zcat short/rank0.json.gz | jq -c "$spoil" >zoesec/vaultnode9.corp.internal_20240.1700000000000.pt.trace.json || fail 'the traces cannot be made'
zcat short/rank1.json.gz | jq -c "$spoil" >zoesec/topsecret-of-zoesec.json || fail 'the traces cannot be made'
echo '{"a":1}' >zoesec/notes-of-zoesec.json
echo '{"a":1}' >'zoesec/lunar plan (copy) of hers.json'
lumos-parse zoesec | lumos-graph | lumos-transform --scale 'name~/home/zoesec/topsecret/f1=0.5' | lumos-sim >sim || fail 'the job cannot be simulated'
for secret in zoesec topsecret vaultnode9; do
  [ "$(grep -ciF $secret sim)" -gt 100 ] || fail "the stream does not hold $secret, so nothing is tested"
  echo $secret
done >secrets
echo lunar >>secrets # in the name of a file that was left out, and nowhere else
formats=$(known format)
views=$(known view)
[[ " $formats " == *' html '* && " $formats " == *' json '* && " $views " == *' gantt '* ]] || fail "the formats are '$formats', the pictures '$views'"
for format in ${formats/png/}; do # whose letters are those of SVG
  hides_in 'made for it' secrets "$format"
done
for view in $views; do
  hides_in 'made for it' secrets svg --view "$view"
done
tells 'made for it'
for secret in '/home/zoesec/topsecret/f' 'VaultNode9.corp.internal' 'by zoesec@vaultnode9' 'C:\Users\Zoesec' '>vaultnode9.corp.internal</td>' \
  'notes-of-zoesec.json was left out' '--scale name~/home/zoesec/topsecret/f1=0.5'; do
  grep -qF -- "$secret" details.html || fail "--details does not show $secret"
done

# What is left of the names is there: the rows are the same, and a name is no shorter than it must be.
lumos-render sim --format json >report.json || fail 'no JSON'
jq -e '[.tables.kernels.rows[][0], .tables.opsdevice.rows[][0]] | any(test("f[0-9]+\\.py\\(3\\): g$")) and any(test("by \\(user\\)@\\(host\\)$"))' \
  report.json >/dev/null || fail "the names are gone: $(jq -c '.tables.kernels.rows[][0]' report.json | head -5)"
jq -e '[.notes[].text] | any(startswith("an input file was left out"))' report.json >/dev/null || fail 'the note names its trace'
lumos-render sim --format html >page.html && grep -q -- 'file names: --details shows them' page.html || fail 'the page does not say where the name of a file that was left out is'
! grep -q -- '--details shows this one' details.html || fail 'the page shows the name, and asks for it'

# --- Every set of real traces: what a search finds in traces and streams must not be in the report. Which names those are is the
# question here; the page is asked, which has the pictures, the tables and the numbers. ---
have_traces || finish

unpacked() { case $1 in *.gz) zcat "$1" ;; *) cat "$1" ;; esac; }

# The folders of absolute paths, the users that they name, the hosts in the metadata; and what the stream says of hosts and files.
secrets_of() {
  local trace
  for trace in "$@"; do
    unpacked "$trace" | grep -aoP '(?<=["\s])(?:/[\w.@+-]+){2,}' >paths
    sed 's|/[^/]*$|/|' paths
    grep -oP '(?<=/home/|/Users/)[^/]+(?=/)|(?<=torchinductor_)[^/]+(?=/)' paths | grep -vx root
  done | sort -u
  grep '^{"type":"rank"' sim | jq -r '.host, .source | select(. != null)'
  head -1 sim | jq -r '.history[].inputs[]'
  for trace in "$@"; do
    basename "$trace" | sed -nE 's/^(.*)_[0-9]+\.[0-9]+\.pt\.trace\.json.*/\1/p'
  done
}

search() {
  local name=$1
  shift
  lumos-parse --stacks "$@" 2>message | lumos-sim --opportunities off 2>/dev/null >sim || { printf '%-40s no job\n' "$name"; return; }
  secrets_of "$@" | sort -u >secrets
  hides_in "$name" secrets html
  tells "$name"
  printf '%-40s %4d secrets, none in the report\n' "$name" "$(wc -l <secrets)"
}

real_job() { mapfile -t files < <(find "${@:2}" -name '*.json.gz' | sort) && search "$1" "${files[@]}"; }
each_job real_job
proved 'no host, user, folder or trace of a job that names them everywhere, nor of the public traces, in any format'
finish

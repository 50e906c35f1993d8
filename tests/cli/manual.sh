#!/usr/bin/env bash
# The man pages say what the tools say: the same options in --help and in the page, and every example in a --help, in a page
# and in a Markdown file runs. An example is a command that a reader would type, in the folder of his traces: it works there or
# it is none, so there is no way to leave one out.
. "$(dirname "$0")/lib.sh"
command -v mandoc >/dev/null || skip 'mandoc is not here (apt-get install mandoc)'
pages=$source_folder/src/tools

# The page as a reader sees it, one line a paragraph, without bold and underlining.
shown() { mandoc -T ascii -O width=1000,indent=5 "$1" | sed 's/.\x08//g'; }

# section NAME: the lines of that section of the page on standard input.
section() { awk -v name="$1" '/^[^ ]/ { inside = $0 == name; next } inside'; }

# Options with their letter and argument, as in "-o, --output=FILE".
options_of_help() { sed -nE '/^Options:$/,/^Examples:$/s/^  (-., )? *(--[a-z-]+(=[^ ]+)?)( .*)?$/\1\2/p' | sort; }
options_of_page() { section OPTIONS | sed -nE 's/^     ((-., )?--[a-z-]+(=[^ ]+)?)(  .*)?$/\1/p' | sort; }

# --- The pages ---

for page in "$pages"/*.[1-9]; do
  tool=$(basename "$page" | sed 's/\.[1-9]$//')
  mandoc -T lint -W warning "$page" >lint 2>&1 || fail "mandoc finds fault with $tool's page: $(head -5 lint)"
  [ "$tool" = lumos-stream ] || [ -x "$bin/$tool" ] || fail "$page is the page of no tool"
done

for tool in $(cd "$bin" && ls -d lumos lumos-* 2>/dev/null); do
  page=$pages/$tool.1
  [ -f "$page" ] || { fail "$tool has no man page: write src/tools/$tool.1"; continue; }
  shown "$page" >page
  $tool --help >help
  options_of_help <help >of_help
  options_of_page <page >of_page
  [ -s of_help ] || fail "no options found in $tool --help"
  diff of_help of_page >difference || fail "the options of $tool --help (<) and of src/tools/$tool.1 (>) differ; an
option must stand in both, in the page as '.It Fl o , Fl -output Ns = Ns Ar FILE' under OPTIONS, argument as in --help:
$(cat difference)"
  # The line under the name is the summary of --help, which begins with a capital and ends with a point.
  summary=$(sed '/^$/q' help | tr '\n' ' ' | tr -s ' ' | sed "s/^$tool - //; s/\. $//")
  grep -qxF "     $tool - ${summary,}" page || fail "the .Nd of src/tools/$tool.1 is not the summary of --help: '${summary,}'"
  for name in SYNOPSIS DESCRIPTION ENVIRONMENT 'EXIT STATUS' EXAMPLES 'SEE ALSO'; do
    [ -n "$(section "$name" <page)" ] || fail "src/tools/$tool.1 has no section $name"
  done
done

# Every field of the schema stands in the page of the stream, but links, which only memory holds.
shown "$pages/lumos-stream.5" | tr -cs 'a-z_\n' '\n' | sort -u >words
sed -nE '/^\/\* Links/q; s/.*\b(JOB|RANK|GROUP|LANE|SPAN|TASK|TIMING|RUN|DETAIL|DEP|COLLECTIVE|METRIC|NOTE|BARE|OBJECT)\("([a-z_]+)".*/\2/p' \
  "$source_folder/src/job/schema_rows.h" | sort -u >fields
[ "$(wc -l <fields)" -gt 100 ] || fail "only $(wc -l <fields) fields found in the schema"
missing=$(comm -23 fields words)
[ -z "$missing" ] || fail "src/tools/lumos-stream.5 lacks fields of src/job/schema_rows.h:" $missing

# Every metric stands in the page of lumos-sim with the unit and the denominator that reports give it, and no other does.
shown "$pages/lumos-sim.1" | section METRICS | awk '
  /^     [a-z0-9_, ]+$/ { gsub(/,/, ""); count = split($0, names, " "); next }
  /^     [a-z0-9_]+ +[a-z]/ { count = 1; names[1] = $1; sub(/^ +[a-z0-9_]+/, "") } # a short name, and on the same line its text
  count > 0 { sub(/\..*/, ""); sub(/^ +/, ""); for (i = 1; i <= count; i++) print names[i] ": " $0; count = 0 }' |
  sort >documented
lumos-report "${example[@]}" --format json 2>/dev/null |
  jq -r '.definitions[] | "\(.name): \(.unit)\(if .of then " of " + .of else "" end)"' | sort >defined
[ "$(wc -l <defined)" -gt 80 ] || fail "only $(wc -l <defined) metrics are defined"
diff defined documented >difference ||
  fail "the catalogue of metrics (<) and METRICS of src/tools/lumos-sim.1 (>) differ: $(cat difference)"

# --- The examples ---

# Each example as a file of its own in the folder `examples`, named after where it stands.
mkdir examples
for tool in $(cd "$bin" && ls -d lumos lumos-* 2>/dev/null); do
  $tool --help | sed '1,/^Examples:$/d' | grep -v '^  # ' | awk -v name="examples/help.$tool." 'NF { n++; print > (name n) }'
done
# In pages: what stands deeper than the text; lines without an empty one between them are one example.
for page in "$pages"/*.[1-9]; do
  shown "$page" | section EXAMPLES |
    awk -v name="examples/page.$(basename "$page")." '/^           / { if (!open) n++; open = 1; print > (name n); next } { open = 0 }'
done
# In Markdown: an indented or fenced block that calls a tool. The lines of a table, of a fence in another language or in the
# middle of a sentence are none.
for file in "$source_folder"/README.md; do
  awk '/^```/ { fenced = !fenced; print ""; next } fenced || /^    / { print; next } { print "" }' "$file" |
    awk -v name="examples/markdown.$(basename "$file")." -v RS= '/(^|\n|[|(;]) *lumos(-[a-z]+)? / { n++; print > (name n) }'
done

# Where they run: traces like those of the example, of a shorter job, and it at each stage.
mkdir place
LUMOS_BIN=$bin "$source_folder/examples/traces/make-traces.sh" place --steps 2 && rm place/truth.json || fail 'no traces'
lumos-parse place/rank[01].json.gz -o place/job.parse
lumos-graph place/job.parse -o place/job.graph
lumos-sim place/job.graph -o place/job.sim
emulated-cluster --quiet --plain --cp 2 --layers 2 --hidden 512 --seq 512 --vocab 4096 --micro-batches 2 --steps 2 shared || fail 'no traces of ranks that share sequences'
lumos-graph shared/rank*.json -o place/cp2.graph
emulated-cluster --quiet --plain --experts 4 --ep 2 --dp 4 --layers 2 --hidden 512 --seq 512 --vocab 4096 --micro-batches 2 --steps 2 owners ||
  fail 'no traces of ranks that share experts'
lumos-graph owners/rank*.json -o place/ep2.graph
cp -r place pristine

run_example() {
  local text rest status=0
  rm -rf here && cp -rl place here
  (cd here && exec bash -eo pipefail "../$1" </dev/null >../output 2>../message) || status=$?
  text=$(<"$1")
  [ $status -eq 0 ] || { fail "an example (${1##*/}) ends with $status: $(cat message)
$text"; return; }
  rest=$text
  while [[ $rest =~ (-o|--output)[\ =]([^\ |$'\n']+) ]]; do
    rest=${rest#*"${BASH_REMATCH[0]}"}
    [ -s "here/${BASH_REMATCH[2]}" ] || fail "an example (${1##*/}) does not write ${BASH_REMATCH[2]}:
$text"
  done
  [ -s output ] || [[ $text =~ (-o|--output)[\ =] ]] || fail "an example (${1##*/}) prints nothing:
$text"
}
# A command that stands in --help and in the page, too, runs once.
count=0
declare -A ran=()
for script in examples/*; do
  read -rd '' -a command_words <"$script" || true
  count=$((count + 1))
  [ -z "${ran[${command_words[*]}]-}" ] || continue
  ran[${command_words[*]}]=yes
  run_example "$script"
done
diff -r place pristine >difference || fail "an example writes over what it reads: $(head -3 difference)"
for kind in help page markdown; do
  compgen -G "examples/$kind.*" >/dev/null || fail "no example of kind $kind was found"
done
printf '%d examples, %d of them different, ran: %d in --help, %d in man pages, %d in Markdown\n' $count ${#ran[@]} "$(ls examples/help.* | wc -l)" \
  "$(ls examples/page.* | wc -l)" "$(ls examples/markdown.* | wc -l)"
# The kinds of work that the page of lumos-transform lists are those of --help.
lumos-transform --help | tr -s ' \n' ' ' | grep -oE 'kind=NAME \([a-z0-9 ;:,]+' | sed 's/.*(//' | tr -c 'a-z0-9\n' '\n' | sort -u >wanted
sed -n '/^\.It Cm kind=/,/^\.It Cm name~/p' "$source_folder/src/tools/lumos-transform.1" | grep '^\.Cm' | tr -c 'a-z0-9\n' '\n' | sort -u >listed
for kind in gemm norm communication launch; do grep -qx "$kind" wanted || fail "--help does not list the kind $kind"; done
while read -r kind; do
  [[ $kind =~ ^(on|streams|threads|and|or|for|of|with|collectives|sends|receives|together|)$ ]] || grep -qx "$kind" listed || fail "lumos-transform.1 lacks the kind $kind"
done <wanted
proved "options, metrics and fields stand in the pages, and $count examples of them, of --help and of the README run"
finish

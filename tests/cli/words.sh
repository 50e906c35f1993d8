#!/usr/bin/env bash
# What users read is written in the standard terms of the field and in American spelling: help, man pages, READMEs, messages, notes,
# definitions, and the page, its Markdown and its verdict of small jobs. Stable names (metrics, note codes, fields, selectors) are no words.
# No sentence of a definition, a note, a caption or a line under a picture is longer than 30 words.
. "$(dirname "$0")/lib.sh"
command -v mandoc >/dev/null || skip 'mandoc is not here (apt-get install mandoc)'

# Perl's regular expression of a word that nobody else says, and what to write instead.
private='
\bthe host\b(?! name)                          | the CPU
\bhost(\x27s)? (time|task|gap|step|side|thread|work|row|call|overhead|unknown|replay)s?\b | CPU time, CPU work
\bhost-bound\b|\bbound by the host\b           | CPU-bound
\bGPU tasks?\b                                | kernels and copies
\bthe device\b|\bdevice\x27s\b|\bdevice (work|time|row|task|side)s?\b | the GPU, GPU work
\blargest loss\b                               | largest overhead
\bno computation hides\b                       | exposed communication
\bkept waiting\b                               | waiting for other ranks; transfer or waiting
\b(come|comes|came|coming) (last|late)\b       | arrives last, late
\bchain of\b|\bthe chain\b                     | critical path
\bstands? on (it|the chain|the critical path)\b | is on the critical path
\bdid not bind\b|\bwhat bound\b                | critical
\bfollows from order\b                         | implied by program order
\bwhat (is|was) not recorded\b                 | outside the recording
\b(no rule|nothing) explains\b|\bunexplained lag | unexplained delay
\bself-replay\b                                | replay error
\btransplant(s|ed)?\b                          | cross-step error
\bstep spread\b                                | step-to-step variation
\bcarr(y|ies|ied) over\b                       | copied from the trace, not modelled
\bof no pass\b                                 | unassigned
\bsums of gradients\b|\bgradients summed\b     | gradient all-reduce
\bwhat kernels reach\b                         | achieved FLOP/s and bandwidth
\brank clock\b                                 | clock offset
\bdoubt(s|ful)?\b(?! :)                         | uncertain; error
\bnot split\b|\bunsplit [a-z]|(is|are|some) unsplit\b | transfer or waiting (unknown)
\btold\b|\btells?\b(?! apart)|\btelling\b      | reports, shows, says
(?<!there )\b(is|are|was|were) no (?!longer\b)[a-z] | is not a
\bstream of Lumos\b(?!-)                        | Lumos stream
\bwhat held it\b                               | blocked by
\bhidden or exposed\b                          | overlapped or exposed
\bprofiler\x27s (own )?cost\b                   | profiler overhead
(?<!look )\blike (steps|ranks)\b                | similar steps, ranks
\bpointwise\b                                  | elementwise
\b(normali|optimi|synchroni|utili|recogni|organi|initiali|seriali|summari|minimi|maximi|paralleli|visuali|speciali)s(e|es|ed|er|ing|ation)\b | z for s
\banalys(e|es|ed|ing)\b                        | analyze
\b(colour|behaviour|neighbour|licence|favour|honour)\w*\b | color, behavior, neighbor, license
'

patterns=() instead=() every=
while IFS= read -r row; do
  [ -n "$row" ] || continue
  pattern=${row% | *}
  pattern=${pattern%"${pattern##*[! ]}"}
  patterns+=("$pattern") instead+=("${row##* | }") every+="|$pattern"
done <<<"$private"

# look FILE NAME: no such word in the text. All are looked for at once; which it is is asked where there is one.
look() {
  local i found
  looked=$((looked + 1))
  grep -qiP "(${every#|})" "$1" || return 0
  for i in "${!patterns[@]}"; do
    found=$(grep -oiP ".{0,50}(${patterns[i]}).{0,30}" "$1" | head -n 3)
    [ -z "$found" ] || fail "$2 has a private word (write: ${instead[i]}):
$found"
  done
}
looked=0
one_line() { tr -s ' \n' ' ' | sed 's/\. /.\n/g'; }

# long_sentences: those of texts, one a line. What has no letter (figures) is no word; what is counted in a list is a sentence of its own.
long_sentences() {
  sed -E 's/([.!?]) +/\1\n/g; s/[,:;] ([0-9])/\n\1/g' | awk '{ words = 0; for (i = 1; i <= NF; i++) words += $i ~ /[A-Za-z]/; if (words > 30) print words " words: " $0 }'
}

# short FILE NAME: all of its sentences are short.
short() {
  local found
  found=$(long_sentences <"$1")
  [ -z "$found" ] || fail "$2 has long sentences (write two): $(head -n 3 <<<"$found")"
}

# The list itself finds what it should, also at the borders of a line.
printf 'Kept waiting.\nThe colours of the host\n' >bad
(failures=0; look bad test 2>/dev/null; [ "$failures" -eq 3 ]) || fail 'the list of words finds nothing'
printf 'word %.0s' {1..31} >bad
printf 'word %.0s' {1..30} >good
[ -n "$(long_sentences <bad)" ] && [ -z "$(long_sentences <good)" ] || fail 'a sentence of 31 words is not found, or one of 30 is'
looked=0

for tool in $(cd "$bin" && ls -d lumos lumos-* 2>/dev/null); do
  $tool --help | one_line >help
  look help "$tool --help"
done
for page in "$source_folder"/src/tools/*.[1-9]; do
  mandoc -T ascii -O width=1000 "$page" | sed 's/.\x08//g' >page
  look page "$(basename "$page")"
done
for file in README.md examples/record/README.md; do
  one_line <"$source_folder/$file" >text
  look text "$file"
done

# The contracts of the library.
sed -E 's,^ ?\*/? ?,,; s/\*?doubts\b//g' "$source_folder"/include/lumos/*.h | one_line >text # doubts: an argument's name
look text 'a header of include/lumos'

# Every text in the sources of the library, the tools and the page, whatever would bring it to light: what stands between quotes, comments
# left out, of at least two words.
quoted() {
  sed -E 's/\\./ /g; s,/\*([^*]|\*[^/])*(\*/|$),,g; /^ ?\*/d; /^[^"'"'"']*\*\//d' | awk -F"$1" '{ for (i = 2; i <= NF; i += 2) if ($i ~ /[^ ] +[^ ]/) print $i }'
}
find "$source_folder"/src -name '*.[ch]' ! -name 'schema*' -exec cat {} + | grep -v '^#include' | sed "s/'\"'//g" | quoted '"' >literals
find "$source_folder"/templates -name '*.js' -exec cat {} + | quoted "'" >>literals
[ "$(wc -l <literals)" -gt 2000 ] || fail "only $(wc -l <literals) texts found in the sources"
look literals 'a text in src or templates'

# What a reader of a report sees: all that stands between tags, and in titles and labels.
visible() {
  awk '{
    for (seen = ""; $0 != "";) {
      if (inside) {
        inside = !match($0, /<\/(script|style)>/)
        $0 = inside ? "" : substr($0, RSTART + RLENGTH)
      } else {
        inside = match($0, /<(script|style)[ >]/)
        seen = seen (inside ? substr($0, 1, RSTART - 1) : $0)
        $0 = inside ? substr($0, RSTART + RLENGTH) : ""
      }
    }
    print seen
  }' "$1" |
    sed -E 's/(title|aria-label|alt)="([^"]*)"/>\2</g; s/<[^>]*>/\n/g; s/&nbsp;/ /g; s/&[a-z]+;|&#[0-9]+;/ /g'
}
# The definitions, captions and lines under pictures of a page.
lines_of() { tr '\n' ' ' <"$1" | grep -oP '<(dd|p class="(reading|caption|rest|cure)"[^>]*)>.*?</(dd|p)>' | sed -E 's/<[^>]*>//g; s/&nbsp;/ /g'; }
report() { # NAME TRACE|OPTION...
  local traces=() form
  while [ $# -gt 1 ] && [[ $2 = *.json.gz ]]; do traces+=("$2") && set -- "$1" "${@:3}"; done
  { lumos-transform "${traces[@]}" "${@:2}" | lumos-sim -o sim; } 2>message || fail "no simulation of $1: $(head -c 300 message)"
  for form in html md json; do
    lumos-render sim -o page.$form 2>>message ||
      fail "no report of $1: $(head -c 300 message)"
  done
  visible page.html | one_line >seen
  [ "$(wc -w <seen)" -gt 1000 ] || fail "only $(wc -w <seen) words are seen on the page of $1"
  look seen "the page of $1"
  one_line <page.md >seen
  look seen "the Markdown of $1"
  jq -r '.verdict, (.notes[] | .text, .cure // empty), (.definitions[] | .text // .definition // empty)' page.json >seen
  look seen "verdict, notes and definitions of $1"
  { jq -r '(.notes[] | .text, .cure // empty), .definitions[].text, (.tables[].caption // empty)' page.json; lines_of page.html; } >texts
  [ "$(wc -l <texts)" -gt 150 ] || fail "only $(wc -l <texts) definitions, notes, captions and lines of $1"
  short texts "$1: a definition, note, caption or line under a picture"
  one_line <message >seen
  look seen "the messages of $1"
}
report 'the example' "${example[@]}"
report 'one rank of it' "${example[1]}"
report 'a changed example' "${example[@]}" --scale kind=gemm=0.5 --remove kind=norm --unprofiled
report 'a rebuilt example' "${example[@]}" --pp 2 --dp 4 --micro-batches 4
[ "$looked" -gt 20 ] || fail "only $looked texts were looked at"
proved "no private word in $looked texts that users read, and no sentence of over 30 words in definitions, notes and captions"
finish

#!/usr/bin/env bash
# lumos-report is the pipe in one process: the same report to the byte, whatever the options, and the same messages.
. "$(dirname "$0")/lib.sh"

# as_pipe NAME FORMAT [PARSE-OPTION... -- TRANSFORM-OPTION... -- RENDER-OPTION...] :: TRACE...: both ways give the same.
as_pipe() {
  local name=$1 format=$2 part=0
  local -a parse=() transform=() render=()
  shift 2
  while [ "$1" != :: ]; do
    if [ "$1" = -- ]; then part=$((part + 1)); else
      case $part in 0) parse+=("$1") ;; 1) transform+=("$1") ;; *) render+=("$1") ;; esac
    fi
    shift
  done
  shift
  rm -f piped."$format" direct."$format"
  if [ ${#transform[@]} -gt 0 ]; then
    lumos-parse "${parse[@]}" "$@" 2>/dev/null | lumos-transform "${transform[@]}" 2>/dev/null | lumos-sim 2>/dev/null |
      lumos-render "${render[@]}" -o piped."$format" 2>/dev/null || { fail "$name: the pipe fails"; return; }
  else
    lumos-parse "${parse[@]}" "$@" 2>/dev/null | lumos-graph 2>/dev/null | lumos-sim 2>/dev/null |
      lumos-render "${render[@]}" -o piped."$format" 2>/dev/null || { fail "$name: the pipe fails"; return; }
  fi
  lumos-report "${parse[@]}" "${transform[@]}" "${render[@]}" "$@" -o direct."$format" 2>message ||
    fail "$name: lumos-report fails: $(head -c 300 message)"
  same piped."$format" direct."$format" "$name: lumos-report and the pipe give different .$format"
}

# --- Same bytes ---

# Every format that there is: the message about one that is not there names them.
expect 2 lumos-report --format none "${example[@]}"
formats=$(sed -n 's/.*the formats are //p' message | tr -d ,)
[[ " $formats " == *' html '* && " $formats " == *' json '* ]] || fail "the formats are '$formats'"
for format in $formats; do
  as_pipe "the example" "$format" :: "${example[@]}"
done
rarely as_pipe '--steps last' html --steps last :: "${example[@]}"
as_pipe '--steps 5-6' html --steps 5-6 :: "${example[@]}"
rarely as_pipe '--rank' html --rank 4,2 :: "${example[@]}"
rarely as_pipe '--rank twice' html --rank 4 -r 2 :: "${example[@]}"
rarely as_pipe '--stacks' html --stacks :: "${example[@]}"
rarely as_pipe '--strict' json --strict :: "${example[@]}"
rarely as_pipe '--scale' html -- --scale kind=gemm=0.5 :: "${example[@]}"
as_pipe '--scale twice' html -- -s host=0.5 -s 'name~gemm=2' :: "${example[@]}"
rarely as_pipe 'a scale that selects nothing' html -- -s 'name~no such kernel=2' :: "${example[@]}"
rarely as_pipe '--title' html -- -- --title 'A <title> & more' :: "${example[@]}"
as_pipe '--view graph' svg -- -- --view graph --graph-nodes 20 --step 6 :: "${example[@]}"
as_pipe '--detail' html -- -- --detail 2ms-4ms --details :: "${example[@]}"
as_pipe 'all together' html --steps last --rank 1,0 -- -s rank=1=1.5 -- --title Slow :: "${example[@]}"
same <(lumos-report "${example[@]}" 2>/dev/null) <(lumos-parse "${example[@]}" | lumos-render) 'standard output differs'
same <(zcat "${example[0]}" | lumos-report 2>/dev/null) <(lumos-report "${example[0]}" 2>/dev/null | sed 's/rank0.json.gz/standard input/') \
  'a trace from standard input gives another page'

# Options that change something do.
lumos-report "${example[@]}" >plain.html
for option in --steps=last --rank=4,2 --scale=kind=gemm=0.5 --title=Other; do
  lumos-report $option "${example[@]}" >changed.html
  ! cmp -s plain.html changed.html || fail "$option changes nothing"
done

# Streams are joined in, at whatever stage, as by lumos-parse.
lumos-parse "${example[1]}" | lumos-sim -o rank1.sim 2>/dev/null
lumos-report "${example[0]}" rank1.sim -o joined.html || fail 'a trace and a stream fail'
same plain.html joined.html 'a trace and a stream give another page than two traces'

# The verdict alone, and with the page; else nothing is printed.
expect 0 lumos-report --verdict "${example[@]}" >verdict
lumos-parse "${example[@]}" | lumos-render --verdict >verdict.piped
same verdict verdict.piped 'the verdict is not that of the pipe'
[ "$(wc -l <verdict)" -eq 1 ] || fail 'the verdict is not one line'
expect 0 lumos-report --verdict "${example[@]}" -o with.html >verdict
same verdict verdict.piped 'the verdict changes with -o'
same plain.html with.html 'the page changes with --verdict'
expect 0 lumos-report "${example[@]}" -o with.html >nothing
[ ! -s nothing ] && [ ! -s message ] || fail "lumos-report prints something: $(head -c 300 nothing message)"

# --- Same failures ---

# alike STATUS TOOL "OPTION..." INPUT...: lumos-report fails as TOOL does, with its words, and writes nothing.
alike() {
  local wanted=$1 tool=$2 options=$3
  shift 3
  # shellcheck disable=SC2086 # several options
  expect "$wanted" $tool $options "$@" -o none.html
  sed "s/^$tool:/lumos-report:/; s/'$tool --help'/'lumos-report --help'/" message >wanted
  # shellcheck disable=SC2086
  expect "$wanted" lumos-report $options "${inputs[@]}" -o none.html
  same wanted message "lumos-report $options does not say what $tool says"
  [ ! -e none.html ] || fail "lumos-report $options left a file"
}
lumos-parse "${example[@]}" -o parse
head -c 40000 "${example[0]}" >cut.json.gz
echo hello >text.json
inputs=("${example[@]}")
for options in '--steps 9-3' '--steps nonsense' '--steps 40' '--rank one' '--rank 0' '--rank 3,3' '--no-such-option'; do
  alike 2 lumos-parse "$options" "${inputs[@]}"
done
inputs=(missing.json) && alike 2 lumos-parse '' missing.json
inputs=(text.json) && alike 2 lumos-parse '' text.json
inputs=(cut.json.gz) && alike 1 lumos-parse --strict cut.json.gz
inputs=("${example[@]}")
for options in '--scale nonsense' '--scale kind=nokind=2' '-s host=-1'; do alike 2 lumos-transform "$options" parse; done
for options in '--template no-such-folder' '--format none'; do alike 2 lumos-render "$options" parse; done
expect 2 lumos-report "${example[@]}" -o none.xyz
says none.xyz
grep -vF '"kind":"gemm"' parse >edited
expect 2 lumos-report edited -o none.html
says --edited
expect 0 lumos-report --edited edited -o edited.html
[ -s edited.html ] || fail '--edited gives no page'

# Warnings of every stage are told once.
expect 0 lumos-report cut.json.gz -s 'name~no such kernel=2' -o warned.html
says 'end too early' 'no such kernel'
# A stack of 64 kB is enough, but for the sanitizers.
if ! grep -q __asan_init "$bin/lumos-report"; then
  (ulimit -s 64 && lumos-report "${example[@]}" -o small.html) 2>message || fail "a stack of 64 kB: $(head -c 300 message)"
fi
proved "lumos-report gives the page of the pipe, to the byte, in the formats $formats, with every option; sets.sh: of every public trace"
finish

#!/usr/bin/env bash
# Bash completion offers what the tools have: commands, options, the values of options, the files that a tool reads.
. "$(dirname "$0")/lib.sh"
completion=$source_folder/src/tools/completion.bash

# A shell without any setting, in which the completion is asked as bash asks it, words cut at blanks and at '=': it reads a folder and a line, and
# answers with what is offered where the line ends, one a line, and an empty one.
coproc asked {
  # shellcheck disable=SC2016 # expanded there
  exec env -i PATH="$PATH" HOME=/nonexistent bash --norc --noprofile -c '
    . "$1"
    while IFS= read -r folder && IFS= read -r line; do
      cd "$folder" || exit 1
      read -ra blanks <<<"$line"
      [[ $line != *" " ]] || blanks+=("")
      COMP_WORDS=() COMPREPLY=() COMP_LINE=$line COMP_POINT=${#line}
      for word in "${blanks[@]}"; do
        [[ -n $word ]] || COMP_WORDS+=("")
        while [[ $word =~ ^([^=:]+|[=:]+) ]]; do
          COMP_WORDS+=("${BASH_REMATCH[1]}")
          word=${word:${#BASH_REMATCH[1]}}
        done
      done
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      _lumos 2>&1
      printf "%s\n" "${COMPREPLY[@]}" ""
    done' - "$completion"
}
exec {to_it}>&"${asked[1]}" {from_it}<&"${asked[0]}"

# offered LINE: what is offered where the line ends, one a line.
offered() {
  local word
  printf '%s\n%s\n' "$PWD" "$1" >&"$to_it"
  while IFS= read -r word <&"$from_it" && [ -n "$word" ]; do printf '%s\n' "$word"; done
}

# offers LINE WORD...: exactly these, in any order.
offers() {
  local line=$1 word got=()
  local -A wanted=()
  shift
  for word; do wanted[$word]=yes; done
  printf '%s\n%s\n' "$PWD" "$line" >&"$to_it"
  while IFS= read -r word <&"$from_it" && [ -n "$word" ]; do
    got+=("$word")
    unset "wanted[$word]"
  done
  [ ${#wanted[@]} -eq 0 ] && [ ${#got[@]} -eq $# ] || fail "'$line' offers '${got[*]}' instead of '$*'"
}

# --- Commands ---

mapfile -t commands < <(cd "$bin" && ls -d lumos-* | sed 's/^lumos-//')
offers 'lumos ' "${commands[@]}" help
offers 'lumos tra' transform
offers 'lumos help ' "${commands[@]}" stream
offers 'lumos -' --help --version
offers 'lumos nonsense '
for tool in lumos "${commands[@]/#/lumos-}"; do
  env -i PATH="$PATH" bash --norc --noprofile -c '. "$1"; complete -p "$2"' - "$completion" "$tool" >/dev/null ||
    fail "$tool has no completion: add its name to the last line of src/tools/completion.bash"
done

# --- Options ---

for command in "${commands[@]}"; do
  mapfile -t options < <(lumos-"$command" --help | sed '/^Examples:$/,$d' | grep -oE '^  (-., |    )--[a-z-]+=?' | grep -oE -- '--.*')
  offers "lumos-$command --" "${options[@]}"
  offers "lumos $command --" "${options[@]}"
done
offers 'lumos-parse --ste' --steps=
offers 'lumos-parse rank0.json.gz --sta' --stacks
offers 'lumos-parse -- --'

# --- Values ---

offers 'lumos-parse --steps ' all last
offers 'lumos-parse --steps l' last
offers 'lumos-parse --steps=' all last
offers 'lumos-parse --steps=l' last
offers 'lumos parse --steps=l' last
offers 'lumos-parse --run ' last
offers 'lumos-parse --rank '
offers 'lumos-render --title '

# named OPTION: the values that the tool itself names when it is given another one.
named() { lumos-render "--$1" none </dev/null 2>&1 | sed -nE 's/.*(the formats are|name one of) //p' | tr -d , | tr ' ' '\n' | sort; }
for option in format view; do
  [ "$(named $option | grep -c .)" -ge 2 ] || fail "lumos-render names no values of --$option"
  for tool in lumos-render lumos-report; do
    same <(named $option) <(offered "$tool --$option " | sort) "the values of --$option that $tool takes and those that are offered differ; \
completion offers the words of the option's argument: name them all there, as in \"all|last\" (src/tools/rendering.h)"
  done
done
offers 'lumos-report -f h' html
offers 'lumos report --format=j' json

terms=(host device kind= name~ op= module= phase= layer= micro_batch= stage= rank= group=)
offers 'lumos-transform -s ' "${terms[@]}"
offers 'lumos-transform --scale=' "${terms[@]}"
offers 'lumos-report --scale ra' rank=
offers 'lumos-transform -s rank=3,ho' 3,host
offers 'lumos-transform -s rank=3,kind=me' memset
offers 'lumos-transform --scale=kind=gem' gemm
offers 'lumos-transform --scale kind=gemm '
lumos-graph <(lumos-parse "${example[@]}") -o graph
mapfile -t kinds < <(offered 'lumos-transform -s kind=')
for kind in $(jq -r 'select(.type=="task") | .kind' graph | sort -u); do
  [[ " ${kinds[*]} " == *" $kind "* ]] || fail "kind=$kind is not offered; add it to the help of --scale"
done
scales=("${kinds[@]/#/--scale=kind=}")
expect 0 lumos-transform "${scales[@]/%/=1}" graph -o none
[ ${#kinds[@]} -ge 17 ] || fail "only ${#kinds[@]} kinds are offered"
rm -f graph none message

# --- Files ---

mkdir -p place/folder place/only
cd place || exit 1
touch a.json b.json.gz c.json.zst job.parse page.html only/job.graph 'with blank.json'
offers 'lumos-parse ' a.json b.json.gz c.json.zst folder only 'with blank.json'
offers 'lumos-parse --stacks b' b.json.gz
offers 'lumos report ' a.json b.json.gz c.json.zst folder only 'with blank.json'
offers 'lumos-parse job' job.parse # a stream, where no trace is meant
offers 'lumos-parse only/' only/job.graph
offers 'lumos-sim job' job.parse
offers 'lumos-render -o pa' page.html
offers 'lumos-render --output=pa' page.html
offers 'lumos-render --template ' folder only
proved 'bash completes the tools, their options, values and files'
finish

#!/usr/bin/env bash
# Completion in bash, fish and zsh offers what the tools have: commands, options, the values of options, the files that a tool reads.
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

# --- fish and zsh ---

# expected SHELL: lines and what is offered there, as "LINE: WORD WORD ...", words by name; options are those of the tools' own help.
expected() {
  local command words
  printf 'lumos : %s\n' "$(printf '%s\n' "${commands[@]}" help | sort | xargs)"
  for command in "${commands[@]}"; do
    words=$(lumos-"$command" --help | sed '/^Examples:$/,$d' | grep -oE '^  (-., |    )--[a-z-]+=?' | grep -oE -- '--.*' | sort | xargs)
    printf 'lumos-%s --: %s\nlumos %s --: %s\n' "$command" "$words" "$command" "$words"
  done
  printf 'lumos-parse --steps : all last\n'
  printf 'lumos-render -f : %s\n' "$(named format | xargs)"
  printf 'lumos render --view : %s\n' "$(named view | xargs)"
}
cd "$work" || exit 1
expected >wanted
mkdir only_here && cd only_here && touch trace.json || exit 1
sed 's/:.*//' ../wanted >../lines
shells='bash'
if command -v fish >/dev/null; then
  # shellcheck disable=SC2016 # expanded there
  HOME=$work XDG_CONFIG_HOME=$work fish -N -c 'source $argv[1]
    while read -l line
      printf "%s: %s\n" "$line" (complete -C "$line" | string replace -r "\t.*" "" | sort | xargs)
    end' "$source_folder/src/tools/completion.fish" <../lines >../got 2>&1
  same ../got ../wanted "fish offers something else: $(diff ../got ../wanted | head -n 6)"
  [ "$(HOME=$work XDG_CONFIG_HOME=$work fish -N -c 'source $argv[1]; complete -C "lumos-parse tr"; complete -C "lumos-sim --trace=tr"' \
    "$source_folder/src/tools/completion.fish" | xargs)" = 'trace.json --trace=trace.json' ] || fail 'fish does not offer files'
  shells+=', fish'
else
  echo 'SKIPPED in part: fish is not here (apt-get install fish)'
fi
if command -v zsh >/dev/null; then
  # What zsh itself does with the specifications that _arguments gets is not the project's: they are listed. One of an option is
  # *--name=[text]:argument:(values), and of its letter *-l+[text]:argument:(values).
  zsh -f -c '
    compadd() { shift; print -rl -- "$@" >>../offered }
    _describe() { print -rl -- "${(@P)2%%:*}" >>../offered }
    _arguments() {
      local before=${words[CURRENT-1]} spec
      for spec; do
        if [[ $before = -* && $before != -- && ( $spec = "*$before="* || $spec = "*$before+["* ) ]]; then
          print -rl -- ${(s: :)${${spec##*:\(}%\)}} >../offered
          return
        elif [[ $spec = "*--"* && $words[CURRENT] = -- ]]; then
          print -r -- ${${spec%%\[*}#\*} >>../offered
        fi
      done
    }
    while IFS= read -r line; do
      words=(${(s: :)line})
      [[ $line != *" " ]] || words+=("")
      CURRENT=$#words
      : >../offered
      . "$1"
      print -r -- "$line: $(sort ../offered | xargs)"
    done' - "$source_folder/src/tools/completion.zsh" <../lines >../got 2>&1
  same ../got ../wanted "zsh offers something else: $(diff ../got ../wanted | head -n 6)"
  shells+=', zsh'
else
  echo 'SKIPPED in part: zsh is not here (apt-get install zsh)'
fi
for file in completion.fish completion.zsh; do
  for tool in lumos "${commands[@]/#/lumos-}"; do
    name=${tool#lumos-}
    grep -qE "^(#compdef|for tool).*\b($tool\b|lumos-\{.*\b$name\b)" "$source_folder/src/tools/$file" || fail "src/tools/$file does not serve $tool"
  done
done
proved "$shells complete the tools, their options, values and files"
finish

# Bash completion for lumos and its tools. What there is to complete is read off the --help of the tool that stands on the command
# line: a new option, or a new value in an option's argument as in --steps=all|last|N, is completed with nothing to do here.
# shellcheck shell=bash

# _lumos_words: the command line in `words` and the place of the cursor in `place`. Bash cuts words at '=' and ':'; what it has cut
# off the word at the cursor is `cut`, and is not to be given back.
_lumos_words() {
  local i joined=no
  words=() place=0 cut=
  for ((i = 0; i <= COMP_CWORD; i++)); do
    if ((i > 1)) && [[ $joined = yes || ${COMP_WORDS[i]} =~ ^[=:]+$ ]]; then
      cut=${words[-1]}
      words[-1]+=${COMP_WORDS[i]}
    else
      cut=
      words+=("${COMP_WORDS[i]}")
    fi
    joined=no
    if [[ ${COMP_WORDS[i]} =~ ^[=:]+$ ]]; then joined=yes; fi
  done
  if [[ ${COMP_WORDS[COMP_CWORD]} =~ ^[=:]+$ ]]; then cut=${words[-1]}; fi
  place=$((${#words[@]} - 1))
}

# _lumos_options: of the help the options, as `letters`, `longs` and `arguments`; "-" where there is no letter or no argument.
_lumos_options() {
  local line rest=${help#*$'\n'Options:$'\n'}
  rest=${rest%%$'\n'Examples:$'\n'*}$'\n'
  letters=() longs=() arguments=()
  while [[ -n $rest ]]; do
    line=${rest%%$'\n'*}
    rest=${rest#*$'\n'}
    if [[ $line = '  '*--* && $line =~ ^\ \ (-.,|\ \ \ )\ (--[a-z-]+)(=([^ ]+))?(\ .*)?$ ]]; then
      line=${BASH_REMATCH[1]%,}
      letters+=("${line/#\ */-}") longs+=("${BASH_REMATCH[2]}") arguments+=("${BASH_REMATCH[4]:--}")
    fi
  done
}

# _lumos_description OPTION: what the help on standard input says of the option, on one line.
_lumos_description() {
  awk -v option="$1" '/^  (-., |    )--/ { inside = index($0, " " option) } /^ ?[^ ]/ { inside = 0 } inside' | tr -s ' \n' ' '
}

# _lumos_files [ENDING...]: files with one of the endings, and folders; all files where none has one.
_lumos_files() {
  local ending
  compopt -o filenames 2>/dev/null
  mapfile -t found < <(for ending; do compgen -f -X "!*$ending" -- "$value"; done)
  if ((${#found[@]} == 0)); then
    mapfile -t found < <(compgen -f -- "$value")
  else
    mapfile -t -O ${#found[@]} found < <(compgen -d -- "$value")
  fi
}

# _lumos_list WORD...: those that begin as what is typed.
_lumos_list() { mapfile -t found < <(compgen -W "$*" -- "$value"); }

# _lumos_selector OPTION: the terms of a selector, or the kinds behind "kind=", behind the terms that are there already.
_lumos_selector() {
  local text terms kinds
  text=$(_lumos_description "$1" <<<"$help")
  text=${text#*SELECTOR=FACTOR}
  compopt -o nospace 2>/dev/null
  front=
  if [[ $value = *,* ]]; then
    front=${value%,*},
    value=${value##*,}
  fi
  if [[ $value = kind=* ]]; then
    kinds=$(sed -nE 's/.*kind=[A-Z]+ \(([^)]*)\).*/\1/p' <<<"$text")
    # shellcheck disable=SC2086 # a word each
    _lumos_list "$(printf 'kind=%s ' $kinds)"
  else
    terms=$(sed -nE 's/.*SELECTOR is ([a-z, ]+), or .*/\1/p' <<<"$text" | tr -d ,)
    terms+=" $(grep -oE '\b[a-z_]+[=~][A-Z]+' <<<"$text" | sed 's/[A-Z]*$//' | tr '\n' ' ')"
    # shellcheck disable=SC2086
    _lumos_list $terms
  fi
  found=("${found[@]/#/$front}")
}

# _lumos_argument OPTION ARGUMENT: what can stand for the argument as --help shows it.
_lumos_argument() {
  case $2 in
    SELECTOR=*) _lumos_selector "$1" ;;
    FILE*) _lumos_files ;;
    DIR)
      compopt -o filenames 2>/dev/null
      mapfile -t found < <(compgen -d -- "$value")
      ;;
    *) _lumos_list "$(tr '|' '\n' <<<"$2" | grep -E '^[a-z0-9-]+$')" ;; # the words among all|last|N
  esac
}

# _lumos_option: an argument of an option where the cursor is at one; fails where it is not.
_lumos_option() {
  local i
  for i in "${!longs[@]}"; do
    if [[ ${arguments[i]} = - ]]; then continue; fi
    if [[ ${words[place]} = "${longs[i]}="* ]]; then
      start=${longs[i]}=
      value=${words[place]#"$start"}
    elif ! { ((place > 1)) && [[ ${words[place - 1]} = "${longs[i]}" || ${words[place - 1]} = "${letters[i]}" ]]; }; then
      continue
    fi
    _lumos_argument "${longs[i]}" "${arguments[i]}"
    return 0
  done
  return 1
}

# _lumos_tool: the options and operands of the tool whose help is `help`.
_lumos_tool() {
  local before i
  local -a letters longs arguments
  _lumos_options
  for before in "${words[@]:1:place-1}"; do
    if [[ $before = -- ]]; then _lumos_files; return; fi
  done
  if _lumos_option; then return; fi
  if [[ $value = -* ]]; then
    for i in "${!longs[@]}"; do
      if [[ ${longs[i]} = "$value"* ]]; then
        found+=("${longs[i]}")
        if [[ ${arguments[i]} != - ]]; then found[-1]+==; fi
      fi
    done
    if [[ ${#found[@]} -eq 1 && ${found[0]} = *= ]]; then compopt -o nospace 2>/dev/null; fi
  elif [[ $help =~ $'\n'Usage:[^$'\n']*\ \[TRACE ]]; then # rather than a stream
    _lumos_files .json .json.gz .json.zst
  else
    _lumos_files
  fi
}

_lumos_commands() { sed -nE '/^Commands:$/,/^Options:$/s/^  ([^ ]+) .*/\1/p' <<<"$help"; }

_lumos() {
  local -a words found=()
  local place cut value help start='' front='' program
  _lumos_words
  COMPREPLY=()
  value=${words[place]}
  program=${words[0]/#\~/$HOME}
  help=$("$program" --help 2>/dev/null) || return 0
  if [[ ${program##*/} = lumos && $place -eq 2 && ${words[1]} = help ]]; then
    _lumos_list "$(_lumos_commands | grep -vx help)" stream
  elif [[ ${program##*/} = lumos && $place -gt 1 ]]; then
    help=$("$program" "${words[1]}" --help 2>/dev/null) || return 0
    words=("${words[@]:1}")
    place=$((place - 1))
    _lumos_tool
  elif [[ ${program##*/} = lumos && $value != -* ]]; then
    _lumos_list "$(_lumos_commands)"
  else
    _lumos_tool
  fi
  # The word up to what bash has cut off is on the line already.
  found=("${found[@]/#/$start}")
  COMPREPLY=("${found[@]#"$cut"}")
}

complete -F _lumos lumos lumos-{parse,graph,transform,sim,render,report,compare}

#compdef lumos lumos-parse lumos-graph lumos-transform lumos-sim lumos-render lumos-report lumos-compare
# Completion for lumos and its tools in zsh. What there is to complete is read off the --help of the tool on the command line, as in completion.bash.

# _lumos_specs: `specs`, as _arguments takes them, of the --help on standard input.
_lumos_specs() {
  local letter name argument text action
  specs=()
  while IFS=$'\t' read -r letter name argument text; do
    text=${${${text//\\/\\\\}//\[/\\[}//\]/\\]}
    text=${text//:/\\:}
    case $argument in
      -) action= ;;
      FILE*) action=":file:_files" ;;
      DIR) action=":folder:_files -/" ;;
      *)
        local -a values=(${(M)${(s:|:)argument}:#[a-z0-9]([a-z0-9-])#})
        action=":${argument//:/\\:}:(${values})"
        ;;
    esac
    if [[ $argument = - ]]; then
      specs+=("*${name}[$text]")
      [[ $letter = - ]] || specs+=("*-${letter}[$text]")
    else
      specs+=("*${name}=[$text]$action")
      [[ $letter = - ]] || specs+=("*-${letter}+[$text]$action")
    fi
  done < <(awk '
    function flush() { if (name != "") { gsub(/  +/, " ", text); print letter "\t" name "\t" argument "\t" text } name = "" }
    /^Options:$/ { inside = 1; next }
    /^Examples:$/ { inside = 0 }
    !inside { flush(); next }
    /^  (-., |    )--[a-z-]+/ {
      flush()
      letter = substr($0, 3, 1) == "-" ? substr($0, 4, 1) : "-"
      rest = substr($0, 7)
      name = rest; sub(/[= ].*/, "", name)
      argument = "-"
      if (substr(rest, length(name) + 1, 1) == "=") { argument = substr(rest, length(name) + 2); sub(/ .*/, "", argument) }
      text = substr(rest, length(name) + (argument == "-" ? 1 : length(argument) + 2)); sub(/^ +/, "", text)
      next
    }
    /^ +[^ ]/ { sub(/^ +/, ""); text = text (text == "" ? "" : " ") $0; next }
    { flush() }
    END { flush() }')
}

_lumos() {
  setopt localoptions extendedglob
  local program=${words[1]/#\~/$HOME} line
  local -a specs commands
  if [[ ${program:t} = lumos ]]; then
    if ((CURRENT == 2)); then
      if [[ $words[2] = -* ]]; then
        compadd -- --help --version
        return
      fi
      commands=(${(f)"$($program --help 2>/dev/null | awk '
        /^Commands:$/ { inside = 1; next }
        /^Options:$/ { inside = 0 }
        inside && /^  [^ ]/ { name = $1; $1 = ""; sub(/^ /, ""); print name ":" $0 }')"})
      _describe command commands
      return
    fi
    if [[ $words[2] = help ]]; then
      commands=(${(f)"$($program --help 2>/dev/null | sed -nE '/^Commands:$/,/^Options:$/s/^  ([^ ]+) .*/\1/p' | grep -vx help)"})
      compadd -- $commands stream
      return
    fi
    _lumos_specs < <($program $words[2] --help 2>/dev/null)
    shift words
    ((CURRENT--))
  else
    _lumos_specs < <($program --help 2>/dev/null)
  fi
  _arguments -S $specs '*:file:_files'
}

_lumos "$@"

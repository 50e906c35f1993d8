# Completion for lumos and its tools in fish. What there is to complete is read off the --help of the tool on the command line, as in completion.bash.

# The options of a --help on standard input, a line each: letter, name, argument and description with tabs between; "-" where there is none.
function __lumos_options
    awk '
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
      END { flush() }'
end

# What can be offered at the cursor, with descriptions behind tabs.
function __lumos_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l program $words[1]
    set -l known 0
    if test (basename -- $program) = lumos
        if test (count $words) -eq 1
            if string match -q -- '-*' $typed
                printf '%s\n' --help --version
            else
                $program --help 2>/dev/null | awk '
                  /^Commands:$/ { inside = 1; next }
                  /^Options:$/ { inside = 0 }
                  inside && /^  [^ ]/ { name = $1; $1 = ""; sub(/^ /, ""); print name "\t" $0 }'
            end
            return
        end
        if test "$words[2]" = help
            $program --help 2>/dev/null | sed -nE '/^Commands:$/,/^Options:$/s/^  ([^ ]+) .*/\1/p' | grep -vx help
            echo stream
            return
        end
        set -a program $words[2]
        set -e words[1]
    end
    set -l options ($program --help 2>/dev/null | __lumos_options)
    if contains -- -- $words
        __fish_complete_path $typed
        return
    end
    # The argument of an option: behind its '=', or the next word.
    for option in $options
        set -l parts (string split \t -- $option)
        test "$parts[3]" = - && continue
        if string match -q -- "$parts[2]=*" $typed
            __lumos_argument $parts[3] (string replace -- "$parts[2]=" '' $typed) "$parts[2]="
            return
        end
        if test (count $words) -gt 1 && contains -- $words[-1] $parts[2] "-$parts[1]"
            __lumos_argument $parts[3] "$typed" ''
            return
        end
    end
    if string match -q -- '-*' $typed
        for option in $options
            set -l parts (string split \t -- $option)
            test "$parts[3]" = - || set parts[2] "$parts[2]="
            printf '%s\t%s\n' $parts[2] (string sub -l 60 -- $parts[4])
        end
        return
    end
    __fish_complete_path $typed
end

# __lumos_argument ARGUMENT TYPED FRONT: the words among all|last|N, a file or a folder, as --help shows the argument.
function __lumos_argument
    switch $argv[1]
        case 'FILE*'
            for path in (__fish_complete_path $argv[2])
                printf '%s%s\n' $argv[3] $path
            end
        case DIR
            for path in (__fish_complete_directories $argv[2])
                printf '%s%s\n' $argv[3] $path
            end
        case '*'
            for word in (string split '|' -- $argv[1] | string match -r '^[a-z0-9-]+$')
                printf '%s%s\n' $argv[3] $word
            end
    end
end

for tool in lumos lumos-{parse,graph,transform,sim,render,report,compare}
    complete -c $tool -f -a '(__lumos_complete)'
end

#!/usr/bin/env bash
# cmake --install gives a whole tree: tools that run from there, their pages, and completion where shells look for it.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$bin")
[ -f "$build/cmake_install.cmake" ] || skip "$build is no build folder of CMake"
cmake --install "$build" --prefix "$PWD/prefix" >log 2>&1 || fail "cmake --install fails: $(tail -3 log)"

# wanted FOLDER SUFFIX NAME...: exactly these files.
wanted() {
  local folder=$1 suffix=$2
  shift 2
  [ "$(ls "$folder" 2>&1 | tr '\n' ' ')" = "$(printf "%s$suffix\n" "$@" | sort | tr '\n' ' ')" ] ||
    fail "$folder holds: $(ls "$folder" 2>&1 | tr '\n' ' ')"
}
mapfile -t tools < <(cd "$source_folder/src/tools" && ls lumos*.c | sed 's/\.c$//')
wanted prefix/bin '' "${tools[@]}"
wanted prefix/share/man/man1 .1 "${tools[@]}"
wanted prefix/share/man/man5 .5 lumos-stream
wanted prefix/share/bash-completion/completions '' "${tools[@]}"
wanted prefix/share/fish/vendor_completions.d .fish "${tools[@]}"
wanted prefix/share/zsh/site-functions '' _lumos

# The tools run from there, and need nothing of the build or the sources.
clean_path=$PWD/prefix/bin:/usr/bin:/bin
lumos-parse "${example[@]}" | lumos-sim | lumos-render >built.html
(PATH=$clean_path lumos parse "${example[@]}" | PATH=$clean_path lumos-sim | PATH=$clean_path lumos render -o installed.html) ||
  fail 'the installed tools fail'
same built.html installed.html 'the installed tools write another page'
PATH=$clean_path lumos report "${example[@]}" -o installed.html || fail 'the installed lumos report fails'
same built.html installed.html 'the installed lumos report writes another page'
! grep -rqF "$build" prefix/share prefix/include $(find prefix -name cmake -o -name pkgconfig) || fail "the prefix names the build folder: $(grep -rlF "$build" prefix/share)"

# The pages are found by the tools and read by man.
if command -v mandoc >/dev/null; then
  for page in prefix/share/man/man*/*; do
    mandoc -T ascii "$page" 2>&1 | sed 's/.\x08//g' | grep '^NAME$' >/dev/null || fail "mandoc cannot read $page"
  done
fi
mkdir fake && printf '#!/bin/sh\ncat "$2"\n' >fake/man && chmod +x fake/man
for tool in "${tools[@]}"; do
  same <(PATH=$PWD/fake:$clean_path lumos help "${tool#lumos-}") "$source_folder/src/tools/$tool.1" "lumos help ${tool#lumos-} shows another page"
done

# Completion as bash loads it: by the name of the command.
for tool in "${tools[@]}"; do
  PATH=$clean_path bash --norc --noprofile -c '. "$1" && complete -p "$2"' - "prefix/share/bash-completion/completions/$tool" "$tool" \
    >/dev/null || fail "the installed completion of $tool does not define it"
done

# Into another root, as packages are made.
DESTDIR=$PWD/root cmake --install "$build" --prefix /usr >log 2>&1 || fail 'DESTDIR fails'
for part in bin/lumos include/lumos/job.h share/man/man1/lumos.1 share/bash-completion/completions/lumos; do
  [ -f "root/usr/$part" ] || fail "with DESTDIR, $part is not in its place"
done
proved 'what is installed runs, with its pages and completion'
finish

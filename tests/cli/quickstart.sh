#!/usr/bin/env bash
# examples/quickstart.sh builds every tool and makes the page of the example.
. "$(dirname "$0")/lib.sh"
command -v cmake >/dev/null || skip 'cmake is not here'

# A copy whose build is recorded instead of run, with the tools of this build in its place.
mkdir -p copy/build/bin commands
cp -r "$source_folder/examples" copy/
ln -s "$(dirname "$(command -v lumos)")"/lumos* copy/build/bin/
touch copy/build/CMakeCache.txt
printf '#!/bin/sh\necho "$@" >>"%s"\n' "$work/calls" >commands/cmake
chmod +x commands/cmake
PATH=$work/commands:$PATH copy/examples/quickstart.sh >printed 2>message || fail "quickstart fails: $(head -c 300 message)"
[ "$(head -n 1 printed)" = "$work/copy/reports/quickstart.html" ] || fail "quickstart prints '$(cat printed)'"
valid_html copy/reports/quickstart.html
[ "$(tail -n 1 printed)" = "$(lumos-report --verdict "${example[@]}")" ] || fail "quickstart prints '$(cat printed)'"

# What it asks for is made of every tool, as the makefiles say.
target=$(sed -nE 's/.*--build .*--target ([a-z-]+).*/\1/p' calls)
[ -n "$target" ] || fail "quickstart builds everything, the tests included: $(cat calls)"
cmake -S "$source_folder" -B fresh -DBUILD_TESTING=OFF -G 'Unix Makefiles' >/dev/null || fail 'the project cannot be configured'
for main in "$source_folder"/src/tools/lumos*.c; do
  name=$(basename "$main" .c)
  [ "$name" != lumos ] || name=lumos-command # a target of that name is the library
  grep -qx "CMakeFiles/$target.dir/all: CMakeFiles/$name.dir/all" fresh/CMakeFiles/Makefile2 || fail "target $target does not build $name"
done
proved 'quickstart builds every tool and makes the page of the example'
finish

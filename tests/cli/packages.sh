#!/usr/bin/env bash
# The library as others use it: the names that it shows are those of the headers, and a program that knows only these makes the page that the tools
# make. With LUMOS_ALL=yes everything is built as packages: shared and static, found by pkg-config and CMake, Debian packages that lintian accepts,
# installed into a root of their own, and the tarball of sources, built again.
. "$(dirname "$0")/lib.sh"
build=$(cd "$bin/.." && pwd)
cc=${CC:-cc}
command -v "$cc" >/dev/null || skip 'there is no compiler'

# --- The names ---

# A compiler's own account of what is declared; clang gives none.
if gcc --version >/dev/null 2>&1; then
  for header in "$source_folder"/include/lumos/*.h; do echo "#include \"$header\""; done >all.c
  gcc -std=c17 -I"$source_folder/include" -fsyntax-only -aux-info declared all.c || fail 'the headers are not C17 by themselves'
  {
    grep -E '^/\* [^ ]*include/lumos/' declared | grep -v '\*/ static ' | grep -oE '\blumos_[a-z0-9_]+ \(' | tr -d ' ('
    grep -hoE '^extern const struct [a-z_]+ lumos_[a-z_]+' "$source_folder"/include/lumos/*.h | sed 's/.* //'
  } | sort -u >wanted
  sed -nE 's/^ +(lumos_[a-z0-9_]+);$/\1/p' "$source_folder/src/liblumos.map" >mapped
  [ "$(wc -l <wanted)" -ge 200 ] || fail "only $(wc -l <wanted) names found in the headers"
  diff mapped wanted >difference || fail "src/liblumos.map (<) and include/lumos (>) differ; write there what the headers declare, by name:
$(cat difference)"
else
  echo 'SKIPPED in part: gcc lists what headers declare, and is not here'
fi

# --- A program ---

lumos-report "${example[@]}" -o wanted.html 2>message || fail "no page: $(head -c 300 message)"
verdict=$(lumos-report --verdict "${example[@]}")
# consumes NAME: the program makes the tools' page.
consumes() {
  rm -f page.html
  local said
  said=$("./$1" "${example[@]}" page.html 2>message) || fail "$1 fails: $(head -c 300 message)"
  [ "$said" = "$verdict" ] || fail "$1 says '$said'"
  same page.html wanted.html "$1 makes another page"
}
# The static library of a build with sanitizers needs them, too.
if ! grep -q '^LUMOS_SANITIZE:[A-Z]*=.' "$build/CMakeCache.txt"; then
  cmake --install "$build" --prefix "$PWD/prefix" --component development >log 2>&1 || fail "cmake --install fails: $(tail -n 3 log)"
  modules=$(find prefix -name lumos.pc)
  # shellcheck disable=SC2046 # a word each
  "$cc" -std=c17 -Wall -Wextra -Werror "$source_folder/tests/consumer/main.c" -o static \
    $(PKG_CONFIG_PATH=$(dirname "$modules") pkg-config --static --cflags --libs lumos) 2>message ||
    fail "the consumer is not compiled: $(head -n 5 message)"
  consumes static
  expect 2 ./static nowhere.json page2.html
  [ ! -e page2.html ] || fail 'a page of nothing'
fi

# --- Packages ---

packages() {
  local package root=$PWD/root version
  version=$(lumos --version | sed 's/.* //; q')
  "$source_folder/examples/package.sh" made >log 2>&1 || { fail "examples/package.sh fails: $(tail -n 5 log)"; return; }
  [ "$(ls made | sed 's/_[a-z0-9]*\.deb$//' | xargs)" = "liblumos-dev_$version liblumos${version%.*}_$version lumos-$version.tar.gz lumos_$version" ] ||
    fail "there are other packages: $(ls made | xargs)"
  if command -v lintian >/dev/null; then
    lintian --fail-on warning --suppress-tags initial-upload-closes-no-bugs made/*.deb >message 2>&1 || fail "lintian: $(head -n 5 message)"
  else
    echo 'SKIPPED in part: lintian is not here (apt-get install lintian)'
  fi
  for package in made/*.deb; do dpkg-deb -x "$package" root; done

  # The tools in that root.
  env -i HOME="$PWD" PATH="$root/usr/bin:/usr/bin:/bin" lumos report "${example[@]}" -o page.html 2>message || fail "the packed tools fail: $(head -c 300 message)"
  same page.html wanted.html 'the packed tools make another page'
  printf '#!/bin/sh\necho "$2"\n' >man && chmod +x man
  PATH=$PWD:$root/usr/bin:/usr/bin:/bin "$root/usr/bin/lumos" help sim | grep -q '/lumos-sim\.1\.gz$' || fail 'lumos help does not find a page that is compressed'

  # The library: what it shows, by whom it is found, and that no more is needed of it.
  local library
  library=$(find root/usr/lib -name 'liblumos.so.*' -type f)
  nm -D --defined-only "$library" | awk '$3 ~ /@/ && $3 !~ /^LUMOS_/ { sub(/@.*/, "", $3); print $3 }' | sort >shown
  diff shown wanted >difference || fail "liblumos.so shows other names (<) than the headers declare (>): $(head -n 5 difference)"
  ! readelf -d "$library" | grep -q TEXTREL || fail 'liblumos.so has text relocations'
  local folder
  folder=$(dirname "$library")
  # shellcheck disable=SC2046
  "$cc" -std=c17 "$source_folder/tests/consumer/main.c" -o shared $(PKG_CONFIG_PATH=$folder/pkgconfig pkg-config --cflags --libs lumos) 2>message ||
    fail "pkg-config does not find the shared library: $(head -n 5 message)"
  readelf -d shared | grep -q "NEEDED.*liblumos.so.${version%.*}\]" || fail 'a program that is linked to it does not ask for its soname'
  LD_LIBRARY_PATH=$folder consumes shared
  cmake -S "$source_folder/tests/consumer" -B consumer -DCMAKE_PREFIX_PATH="$root/usr" >log 2>&1 && cmake --build consumer >>log 2>&1 ||
    fail "CMake does not build the consumer: $(tail -n 5 log)"
  LD_LIBRARY_PATH=$folder consumes consumer/consumer-lumos
  consumes consumer/consumer-static

  # The sources: nothing of a build or of git, and they build.
  mkdir again && tar -xzf made/lumos-*.tar.gz -C again --strip-components=1
  [ -z "$(find again -maxdepth 1 -name '.git' -o -maxdepth 1 -name 'build*')" ] || fail 'the tarball holds more than sources'
  cmake -S again -B again/build -DBUILD_TESTING=OFF -DLUMOS_ISAL=OFF >log 2>&1 && cmake --build again/build --target tools -j 2 >>log 2>&1 ||
    fail "the tarball does not build: $(tail -n 5 log)"
  again/build/bin/lumos --version | grep -q 'ISA-L none' || fail 'a build without ISA-L says that it has it'
  again/build/bin/lumos-report "${example[@]}" -o page.html 2>message || fail "the build of the tarball fails: $(head -c 300 message)"
  same page.html wanted.html 'without ISA-L the page is another'
  proved 'packages for Debian, a shared library with the headers'"'"' names alone, and a tarball that builds'
}
if command -v dpkg-buildflags >/dev/null && command -v cpack >/dev/null; then
  rarely packages
else
  echo 'SKIPPED in part: dpkg-dev is not here'
fi
proved 'a program that knows only the headers makes the page that the tools make'
finish

#!/usr/bin/env bash
# Packages of Lumos: a source tarball and, on Debian and Ubuntu, lumos (the tools), liblumosN (the library) and liblumos-dev.
#
#   examples/package.sh [FOLDER]      where they are written; by default the folder it is called in
#
# What the build needs is installed as by examples/quickstart.sh; dpkg-dev and file are needed as well.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
case "${1:-}" in
  -h | --help)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac
mkdir -p "${1:-.}"
folder=$(cd "${1:-.}" && pwd)
# shellcheck source=examples/install.sh
. "$root/examples/install.sh"
lumos_install "${lumos_build_packages[@]}" dpkg-dev file

build=${LUMOS_BUILD:-$(mktemp -d)}
mkdir -p "$build"
[ -n "${LUMOS_BUILD:-}" ] || trap 'rm -rf "$build"' EXIT
flags="$(dpkg-buildflags --get CFLAGS) $(dpkg-buildflags --get CPPFLAGS) -g0"
cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DBUILD_TESTING=OFF -DLUMOS_SHARED=ON -DLUMOS_DEB=ON \
  -DCMAKE_C_FLAGS="$flags" -DCMAKE_EXE_LINKER_FLAGS="$(dpkg-buildflags --get LDFLAGS)" \
  -DCMAKE_SHARED_LINKER_FLAGS="$(dpkg-buildflags --get LDFLAGS)" >"$build/log" || { cat "$build/log" >&2; exit 1; }
cmake --build "$build" -j "$(nproc)" >"$build/log" 2>&1 || { tail -n 40 "$build/log" >&2; exit 1; }
cd "$build"
umask 022
cpack -B "$build/packages" >"$build/log" 2>&1 && cpack --config CPackSourceConfig.cmake -B "$build/packages" >>"$build/log" 2>&1 ||
  { tail -n 40 "$build/log" >&2; exit 1; }
cp packages/*.deb packages/*.tar.gz "$folder"
cd packages && ls -- *.deb *.tar.gz

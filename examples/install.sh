# shellcheck shell=bash disable=SC2034
# Sourced by examples/quickstart.sh and tests/run.sh: the packages that lumos needs, and how to get them, on Debian 12 and 13
# and on Ubuntu 22.04 and 24.04, where they have the same names.
# Quick when all is there; asks for nothing but what is missing.

lumos_build_packages=(build-essential cmake pkg-config libcjson-dev zlib1g-dev libisal-dev libzstd-dev
  libcairo2-dev libgraphviz-dev libmd-dev)
# The runtime of the sanitizers and fuzzers carries the number of the clang that a release calls clang.
lumos_clang_runtime() {
  (
    . /etc/os-release 2>/dev/null
    case "${ID:-} ${VERSION_ID:-}" in
      'debian 13'*) echo libclang-rt-19-dev ;;
      'ubuntu 24.04') echo libclang-rt-18-dev ;;
      'ubuntu 22.04') echo libclang-common-14-dev ;;
      *) echo libclang-rt-14-dev ;; # Debian 12
    esac
  )
}
lumos_test_packages=(ninja-build clang clang-format clang-tidy cppcheck "$(lumos_clang_runtime)" libcmocka-dev jq tidy mandoc poppler-utils
  cmark-gfm file python3-jsonschema zstd)
# The tests in a browser take a Chromium and a node that are there already, whoever they are from.
lumos_browser_packages=()
command -v chromium >/dev/null || lumos_browser_packages+=(chromium)
command -v node >/dev/null || lumos_browser_packages+=(nodejs)
command -v npm >/dev/null || lumos_browser_packages+=(npm)

# lumos_install PACKAGE...: install those that are missing, as root or through sudo; else print the command and fail.
lumos_install() {
  if ! command -v dpkg-query >/dev/null; then
    echo "This is neither Debian nor Ubuntu; the equivalents of these must be there: $*" >&2
    return 0
  fi
  local package missing=()
  for package in "$@"; do
    # "ii " means installed; a removed package that left its configuration behind says "rc ".
    if [ "$(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null | cut -c1-2)" != ii ]; then
      missing+=("$package")
    fi
  done
  [ ${#missing[@]} -gt 0 ] || return 0

  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "Some packages are missing. Run this as root, then start again:" >&2
      echo "  apt-get install -y ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "Installing ${missing[*]}"
  local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends)
  # The package lists may be old or absent: try, refresh them, try again.
  "${install[@]}" "${missing[@]}" >/dev/null 2>&1 && return 0
  "${as_root[@]}" apt-get update -qq && "${install[@]}" "${missing[@]}" >/dev/null && return 0
  echo "That failed. Install these by hand, then start again: ${missing[*]}" >&2
  return 1
}

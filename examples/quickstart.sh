#!/usr/bin/env bash
# From traces to a page: install what is missing, build once, run the tools.
#
#   examples/quickstart.sh [TRACE...]     without traces: the small example in examples/traces/
#
# The traces are the ranks of one job. The page is reports/quickstart.html.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
case "${1:-}" in
  -h | --help)
    sed -n '2,6s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac
[ $# -gt 0 ] || set -- "$root"/examples/traces/*.json.gz

# shellcheck source=examples/install.sh
. "$root/examples/install.sh"
lumos_install "${lumos_build_packages[@]}"

# A build that is there keeps its settings; a new one leaves the tests out, whose library is not needed here.
if [ ! -f "$root/build/CMakeCache.txt" ]; then
  cmake -S "$root" -B "$root/build" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF >/dev/null
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! cmake --build "$root/build" -j "$(nproc)" --target tools >"$log" 2>&1; then
  cat "$log" >&2
  echo "The build failed; removing $root/build and starting again may help." >&2
  exit 1
fi

page=$root/reports/quickstart.html
mkdir -p "$root/reports"
verdict=$("$root/build/bin/lumos-report" --verdict -o "$page" "$@")
printf '%s\n%s\n' "$page" "$verdict"

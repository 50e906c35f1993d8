#!/usr/bin/env bash
# The page of a paper.json: page.py writes a template, and lumos-render puts its own style, colors and script into it. published.json, whose
# figures the page shows too, is copied beside it.
#
#   page.sh PAPER.json PAGE.html
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "${LUMOS_BIN:-$here/../../build/bin}" && pwd)
template=$(mktemp -d)
trap 'rm -rf "$template"' EXIT
python3 "$here/page.py" "$1" >"$template/report.html"
# The page shows no job of its own; the example's is the smallest that lumos-render can read.
"$bin/lumos-render" --template "$template" "$here/../traces" -o "$2"
copy=$(dirname "$2")/published.json
[ "$copy" -ef "$here/published.json" ] || cp "$here/published.json" "$copy"

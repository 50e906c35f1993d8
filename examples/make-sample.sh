#!/usr/bin/env bash
# Make reports/samples/ anew from examples/traces/, with the tools in build/bin: the page, and where Chromium is there, a picture
# of its first screens.
#
#   examples/make-sample.sh [FOLDER]     into another folder
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
bin=${LUMOS_BIN:-$root/build/bin}
folder=${1:-$root/reports/samples}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cd "$root" # the page names no folder, but a message might
"$bin/lumos-parse" examples/traces/rank*.json.gz | "$bin/lumos-sim" | "$bin/lumos-render" --verdict -o "$folder/gpt-dp2.html"

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ]; then
  echo 'No Chromium: the picture stays as it is' >&2
  exit 0
fi
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
"$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
  --disable-component-update --disable-sync --user-data-dir="$profile" --hide-scrollbars --force-color-profile=srgb \
  --window-size=1240,1205 --screenshot="$folder/gpt-dp2.png" "file://$folder/gpt-dp2.html" 2>/dev/null

#!/usr/bin/env bash
# Make reports/samples/gpt-dp2.html anew from examples/traces/, with the tools in build/bin.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${LUMOS_BIN:-build/bin}
mkdir -p reports/samples
"$bin/lumos-parse" examples/traces/rank*.json.gz | "$bin/lumos-sim" |
  "$bin/lumos-render" --verdict -o reports/samples/gpt-dp2.html

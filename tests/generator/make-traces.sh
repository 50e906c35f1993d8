#!/usr/bin/env bash
# Make examples/traces/ anew. Run it after a change of the generator; the test cli/example.sh compares.
set -euo pipefail
cd "$(dirname "$0")/../.."
generator=${LUMOS_BIN:-build/bin}/example-generator
mkdir -p examples/traces
"$generator" examples/traces
gzip -n -9 -f examples/traces/rank*.json
ls -l examples/traces

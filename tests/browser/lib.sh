# Sourced by the scripts beside it: Chromium, driven by playwright-core. What the driver and axe-core are made of is installed into the build folder,
# by the versions and checksums of package-lock.json. Skipped, saying why, where one of them cannot be had.
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"

folder=$source_folder/tests/browser
installed=$(cd "$bin/.." && pwd)/browser
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip 'there is no Chromium here (apt-get install chromium)'
command -v node >/dev/null || skip 'there is no node here (apt-get install nodejs)'
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ] || skip "node $(node --version) is too old: 18 or later"

# Installed anew when the versions asked for have changed.
install_modules() {
  cmp -s "$folder/package-lock.json" "$installed/package-lock.json" && [ -d "$installed/node_modules/playwright-core" ] && return
  command -v npm >/dev/null || skip 'there is no npm here (apt-get install npm)'
  rm -rf "$installed"
  mkdir -p "$installed"
  cp "$folder/package.json" "$installed"
  cp "$folder/package-lock.json" "$installed/lock"
  mv "$installed/lock" "$installed/package-lock.json"
  (cd "$installed" && timeout 120 npm ci --ignore-scripts --no-audit --no-fund >"$work/npm" 2>&1) || {
    rm -rf "$installed"
    skip "npm cannot install playwright-core and axe-core: $(grep -m 1 -i 'err' "$work/npm" | head -c 200)"
  }
}

# Of two scripts that run at once one installs.
(flock 9 && install_modules) 9>"$(cd "$bin/.." && pwd)/browser.lock" || exit $?
export NODE_PATH=$installed/node_modules CHROMIUM=$chromium

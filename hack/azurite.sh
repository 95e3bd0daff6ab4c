#!/usr/bin/env bash
# Installs Azurite, the emulator of Azure Blob Storage, in the cache, and azurite-blob alongside the other programs (hack/tools.sh path).
# The packages are pinned, with their hashes, in hack/azurite/package-lock.json; none of their scripts is run.
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

FOLDER="$HACK_DIR/azurite"
INSTALLED="$CACHE/tools/azurite-$(folder_hash "$FOLDER")"

# install: into a temporary folder, which is renamed when all is there.
install() {
  local tmp="$CACHE/tools/.azurite"
  [ ! -d "$INSTALLED" ] || return 0
  rm -rf "$tmp"
  mkdir -p "$tmp"
  cp "$FOLDER"/package*.json "$tmp"
  (cd "$tmp" && npm ci --omit=dev --ignore-scripts --no-fund --no-audit)
  mv "$tmp" "$INSTALLED"
}

# link: a program that starts the one of the pinned version.
link() {
  printf '#!/bin/sh\nexec node %q "$@"\n' "$INSTALLED/node_modules/azurite/dist/src/blob/main.js" >"$BIN/.azurite-blob"
  chmod +x "$BIN/.azurite-blob"
  mv "$BIN/.azurite-blob" "$BIN/azurite-blob"
}

need node nodejs
need npm npm
locked azurite step "install Azurite" install
link

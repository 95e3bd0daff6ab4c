#!/usr/bin/env bash
# Builds the site of docs/ with mkdocs into a folder. A broken link fails the build.
#   hack/docs.sh [FOLDER]      default: site in the cache
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

SITE=$(realpath -m "${1:-$CACHE/site}")
REQUIREMENTS="$HACK_DIR/docs/requirements.txt"
VENV="$CACHE/docs/$(folder_hash "$REQUIREMENTS")"
export MERMAID="$CACHE/docs/mermaid-$MERMAID_VERSION.min.js"

# python_env: the pinned packages, checked against their hashes. The last line reports that all are there.
python_env() {
  [ ! -e "$VENV/complete" ] || return 0
  rm -rf "$VENV"
  python3 -m venv "$VENV"
  "$VENV/bin/pip" install --quiet --require-hashes --only-binary :all: -r "$REQUIREMENTS"
  touch "$VENV/complete"
}

# mermaid: one file of the package on npm draws the pictures in the browser.
mermaid() {
  [ ! -e "$MERMAID" ] || return 0
  local tmp
  tmp=$(mktemp -d)
  (cd "$tmp" && npm pack --silent "mermaid@$MERMAID_VERSION")
  sha256sum --check --quiet <<<"$MERMAID_SHA256  $tmp/mermaid-$MERMAID_VERSION.tgz"
  tar -xzf "$tmp/mermaid-$MERMAID_VERSION.tgz" -C "$tmp" package/dist/mermaid.min.js
  mv "$tmp/package/dist/mermaid.min.js" "$MERMAID"
  rm -rf "$tmp"
}

build() {
  cd "$REPO_DIR"
  NO_MKDOCS_2_WARNING=1 "$VENV/bin/python" -m mkdocs build --strict --site-dir "$SITE"
}

for program in python3 npm; do
  command -v "$program" >/dev/null || die "$program is missing: apt-get install python3-venv npm"
done
mkdir -p "$CACHE/docs"
locked docs step "install mkdocs" python_env
locked docs step "fetch mermaid $MERMAID_VERSION" mermaid
locked docs step "build the site" build
log "the site is in $SITE"

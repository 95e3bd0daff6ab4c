#!/usr/bin/env bash
# Makes a release of this commit in dist, without images and without publishing anything, signs it with a key that is thrown away, and
# checks what a user would check.
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$REPO_DIR"

keys=$(mktemp -d)
trap 'rm -rf "$keys"' EXIT
export COSIGN_PASSWORD=""
(cd "$keys" && cosign generate-key-pair 2>/dev/null)
# Services for signatures: none, so nothing is sent anywhere. A release has Sigstore's, and needs no key.
cosign signing-config create --out "$keys/offline.json"

rm -rf bin/release
COSIGN_KEY="$keys/cosign.key" COSIGN_CONFIG="$keys/offline.json" step "release dry run" goreleaser release --snapshot --clean

cosign verify-blob --key "$keys/cosign.pub" --insecure-ignore-tlog --bundle dist/checksums.txt.sigstore.json dist/checksums.txt 2>/dev/null
cp bin/release/* dist/
(cd dist && sha256sum --check --strict --quiet checksums.txt)
"$(find dist -path '*kubectl-galera_linux_amd64*/kubectl-galera')" --version
ls -1 dist

#!/usr/bin/env bash
# Makes a release of this commit in dist, publishes nothing, and checks what a user would check. A registry on this machine stands for the
# public one, a key that is thrown away for Sigstore.
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$REPO_DIR"

work=$(mktemp -d)
crane registry serve --address 127.0.0.1:0 --disk "$work" >"$work/registry.log" 2>&1 &
registry=$!
trap 'kill $registry; rm -rf "$work"' EXIT
for _ in $(seq 50); do
  port=$(sed -n 's/.*port[^0-9]*\([0-9]*\).*/\1/p' "$work/registry.log" | head -n 1)
  [ -z "$port" ] || break
  sleep 0.1
done
[ -n "$port" ] || die "the registry does not start: $(cat "$work/registry.log")"

export COSIGN_PASSWORD="" COSIGN_KEY=$work/cosign.key COSIGN_CONFIG=$work/offline.json
(cd "$work" && cosign generate-key-pair 2>/dev/null)
# Services for signatures: none, so nothing is sent anywhere.
cosign signing-config create --out "$COSIGN_CONFIG"

# Images of this registry stand for the database and the benchmark image, whose digests a release pins.
for image in mariadb:11.8 galera-sysbench:1.0; do
  crane append --oci-empty-base --new_layer <(tar -cf - -T /dev/null) --new_tag "127.0.0.1:$port/$image" >/dev/null
done
export PIN_FROM=127.0.0.1:$port

VERSION=${VERSION:-v0.0.0-dev.$(git rev-parse --short HEAD)}
export VERSION REGISTRY=127.0.0.1:$port HELM_PUSH=--plain-http GORELEASER=--snapshot
"$HACK_DIR/release.sh"
crane pull --format=oci "$REGISTRY/galera-operator:$VERSION" dist/image
cp "$work/cosign.pub" dist/
COSIGN_PUB=$work/cosign.pub "$HACK_DIR/release-check.sh"
ls -1 dist

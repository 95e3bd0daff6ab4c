#!/usr/bin/env bash
# Frees what the local stack keeps: the cluster, its images in Docker, and the cache with
# all built programs. Docker itself and Go's own caches stay.
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# remove_images: by name, never everything that Docker has.
remove_images() {
  local image
  for image in "$OPERATOR_IMAGE" "$DATABASE_IMAGE" "$DATABASE_OLD_IMAGE" "$DRIVERS_IMAGE" "$EXPORTER_IMAGE" "$SYSBENCH_IMAGE" "$CERT_MANAGER_IMAGE" \
    "$OBJECT_STORE_IMAGE" "$GOOGLE_STORE_IMAGE" "$AZURITE_IMAGE" "$MONITORING_IMAGE" \
    "galera-node:$KUBERNETES_VERSION"; do
    docker rmi -f "$image" >/dev/null 2>&1 || true
  done
}

if docker info >/dev/null 2>&1; then
  if [ -x "$BIN/kind" ]; then
    GALERA_CLUSTER=galera-b "$HACK_DIR/cluster.sh" down
    GALERA_CLUSTER=galera "$HACK_DIR/cluster.sh" down
  fi
  remove_images
fi
[ -d "$CACHE/locks" ] || die "$CACHE does not look like this cache"
rm -rf "$CACHE"
log "removed $CACHE"

#!/usr/bin/env bash
# Puts images from Docker onto those nodes of the cluster that do not have them yet.
#   hack/load.sh IMAGE...                  onto the nodes that take workloads
#   hack/load.sh --control-plane IMAGE...  onto the control plane
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# On a node, an image carries the id it had in Docker as a label.
LABEL=io.galera-operator.docker-id

full_name() {
  case $1 in
  *[.:]*/*) echo "$1" ;;
  */*) echo "docker.io/$1" ;;
  *) echo "docker.io/library/$1" ;;
  esac
}

node_has() {
  docker exec "$1" ctr -n k8s.io images ls "name==$(full_name "$2")" 2>/dev/null | grep -qF "$LABEL=$3"
}

# target_nodes: a control plane takes workloads only when it is the only node.
target_nodes() {
  local nodes
  nodes=$(kind get nodes --name "$CLUSTER" 2>/dev/null)
  if [ "$ROLE" = control-plane ] || ! grep -v -- '-control-plane$' <<<"$nodes"; then
    grep -- '-control-plane$' <<<"$nodes" || die "there is no cluster $CLUSTER; make it with hack/cluster.sh up"
  fi
}

# import_on NODE ARCHIVE IMAGE...: one stream for all images, so that layers they share
# travel once. --local is twice as fast as containerd's transfer service.
import_on() {
  local node=$1 archive=$2 image
  shift 2
  docker exec -i "$node" ctr -n k8s.io images import --local --snapshotter overlayfs - <"$archive" >/dev/null
  for image in "$@"; do
    docker exec "$node" ctr -n k8s.io images label "$(full_name "$image")" \
      "$LABEL=$(docker image inspect --format '{{.Id}}' "$image")" >/dev/null
  done
}

# load NODES IMAGE...: all nodes at the same time.
load() {
  local nodes=$1 archive node pids=() pid failed=0
  shift
  archive=$(mktemp "$CACHE/tmp/load.XXXXXX")
  docker save "$@" >"$archive"
  for node in $nodes; do
    import_on "$node" "$archive" "$@" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  rm -f "$archive"
  return "$failed"
}

# main: an image that any node lacks is sent to the nodes that lack any of them.
main() {
  local image node nodes id missing_images="" missing_nodes="" images
  nodes=$(target_nodes)
  for image in "$@"; do
    id=$(docker image inspect --format '{{.Id}}' "$image") || die "there is no image $image; build it with hack/images.sh"
    for node in $nodes; do
      if ! node_has "$node" "$image" "$id"; then
        missing_images+="$image "
        missing_nodes+="$node "
      fi
    done
  done
  [ -n "$missing_images" ] || return 0
  mkdir -p "$CACHE/tmp"
  mapfile -t images < <(tr ' ' '\n' <<<"$missing_images" | sed '/^$/d' | sort -u)
  missing_nodes=$(tr ' ' '\n' <<<"$missing_nodes" | sed '/^$/d' | sort -u)
  step "load ${images[*]}" load "$missing_nodes" "${images[@]}"
}

ROLE=worker
if [ "${1:-}" = --control-plane ]; then
  ROLE=control-plane
  shift
fi
[ $# -gt 0 ] || die "usage: hack/load.sh [--control-plane] IMAGE..."
"$HACK_DIR/docker.sh"
locked load main "$@"

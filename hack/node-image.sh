#!/usr/bin/env bash
# Prints the name of the image for the cluster's nodes, after pulling or building it.
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

TAG="galera-node:$KUBERNETES_VERSION"
LABEL=io.galera-operator.inputs
LIMITED=
if lacks_sys_resource; then LIMITED=yes; fi

# Everything that decides what is in the image.
inputs() {
  {
    folder_hash "$REPO_DIR/images/node" "$HACK_DIR/node-image.sh" "$HACK_DIR/runc-wrapper.sh"
    echo "$LIMITED $KUBERNETES_VERSION $ETCD_VERSION $CONTAINERD_VERSION $COREDNS_VERSION $NODE_DEBIAN"
    echo "$CNI_PLUGINS_VERSION $LOCAL_PATH_PROVISIONER_VERSION $KIND_VERSION"
  } | sha256sum | cut -c1-16
}

# The published image runs a systemd that needs cgroup v2, and a plain runc.
public_image_fits() { [ -z "$LIMITED" ] && [ -e /sys/fs/cgroup/cgroup.controllers ]; }

kind_module() { (cd "$CACHE" && go mod download -json "sigs.k8s.io/kind@$KIND_VERSION" | sed -n 's/^.*"Dir": "\(.*\)",/\1/p'); }

# images_by_role: lines "PROGRAM IMAGE", the names being those kubeadm asks for.
images_by_role() {
  local image
  kubeadm config images list --kubernetes-version "$KUBERNETES_VERSION" 2>/dev/null | while read -r image; do
    basename "${image%:*}" | sed "s|\$| $image|"
  done
}

# storage_image MODULE Provisioner|Helper: what kind's storage manifest names.
storage_image() { sed -n "s/^const storage$2Image = \"\(.*\)\"/\1/p" "$1/pkg/build/nodeimage/const_storage.go"; }

# storage_manifest MODULE: kind's default, which is a constant in its source.
# shellcheck disable=SC2016 # the backquotes are Go's
storage_manifest() {
  sed -n '/^const defaultStorageManifest = `/,/^`/p' "$1/pkg/build/nodeimage/const_storage.go" |
    sed -e '1d' -e '$d' \
      -e "s|\` + storageProvisionerImage + \`|$(storage_image "$1" Provisioner)|" \
      -e "s|\` + storageHelperImage + \`|$(storage_image "$1" Helper)|"
}

# assemble MODULE CONTEXT: what images/node/Dockerfile copies.
assemble() {
  local module=$1 context=$2 pause program
  rm -rf "$context"
  mkdir -p "$context"/{files,bin,cni}
  cp -r "$module"/images/base/files/{etc,kind,usr} "$context/files/"
  chmod -R u+w "$context/files"
  pause=$(images_by_role | awk '$1 == "pause" {print $2}')
  sed -i "s|sandbox_image = .*|sandbox_image = \"$pause\"|" "$context/files/etc/containerd/config.toml"
  mkdir -p "$context/files/kind/manifests"
  printf '%s' "$KUBERNETES_VERSION" >"$context/files/kind/version"
  storage_manifest "$module" >"$context/files/kind/manifests/default-storage.yaml"
  for program in containerd containerd-shim-runc-v2 ctr kubeadm kubelet kubectl; do
    cp -L "$BIN/$program" "$context/bin/"
  done
  for program in ptp host-local portmap loopback; do cp -L "$BIN/$program" "$context/cni/"; done
  cp "$HACK_DIR/runc-wrapper.sh" "$context/"
}

# static_image PROGRAM IMAGE: one file and nothing else.
static_image() {
  tar -C "$BIN" -ch --owner=0 --group=0 --transform='s|^|usr/local/bin/|' "$1" |
    docker import --change "ENTRYPOINT [\"/usr/local/bin/$1\"]" --change 'ENV PATH=/usr/local/bin' - "$2" >/dev/null
}

# component_images MODULE: makes every image a node needs, and prints their names.
component_images() {
  local role image
  (cd "$REPO_DIR/images/node/pause" && CGO_ENABLED=0 GOWORK=off go build -trimpath -ldflags '-s -w' -o "$BIN/pause" .)
  mkdir -p "$CACHE/tmp/kube-proxy"
  cp -L "$BIN/kube-proxy" "$CACHE/tmp/kube-proxy/"
  while read -r role image; do
    if [ "$role" = kube-proxy ]; then
      docker build -q -t "$image" --build-arg "BASE=debian:$NODE_DEBIAN-slim" --build-arg "MIRROR=$(debian_mirror)" \
        -f "$REPO_DIR/images/node/kube-proxy.Dockerfile" "$CACHE/tmp/kube-proxy" >/dev/null
      docker tag "$image" "$(storage_image "$1" Helper)"
    else
      static_image "$role" "$image"
    fi
    echo "$image"
  done < <(images_by_role)
  static_image local-path-provisioner "$(storage_image "$1" Provisioner)"
  storage_image "$1" Provisioner
  storage_image "$1" Helper
}

# preload BASE IMAGES: puts the images into containerd's store and saves the result as the node's image.
preload() {
  local base=$1 container hash
  shift
  hash=$(inputs)
  container=$(docker run -d --security-opt seccomp=unconfined --entrypoint sleep "$base" infinity)
  # shellcheck disable=SC2064 # the name is known now, not when the trap runs
  trap "docker rm -f -v $container >/dev/null" EXIT
  docker exec -d "$container" containerd
  docker exec "$container" sh -c 'for i in $(seq 100); do ctr version >/dev/null 2>&1 && exit; sleep 0.1; done; exit 1'
  docker save "$@" | docker exec -i "$container" ctr -n k8s.io images import --all-platforms --no-unpack -
  docker exec "$container" sh -c 'kill $(pidof containerd); while pidof containerd; do sleep 0.1; done'
  docker commit --change 'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]' \
    --change "LABEL $LABEL=$hash" "$container" "$TAG"
}

build_node_image() {
  local module context="$CACHE/tmp/node" base="galera-node-base:$KUBERNETES_VERSION" images
  module=$(kind_module)
  assemble "$module" "$context"
  docker build -t "$base" --build-arg "BASE=debian:$NODE_DEBIAN-slim" --build-arg "MIRROR=$(debian_mirror)" \
    --build-arg "LIMITED=$LIMITED" -f "$REPO_DIR/images/node/Dockerfile" "$context"
  mapfile -t images < <(component_images "$module")
  # Ten names: kubeadm's seven, and the two for storage.
  [ "${#images[@]}" -ge 9 ] || die "could not make all images: ${images[*]}"
  # A subshell, so that its trap cleans up whatever happens.
  (preload "$base" "${images[@]}")
  docker rmi "${images[@]}" "$base" >/dev/null
  rm -rf "$CACHE/tmp"
}

ensure_node_image() {
  local have
  have=$(docker image inspect --format "{{index .Config.Labels \"$LABEL\"}}" "$TAG" 2>/dev/null || true)
  [ "$have" != "$(inputs)" ] || return 0
  "$HACK_DIR/tools.sh" build kubernetes-api kubernetes-node etcd containerd cni coredns local-path
  "$HACK_DIR/images.sh" base "$NODE_DEBIAN"
  step "build $TAG" build_node_image
}

"$HACK_DIR/docker.sh"
if public_image_fits; then
  if docker image inspect "$PUBLIC_NODE_IMAGE" >/dev/null 2>&1 || try_pull "$PUBLIC_NODE_IMAGE"; then
    echo "$PUBLIC_NODE_IMAGE"
    exit
  fi
fi
locked node-image ensure_node_image
echo "$TAG"

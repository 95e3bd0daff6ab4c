#!/usr/bin/env bash
# Builds, from Go modules, the programs that the local cluster and the tests need.
#   hack/tools.sh envtest      prints the directory for KUBEBUILDER_ASSETS
#   hack/tools.sh path         prints the directory with all programs built so far
#   hack/tools.sh build SET... builds kubernetes, etcd, kind, ... (see build_set)
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Static and the same wherever it is built; no debug information (half the size).
export CGO_ENABLED=0 GOFLAGS=-trimpath GOWORK=off GOTOOLCHAIN=local

# The directory that holds a set's programs: its version is in the name.
set_dir() { echo "$CACHE/tools/$1-$2"; }

# kubernetes_module DIR: a module that builds Kubernetes. Its own go.mod points at
# a staging folder that modules do not carry; the published copies are v0.MINOR.PATCH.
kubernetes_module() {
  local staging=v0.${KUBERNETES_VERSION#v1.} upstream module
  upstream=$(cd "$1" && go mod download -json "k8s.io/kubernetes@$KUBERNETES_VERSION" |
    sed -n 's/.*"GoMod": "\(.*\)",/\1/p')
  {
    printf 'module local/kubernetes\n\n'
    grep -E '^(go|godebug) ' "$upstream"
    printf 'require k8s.io/kubernetes %s\n' "$KUBERNETES_VERSION"
    sed -n 's|^\t*\(k8s.io/[a-z0-9-]*\) => ./staging/.*|\1|p' "$upstream" | while read -r module; do
      printf 'replace %s => %s %s\n' "$module" "$module" "$staging"
    done
  } >"$1/go.mod"
}

# plain_module DIR MODULE VERSION: a module that requires one other. `go install
# MODULE@VERSION` refuses modules with replacements; this does not.
plain_module() {
  (cd "$1" && go mod init "local/tool" && go get "$2@$3")
}

# compile DIR OUT LDFLAGS PACKAGE...: go.sum is filled while building.
compile() {
  local dir=$1 out=$2 ldflags=$3
  shift 3
  (cd "$dir" && go build -mod=mod -ldflags "-s -w $ldflags" -o "$out/" "$@")
}

# build NAME MODULE VERSION LDFLAGS PACKAGE...: builds into a temporary folder
# and renames it, so that an interrupted build leaves nothing behind that looks done.
build() {
  local name=$1 module=$2 version=$3 ldflags=$4 final tmp
  shift 4
  final=$(set_dir "$name" "$version")
  [ -d "$final" ] && return 0
  tmp="$CACHE/tools/.$name-$version"
  rm -rf "$tmp"
  mkdir -p "$tmp/src" "$tmp/out"
  if [ "$module" = k8s.io/kubernetes ]; then
    kubernetes_module "$tmp/src"
  else
    plain_module "$tmp/src" "$module" "$version"
  fi
  compile "$tmp/src" "$tmp/out" "$ldflags" "$@"
  rm -rf "$tmp/src"
  # etcd's main package is the root of a module named server/v3.
  [ ! -e "$tmp/out/server" ] || mv "$tmp/out/server" "$tmp/out/etcd"
  mv "$tmp/out" "$final"
  rmdir "$tmp"
}

# link_set NAME VERSION: the pinned version is the one in the bin folder.
link_set() {
  local file
  for file in "$(set_dir "$1" "$2")"/*; do
    [ "$(readlink "$BIN/$(basename "$file")" 2>/dev/null)" = "$file" ] || ln -sfn "$file" "$BIN/$(basename "$file")"
  done
}

# ensure NAME MODULE VERSION LDFLAGS PACKAGE...: build once, then link.
ensure() {
  local name=$1 version=$3
  if [ ! -d "$(set_dir "$name" "$version")" ]; then
    command -v go >/dev/null || die "Go is missing: install Go 1.26 (https://go.dev/dl)"
    locked "tool-$name" step "build $name $version" build "$@"
  fi
  link_set "$name" "$version"
}

kubernetes_ldflags() {
  local package minor=${KUBERNETES_VERSION#v1.}
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    printf -- '-X %s.gitVersion=%s -X %s.gitMajor=1 -X %s.gitMinor=%s ' \
      "$package" "$KUBERNETES_VERSION" "$package" "$package" "${minor%%.*}"
  done
}

# kubernetes SET PROGRAM...: some of Kubernetes' programs.
kubernetes() {
  local set=$1
  shift
  ensure "$set" k8s.io/kubernetes "$KUBERNETES_VERSION" "$(kubernetes_ldflags)" "${@/#/k8s.io/kubernetes/cmd/}"
}

# Without a cluster, helm template and helm lint take Kubernetes' version from how Helm was built.
helm_ldflags() {
  local base=helm.sh/helm/v3 minor=${KUBERNETES_VERSION#v1.} package
  printf -- '-X %s/internal/version.version=%s ' $base "$HELM_VERSION"
  for package in pkg/chartutil pkg/lint/rules; do
    printf -- '-X %s/%s.k8sVersionMajor=1 -X %s/%s.k8sVersionMinor=%s ' $base $package $base $package "${minor%%.*}"
  done
}

build_set() {
  local cni=github.com/containernetworking/plugins/plugins
  case $1 in
  # What envtest needs comes first and separately: it is wanted without a cluster.
  kubernetes-api) kubernetes kubernetes-api kube-apiserver kubectl ;;
  kubernetes-node) kubernetes kubernetes-node kubeadm kubelet kube-controller-manager kube-scheduler kube-proxy ;;
  etcd) ensure etcd go.etcd.io/etcd/server/v3 "$ETCD_VERSION" "" go.etcd.io/etcd/server/v3 ;;
  containerd)
    local base=github.com/containerd/containerd/v2
    ensure containerd $base "$CONTAINERD_VERSION" "-X $base/version.Version=$CONTAINERD_VERSION" \
      $base/cmd/{containerd,containerd-shim-runc-v2,ctr}
    ;;
  coredns) ensure coredns github.com/coredns/coredns "$COREDNS_VERSION" "" github.com/coredns/coredns ;;
  cni) ensure cni github.com/containernetworking/plugins "$CNI_PLUGINS_VERSION" "" \
    $cni/main/{ptp,loopback} $cni/ipam/host-local $cni/meta/portmap ;;
  local-path) ensure local-path github.com/rancher/local-path-provisioner "$LOCAL_PATH_PROVISIONER_VERSION" "" \
    github.com/rancher/local-path-provisioner ;;
  helm) ensure helm helm.sh/helm/v3 "$HELM_VERSION" "$(helm_ldflags)" helm.sh/helm/v3/cmd/helm ;;
  goreleaser) ensure goreleaser github.com/goreleaser/goreleaser/v2 "$GORELEASER_VERSION" "" github.com/goreleaser/goreleaser/v2 ;;
  syft) ensure syft github.com/anchore/syft "$SYFT_VERSION" "" github.com/anchore/syft/cmd/syft ;;
  cosign) ensure cosign github.com/sigstore/cosign/v3 "$COSIGN_VERSION" "" github.com/sigstore/cosign/v3/cmd/cosign ;;
  crane) ensure crane github.com/google/go-containerregistry "$CRANE_VERSION" "" github.com/google/go-containerregistry/cmd/crane ;;
  versitygw) ensure versitygw github.com/versity/versitygw "$VERSITYGW_VERSION" "" github.com/versity/versitygw/cmd/versitygw ;;
  fake-gcs-server) GOFLAGS="$GOFLAGS -tags=disable_grpc_modules" \
    ensure fake-gcs-server github.com/fsouza/fake-gcs-server "$FAKE_GCS_SERVER_VERSION" "" github.com/fsouza/fake-gcs-server ;;
  # The web pages are left out, and of the ways to find targets all but Kubernetes'.
  prometheus)
    local base=github.com/prometheus/prometheus
    GOFLAGS="$GOFLAGS -tags=remove_all_sd,enable_kubernetes_sd" \
      ensure prometheus $base "$PROMETHEUS_VERSION" "-X github.com/prometheus/common/version.Version=$PROMETHEUS_VERSION" $base/cmd/{prometheus,promtool}
    ;;
  prometheus-operator)
    local base=github.com/prometheus-operator/prometheus-operator
    ensure prometheus-operator $base "$PROMETHEUS_OPERATOR_VERSION" "" $base/cmd/{operator,prometheus-config-reloader}
    ;;
  kind) ensure kind sigs.k8s.io/kind "$KIND_VERSION" "" sigs.k8s.io/kind ;;
  *) die "unknown set of tools: $1" ;;
  esac
}

# envtest: kube-apiserver, etcd and kubectl in one folder.
envtest() {
  local dir="$CACHE/envtest/$KUBERNETES_VERSION-$ETCD_VERSION" program
  build_set kubernetes-api
  build_set etcd
  mkdir -p "$dir"
  for program in kube-apiserver kubectl etcd; do
    ln -sfn "$(readlink "$BIN/$program")" "$dir/$program"
  done
  echo "$dir"
}

case "${1:-}" in
envtest) envtest ;;
path) echo "$BIN" ;;
build)
  shift
  for set in "$@"; do build_set "$set"; done
  ;;
*) die "usage: hack/tools.sh envtest | path | build SET..." ;;
esac

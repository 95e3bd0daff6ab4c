#!/usr/bin/env bash
# Installs cert-manager in the local cluster, and waits until it issues certificates.
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

kubectl_cluster() { kubectl --kubeconfig "$CLUSTER_KUBECONFIG" "$@"; }

module_dir() { (cd "$REPO_DIR/images/cert-manager" && GOWORK=off go list -m -f '{{.Dir}}' github.com/cert-manager/cert-manager); }

# install_crds: those of the version that is compiled, from the module itself.
install_crds() {
  local crd arguments=()
  for crd in "$(module_dir)"/deploy/crds/*.yaml; do
    arguments+=(-f "$crd")
  done
  kubectl_cluster apply --server-side --force-conflicts "${arguments[@]}"
  kubectl_cluster wait --for=condition=Established --timeout=60s "${arguments[@]}"
}

# install_controllers: the image's inputs are in the pod template, so that a rebuilt
# image under the same name replaces the running one.
install_controllers() {
  local id
  id=$(docker image inspect --format '{{.Id}}' "$CERT_MANAGER_IMAGE")
  sed "s|CERT_MANAGER_IMAGE|$CERT_MANAGER_IMAGE|" "$HACK_DIR/manifests/cert-manager.yaml" |
    sed "/^    metadata:/a\\      annotations: {galera-operator.io/image-id: \"$id\"}" |
    kubectl_cluster apply --server-side --force-conflicts -f -
  kubectl_cluster -n cert-manager rollout status deployment/cert-manager --timeout=120s
}

# prove: ready means that a chain (self-signed, CA, leaf) was issued.
prove() {
  kubectl_cluster delete namespace galera-cert-manager-check --ignore-not-found --wait
  kubectl_cluster create namespace galera-cert-manager-check
  kubectl_cluster apply -n galera-cert-manager-check -f "$HACK_DIR/manifests/cert-manager-check.yaml"
  kubectl_cluster wait -n galera-cert-manager-check --for=condition=Ready certificate/leaf --timeout=60s
}

# installed: the controllers of this very image are there and work.
installed() {
  local have
  have=$(kubectl_cluster -n cert-manager get deployment cert-manager --ignore-not-found \
    -o jsonpath='{.spec.template.metadata.annotations.galera-operator\.io/image-id} {.status.availableReplicas}')
  [ "$have" = "$(docker image inspect --format '{{.Id}}' "$CERT_MANAGER_IMAGE") 1" ]
}

"$HACK_DIR/images.sh" cert-manager
"$HACK_DIR/load.sh" --control-plane "$CERT_MANAGER_IMAGE"
if installed; then
  log "cert-manager is installed"
  exit
fi
step "install cert-manager's CRDs" install_crds
step "install cert-manager" install_controllers
step "issue a chain of certificates" prove
kubectl_cluster delete namespace galera-cert-manager-check --wait=false >/dev/null

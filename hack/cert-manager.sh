#!/usr/bin/env bash
# Installs cert-manager in the local cluster, and waits until it issues certificates and its webhook refuses a
# bad one.
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

CHECK=galera-cert-manager-check
PARTS=(cert-manager cert-manager-webhook cert-manager-cainjector)

kubectl_cluster() { kubectl --kubeconfig "$CLUSTER_KUBECONFIG" "$@"; }

module_dir() { (cd "$REPO_DIR/images/cert-manager" && GOWORK=off go list -m -f '{{.Dir}}' github.com/cert-manager/cert-manager); }

# install_crds: those of the version that is compiled, from the module itself.
install_crds() {
  local crd arguments=()
  for crd in "$(module_dir)"/deploy/crds/*.yaml; do
    arguments+=(-f "$crd")
  done
  kubectl_cluster apply --server-side --force-conflicts "${arguments[@]}"
  kubectl_cluster wait --for=condition=Established --timeout="${PATIENCE}s" "${arguments[@]}"
}

# install_parts: the image's inputs are in the pod templates, so that a rebuilt image under the same name
# replaces the running one. Pods that kubelet restarted with another build of that name are replaced, too. The webhook is registered once it runs: until then every write would fail.
install_parts() {
  local id part
  id=$(docker image inspect --format '{{.Id}}' "$CERT_MANAGER_IMAGE")
  sed "s|CERT_MANAGER_IMAGE|$CERT_MANAGER_IMAGE|" "$HACK_DIR/manifests/cert-manager.yaml" |
    sed "/^    metadata:/a\\      annotations: {galera-operator.io/image-id: \"$id\"}" |
    kubectl_cluster apply --server-side --force-conflicts -f -
  kubectl_cluster -n cert-manager delete pods --all --wait=false
  for part in "${PARTS[@]}"; do
    kubectl_cluster -n cert-manager rollout status "deployment/$part" --timeout="${PATIENCE}s"
  done
  kubectl_cluster apply --server-side --force-conflicts -f "$HACK_DIR/manifests/cert-manager-webhooks.yaml"
}

# webhook_answers NAMESPACE: the API server reaches the webhook with the CA from cainjector, and the webhook refuses what
# the CRD's schema admits.
webhook_answers() {
  local answer
  for _ in $(seq "$((2 * PATIENCE))"); do
    answer=$(kubectl_cluster create -n "$1" --dry-run=server -f "$HACK_DIR/manifests/cert-manager-refused.yaml" 2>&1 || true)
    if grep -q 'webhook.cert-manager.io" denied the request.*duration' <<<"$answer"; then return 0; fi
    sleep 0.5
  done
  echo "cert-manager's webhook does not refuse $HACK_DIR/manifests/cert-manager-refused.yaml: $answer"
  return 1
}

# prove: ready means that the webhook answers and a chain (self-signed, CA, leaf) was issued.
prove() {
  kubectl_cluster delete namespace "$CHECK" --ignore-not-found --wait
  kubectl_cluster create namespace "$CHECK"
  webhook_answers "$CHECK"
  kubectl_cluster apply -n "$CHECK" -f "$HACK_DIR/manifests/cert-manager-check.yaml"
  kubectl_cluster wait -n "$CHECK" --for=condition=Ready certificate/leaf --timeout="${PATIENCE}s"
}

# installed: all parts of this very image are there, and the webhook is asked. It may still start: a Deployment of nodes that were
# stopped is as available as it was before.
installed() {
  local part id have
  id=$(docker image inspect --format '{{.Id}}' "$CERT_MANAGER_IMAGE")
  for part in "${PARTS[@]}"; do
    have=$(kubectl_cluster -n cert-manager get deployment "$part" --ignore-not-found \
      -o jsonpath='{.spec.template.metadata.annotations.galera-operator\.io/image-id} {.status.availableReplicas}')
    [ "$have" = "$id 1" ] || return 1
  done
  have=$(kubectl_cluster get validatingwebhookconfiguration cert-manager-webhook --ignore-not-found -o jsonpath='{.webhooks[0].clientConfig.caBundle}')
  [ -n "$have" ]
}

"$HACK_DIR/images.sh" cert-manager
"$HACK_DIR/load.sh" --control-plane "$CERT_MANAGER_IMAGE"
if installed; then
  log "cert-manager is installed; asking its webhook"
  if webhook_answers default; then exit; fi
fi
step "install cert-manager's CRDs" install_crds
step "install cert-manager" install_parts
step "issue a chain of certificates" prove
kubectl_cluster delete namespace "$CHECK" --wait=false >/dev/null

#!/usr/bin/env bash
# The local cluster with everything in it but a database: Kubernetes, cert-manager, the
# images, the operator. Everything that is there already is left alone. Wants bin/manager
# and bin/agent (make build).
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

OPERATOR_NAMESPACE=galera-operator-system
DEPLOYMENT=deployment/galera-operator-controller-manager
BENCHMARKS=deployment/galera-operator-benchmarks

kubectl_cluster() { kubectl --kubeconfig "$CLUSTER_KUBECONFIG" "$@"; }

apply_operator() {
  kubectl kustomize --load-restrictor LoadRestrictionsNone "$REPO_DIR/config/local" |
    kubectl_cluster apply --server-side --force-conflicts -f -
}

# restart_if_new RAN: a rebuilt image has the same name, so nothing else would notice. RAN is the Deployment there was before, "" for none.
restart_if_new() {
  local id old key=galera-operator.io/image-id
  id=$(docker image inspect --format '{{.Id}}' "$OPERATOR_IMAGE")
  old=$(kubectl_cluster -n "$OPERATOR_NAMESPACE" get "$DEPLOYMENT" -o "jsonpath={.metadata.annotations.galera-operator\.io/image-id}")
  if [ -n "$1" ] && [ "$old" != "$id" ]; then
    kubectl_cluster -n "$OPERATOR_NAMESPACE" rollout restart "$DEPLOYMENT" "$BENCHMARKS"
  fi
  kubectl_cluster -n "$OPERATOR_NAMESPACE" annotate --overwrite "$DEPLOYMENT" "$key=$id"
}

deploy() {
  local ran
  ran=$(kubectl_cluster -n "$OPERATOR_NAMESPACE" get "$DEPLOYMENT" -o name --ignore-not-found)
  apply_operator
  restart_if_new "$ran"
  kubectl_cluster -n "$OPERATOR_NAMESPACE" rollout status "$DEPLOYMENT" --timeout="${PATIENCE}s" || { explain; return 1; }
  kubectl_cluster -n "$OPERATOR_NAMESPACE" rollout status "$BENCHMARKS" --timeout="${PATIENCE}s" || { explain; return 1; }
}

# explain: why pods of the operator are not there.
explain() {
  kubectl_cluster -n "$OPERATOR_NAMESPACE" get events --sort-by=.lastTimestamp | tail -n 8
  kubectl_cluster -n "$OPERATOR_NAMESPACE" get pods -o wide
  kubectl_cluster -n "$OPERATOR_NAMESPACE" logs -l app.kubernetes.io/name=galera-operator --prefix --tail=4
}

# public_name: samples name the public image, which a machine without a registry does not have: the local one takes its name.
public_name() {
  local node
  for node in $(kind get nodes --name "$CLUSTER" 2>/dev/null); do
    docker exec "$node" ctr -n k8s.io images tag --force "docker.io/library/$DATABASE_IMAGE" "docker.io/library/$PUBLIC_DATABASE_IMAGE" >/dev/null 2>&1 || true
  done
}

"$HACK_DIR/docker.sh"
"$HACK_DIR/cluster.sh" up
"$HACK_DIR/cert-manager.sh"
"$HACK_DIR/images.sh" all operator
"$HACK_DIR/load.sh" "$OPERATOR_IMAGE" "$DATABASE_IMAGE" "$SYSBENCH_IMAGE" "$OBJECT_STORE_IMAGE"
public_name
step "deploy the operator" deploy

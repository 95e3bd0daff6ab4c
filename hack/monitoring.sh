#!/usr/bin/env bash
# Installs Prometheus in the local cluster, by the Prometheus operator, and has it scrape the operator and all databases and load the alerts, from
# config/prometheus. Needs hack/stack.sh first. Prints the address of Prometheus, which this machine reaches.
#   hack/monitoring.sh [up|down]
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

NAMESPACE=monitoring

kubectl_cluster() { kubectl --kubeconfig "$CLUSTER_KUBECONFIG" "$@"; }

# bundle: what the Prometheus operator's module installs, with our image and namespace.
bundle() {
  local dir
  dir=$(mktemp -d)
  dir=$(cd "$dir" && GOWORK=off go mod download -json "github.com/prometheus-operator/prometheus-operator@$PROMETHEUS_OPERATOR_VERSION" |
    sed -n 's/.*"Dir": "\(.*\)",/\1/p')
  sed -e "s|namespace: default\$|namespace: $NAMESPACE|" \
    -e "s|\(--prometheus-config-reloader\)=.*|\1=$MONITORING_IMAGE|" \
    -e "s|image: quay.io/prometheus-operator/prometheus-operator:.*|image: $MONITORING_IMAGE\n        command: [/bin/operator]|" "$dir/bundle.yaml"
}

# install: the policy of the operator's pods admits namespaces with the label metrics.
install() {
  kubectl_cluster create namespace "$NAMESPACE" --dry-run=client -o yaml | kubectl_cluster apply -f -
  kubectl_cluster label --overwrite namespace "$NAMESPACE" metrics=enabled
  bundle | kubectl_cluster apply --server-side --force-conflicts -f -
  kubectl_cluster wait --for=condition=Established --timeout="${PATIENCE}s" crd/{prometheuses,podmonitors,servicemonitors,prometheusrules}.monitoring.coreos.com
  kubectl_cluster -n "$NAMESPACE" rollout status deployment/prometheus-operator --timeout="${PATIENCE}s"
  sed "s|\${IMAGE}|$MONITORING_IMAGE|" "$HACK_DIR/manifests/prometheus.yaml" | kubectl_cluster apply --server-side --force-conflicts -f -
  kubectl_cluster apply --server-side --force-conflicts -k "$REPO_DIR/config/prometheus"
  kubectl_cluster -n "$NAMESPACE" wait --for=condition=Available prometheus/galera --timeout="${PATIENCE}s"
}

remove() {
  kubectl_cluster delete --ignore-not-found -k "$REPO_DIR/config/prometheus" || true # the kinds may be gone
  kubectl_cluster delete namespace "$NAMESPACE" --ignore-not-found --wait
  sed "s|\${IMAGE}|$MONITORING_IMAGE|" "$HACK_DIR/manifests/prometheus.yaml" | kubectl_cluster delete --ignore-not-found -f - || true
  bundle | kubectl_cluster delete --ignore-not-found -f -
}

case "${1:-up}" in
up)
  "$HACK_DIR/images.sh" monitoring
  "$HACK_DIR/load.sh" "$MONITORING_IMAGE"
  step "install Prometheus in the namespace $NAMESPACE" install
  kubectl_cluster -n "$NAMESPACE" get pod prometheus-galera-0 -o 'jsonpath=http://{.status.podIP}:9090{"\n"}'
  ;;
down) step "remove Prometheus" remove ;;
*) die "usage: hack/monitoring.sh [up|down]" ;;
esac

#!/usr/bin/env bash
# The local Kubernetes cluster.
#   hack/cluster.sh up      creates it, or repairs what is there; NODES=3 workers by default,
#                           NODES=1 is a single node that also takes workloads
#   hack/cluster.sh down    removes it
#   hack/cluster.sh file    prints the name of its kubeconfig
# With GALERA_CLUSTER=galera-b it is a second one. Its pods reach those of the first, and the other way round.
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=hack/network.sh
. "$HACK_DIR/network.sh"

# On the control plane's container: the settings that the cluster was completed with.
# A cluster without it was interrupted halfway.
COMPLETE=/kind/galera-complete

nodes() { kind get nodes --name "${1:-$CLUSTER}" 2>/dev/null; }
kubectl_cluster() { kubectl --kubeconfig "$CLUSTER_KUBECONFIG" "$@"; }

# kind_config IMAGE WORKERS: the API server's own data is not worth waiting for disks,
# and nothing here is replicated, so no leader election either.
kind_config() {
  local image=$1 workers=$2 own_network=true i
  [ "$image" != "$PUBLIC_NODE_IMAGE" ] || own_network=false
  cat <<YAML
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
networking:
  disableDefaultCNI: $own_network
  podSubnet: $POD_CIDR
  serviceSubnet: $SERVICE_CIDR
kubeadmConfigPatches:
- |
  kind: KubeletConfiguration
  failCgroupV1: false
  serializeImagePulls: false
- |
  kind: ClusterConfiguration
  etcd:
    local:
      extraArgs:
      - {name: unsafe-no-fsync, value: "true"}
  controllerManager:
    extraArgs:
    - {name: leader-elect, value: "false"}
  scheduler:
    extraArgs:
    - {name: leader-elect, value: "false"}
nodes:
- role: control-plane
YAML
  for ((i = 0; i < workers; i++)); do echo "- role: worker"; done
}

# settings IMAGE: what must be the same for an existing cluster to be kept. The number
# of nodes is not part of it: another number is no reason to throw a cluster away.
settings() {
  { docker image inspect --format '{{.Id}}' "$1"; kind_config "$1" 0; } | sha256sum | cut -c1-16
}

# raise_limit NAME VALUE: each node has a kubelet, a containerd and a systemd that watch
# files; with the kernel's default, some kubelet of a second or third cluster fails.
raise_limit() {
  local have
  have=$(cat "/proc/sys/fs/inotify/$1")
  if is_root && [ "$have" -lt "$2" ]; then echo "$2" >"/proc/sys/fs/inotify/$1"; fi
}

create() {
  local image=$1 workers=${NODES:-3}
  # One node: kind leaves a lone control plane schedulable.
  [ "$workers" -gt 1 ] || workers=0
  kind delete cluster --name "$CLUSTER"
  kind_config "$image" "$workers" >"$RUN/kind.yaml"
  kind create cluster --name "$CLUSTER" --image "$image" --config "$RUN/kind.yaml" --kubeconfig "$CLUSTER_KUBECONFIG.new"
  rm -f "$CLUSTER_KUBECONFIG.new"
  # Pods that start before kube-proxy do not reach the API server, and start again later
  # and later; they start when the pods' network is there, so that comes afterwards.
  write_kubeconfig
  kubectl_cluster -n kube-system rollout status daemonset/kube-proxy --timeout="${PATIENCE}s"
}

# start_nodes: after a restart of Docker or of the machine.
start_nodes() {
  local stopped
  stopped=$(docker ps -aq --filter "label=io.x-k8s.kind.cluster=$CLUSTER" --filter status=exited --filter status=created)
  [ -n "$stopped" ] || return 0
  log "starting the nodes of cluster $CLUSTER"
  # shellcheck disable=SC2086 # several ids
  docker start $stopped >/dev/null
}

wait_for_api() {
  for _ in $(seq "$PATIENCE"); do
    kubectl_cluster get --raw /readyz >/dev/null 2>&1 && return 0
    sleep 1
  done
  echo "the API server does not answer"
  return 1
}

# usable IMAGE: whether there is a cluster to keep. Its addresses and ports may have
# changed with a restart, so its kubeconfig is read again.
usable() {
  [ -n "$(nodes)" ] || return 1
  start_nodes || return 1
  if [ "$(docker exec "$CLUSTER-control-plane" cat $COMPLETE 2>/dev/null)" != "$(settings "$1")" ]; then
    log "cluster $CLUSTER is incomplete or was made with other settings: making it anew"
    return 1
  fi
  write_kubeconfig
  wait_for_api >/dev/null || { log "cluster $CLUSTER does not come back: making it anew"; return 1; }
}

# write_kubeconfig: to the default place, and to a file of its own for programs that
# must not depend on what else is in the default one. A second cluster is not what kubectl is to use from then on: it is
# in its own file alone.
write_kubeconfig() {
  if [ "$CLUSTER" = galera ]; then kind export kubeconfig --name "$CLUSTER" >/dev/null 2>&1; fi
  kind get kubeconfig --name "$CLUSTER" >"$CLUSTER_KUBECONFIG.tmp"
  chmod 600 "$CLUSTER_KUBECONFIG.tmp"
  mv "$CLUSTER_KUBECONFIG.tmp" "$CLUSTER_KUBECONFIG"
}

# kubelet_is_back NODE: it has renewed its lease since its container was started, be it by
# us or by Docker. What the API server says about it from before that is out of date.
kubelet_is_back() {
  local renewed started
  renewed=$(kubectl_cluster -n kube-node-lease get lease "$1" --ignore-not-found -o jsonpath='{.spec.renewTime}')
  started=$(docker inspect --format '{{.State.StartedAt}}' "$1")
  [ -n "$renewed" ] && [ "$(date -d "$renewed" +%s)" -gt "$(date -d "$started" +%s)" ]
}

wait_for_kubelets() {
  local node
  for node in $(nodes); do
    for _ in $(seq "$PATIENCE"); do
      if kubelet_is_back "$node"; then continue 2; fi
      sleep 1
    done
    echo "the kubelet of $node does not come back"
    return 1
  done
}

# end_back_off: what failed while its node had no network is tried again at once, not after up to five minutes.
end_back_off() {
  local namespace pod
  kubectl_cluster get pods -A -o jsonpath='{range .items[?(@.metadata.ownerReferences[0].kind=="ReplicaSet")]}{.metadata.namespace} {.metadata.name} {.status.containerStatuses[0].state}{"\n"}{end}' |
    awk '/CrashLoopBackOff|terminated/ {print $1, $2}' |
    while read -r namespace pod; do kubectl_cluster -n "$namespace" delete pod "$pod" --wait=false </dev/null; done
}

# wait_ready: nodes first; what runs on them is then given the time it needs.
wait_ready() {
  wait_for_kubelets
  kubectl_cluster wait --for=condition=Ready nodes --all --timeout="${PATIENCE}s"
  end_back_off
  kubectl_cluster -n kube-system rollout status daemonset/kube-proxy --timeout="${PATIENCE}s"
  kubectl_cluster -n kube-system rollout status deployment/coredns --timeout="${PATIENCE}s"
  kubectl_cluster -n local-path-storage rollout status deployment/local-path-provisioner --timeout="${PATIENCE}s"
}

# cap_nodes: a client and a server on one node that use all processors keep the other nodes from running, for as long as they
# are at it (docs/design/busy-hosts.md). So no node gets all of them.
cap_nodes() {
  # shellcheck disable=SC2046 # several names
  docker update --cpus "$(awk -v n="$(nproc)" 'BEGIN {printf "%.2f", n * 0.85}')" $(nodes) >/dev/null
}

up() {
  local image
  image=$("$HACK_DIR/node-image.sh")
  "$HACK_DIR/tools.sh" build kind kubernetes-api
  raise_limit max_user_instances 1024
  raise_limit max_user_watches 524288
  if ! usable "$image"; then
    step "create cluster $CLUSTER" create "$image"
  elif [ -n "${NODES:-}" ] && [ "$NODES" -ne "$(($(nodes | wc -l) > 1 ? $(nodes | wc -l) - 1 : 1))" ]; then
    log "keeping the running cluster's $(nodes | wc -l) nodes; for NODES=$NODES, run hack/cluster.sh down first"
  fi
  if [ "$image" != "$PUBLIC_NODE_IMAGE" ]; then step "connect the pods of the nodes" connect_pods; fi
  connect_host
  connect_clusters
  cap_nodes
  step "wait for the nodes" wait_ready
  settings "$image" | docker exec -i "$CLUSTER-control-plane" tee "$COMPLETE" >/dev/null
  if [ "$CLUSTER" = galera ]; then
    log "cluster $CLUSTER is ready: context $CONTEXT, or KUBECONFIG=$CLUSTER_KUBECONFIG"
  else
    log "cluster $CLUSTER is ready: KUBECONFIG=$CLUSTER_KUBECONFIG"
  fi
}

down() {
  [ -x "$BIN/kind" ] || die "there is no cluster: it was never made from this cache"
  disconnect_host
  disconnect_clusters
  kind delete cluster --name "$CLUSTER"
  rm -f "$CLUSTER_KUBECONFIG"
}

case "${1:-}" in
up)
  "$HACK_DIR/docker.sh"
  locked cluster up
  ;;
down) locked cluster down ;;
file) echo "$CLUSTER_KUBECONFIG" ;;
*) die "usage: hack/cluster.sh up | down | file" ;;
esac

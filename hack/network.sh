#!/usr/bin/env bash
# Sourced by cluster.sh: the pod network where kind's own is not used, and routes to pods and Services from this machine
# and from other clusters on it.

# The clusters there may be, each with addresses that no other one has.
declare -A POD_CIDRS=([galera]=10.244.0.0/16 [galera-b]=10.245.0.0/16)
declare -A SERVICE_CIDRS=([galera]=10.96.0.0/16 [galera-b]=10.97.0.0/16)
POD_CIDR=${POD_CIDRS[$CLUSTER]:-}
SERVICE_CIDR=${SERVICE_CIDRS[$CLUSTER]:-}
[ -n "$POD_CIDR" ] || die "GALERA_CLUSTER is $CLUSTER; there are addresses for these only: ${!POD_CIDRS[*]}"

# node_table [CLUSTER]: lines "NODE ADDRESS PODCIDR". A node gets its range shortly after it registers;
# its address is Docker's word, because after a restart the API server's is out of date.
node_table() {
  local node cidr address
  kubectl --kubeconfig "$(kubeconfig_of "${1:-$CLUSTER}")" get nodes -o jsonpath='{range .items[*]}{.metadata.name} {.spec.podCIDR}{"\n"}{end}' |
    while read -r node cidr; do
      address=$(docker inspect --format '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "$node")
      echo "$node $address $cidr"
    done
}

wait_for_node_table() {
  local want
  want=$(nodes | wc -l)
  for _ in $(seq 60); do
    [ "$(node_table | awk 'NF == 3' | wc -l)" -ne "$want" ] || return 0
    sleep 1
  done
  echo "not every node has its range of pod addresses"
  return 1
}

# cni_config PODCIDR: a plain pair of interfaces per pod. Addresses are only translated
# where packets leave the cluster (see connect_node): peers must see a pod's own.
cni_config() {
  cat <<JSON
{"cniVersion": "0.4.0", "name": "ptp", "plugins": [
  {"type": "ptp", "ipMasq": false, "mtu": 1500,
   "ipam": {"type": "host-local", "dataDir": "/run/cni-ipam", "routes": [{"dst": "0.0.0.0/0"}], "ranges": [[{"subnet": "$1"}]]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}
]}
JSON
}

# connect_node NODE PODCIDR ROUTES: the routes vanish when a node's container restarts,
# so every `up` sets them again.
connect_node() {
  cni_config "$2" | docker exec -i "$1" sh -euc '
    cat >/tmp/ptp.conflist
    cmp -s /tmp/ptp.conflist /etc/cni/net.d/10-ptp.conflist || { mkdir -p /etc/cni/net.d; mv /tmp/ptp.conflist /etc/cni/net.d/10-ptp.conflist; }
    sysctl -qw net.ipv4.ip_forward=1
    rule="POSTROUTING -s $1 ! -d $1 -j MASQUERADE"
    iptables -t nat -C $rule 2>/dev/null || iptables -t nat -A $rule
    echo "$2" | while read -r range address; do [ -z "$range" ] || ip route replace "$range" via "$address"; done
  ' sh "$POD_CIDR" "$3"
}

connect_pods() {
  local table node cidr
  wait_for_node_table
  table=$(node_table)
  while read -r node _ cidr; do
    connect_node "$node" "$cidr" "$(awk -v me="$node" '$1 != me {print $3, $2}' <<<"$table")" </dev/null
  done <<<"$table"
}

# connect_host: pods and Services answer from this machine, through the nodes.
connect_host() {
  local address cidr
  if ! is_root; then
    log "pods are not reachable from this machine: adding routes needs root"
    return 0
  fi
  need ip iproute2
  while read -r cidr address; do ip route replace "$cidr" via "$address"; done < <(routes_to "$CLUSTER")
}

# routes_to CLUSTER: lines "RANGE ADDRESS" of its pods, by the nodes they are on, and of its Services.
routes_to() {
  node_table "$1" | awk -v control="$1-control-plane" -v services="${SERVICE_CIDRS[$1]}" \
    '{print $3, $2} $1 == control {print services, $2}'
}

# running_others: the other clusters that answer. One that does not, as it is made or was interrupted, is connected by its
# own `up`.
running_others() {
  local other file
  for other in "${!POD_CIDRS[@]}"; do
    file=$(kubeconfig_of "$other")
    if [ "$other" != "$CLUSTER" ] && [ -e "$file" ] &&
      kubectl --kubeconfig "$file" --request-timeout=5s get --raw /readyz >/dev/null 2>&1; then
      echo "$other"
    fi
  done
}

# connect_clusters: pods reach the pods and Services of other clusters, as between networks that are peered. Those see
# the address of the node.
connect_clusters() {
  local other
  for other in $(running_others); do
    route_nodes "$CLUSTER" "$other"
    route_nodes "$other" "$CLUSTER"
    log "the pods of $CLUSTER and $other reach each other"
  done
}

# route_nodes FROM TO
route_nodes() {
  local node routes
  routes=$(routes_to "$2")
  for node in $(nodes "$1"); do
    # shellcheck disable=SC2016 # the node's shell
    docker exec -i "$node" sh -euc 'while read -r range address; do ip route replace "$range" via "$address"; done' <<<"$routes"
  done
}

# disconnect_clusters: no routes stay on the nodes of others.
disconnect_clusters() {
  local other node range
  for other in $(running_others); do
    for node in $(nodes "$other"); do
      docker exec "$node" ip route show | own_ranges | while read -r range; do
        docker exec "$node" ip route del "$range" </dev/null || true
      done
    done
  done
}

# own_ranges: of a list of routes, those to this cluster.
own_ranges() {
  awk -v pods="${POD_CIDR%0.0/16}" -v services="${SERVICE_CIDR%0.0/16}" \
    '(index($1, pods) == 1 || index($1, services) == 1) && / via / {print $1}'
}

# disconnect_host: routes through nodes that are about to go. Docker removes them with
# its network, but the network stays when other kind clusters use it.
disconnect_host() {
  is_root || return 0
  ip route show | own_ranges | while read -r range; do
    ip route del "$range" 2>/dev/null || true
  done
}

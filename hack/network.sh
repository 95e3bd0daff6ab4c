#!/usr/bin/env bash
# Sourced by cluster.sh: the pod network where kind's own is not used, and routes from
# this machine to pods and Services.

POD_CIDR=10.244.0.0/16
SERVICE_CIDR=10.96.0.0/16

# node_table: lines "NODE ADDRESS PODCIDR". A node gets its range shortly after it registers;
# its address is Docker's word, because after a restart the API server's is out of date.
node_table() {
  local node cidr address
  kubectl_cluster get nodes -o jsonpath='{range .items[*]}{.metadata.name} {.spec.podCIDR}{"\n"}{end}' |
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
  local node address cidr
  if ! is_root; then
    log "pods are not reachable from this machine: adding routes needs root"
    return 0
  fi
  need ip iproute2
  while read -r node address cidr; do
    ip route replace "$cidr" via "$address"
    if [ "$node" = "$CLUSTER-control-plane" ]; then ip route replace "$SERVICE_CIDR" via "$address"; fi
  done < <(node_table)
}

# disconnect_host: routes through nodes that are about to go. Docker removes them with
# its network, but the network stays when other kind clusters use it.
disconnect_host() {
  is_root || return 0
  ip route show | awk '/^10\.(244|96)\./ && / via / {print $1}' | while read -r range; do
    ip route del "$range" 2>/dev/null || true
  done
}

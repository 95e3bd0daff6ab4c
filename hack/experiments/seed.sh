#!/usr/bin/env bash
# Experiment: which server_id the nodes of a cluster write with whose volumes a server has filled that had another one.
#   hack/experiments/seed.sh [SERIES]     11.8 or 10.11
# The images are those of hack/images.sh database database-old. What was seen is in docs/design/sites.md.
set -euo pipefail

SERIES=${1:-11.8}
IMAGE=galera-mariadb:$SERIES
X=seed-$$
NET=$X-net
ALL="a n1 n2 n3"
LOGS="log_bin=binlog log_slave_updates=ON wsrep_gtid_mode=ON"
cleanup() {
  for c in $ALL; do docker rm -f -v "$X-$c" >/dev/null 2>&1 || true; docker volume rm "$X-$c" >/dev/null 2>&1 || true; done
}
trap 'cleanup; docker network rm "$NET" >/dev/null 2>&1 || true' EXIT

say() { printf '\n== %s\n' "$*"; }
q() { docker exec "$X-$1" mariadb -NBuroot --socket=/data/s -e "$2"; }
# node NAME ADDRESS OPTIONS: a node on a volume of its own; it is Synced then.
node() {
  local name=$1 address=$2 o options='[mysqld]\nuser=root\ndatadir=/data/db\nsocket=/data/s\ninnodb_buffer_pool_size=64M\n'
  shift 2
  for o in wsrep_on=ON wsrep_provider=/usr/lib/galera/libgalera_smm.so wsrep_cluster_name=x wsrep_sst_method=mariabackup \
    wsrep_sst_auth=root: binlog_format=ROW innodb_autoinc_lock_mode=2 "wsrep_node_name=$name" \
    "wsrep_cluster_address=$address" "$@"; do options+="$o\n"; done
  docker run -d --name "$X-$name" --hostname "$name" --network "$NET" --user=0 --entrypoint=sh -v "$X-$name:/data" "$IMAGE" -c "
    mkdir -p /data/db; printf '$options[sst]\nsst-syslog=-1\n' >/data/my.cnf
    [ -d /data/db/mysql ] || [ $name != a ] || mariadb-install-db --no-defaults --skip-test-db \
      --auth-root-authentication-method=normal --datadir=/data/db --user=root >/dev/null
    exec mariadbd --defaults-file=/data/my.cnf" >/dev/null
  for _ in $(seq 300); do
    [ "$(q "$name" "SHOW STATUS LIKE 'wsrep_local_state_comment'" 2>/dev/null | cut -f2)" = Synced ] && return 0
    sleep 0.2
  done
  docker logs "$X-$name" 2>&1 | tail -5
  return 1
}
end() { docker stop -t 30 "$X-$1" >/dev/null; docker rm -f "$X-$1" >/dev/null; }
offline() { docker run --rm --user=0 --entrypoint=sh -v "$X-$1:/data" -v "$X-a:/from" "$IMAGE" -c "$2"; }
GROUP="gcomm://$X-n1,$X-n2,$X-n3"
I=0
row() { I=$((I + 1)); q "$1" "INSERT INTO shop.t VALUES ($I)"; }
show() {
  local n
  for n in n1 n2 n3; do row $n; done
  for n in n1 n2 n3; do q $n "SET SESSION wsrep_sync_wait = 1; SELECT '$n', @@gtid_binlog_pos"; done
}
# seeded OPTIONS: the volumes of three nodes are copies of one, and a server with these options has begun their history.
seeded() {
  local n
  cleanup
  node a gcomm:// $LOGS server_id=1
  q a "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY)"
  row a
  end a
  for n in n1 n2 n3; do
    offline $n "cp -a /from/db /data/db; rm -f /data/db/binlog.* /data/db/gvwstate.dat
      sed -i 's/safe_to_bootstrap: 0/safe_to_bootstrap: 1/' /data/db/grastate.dat"
    node $n gcomm:// "$@"
    end $n
    offline $n "rm -f /data/db/galera.cache; sed -i 's/safe_to_bootstrap: 0/safe_to_bootstrap: 1/' /data/db/grastate.dat
      mariadbd --defaults-file=/data/my.cnf --wsrep-gtid-mode=ON --wsrep-recover 2>&1 | grep -o 'Recovered position.*'"
  done
}
# started OPTIONS: one bootstraps, and two join.
started() {
  node n1 gcomm:// $LOGS "$@"
  row n1
  node n2 "$GROUP" $LOGS "$@"
  node n3 "$GROUP" $LOGS "$@"
  show
}

docker network create "$NET" >/dev/null
OWN="server_id=900 wsrep_gtid_domain_id=900 gtid_domain_id=899"
say "1. the server that begins the history has the default server_id, the nodes have 900"
seeded
started $OWN
say "2. n2 gets an SST from n1"
end n2
docker volume rm "$X-n2" >/dev/null
node n2 "$GROUP" $LOGS $OWN wsrep_sst_donor=n1
show
say "3. n3 starts with a position that names server 900"
end n3
AT=$(offline n3 "mariadbd --defaults-file=/data/my.cnf --wsrep-recover 2>&1 | grep -o 'Recovered position.*'" | cut -d' ' -f3)
node n3 "$GROUP" $LOGS $OWN "wsrep_start_position=${AT/,900-1-/,900-900-}"
show
say "4. all are stopped, and n1 bootstraps"
for n in n3 n2 n1; do end $n; done
started $OWN

say "5. the server that begins the history has server_id 900 and domain 900, too"
seeded server_id=900 wsrep_gtid_domain_id=900 wsrep_gtid_mode=ON
started $OWN
say "6. all are stopped, and n1 bootstraps"
for n in n3 n2 n1; do end $n; done
started $OWN

say "7. the nodes have server_id 5, and the domain 0; the server has the default, and then server_id 5"
seeded
started server_id=5 gtid_domain_id=1
seeded server_id=5 wsrep_gtid_mode=ON
started server_id=5 gtid_domain_id=1

#!/usr/bin/env bash
# Experiment: the GTID domains of a cluster that has followed a source, writes under a domain of its own, and is followed.
#   hack/experiments/domain.sh [SERIES]     11.8 or 10.11
# The images are those of hack/images.sh database database-old. What was seen is in docs/design/sites.md.
set -euo pipefail

SERIES=${1:-11.8}
IMAGE=galera-mariadb:$SERIES
OWN=900
X=domain-$$
NET=$X-net
ALL="source n1 n2 n3 d"
cleanup() {
  for c in $ALL; do docker rm -f -v "$X-$c" >/dev/null 2>&1 || true; docker volume rm "$X-$c" >/dev/null 2>&1 || true; done
  docker network rm "$NET" >/dev/null 2>&1 || true
}
trap cleanup EXIT

say() { printf '\n== %s\n' "$*"; }
q() { docker exec "$X-$1" mariadb -NBuroot --socket=/data/s -e "$2"; }
# await NODE QUERY WANT: until the answer is WANT; what was answered last is in the failure.
await() {
  local i got=
  for i in $(seq 300); do
    got=$(q "$1" "$2" 2>&1 || true)
    [ "$got" = "$3" ] && return 0
    sleep 0.2
  done
  echo "FAILED: $1: $2: $got, not $3"
  docker logs "$X-$1" 2>&1 | grep -v "^$" | tail -5
  return 1
}
# server NAME OPTIONS: a server on a volume of its own, which is made if there is none.
server() {
  local name=$1 o options='[mysqld]\nuser=root\ndatadir=/data/db\nsocket=/data/s\npid_file=/data/pid\ninnodb_buffer_pool_size=64M
binlog_format=ROW\nsync_binlog=1\nlog_warnings=1\n'
  shift
  for o in "$@"; do options+="$o\n"; done
  options+='[sst]\nsst-syslog=-1\n'
  docker run -d --name "$X-$name" --hostname "$name" --network "$NET" --user=0 --entrypoint=sh -v "$X-$name:/data" "$IMAGE" -c "
    mkdir -p /data/db; chmod 777 /data; printf '${options//$'\n'/\\n}' >/data/my.cnf
    [ -d /data/db/mysql ] || [ -n \"$JOIN\" ] || mariadb-install-db --no-defaults --skip-test-db \
      --auth-root-authentication-method=normal --datadir=/data/db --user=root >/dev/null
    exec mariadbd --defaults-file=/data/my.cnf" >/dev/null
}
JOIN=
LOGS="log_bin=binlog log_slave_updates=ON wsrep_gtid_mode=ON"
IDS="server_id=$OWN wsrep_gtid_domain_id=$OWN gtid_domain_id=$((OWN - 1))"
node() {
  local name=$1
  shift
  server "$name" wsrep_on=ON wsrep_provider=/usr/lib/galera/libgalera_smm.so wsrep_node_name="$name" \
    wsrep_sst_method=mariabackup wsrep_sst_auth=root: innodb_autoinc_lock_mode=2 wsrep_cluster_name=x "$@"
}
join() {
  JOIN=y node "$1" "wsrep_cluster_address=gcomm://$X-n1,$X-n2,$X-n3" "${@:2}"
  synced "$1"
}
synced() { await "$1" "SHOW STATUS LIKE 'wsrep_local_state_comment'" "$(printf 'wsrep_local_state_comment\tSynced')"; }
# again OPTIONS: all nodes are started with other options, one at a time, and each of them is written to meanwhile.
again() {
  local n
  for n in n3 n2 n1; do
    docker stop -t 30 "$X-$n" >/dev/null
    docker rm -f "$X-$n" >/dev/null
    rows n1 || rows n2
    join "$n" "$@"
    each
    positions
  done
}
I=1000
rows() { I=$((I + 1)); q "$1" "INSERT INTO shop.t VALUES ($I, '$1')" 2>/dev/null; }
each() { for n in n1 n2 n3; do rows $n || echo "$n does not answer"; done; }
positions() {
  local n
  for n in n1 n2 n3; do
    printf '%s: ' "$n"
    q "$n" "SET SESSION wsrep_sync_wait = 1; SELECT CONCAT('ids=', @@server_id, '/', @@wsrep_gtid_domain_id, ' binlog_pos=', @@gtid_binlog_pos, ' slave_pos=', @@gtid_slave_pos, ' state=', @@gtid_binlog_state, ' rows=',
      (SELECT COUNT(*) FROM shop.t))" 2>/dev/null || echo away
  done
}
# follower FROM POSITION: how a replica fares that goes on from a position.
follower() {
  q d "STOP SLAVE; RESET SLAVE ALL; SET GLOBAL gtid_slave_pos = '$2'; CHANGE MASTER TO master_host = '$X-$1', master_user = 'r',
    master_password = 'r', master_use_gtid = slave_pos, master_connect_retry = 1; START SLAVE"
  rows n2
  sleep 3
  docker exec "$X-d" mariadb -uroot --socket=/data/s -e "SHOW SLAVE STATUS\G" | grep -E "Last_.*Error: .|Gtid_IO_Pos|_Running:"
  q d "SELECT CONCAT('applied ', @@gtid_slave_pos, ' rows=', (SELECT COUNT(*) FROM shop.t))"
}

docker network create "$NET" >/dev/null
server source server_id=7 $LOGS
await source "SELECT 1" 1
q source "CREATE USER r IDENTIFIED BY 'r'; GRANT REPLICATION SLAVE ON *.* TO r; CREATE DATABASE shop;
  CREATE TABLE shop.t (id INT PRIMARY KEY, v CHAR(40))"
BEGIN=$(q source "SELECT @@gtid_binlog_pos")
node n1 wsrep_cluster_address=gcomm:// $LOGS $IDS
synced n1
q n1 "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, v CHAR(40)); CREATE USER r IDENTIFIED BY 'r'; GRANT REPLICATION SLAVE ON *.* TO r"
join n2 $LOGS $IDS
join n3 $LOGS $IDS

say "1. followed on n1 from $BEGIN, cut over, and each node is written to"
q n1 "SET GLOBAL gtid_slave_pos = '$BEGIN'; CHANGE MASTER TO master_host = '$X-source', master_user = 'r', master_password = 'r',
  master_use_gtid = slave_pos, master_connect_retry = 1; START SLAVE"
for i in $(seq 50); do echo "INSERT INTO shop.t VALUES ($i, SHA1($i));"; done | docker exec -i "$X-source" mariadb -uroot --socket=/data/s
for n in n1 n2 n3; do await $n "SELECT COUNT(*) FROM shop.t" 50; done
q n1 "STOP SLAVE; RESET SLAVE ALL"
each
positions

say "2. started anew with the same identifiers, one at a time"
again $LOGS $IDS

say "3. a copy of n2: what it names, and what it holds"
docker exec "$X-n2" sh -c "mkdir /data/copy && mariadb-backup --backup --galera-info --user=root --socket=/data/s --target-dir=/data/copy >/dev/null 2>&1;
  cat /data/copy/*binlog_info /data/copy/*galera_info"
AT=$(q n2 "SELECT @@gtid_binlog_pos")
docker run --rm --user=0 --entrypoint=sh -v "$X-n2:/from" -v "$X-d:/data" "$IMAGE" -c "
  mariadb-backup --prepare --target-dir=/from/copy >/dev/null 2>&1; mkdir /data/db; cp -a /from/copy/. /data/db/"
server d server_id=5 skip_slave_start=ON
await d "SELECT 1" 1
q d "SELECT CONCAT('its slave_pos=', @@gtid_slave_pos)"
OWNED=$(tr ',' '\n' <<<"$AT" | grep "^$OWN-")
ENDED=$(tr ',' '\n' <<<"$(q d "SELECT @@gtid_slave_pos")" | grep "^0-")

say "3b. a replica with the position of both domains, at each node"
for n in n2 n1 n3; do
  follower $n "$ENDED,$(q d "SELECT @@gtid_slave_pos" | tr ',' '\n' | grep "^$OWN-" || echo "$OWNED")"
done
say "3c. with the cluster's own domain only"
for n in n2 n1 n3; do follower $n "$(q d "SELECT @@gtid_slave_pos" | tr ',' '\n' | grep "^$OWN-")"; done

say "4. without a binary log, with the same identifiers; and with one again"
again $IDS
again $LOGS $IDS

say "5. with the domain 0 and the server_id 1, as a cluster that has never followed"
again $LOGS server_id=1 wsrep_gtid_domain_id=0 gtid_domain_id=1

say "6. with the cluster's own identifiers again, one at a time; then all are stopped, and n1 begins"
again $LOGS $IDS
for n in n3 n2 n1; do docker stop -t 30 "$X-$n" >/dev/null; docker rm -f "$X-$n" >/dev/null; done
docker run --rm --user=0 --entrypoint=sh -v "$X-n1:/data" "$IMAGE" -c "sed -i 's/safe_to_bootstrap: 0/safe_to_bootstrap: 1/' /data/db/grastate.dat"
JOIN=y node n1 wsrep_cluster_address=gcomm:// $LOGS $IDS
synced n1
join n2 $LOGS $IDS
join n3 $LOGS $IDS
each
positions

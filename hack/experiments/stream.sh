#!/usr/bin/env bash
# Experiment: what shows that a Galera node has the history which a replica has. Whether two nodes log a transaction with
# the same times and content; and what a replica sees of a cluster that has lost transactions and counts on.
#   hack/experiments/stream.sh [SERIES]     11.8 or 10.11
# The images are those of hack/images.sh database database-old. What was seen is in docs/design/sites.md.
set -euo pipefail

IMAGE=galera-mariadb:${1:-11.8}
X=stream-$$
NET=$X-net
cleanup() {
  for c in n1 n2 replica; do docker rm -f -v "$X-$c" >/dev/null 2>&1 || true; done
  docker volume rm "$X-n1" "$X-n2" "$X-replica" >/dev/null 2>&1 || true
  docker network rm "$NET" >/dev/null 2>&1 || true
}
trap cleanup EXIT

say() { printf '\n== %s\n' "$*"; }
q() { docker exec "$X-$1" mariadb -NBuroot --socket=/data/s -e "$2"; }
await() {
  local i got=
  for i in $(seq 300); do
    got=$(q "$1" "$2" 2>&1 || true)
    [ "$got" = "$3" ] && return 0
    sleep 0.2
  done
  echo "FAILED: $1: $2: $got, not $3"
  docker logs "$X-$1" 2>&1 | tail -5
  return 1
}
# server NAME OPTIONS: a server on a volume of its own, which is made if there is none.
server() {
  local name=$1 o options='[mysqld]\nuser=root\ndatadir=/data/db\nsocket=/data/s\npid_file=/data/pid\ninnodb_buffer_pool_size=64M
log_bin=binlog\nlog_slave_updates=ON\nbinlog_format=ROW\nsync_binlog=1\n'
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
node() {
  local name=$1
  shift
  server "$name" server_id=1 wsrep_on=ON wsrep_provider=/usr/lib/galera/libgalera_smm.so wsrep_node_name="$name" \
    wsrep_sst_method=mariabackup wsrep_sst_auth=root: innodb_autoinc_lock_mode=2 wsrep_gtid_mode=ON gtid_domain_id=1 \
    wsrep_cluster_name=x "$@"
}
synced() { await "$1" "SHOW STATUS LIKE 'wsrep_local_state_comment'" "$(printf 'wsrep_local_state_comment\tSynced')"; }
# logged NODE: GTID, time, and the rows and statements of what it has logged.
logged() {
  docker exec "$X-$1" sh -c 'mariadb-binlog --base64-output=DECODE-ROWS -v /data/db/binlog.0?????' |
    sed -nE 's/^#([0-9: ]+) server id.*GTID ([0-9-]+).*/GTID \2 at \1/p; s/^#([0-9: ]+) server id.*(Write_rows|Update_rows|Query|Xid).*/\2 at \1/p; s/.*Xid = ([0-9]+).*/Xid \1/p; /^###/p; /^(CREATE|ALTER|INSERT)/p'
}
# gtid NODE GTID: what it has logged of one.
gtid() { logged "$1" | awk -v g="$2" '/^GTID/ {on = $2 == g} on'; }

docker network create "$NET" >/dev/null
node n1 wsrep_cluster_address=gcomm://
synced n1
q n1 "CREATE USER r IDENTIFIED BY 'r'; GRANT REPLICATION SLAVE ON *.* TO r"
JOIN=y node n2 "wsrep_cluster_address=gcomm://$X-n1,$X-n2"
synced n2

say "1. one transaction as both nodes have logged it"
q n1 "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, v VARCHAR(60)); INSERT INTO shop.t VALUES (1, 'x')"
q n1 "BEGIN; INSERT INTO shop.t VALUES (2, 'y'); DO SLEEP(2.1); UPDATE shop.t SET v = 'z' WHERE id = 1; DO SLEEP(1.2); COMMIT"
q n1 "ALTER TABLE shop.t ADD n INT DEFAULT 5"
q n2 "SET SESSION wsrep_sync_wait = 1; INSERT INTO shop.t VALUES (3, 'n2', 1)"
AT=$(q n1 "SET SESSION wsrep_sync_wait = 1; SELECT @@gtid_binlog_pos" | tr ',' '\n' | grep '^0-')
DOMAIN=${AT%-*}
LAST=${AT##*-}
for seq in $(seq $((LAST - 3)) "$LAST"); do
  echo "-- $DOMAIN-$seq"
  diff <(gtid n1 "$DOMAIN-$seq") <(gtid n2 "$DOMAIN-$seq") && echo "the same on both: $(gtid n1 "$DOMAIN-$seq" | tr '\n' ';' | cut -c1-400)" || true
done

say "2. the cluster loses transactions: n2 is stopped, n1 goes on and is lost, n2 begins"
server replica server_id=7 gtid_domain_id=9 skip_slave_start=ON gtid_strict_mode=1
docker stop "$X-n2" >/dev/null
synced n1
KEPT=$(q n1 "SELECT @@gtid_binlog_pos")
for i in 10 11 12; do q n1 "INSERT INTO shop.t VALUES ($i, 'lost', 1)"; done
q n1 "INSERT INTO shop.t VALUES (20, 'tried again', 1)"
LOST=$(q n1 "SELECT @@gtid_binlog_pos" | tr ',' '\n' | grep '^0-')
echo "kept: $KEPT; lost: up to $LOST"
echo "n1: $(gtid n1 "$LOST" | tr '\n' ';')"
await replica "SELECT 1" 1
q replica "SET GLOBAL gtid_slave_pos = '$LOST'"
docker kill -s KILL "$X-n1" >/dev/null
docker rm -f "$X-n2" >/dev/null
docker run --rm --user=0 --entrypoint=sh -v "$X-n2:/data" "$IMAGE" -c 'sed -i "s/safe_to_bootstrap:.*/safe_to_bootstrap: 1/" /data/db/grastate.dat'
JOIN=y node n2 wsrep_cluster_address=gcomm://
synced n2
echo "n2 begins at: $(q n2 "SELECT @@gtid_binlog_pos"), state $(q n2 "SELECT @@gtid_binlog_state")"
state() { docker exec "$X-replica" mariadb -uroot --socket=/data/s -e 'SHOW SLAVE STATUS\G' | grep -E 'IO_Running:|Last_IO_Err|Gtid_IO_Pos|Last_SQL_Error:' || true; }
channel() {
  q replica "STOP SLAVE; CHANGE MASTER TO master_host='$X-n2', master_user='r', master_password='r', master_ssl=0, master_ssl_verify_server_cert=0,
    master_use_gtid=slave_pos, master_connect_retry=1; START SLAVE"
  sleep 3
  state
}
say "2a. a replica with the lost position, before the cluster has counted up to it"
channel
say "2b. afterwards: other transactions with the same numbers"
for i in 30 31 32; do q n2 "INSERT INTO shop.t VALUES ($i, 'another', 1)"; done
q n2 "INSERT INTO shop.t VALUES (20, 'tried again', 1)"
echo "n2: $(gtid n2 "$LOST" | tr '\n' ';')"
channel
echo "wsrep on n2: $(q n2 "SHOW STATUS WHERE Variable_name IN ('wsrep_cluster_state_uuid', 'wsrep_cluster_conf_id', 'wsrep_last_committed')" | tr '\n\t' '; ')"

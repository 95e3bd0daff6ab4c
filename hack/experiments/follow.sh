#!/usr/bin/env bash
# Experiment: where Galera nodes keep the position of an asynchronous channel, and whether another node can go on with it.
#   hack/experiments/follow.sh [SERIES]     11.8 or 10.11
# SST=rsync has full copies made by rsync. SOURCE_ID, SOURCE_DOMAIN, NODE_ID and NODE_DOMAIN are server_id and the GTID
# domain; FIRST=1 ends after the first part.
# The images are those of hack/images.sh database database-old. What was seen is in docs/design/following.md.
set -euo pipefail

SERIES=${1:-11.8}
IMAGE=galera-mariadb:$SERIES
SOURCE_ID=${SOURCE_ID:-7} SOURCE_DOMAIN=${SOURCE_DOMAIN:-3}
NODE_ID=${NODE_ID:-1} NODE_DOMAIN=${NODE_DOMAIN:-0}
X=follow-$$
NET=$X-net
cleanup() {
  for c in source n1 n2 n3; do docker rm -f -v "$X-$c" >/dev/null 2>&1 || true; done
  docker volume rm "$X-source" "$X-n1" "$X-n2" "$X-n3" >/dev/null 2>&1 || true
  docker network rm "$NET" >/dev/null 2>&1 || true
}
trap cleanup EXIT

say() { printf '\n== %s\n' "$*"; }
q() { docker exec "$X-$1" mariadb -NBuroot --socket=/data/s -e "$2"; }
# await NODE QUERY WANT: until the answer is WANT; what was answered last is in the failure.
await() {
  local i got=
  for i in $(seq ${TRIES:-300}); do
    got=$(q "$1" "$2" 2>&1 || true)
    [ "$got" = "$3" ] && return 0
    sleep 0.2
  done
  echo "FAILED: $1: $2: $got, not $3"
  status "$1"
  docker logs "$X-$1" 2>&1 | grep -E "ERROR|WSREP_SST" | head -20
  return 1
}
# server NAME OPTIONS: a server on a volume of its own, which is made if there is none.
server() {
  local name=$1 o options='[mysqld]\nuser=root\ndatadir=/data/db\nsocket=/data/s\npid_file=/data/pid\ninnodb_buffer_pool_size=64M
log_bin=binlog\nlog_slave_updates=ON\nbinlog_format=ROW\nsync_binlog=1\nlog_warnings=1\n'
  shift
  for o in "$@"; do options+="$o\n"; done
  options+='[sst]\nsst-syslog=-1\n'
  docker run -d --name "$X-$name" --hostname "$name" --network "$NET" --user=0 --entrypoint=sh -v "$X-$name:/data" "$IMAGE" -c "
    mkdir -p /data/db; chmod 777 /data; chown -R nobody /data/db; printf '${options//$'\n'/\\n}' >/data/my.cnf
    [ -d /data/db/mysql ] || [ -n \"$JOIN\" ] || mariadb-install-db --no-defaults --skip-test-db \
      --auth-root-authentication-method=normal --datadir=/data/db --user=root >/dev/null
    exec mariadbd --defaults-file=/data/my.cnf" >/dev/null
}
JOIN=
# node NAME OPTIONS: a node as the operator sets it for spec.backup.pointInTime, and read-only.
node() {
  local name=$1
  shift
  server "$name" server_id="$NODE_ID" wsrep_gtid_domain_id="$NODE_DOMAIN" wsrep_on=ON wsrep_provider=/usr/lib/galera/libgalera_smm.so wsrep_node_name="$name" \
    wsrep_sst_method=${SST:-mariabackup} wsrep_sst_auth=root: innodb_autoinc_lock_mode=2 wsrep_gtid_mode=ON gtid_domain_id=1 \
    wsrep_cluster_name=x wsrep_slave_threads=2 read_only=ON event_scheduler=OFF "$@"
}
join() {
  JOIN=y node "$1" "wsrep_cluster_address=gcomm://$X-n1,$X-n2,$X-n3" "${@:2}"
  synced "$1"
}
synced() { await "$1" "SHOW STATUS LIKE 'wsrep_local_state_comment'" "$(printf 'wsrep_local_state_comment\tSynced')"; }
positions() {
  local n
  for n in "$@"; do
    printf '%s: ' "$n"
    q "$n" "SELECT CONCAT('slave_pos=', @@gtid_slave_pos, ' binlog_pos=', @@gtid_binlog_pos, ' current_pos=', @@gtid_current_pos,
      ' rows of mysql.gtid_slave_pos=', (SELECT COUNT(*) FROM mysql.gtid_slave_pos), ' rows=', (SELECT COUNT(*) FROM shop.t))" || true
  done
}
# channel NODE: from the node's own position.
channel() {
  q "$1" "CHANGE MASTER TO master_host = '$X-source', master_user = 'r', master_password = 'r',
    master_use_gtid = slave_pos, master_connect_retry = 1; START SLAVE"
}
status() { docker exec "$X-$1" mariadb -uroot --socket=/data/s -e "SHOW SLAVE STATUS\G" | grep -E "Slave_IO_Running|Slave_SQL_Running:|Last_.*Err|Gtid_IO_Pos" || echo "no channel"; }
write() { for i in $(seq "$1" "$2"); do echo "INSERT INTO shop.t VALUES ($i, SHA1($i));"; done | docker exec -i "$X-source" mariadb -uroot --socket=/data/s; }
counts() { await "$1" "SELECT COUNT(*) FROM shop.t" "$2"; }

docker network create "$NET" >/dev/null
server source server_id="$SOURCE_ID" gtid_domain_id="$SOURCE_DOMAIN"
await source "SELECT 1" 1
q source "CREATE USER r IDENTIFIED BY 'r'; GRANT REPLICATION SLAVE ON *.* TO r; CREATE DATABASE shop;
  CREATE TABLE shop.t (id INT PRIMARY KEY, v CHAR(40))"
BEGIN=$(q source "SELECT @@gtid_binlog_pos")
node n1 wsrep_cluster_address=gcomm://
synced n1
q n1 "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, v CHAR(40)); CREATE USER app IDENTIFIED BY 'a'; GRANT ALL ON shop.* TO app"
join n2
join n3

say "1. a channel on n1 from $BEGIN: where is its position?"
q n1 "SET GLOBAL gtid_slave_pos = '$BEGIN'"
channel n1
write 1 200
for n in n1 n2 n3; do counts $n 200; done
positions n1 n2 n3
[ -z "${FIRST:-}" ] || exit 0
say "1b. DDL of the source, and accounts"
q source "CREATE TABLE shop.u (id INT PRIMARY KEY); CREATE USER later IDENTIFIED BY 'x'"
await n3 "SELECT COUNT(*) FROM mysql.global_priv WHERE user = 'later'" 1
positions n1 n2 n3
say "1c. a client writes with read_only (account app, on n2), and root"
docker exec "$X-n2" mariadb -uapp -pa --socket=/data/s -e "INSERT INTO shop.t VALUES (-1, 'app')" 2>&1 || true
q n2 "CREATE DATABASE written_by_root; DROP DATABASE written_by_root" && echo "root may write"
positions n1 n2

say "2. planned: the channel moves to n2 with its own gtid_slave_pos"
q n1 "STOP SLAVE; RESET SLAVE ALL"
write 201 300
AT=$(q n2 "SET SESSION wsrep_sync_wait = 1; SELECT @@gtid_slave_pos")
echo "n2's own position: $AT; n1's was $(q n1 "SELECT @@gtid_slave_pos")"
channel n2
for n in n1 n2 n3; do counts $n 300; done
status n2
positions n1 n2 n3

say "3. crash of the applying node while it is written to; n3 takes over from its own position"
write 301 2500 &
w=$!
sleep 1
docker kill "$X-n2" >/dev/null
AT=$(q n3 "SET SESSION wsrep_sync_wait = 1; SELECT @@gtid_slave_pos" || true)
for _ in $(seq 100); do
  AT=$(q n3 "SET SESSION wsrep_sync_wait = 1; SELECT @@gtid_slave_pos" 2>/dev/null) && break
  sleep 0.2
done
echo "n3 at $AT; rows $(q n3 "SELECT COUNT(*) FROM shop.t")"
channel n3
wait $w
for n in n1 n3; do counts $n 2500; done
status n3
positions n1 n3
say "3b. the crashed node comes back on its volume (IST)"
docker start "$X-n2" >/dev/null
synced n2
counts n2 2500
positions n2
status n2

say "4. full SST of n1, with an empty volume"
docker rm -f "$X-n1" >/dev/null
docker volume rm "$X-n1" >/dev/null
write 2501 2600
counts n3 2600
join n1
counts n1 2600
positions n1 n3
status n1
say "4b. n1 takes over after the SST, before it has applied anything of the domain since"
q n3 "STOP SLAVE; RESET SLAVE ALL"
AT=$(q n1 "SET SESSION wsrep_sync_wait = 1; SELECT @@gtid_slave_pos")
echo "n1's own position: '$AT', n3's: $(q n3 "SELECT @@gtid_slave_pos")"
channel n1
write 2601 2700
for n in n1 n2 n3; do counts $n 2700; done
status n1
positions n1 n2 n3

say "5. all nodes are killed while the source is written to; the most advanced one bootstraps"
write 2701 5000 &
w=$!
sleep 1
docker kill "$X-n1" "$X-n2" "$X-n3" >/dev/null
wait $w
best=; bestAt=-1
for n in n1 n2 n3; do
  pos=$(docker run --rm --user=0 --entrypoint=mariadbd -v "$X-$n:/data" "$IMAGE" --defaults-file=/data/my.cnf --wsrep-recover 2>&1 |
    sed -n 's/.*Recovered position: *//p')
  echo "$n recovered $pos"
  seq=${pos#*:}; seq=${seq%%,*}
  if [ "$seq" -gt "$bestAt" ]; then best=$n; bestAt=$seq; fi
done
docker rm "$X-$best" >/dev/null
docker run --rm --user=0 --entrypoint=sed -v "$X-$best:/data" "$IMAGE" -i 's/safe_to_bootstrap: 0/safe_to_bootstrap: 1/' /data/db/grastate.dat
node "$best" wsrep_cluster_address=gcomm://
synced "$best"
status "$best"
for n in n1 n2 n3; do [ $n = "$best" ] || docker rm "$X-$n" >/dev/null; done
for n in n1 n2 n3; do [ $n = "$best" ] || join $n; done
positions n1 n2 n3
AT=$(q "$best" "SELECT @@gtid_slave_pos")
echo "$best goes on from $AT"
q "$best" "STOP SLAVE; RESET SLAVE ALL" || true
channel "$best"
for n in n1 n2 n3; do counts $n 5000; done
status "$best"
positions n1 n2 n3
say "6. rows are the source's on every node"
SUM="SELECT CONCAT(COUNT(*), ' ', BIT_XOR(CRC32(CONCAT(id, v)))) FROM shop.t"
for n in source n1 n2 n3; do echo "$n $(q $n "$SUM")"; done
say "7. a position that is too early is refused or applied twice?"
q "$best" "STOP SLAVE"
q "$best" "SET GLOBAL gtid_slave_pos = '$SOURCE_DOMAIN-$SOURCE_ID-100'; SHOW WARNINGS" || true
q "$best" "SET GLOBAL gtid_strict_mode = 1; START SLAVE" || true
sleep 2
status "$best"

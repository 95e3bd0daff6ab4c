#!/usr/bin/env bash
# Experiment: what the habits of a source do to nodes that follow it: engines, keys, sequences, XA, large transactions,
# LOAD DATA, statements, parallel appliers, the end at a GTID, an SST by rsync.
#   hack/experiments/follow-habits.sh [SERIES] [CASE...]     11.8 or 10.11
# The images are those of hack/images.sh database database-old. What was seen is in docs/design/following.md.
set -uo pipefail

SERIES=${1:-11.8}
shift || true
IMAGE=galera-mariadb:$SERIES
X=habits-$$
NET=$X-net
cleanup() {
  for c in source n1 n2 n3; do docker rm -f -v "$X-$c" >/dev/null 2>&1; docker volume rm "$X-$c" >/dev/null 2>&1; done
  docker network rm "$NET" >/dev/null 2>&1
}
trap cleanup EXIT

say() { printf '\n== %s\n' "$*"; }
q() { docker exec "$X-$1" mariadb -NBuroot --socket=/data/s -e "$2" 2>&1; }
await() { # NODE QUERY WANT
  local i got=
  for i in $(seq "${TRIES:-50}"); do
    got=$(q "$1" "$2")
    [ "$got" = "$3" ] && return 0
    sleep 0.2
  done
  echo "   $1: $2: $got, not $3"
  return 1
}
server() { # NAME OPTION...
  local name=$1 o options='[mysqld]\nuser=root\ndatadir=/data/db\nsocket=/data/s\npid_file=/data/pid\ninnodb_buffer_pool_size=64M
log_bin=binlog\nlog_slave_updates=ON\nbinlog_format=ROW\nlog_warnings=1\nlocal_infile=ON\n'
  shift
  for o in "$@"; do options+="$o\n"; done
  docker run -d --name "$X-$name" --hostname "$name" --network "$NET" --user=0 --entrypoint=sh -v "$X-$name:/data" "$IMAGE" -c "
    mkdir -p /data/db; chmod 777 /data; printf %b '${options//$'\n'/\\n}[sst]\nsst-syslog=-1\n' >/data/my.cnf
    [ -d /data/db/mysql ] || [ -n \"${JOIN:-}\" ] || mariadb-install-db --no-defaults --skip-test-db \
      --auth-root-authentication-method=normal --datadir=/data/db --user=root >/dev/null
    exec mariadbd --defaults-file=/data/my.cnf" >/dev/null
}
node() { # NAME OPTION...: as the operator starts a node that follows
  local name=$1
  shift
  server "$name" server_id=90 wsrep_gtid_domain_id=90 gtid_domain_id=89 wsrep_gtid_mode=ON wsrep_on=ON skip_slave_start=ON \
    wsrep_provider=/usr/lib/galera/libgalera_smm.so wsrep_node_name="$name" wsrep_sst_auth=root: innodb_autoinc_lock_mode=2 \
    wsrep_cluster_name=x read_only=ON event_scheduler=OFF default_storage_engine=InnoDB \
    "replicate_wild_ignore_table=mysql.%" wsrep_sst_method="${SST:-mariabackup}" ${OPTIONS:-} "$@"
}
join() { JOIN=y node "$1" "wsrep_cluster_address=gcomm://$X-n1,$X-n2,$X-n3" "${@:2}"; synced "$1"; }
synced() { TRIES=300 await "$1" "SHOW STATUS LIKE 'wsrep_local_state_comment'" "$(printf 'wsrep_local_state_comment\tSynced')"; }
channel() { # NODE [UNTIL]
  q "$1" "STOP SLAVE; CHANGE MASTER TO master_host = '$X-source', master_user = 'r', master_password = 'r',
    master_ssl_verify_server_cert = 0, master_use_gtid = slave_pos, master_connect_retry = 1; START SLAVE ${2:-}" | grep -v 1255
}
status() { docker exec "$X-$1" mariadb -uroot --socket=/data/s -e "SHOW SLAVE STATUS\G" | grep -E "Slave_IO_Running:|Slave_SQL_Running:|Last_(SQL|IO)_Error: .|Gtid_IO_Pos|Until_Cond" | sed 's/^ */   /'; }
pos() { echo "   source $(q source 'SELECT @@gtid_binlog_pos')  n1 $(q n1 'SELECT @@gtid_slave_pos')  n2 $(q n2 'SELECT @@gtid_slave_pos')"; }
# rows TABLE...: what each server has
rows() {
  local t s
  for t in "$@"; do for s in source n1 n2; do echo "   $t on $s: $(q $s "SELECT CONCAT(COUNT(*), ' rows, ', COALESCE(SUM(CRC32(CONCAT(id, v))), 0)) FROM $t")"; done; done
}
applied() { # the nodes have what the source has now
  local at; at=$(q source 'SELECT @@gtid_binlog_pos')
  await n1 "SELECT MASTER_GTID_WAIT('$at', 0.1)" 0 && q n2 "SET wsrep_sync_wait = 15; SELECT 'n2 is current'" >/dev/null
}
# skip: as after the copy of another source: nodes go on behind what cannot be applied
skip() { q n1 "STOP SLAVE; SET GLOBAL gtid_slave_pos = '$(q source 'SELECT @@gtid_binlog_pos')'; SET GLOBAL wsrep_max_ws_size=2147483647"; channel n1; }
big="INSERT INTO x.big SELECT seq, REPEAT('x', 1000) FROM x.seq_1_to_20000"

engines() {
  q source "CREATE TABLE x.aria (id INT PRIMARY KEY, v CHAR(9)) ENGINE=Aria; INSERT INTO x.aria VALUES (1, 'a');
    CREATE TABLE x.myisam (id INT PRIMARY KEY, v CHAR(9)) ENGINE=MyISAM; INSERT INTO x.myisam VALUES (1, 'a');
    SET sql_mode=''; CREATE TABLE x.lax (id INT PRIMARY KEY, v CHAR(9)) ENGINE=MyISAM; INSERT INTO x.lax VALUES (1, 'a')"
  applied; rows x.aria x.myisam x.lax; status n1; pos
  for s in n1 n2; do q $s "SELECT CONCAT('   $s ', table_name, ' ', engine) FROM information_schema.tables WHERE table_schema = 'x' AND engine <> 'InnoDB'"; done
}
keyless() {
  q source "CREATE TABLE x.keyless (id INT, v CHAR(9)); INSERT INTO x.keyless SELECT seq % 10, seq % 3 FROM x.seq_1_to_1000;
    UPDATE x.keyless SET v = 'u' WHERE id = 3 LIMIT 50; DELETE FROM x.keyless WHERE id IN (1, 3) LIMIT 70; INSERT INTO x.keyless VALUES (1, 'z'), (1, 'z'); DELETE FROM x.keyless WHERE v = 'z' LIMIT 1"
  applied; rows x.keyless; status n1
}
sequences() {
  q source "CREATE SEQUENCE x.s; SELECT NEXTVAL(x.s), NEXTVAL(x.s)"
  applied; status n1; for s in source n1 n2; do q $s "SELECT CONCAT('   $s ', next_not_cached_value) FROM x.s"; done; pos
}
sequencesnocache() {
  q source "CREATE SEQUENCE x.s2 NOCACHE; SELECT NEXTVAL(x.s2), NEXTVAL(x.s2); CREATE TABLE x.useseq (id INT PRIMARY KEY DEFAULT NEXTVAL(x.s2), v INT); INSERT INTO x.useseq (v) VALUES (1), (2)"
  applied; status n1; rows x.useseq; for s in source n1 n2; do q $s "SELECT CONCAT('   $s ', next_not_cached_value) FROM x.s2"; done; pos
}
xa() {
  echo "   Com_xa before: $(q source "SHOW GLOBAL STATUS LIKE 'Com_xa_p%'")"
  q source "CREATE TABLE x.xa (id INT PRIMARY KEY, v INT); XA START 'a'; INSERT INTO x.xa VALUES (1, 1); XA END 'a'; XA PREPARE 'a'; XA COMMIT 'a';
    XA START 'b'; INSERT INTO x.xa VALUES (2, 1); XA END 'b'; XA COMMIT 'b' ONE PHASE; INSERT INTO x.xa VALUES (3, 3)"
  applied; status n1; rows x.xa; pos
  echo "   Com_xa after: $(q source "SHOW GLOBAL STATUS LIKE 'Com_xa_%'" | tr '\n' ' ')"
}
large() {
  q n1 "SET GLOBAL wsrep_max_ws_size = 1048576"
  q source "CREATE TABLE x.big (id INT PRIMARY KEY, v TEXT); $big"
  applied; status n1; rows x.big; pos
}
streaming() {
  q n1 "STOP SLAVE; SET GLOBAL wsrep_max_ws_size = 1048576; SET GLOBAL wsrep_trx_fragment_unit = 'bytes'; SET GLOBAL wsrep_trx_fragment_size = 262144"
  channel n1
  q source "CREATE TABLE x.big2 (id INT PRIMARY KEY, v TEXT); ${big/x.big/x.big2}"
  applied; status n1; rows x.big2; pos; q n1 "SET GLOBAL wsrep_trx_fragment_size = 0"
}
loaddata() {
  docker exec "$X-source" sh -c 'seq 1 30000 | sed "s/\(.*\)/\1\tv\1/" >/tmp/in; chmod 644 /tmp/in'
  q source "CREATE TABLE x.load (id INT PRIMARY KEY, v CHAR(20)); LOAD DATA LOCAL INFILE '/tmp/in' INTO TABLE x.load"
  applied; rows x.load; status n1
}
loadstatement() {
  q source "SET binlog_format=STATEMENT; CREATE TABLE x.load2 (id INT PRIMARY KEY, v CHAR(20)); LOAD DATA LOCAL INFILE '/tmp/in' INTO TABLE x.load2"
  applied; rows x.load2; status n1
}
statement() {
  q source "SET binlog_format=STATEMENT; CREATE TABLE x.st (id INT PRIMARY KEY AUTO_INCREMENT, v CHAR(40)); INSERT INTO x.st (v) SELECT seq FROM x.seq_1_to_100; UPDATE x.st SET v = UUID() WHERE id < 5; INSERT INTO x.st (v) VALUES (RAND()), (NOW(6))"
  applied; rows x.st; status n1
}
temporary() {
  q source "SET binlog_format=STATEMENT; CREATE TEMPORARY TABLE x.tmp (id INT PRIMARY KEY, v CHAR(40)); INSERT INTO x.tmp VALUES (1, 'a'); CREATE TABLE x.fromtmp (id INT PRIMARY KEY, v CHAR(40)); INSERT INTO x.fromtmp SELECT * FROM x.tmp; SET binlog_format=ROW;"
  q source "CREATE TABLE x.ctas (PRIMARY KEY (id)) SELECT seq AS id, 'q' AS v FROM x.seq_1_to_50"
  applied; rows x.fromtmp x.ctas; status n1
}
triggers() {
  q source "CREATE TABLE x.tr (id INT PRIMARY KEY, v INT); CREATE TABLE x.trlog (id INT AUTO_INCREMENT PRIMARY KEY, v INT);
    CREATE DEFINER=gone@nowhere TRIGGER x.t1 AFTER INSERT ON x.tr FOR EACH ROW INSERT INTO x.trlog (v) VALUES (NEW.id)"
  q source "DROP TRIGGER x.t1; CREATE TRIGGER x.t1 AFTER INSERT ON x.tr FOR EACH ROW INSERT INTO x.trlog (v) VALUES (NEW.id); INSERT INTO x.tr VALUES (1, 1), (2, 2);
    CREATE TABLE x.p (id INT PRIMARY KEY, v INT); CREATE TABLE x.c (id INT PRIMARY KEY, v INT, FOREIGN KEY (v) REFERENCES x.p (id) ON DELETE CASCADE);
    INSERT INTO x.p VALUES (1, 1), (2, 2); INSERT INTO x.c VALUES (1, 1), (2, 2); DELETE FROM x.p WHERE id = 1"
  applied; rows x.tr x.trlog x.p x.c; status n1
}
ddl() {
  q source "CREATE TABLE x.d (id INT PRIMARY KEY, v INT); INSERT INTO x.d SELECT seq, seq FROM x.seq_1_to_1000; ALTER TABLE x.d ADD COLUMN w INT DEFAULT 3, ALGORITHM=INSTANT; ALTER TABLE x.d ADD INDEX (w); UPDATE x.d SET w = id; RENAME TABLE x.d TO x.d2; TRUNCATE TABLE x.d2; INSERT INTO x.d2 VALUES (1, 1, 1); CREATE OR REPLACE VIEW x.vw AS SELECT * FROM x.d2; CREATE DATABASE y; CREATE TABLE y.t (id INT PRIMARY KEY, v INT); INSERT INTO y.t VALUES (1, 1); FLUSH TABLES; ANALYZE TABLE y.t; OPTIMIZE TABLE y.t"
  q source "ALTER DATABASE y CHARACTER SET utf8mb4; CREATE TABLE x.ver (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING; INSERT INTO x.ver VALUES (1, 1); UPDATE x.ver SET v = 2; DELETE HISTORY FROM x.ver; DROP TABLE x.vw2" >/dev/null
  applied; rows x.d2 y.t x.ver; status n1
}
mixed() { # InnoDB and MyISAM of before in one transaction cannot be: the check refuses MyISAM
  q source "SET GLOBAL binlog_checksum=NONE; INSERT INTO x.t VALUES (900001, 'c'); FLUSH BINARY LOGS; SET GLOBAL binlog_checksum=CRC32; INSERT INTO x.t VALUES (900002, 'c')"
  q source "SET GLOBAL log_bin_compress=ON; INSERT INTO x.t SELECT seq + 1000000, REPEAT('z', 38) FROM x.seq_1_to_1000; SET GLOBAL log_bin_compress=OFF"
  q source "SET SESSION binlog_row_image=MINIMAL; UPDATE x.t SET v = 'minimal' WHERE id = 900001; DELETE FROM x.t WHERE id = 900002"
  applied; rows x.t; status n1
}
load() { # FROM TO: connections write disjoint and common rows at once
  local i
  for i in 1 2 3 4; do
    (for j in $(seq "$1" "$2"); do echo "BEGIN; INSERT INTO x.t VALUES ($j * 10 + $i, SHA1($j)); UPDATE x.hot SET v = v + 1 WHERE id = $((j % 3)); UPDATE x.t SET v = SHA1(v) WHERE id = ($j - 1) * 10 + $i; COMMIT;"; done |
      docker exec -i "$X-source" mariadb -f -uroot --socket=/data/s) &
  done
  wait
}
parallel() {
  local mode
  for mode in conservative optimistic aggressive; do
    echo "   slave_parallel_threads=4 $mode"
    q n1 "STOP SLAVE; SET GLOBAL slave_parallel_threads = 4; SET GLOBAL slave_parallel_mode = '$mode'"
    [ $mode = conservative ] && f=20000; [ $mode = optimistic ] && f=30000; [ $mode = aggressive ] && f=40000
    load $f $((f + 400))
    channel n1
    load $((f + 500)) $((f + 900))
    TRIES=150 applied; rows x.t x.hot; status n1; q n1 "SHOW PROCESSLIST" | grep -c 'Slave_worker' | sed 's/^/   workers /'
    q n1 "SELECT CONCAT('   retries ', variable_value) FROM information_schema.global_status WHERE variable_name = 'SLAVE_RETRIED_TRANSACTIONS'"
  done
  q n1 "SET STATEMENT max_statement_time=20 FOR STOP SLAVE; SET GLOBAL slave_parallel_threads = 0"; channel n1
}
fence() {
  local at
  q n1 'STOP SLAVE'; load 50000 50020; at=$(q source 'SELECT @@gtid_binlog_pos'); load 50021 50040
  q n1 "STOP SLAVE"; channel n1 "UNTIL master_gtid_pos = '$at'"; TRIES=20 applied
  echo "   until $at:"; pos; status n1
  echo "   again, at the end:"; channel n1 "UNTIL master_gtid_pos = '$at'"; sleep 2; pos; status n1
  echo "   until a position that the source never had, in a domain that it has not:"; channel n1 "UNTIL master_gtid_pos = '77-1-5'"; sleep 2; pos; status n1
  echo "   until a position with a domain that stays, 0-1-next of the source later:"
  at=$(q source 'SELECT @@gtid_binlog_pos'); channel n1 "UNTIL master_gtid_pos = '$at'"; TRIES=20 applied; pos; status n1
  channel n1
}
strict() {
  q n1 "STOP SLAVE; SET GLOBAL gtid_strict_mode = 1"; channel n1; load 60000 60100; applied; rows x.t
  q source "SET SESSION gtid_domain_id = 5; INSERT INTO x.t VALUES (-5, 'another domain')"; applied; pos; status n1
  q n2 "SELECT @@gtid_binlog_pos"
  q n1 "STOP SLAVE"; q n2 "SET GLOBAL gtid_strict_mode = 1"; channel n2; load 60200 60210; await n2 "SELECT MASTER_GTID_WAIT('$(q source 'SELECT @@gtid_binlog_pos')', 0.1)" 0; status n2; rows x.t
  q n2 "STOP SLAVE; RESET SLAVE ALL"; channel n1; q n1 "SET GLOBAL gtid_strict_mode = 0"
}
filtered() { # the source's binary log leaves databases out
  docker rm -f "$X-source" >/dev/null; server source server_id=1 binlog_do_db=x; TRIES=200 await source "SELECT 1" 1
  q source "SHOW MASTER STATUS; SELECT @@GLOBAL.binlog_do_db"; q source "SELECT @@GLOBAL.replicate_do_db; SHOW GLOBAL VARIABLES LIKE 'binlog_%db'"
  q source "CREATE DATABASE z; USE z; CREATE TABLE z.lost (id INT PRIMARY KEY, v INT); INSERT INTO z.lost VALUES (1, 1); USE x; INSERT INTO z.lost VALUES (2, 2); INSERT INTO x.t VALUES (-7, 'kept')"
  applied; rows z.lost; status n1
}
rsync() {
  docker rm -f "$X-n2" >/dev/null; docker volume rm "$X-n2" >/dev/null; q n1 "SET GLOBAL wsrep_sst_method = 'rsync'"
  (load 70000 70800) & SST=rsync join n2
  wait; TRIES=200 applied; pos; rows x.t x.hot
  q n1 "STOP SLAVE; RESET SLAVE ALL"; echo "   n2 goes on from its own position: $(q n2 'SELECT @@gtid_slave_pos')"; channel n2; load 71000 71100
  TRIES=100 await n2 "SELECT MASTER_GTID_WAIT('$(q source 'SELECT @@gtid_binlog_pos')', 0.1)" 0; q n1 "SET wsrep_sync_wait=15; SELECT 1" >/dev/null; pos; rows x.t x.hot; status n2
  q n2 "STOP SLAVE; RESET SLAVE ALL"; channel n1
}

docker network create "$NET" >/dev/null
server source server_id=1
TRIES=300 await source "SELECT 1" 1
q source "CREATE USER r IDENTIFIED BY 'r'; GRANT REPLICATION SLAVE ON *.* TO r; CREATE DATABASE x; CREATE TABLE x.t (id INT PRIMARY KEY, v CHAR(40));
  CREATE TABLE x.hot (id INT PRIMARY KEY, v INT); INSERT INTO x.hot VALUES (0, 0), (1, 0), (2, 0)"
node n1 wsrep_cluster_address=gcomm://
synced n1
q n1 "CREATE DATABASE x; CREATE TABLE x.t (id INT PRIMARY KEY, v CHAR(40)); CREATE TABLE x.hot (id INT PRIMARY KEY, v INT); INSERT INTO x.hot VALUES (0, 0), (1, 0), (2, 0)"
q n1 "SET GLOBAL gtid_slave_pos = '$(q source 'SELECT @@gtid_binlog_pos')'"
join n2
channel n1
for c in ${@:-keyless loaddata loadstatement statement temporary triggers ddl mixed parallel fence strict sequencesnocache sequences large streaming engines rsync filtered xa}; do
  say "$c"
  $c
  [ "$(q n1 'SHOW SLAVE STATUS' | wc -l)" = 1 ] && ! TRIES=5 applied >/dev/null && skip
done

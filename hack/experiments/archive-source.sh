#!/usr/bin/env bash
# Experiment: whether MariaDB replicates from files of a binary log, without the server that has written them.
#   hack/experiments/archive-source.sh [SERIES]     11.8 or 10.11
# HEARTBEATS=0 sends none. The images are those of hack/images.sh database database-old. What was seen is in
# docs/design/sites.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

SERIES=${1:-11.8}
X=archive-$$
DIR=$(mktemp -d)
PORT=$((20000 + $$ % 10000))
PROGRAM=
cleanup() {
  [ -z "$PROGRAM" ] || kill "$PROGRAM" 2>/dev/null || true
  docker rm -f -v "$X-source" "$X-replica" >/dev/null 2>&1 || true
  rm -rf "$DIR"
}
trap cleanup EXIT

say() { printf '\n== %s\n' "$*"; }
q() { docker exec "$X-$1" mariadb -NBuroot --socket=/d/s -e "$2"; }
# state PATTERN: lines of the replica's state.
state() { docker exec "$X-replica" mariadb -uroot --socket=/d/s -e 'SHOW SLAVE STATUS\G' | grep -E "$1"; }
await() {
  local i got=
  for i in $(seq 1500); do
    got=$(q "$1" "$2" 2>&1 || true)
    [ "$got" = "$3" ] && return 0
    sleep 0.2
  done
  echo "FAILED: $1: $2: $got, not $3"
  state 'Running|Error|Gtid|Log_Pos' || true
  return 1
}
server() {
  local name=$1
  shift
  mkdir -p "$DIR/$name"
  docker run -d --name "$X-$name" --user=0 --add-host=archive:host-gateway --entrypoint=sh -v "$DIR/$name:/d" "galera-mariadb:$SERIES" -c "
    [ -d /d/db ] || mariadb-install-db --no-defaults --skip-test-db --auth-root-authentication-method=normal --datadir=/d/db --user=root >/dev/null
    exec mariadbd --no-defaults --user=root --datadir=/d/db --socket=/d/s --innodb-buffer-pool-size=64M --max-allowed-packet=64M $*" >/dev/null
  await "$name" 'SELECT 1' 1
}
# archived: what was written until now is complete, and copied to where the program looks.
archived() {
  q source 'FLUSH BINARY LOGS'
  cp "$DIR"/source/db/binlog.0* "$DIR/archive/"
}
program() {
  "$DIR/program" "0.0.0.0:$PORT" "$DIR/archive" >>"$DIR/log" 2>&1 &
  PROGRAM=$!
}
equal() {
  await replica 'SELECT @@gtid_slave_pos' "$(q source 'SELECT @@gtid_binlog_pos')"
  await replica "$SUM" "$(q source "$SUM")"
  echo "equal at $(q replica 'SELECT @@gtid_slave_pos')"
}
SUM='SELECT CONCAT(COUNT(*), " ", SUM(CRC32(CONCAT(id, v)))) FROM shop.t'
write() { q source "$(for _ in $(seq "$1"); do echo 'INSERT INTO shop.t (v) VALUES (UUID());'; done)"; }

# It is no part of the module: its name keeps it from the tools that check those.
cp hack/experiments/archive-source.go.txt "$DIR/main.go"
CGO_ENABLED=0 GOFLAGS= go build -o "$DIR/program" "$DIR/main.go"
mkdir "$DIR/archive"
server source --server-id=1 --log-bin=binlog --binlog-format=ROW --binlog-checksum=NONE
server replica --server-id=7 --log-bin=own --log-slave-updates --gtid-domain-id=9 --gtid-strict-mode=1 --slave-net-timeout=4 \
  --skip-slave-start ${REPLICA_OPTIONS:-}
program

say "what is archived: DDL, accounts, a row of 20 MiB, a table without a primary key"
q source "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT NOT NULL); CREATE USER app;
  CREATE TABLE shop.bare (a INT); INSERT INTO shop.bare VALUES (1), (1); INSERT INTO shop.t (v) VALUES (REPEAT('large', 4 << 20))"
write 100
archived
q replica "CHANGE MASTER TO MASTER_HOST='archive', MASTER_PORT=$PORT, MASTER_USER='x', MASTER_PASSWORD='x', MASTER_CONNECT_RETRY=1,
  MASTER_SSL=0, MASTER_SSL_VERIFY_SERVER_CERT=0, MASTER_USE_GTID=slave_pos; START SLAVE"
equal
say "later files"
write 100 && archived && write 100 && archived && equal
say "nothing for longer than slave_net_timeout"
sleep 10
state 'IO_Running|Last_IO_Err'
write 10 && archived && equal
say "kill -9 of the replica while it applies"
write 500 && archived
docker kill -s KILL "$X-replica" >/dev/null && docker start "$X-replica" >/dev/null && await replica 'SELECT 1' 1
q replica 'START SLAVE' && equal
say "the program is started again"
kill "$PROGRAM" && write 100 && archived && program && equal
say "START SLAVE UNTIL, within a file; then the same again"
q replica 'STOP SLAVE'
write 10
END=$(q source 'SELECT @@gtid_binlog_pos')
write 10 && archived
for _ in 1 2; do
  q replica "START SLAVE UNTIL master_gtid_pos='$END'"
  await replica 'SELECT @@gtid_slave_pos' "$END"
  for _ in $(seq 100); do
    [ "$(state 'Slave_(IO|SQL)_Running: No' | wc -l)" = 2 ] && break
    sleep 0.1
  done
  state '(IO|SQL)_Running:|Last_IO_Err'
done
q replica 'STOP SLAVE; START SLAVE' && equal
say "what the replica has sent"
grep statement: "$DIR/log"

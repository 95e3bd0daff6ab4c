#!/usr/bin/env bash
# What it takes to retire a version of an encryption key, with a plugin of key management that has versions:
#   hack/experiments/rotate-keys.sh galera-mariadb:11.8
# One server without Galera. It needs gcc, and the headers of the server (Debian: libmariadbd-dev; INCLUDE: their folder).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
include=${INCLUDE:-/usr/include/mariadb/server}
if [ "${1:-}" != inside ]; then
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
  gcc -shared -fPIC -DMYSQL_DYNAMIC_PLUGIN -I"$include" -I"$include/private" -o "$out/versions.so" rotate-keys.c
  cp rotate-keys.sh "$out"
  docker run --rm -v "$out:/experiment:ro" "${1:?which image}" bash /experiment/rotate-keys.sh inside
  exit
fi

options=(--no-defaults --user=mysql --datadir=/tmp/data --socket=/tmp/socket --skip-networking --log-bin=binlog
  --plugin-maturity=experimental --plugin-load-add=versions --innodb-encrypt-tables=FORCE --innodb-encrypt-log=ON
  --encrypt-binlog=ON --aria-encrypt-tables=ON --encrypt-tmp-files=ON --innodb-encryption-threads=2
  --innodb-encryption-rotate-key-age=1 --innodb-encryption-rotation-iops=2000 --innodb-buffer-pool-size=64M)
sql() { mariadb -uroot --socket=/tmp/socket -N -e "$1" </dev/null; }

start() { # NUMBER OPTION...: prints errors when the server does not serve
  local log="/tmp/log$1"
  mariadbd "${options[@]}" --log-error="$log" "${@:2}" 2>/dev/null &
  server=$!
  for _ in $(seq 60); do sql "SELECT 1" >/dev/null 2>&1 && return; sleep 0.5; done
  echo "it does not serve:"
  { grep -a ERROR "$log.err" "$log" 2>/dev/null || true; } | sed -n 1,4p
}
stop() { kill "$server" && wait "$server" || true; }

pages() { # how many pages have which version of the key in their header
  local file
  for file in /tmp/data/ibdata1 /tmp/data/undo00? /tmp/data/app/t.ibd; do
    [ -e "$file" ] || continue
    perl -e 'open F, "<", $ARGV[0]; binmode F; my %n; while (read F, $p, 16384) { next if substr($p, 38) =~ /^\0*$/;
      $n{unpack("N", $p)}++ } print "$ARGV[0]:", (map {" v$_=$n{$_}"} sort grep {$_ < 9} keys %n), "\n"' "$file"
  done
}
# the version of the key in the redo log's header
redo() { echo "redo log: version $((16#$(od -A n -t x1 -j 52 -N 4 /tmp/data/ib_logfile0 | tr -d ' ')))"; }

mkdir -p /keys && echo 1 >/keys/latest && touch /keys/v1 && chown -R mysql /keys
cp /experiment/versions.so /usr/lib/mysql/plugin/
mariadb-install-db "${options[@]}" >/dev/null 2>&1
start 1
sql "SELECT VERSION(); CREATE DATABASE app; CREATE TABLE app.t (id INT PRIMARY KEY, v VARCHAR(200));
  INSERT INTO app.t SELECT seq, REPEAT('x', 150) FROM mysql.seq_1_to_200000"
echo "== a new version, 3: with 2 nothing happens, as a page must be more than innodb_encryption_rotate_key_age behind"
touch /keys/v3 && echo 3 >/keys/latest
left=1
for seconds in $(seq 0 60); do
  left=$(sql "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION WHERE MIN_KEY_VERSION < 3 OR CURRENT_KEY_VERSION < 3")
  if [ "$left" = 0 ]; then break; fi
  sleep 1
done
echo "$left tablespaces are left after $seconds s"
stop
pages
redo
echo "== a restart with another size of the redo log, and then without version 1"
start 2 --innodb-log-file-size=32M
redo
stop
mv /keys/v1 /root/v1
start 3 --innodb-log-file-size=32M
stop
mv /root/v1 /keys/v1
echo "== Aria's tables rebuilt, binary logs purged, and then without version 1"
start 4 --innodb-log-file-size=32M
sql "SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) FROM information_schema.TABLES WHERE ENGINE = 'Aria' AND
  TABLE_SCHEMA IN ('mysql', 'sys')" | while read -r table; do sql "ALTER TABLE $table FORCE"; done
sql "FLUSH BINARY LOGS; PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 SECOND"
stop
mv /keys/v1 /root/v1
start 5 --innodb-log-file-size=32M
sql "SELECT COUNT(*) FROM app.t; SELECT COUNT(*) FROM mysql.global_priv"
stop

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// serverScript starts a server, and waits until it serves or has ended. It has the settings of the Job's: no binary
// log, and not each transaction is written to the disk.
const serverScript = `mariadbd --no-defaults --datadir=/var/lib/mysql/d --socket=/tmp/s --pid-file=/tmp/pid \
  --skip-networking --innodb-flush-log-at-trx-commit=0 --innodb-buffer-pool-size=%dM --max-allowed-packet=1G \
  >/tmp/log 2>&1 &
until mariadb -uroot -S /tmp/s -e 'SELECT 1' >/dev/null 2>&1; do
  kill -0 $! || { cat /tmp/log >&2; exit 1; }
  sleep 0.1
done
`

// endScript ends it.
const endScript = `
kill $(cat /tmp/pid)
wait`

// dumpScript is what a person does with mariadb-dump.
const dumpScript = `mariadb-install-db --no-defaults --skip-test-db --auth-root-authentication-method=normal \
  --datadir=/var/lib/mysql/d >/dev/null
` + serverScript + `from=$(date +%%s%%N)
mariadb-dump --host=%s --user=mover --password=secret --skip-ssl --single-transaction --routines --triggers --events \
  --skip-add-locks --databases sbtest | mariadb -uroot -S /tmp/s
echo "copied $(($(date +%%s%%N) - from))"` + endScript

// backupScript is what a person does with mariadb-backup on the source's host, with the source's version. There is no
// network in between, which favors this way.
const backupScript = `mkdir /var/lib/mysql/new/d /tmp/t
mariadb-backup --no-defaults --backup --stream=mbstream --parallel=%d --datadir=/var/lib/mysql/d --host=%s \
  --user=mover --password=secret --skip-ssl --target-dir=/tmp/t 2>/tmp/log | mbstream -x -C /var/lib/mysql/new/d ||
  { tail -n 20 /tmp/log >&2; exit 1; }
mariadb-backup --prepare --use-memory=%dM --target-dir=/var/lib/mysql/new/d 2>/tmp/log ||
  { tail -n 20 /tmp/log >&2; exit 1; }`

// upgradeScript has the new version take the data over.
const upgradeScript = serverScript + `mariadb-upgrade -uroot -S /tmp/s >/tmp/up || { cat /tmp/up >&2; exit 1; }` +
	endScript

var copied = regexp.MustCompile(`copied (\d+)`)

// byDump copies with mariadb-dump.
func (w *world) byDump(ctx context.Context) (turn, error) {
	from := time.Now()
	out, err := w.runTurn(ctx, "-v", "/var/lib/mysql", "--user", fmt.Sprint(mysqlID), "--entrypoint=bash", w.image, "-o",
		"pipefail", "-euc", fmt.Sprintf(dumpScript, w.pool, w.address))
	took := turn{all: time.Since(from)}
	if err != nil {
		return took, err
	}
	found := copied.FindStringSubmatch(out)
	if found == nil {
		return took, fmt.Errorf("nothing was copied: %s", out)
	}
	nanoseconds, err := strconv.ParseInt(found[1], 10, 64)
	took.dump = time.Duration(nanoseconds)
	return took, err
}

// byBackup copies with mariadb-backup.
func (w *world) byBackup(ctx context.Context) (took turn, err error) {
	dir := filepath.Join(w.dir, "backup")
	if err := folder(dir); err != nil {
		return turn{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	from := time.Now()
	if _, err := w.runTurn(ctx, "--volumes-from", w.source, "-v", dir+":/var/lib/mysql/new", "--user", fmt.Sprint(mysqlID),
		"--entrypoint=bash", w.sourceImage, "-o", "pipefail", "-euc",
		fmt.Sprintf(backupScript, w.connections, w.address, w.pool)); err != nil {
		return turn{}, err
	}
	_, err = w.runTurn(ctx, "-v", dir+":/var/lib/mysql", "--user", fmt.Sprint(mysqlID), "--entrypoint=bash", w.image, "-o",
		"pipefail", "-euc", fmt.Sprintf(upgradeScript, w.pool))
	return turn{all: time.Since(from)}, err
}

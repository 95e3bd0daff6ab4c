package server

import (
	"context"
	"fmt"
	"os"

	"github.com/galera-operator/galera-operator/internal/agent/procs"
)

// installOptions make mariadb-install-db quick: what it writes is thrown away when anything
// fails, and is synced as a whole before it becomes the data directory.
func installOptions(dir, tmp, user string) []string {
	return []string{
		"--no-defaults", "--datadir=" + dir, "--tmpdir=" + tmp,
		"--auth-root-authentication-method=socket", "--auth-root-socket-user=" + user,
		"--skip-test-db", "--skip-name-resolve", "--force",
		"--skip-log-bin", "--innodb-flush-log-at-trx-commit=0", "--sync-frm=0", "--skip-ssl",
	}
}

// Install fills dir, which must not exist, with a new database whose only accounts are those of the
// operating system users root and user on the unix socket.
func Install(ctx context.Context, table *procs.Table, c Command, dir, tmp, user string) error {
	if err := os.Mkdir(dir, 0o750); err != nil {
		return err
	}
	c.Args = installOptions(dir, tmp, user)
	exit, err := Run(ctx, table, c)
	if err != nil {
		return err
	}
	if exit.Code != 0 {
		return fmt.Errorf("mariadb-install-db exited with code %d: %s", exit.Code, Why(exit.Lines))
	}
	return nil
}

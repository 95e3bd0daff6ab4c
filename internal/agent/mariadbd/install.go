package mariadbd

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/platform/paths"
	"github.com/galera-operator/galera-operator/internal/agent/platform/procs"
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

// Maker makes the first database of a cluster.
type Maker struct {
	Table  *procs.Table
	Places paths.Places
	// User is the account mariadbd runs as, Version the server's.
	User, Version string
	Log           func(line string)
}

// Make works in a directory of its own; only a complete and synced one becomes the data directory.
func (m Maker) Make(ctx context.Context) error {
	p, markers := m.Places, datadir.Markers{Dir: m.Places.State}
	tool := First("mariadb-install-db", "mysql_install_db")
	if tool == "" {
		return errors.New("the image has no mariadb-install-db")
	}
	if err := os.RemoveAll(p.InitDir()); err != nil {
		return err
	}
	if err := markers.SetInitialising(); err != nil {
		return err
	}
	err := Install(ctx, m.Table, Command{Path: tool, Env: Env(p), Dir: p.Volume, Log: m.Log}, p.InitDir(), p.Tmp, m.User)
	if err != nil {
		return err
	}
	if err := markers.ClearJoining(); err != nil {
		return err
	}
	if err := markers.SetVersions(datadir.Versions{Used: m.Version, Tables: m.Version}); err != nil {
		return err
	}
	return datadir.Replace(p.InitDir(), p.Data)
}

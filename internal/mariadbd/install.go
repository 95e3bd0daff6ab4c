package mariadbd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/mycnf"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// installServer are the options of the servers that fill a new data directory. They make it quick: what is written is
// thrown away when anything fails, and is synced as a whole before it becomes the data directory.
func installServer(dir, tmp string, settings []mycnf.Option) []string {
	args := []string{"--no-defaults", "--datadir=" + dir, "--tmpdir=" + tmp,
		"--skip-log-bin", "--innodb-flush-log-at-trx-commit=0", "--sync-frm=0", "--skip-ssl"}
	for _, o := range settings {
		args = append(args, "--"+o.Key+"="+o.Value)
	}
	return args
}

// installOptions are those of mariadb-install-db, which passes on what is the server's.
func installOptions(user string) []string {
	return []string{"--auth-root-authentication-method=socket", "--auth-root-socket-user=" + user, "--skip-test-db",
		"--skip-name-resolve", "--force"}
}

// Install fills dir, which must not exist, with a new database whose only accounts are those of the
// operating system users root and user on the unix socket.
func Install(ctx context.Context, table *platform.ProcessTable, c Command, dir, tmp, user string,
	settings []mycnf.Option) error {
	if err := os.Mkdir(dir, 0o750); err != nil {
		return err
	}
	c.Args = append(installServer(dir, tmp, settings), installOptions(user)...)
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
	Table  *platform.ProcessTable
	Places platform.Places
	// Server is mariadbd, User the account it runs as, Version its version.
	Server, User, Version string
	// Settings are those a data directory is created with.
	Settings []mycnf.Option
	Log      func(line string)
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
	err := Install(ctx, m.Table, Command{Path: tool, Env: Env(p), Dir: p.Volume, Log: m.Log}, p.InitDir(), p.Tmp, m.User,
		m.Settings)
	if err != nil {
		return err
	}
	if err := m.loadZones(ctx); err != nil {
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

// loadZones fills the tables of named time zones in a new database, as default_time_zone and CONVERT_TZ need them. An
// image without zones, or whose tool fails, gets a database without them. The other members receive the tables with
// their first SST.
func (m Maker) loadZones(ctx context.Context) error {
	tool := First("mariadb-tzinfo-to-sql", "mysql_tzinfo_to_sql")
	if _, err := os.Stat(zoneinfo); tool == "" || err != nil {
		m.Log(
			"the image has no time zones, or no mariadb-tzinfo-to-sql: default_time_zone and CONVERT_TZ know no named zones")
		return nil
	}
	statements := filepath.Join(m.Places.Tmp, "zones.sql")
	defer func() { _ = os.Remove(statements) }()
	err := writeZones(ctx, m.Table, m.Places, tool, statements, "USE mysql;\n", markZones(zonesOf(zoneinfo)))
	if errors.Is(err, errTool) {
		m.Log("default_time_zone and CONVERT_TZ know no named zones: " + err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	in, err := os.Open(statements)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	exit, err := Run(ctx, m.Table, Command{Path: m.Server, Env: Env(m.Places), Dir: m.Places.Volume,
		Stdin: bufio.NewReader(in), Log: m.Log,
		Args: append(installServer(m.Places.InitDir(), m.Places.Tmp, m.Settings), "--bootstrap")})
	if err != nil {
		return err
	}
	if exit.Code != 0 {
		return fmt.Errorf("loading time zones: mariadbd exited with code %d: %s", exit.Code, Why(exit.Lines))
	}
	return nil
}

package runner

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/external"
)

// positionTables lists the tables that a server keeps gtid_slave_pos in: one, and one for each engine of
// gtid_pos_auto_engines.
const positionTables = "SELECT table_name, COALESCE(engine, '') FROM information_schema.tables WHERE " +
	"table_schema = 'mysql' AND table_name LIKE 'gtid\\_slave\\_pos%' ORDER BY 1"

// refusePosition refuses a backup at a position of other domains than the server to follow has written in, nil for one
// of the same. mariadb-backup notes gtid_current_pos, which leaves out what another server_id has written last: the
// server would send a domain that it lacks from the beginning. It is pure.
func refusePosition(position string, t task.External) error {
	at, err := domains(position)
	if err != nil {
		return err
	}
	live, err := domains(t.Live)
	if err != nil {
		return err
	}
	const again = "SET GLOBAL gtid_slave_pos = @@GLOBAL.gtid_binlog_pos on it, while it replicates from no other " +
		"server, " +
		"and make another backup, or remove follow"
	if lacking := without(live, at); len(lacking) > 0 {
		return refusedBackup("its position %s has nothing of the domains %s, in which the server %s has written (its "+
			"gtid_binlog_pos is %s): it would send again what the backup has of them. %s", position,
			strings.Join(lacking, ", "), t.Host, t.Live, again)
	}
	if foreign := without(at, live); len(foreign) > 0 {
		return refusedBackup("its position %s has the domains %s, in which the server %s has written nothing (its "+
			"gtid_binlog_pos is %q): name the server that was backed up in host. If it is that one, %s", position,
			strings.Join(foreign, ", "), t.Host, t.Live, again)
	}
	return nil
}

// domains of a position, in order.
func domains(position string) (out []string, err error) {
	for one := range strings.SplitSeq(position, ",") {
		g, err := binlog.Parse(strings.TrimSpace(one))
		if err != nil {
			return nil, refusedBackup("its position, or that of the server to follow, cannot be read: %w", err)
		}
		if g != (binlog.GTID{}) {
			out = append(out, fmt.Sprint(g.Domain))
		}
	}
	slices.Sort(out)
	return out, nil
}

func without(all, these []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(these, one) })
}

// ownPosition leaves one table for gtid_slave_pos, in InnoDB: only there it is part of each transaction, on all nodes.
// It records the position, "" for none.
func ownPosition(ctx context.Context, db *sql.DB, position string) error {
	if err := execute(ctx, db, "SET GLOBAL gtid_slave_pos = ''"); err != nil {
		return err
	}
	tables, err := tablesOfPosition(ctx, db)
	if err != nil {
		return err
	}
	for name := range tables {
		statement := "DROP TABLE mysql.`" + strings.ReplaceAll(name, "`", "``") + "`"
		if name == "gtid_slave_pos" {
			statement = "ALTER TABLE mysql.gtid_slave_pos ENGINE = InnoDB"
		}
		if err := execute(ctx, db, statement); err != nil {
			return err
		}
	}
	if position != "" {
		if err := external.SetPosition(ctx, db, position); err != nil {
			return because(task.ReasonToolFailed, err)
		}
	}
	tables, err = tablesOfPosition(ctx, db)
	if err == nil && (len(tables) != 1 || tables["gtid_slave_pos"] != "InnoDB") {
		err = refusedBackup("the position in another server's transactions is in tables other than one of InnoDB: %v", tables)
	}
	return err
}

// tablesOfPosition returns the engine of each table.
func tablesOfPosition(ctx context.Context, db *sql.DB) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, positionTables)
	if err != nil {
		return nil, because(task.ReasonToolFailed, fmt.Errorf("listing the tables of gtid_slave_pos: %w", err))
	}
	defer func() { _ = rows.Close() }()
	out := map[string]string{}
	for rows.Next() {
		var name, engine string
		if err := rows.Scan(&name, &engine); err != nil {
			return nil, because(task.ReasonToolFailed, err)
		}
		out[name] = engine
	}
	return out, rows.Err()
}

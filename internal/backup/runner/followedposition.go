package runner

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/external"
)

// positionTables lists the tables that a server keeps gtid_slave_pos in: one, and one for each engine of
// gtid_pos_auto_engines.
const positionTables = "SELECT table_name, COALESCE(engine, '') FROM information_schema.tables WHERE " +
	"table_schema = 'mysql' AND table_name LIKE 'gtid\\_slave\\_pos%' ORDER BY 1"

// askTime bounds the questions to the server to follow: what it does not answer is not known.
const askTime = time.Minute

// followed is what the server to follow says of itself, and of the place in its binary log that a backup names.
type followed struct {
	// Live is its gtid_binlog_pos when it was checked, Applied its gtid_slave_pos.
	Live, Applied string
	// At is the position at that place, nil if it does not know of it: the file is purged, or another server's.
	At *string
	// Unasked is why it did not answer.
	Unasked error
}

// askFollowed asks the server to follow where the backup is. It does not know of a place that the backup does not name.
func askFollowed(ctx context.Context, t task.External, a adopted) followed {
	f := followed{Live: t.Live}
	query, place := "SELECT @@GLOBAL.gtid_slave_pos, NULL", []any(nil)
	if offset, err := strconv.ParseUint(a.BinlogPos, 10, 64); err == nil {
		query, place = "SELECT @@GLOBAL.gtid_slave_pos, BINLOG_GTID_POS(?, ?)", []any{a.BinlogFile, offset}
	}
	db, err := openSource(t)
	if err != nil {
		f.Unasked = err
		return f
	}
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var at sql.NullString
	err = db.QueryRowContext(ctx, query, place...).Scan(&f.Applied, &at)
	if err != nil {
		f.Unasked = err
	} else if at.Valid {
		f.At = &at.String
	}
	return f
}

// startOf returns the position that the server is followed from, and refuses a backup whose position is not that of its
// files on it. mariadb-backup notes gtid_current_pos, which leaves out what another server_id has written last: the
// server would send a domain that it lacks, or what is after an earlier one, again. A domain that it does not have in
// its binary log, and has ended with as the backup has, is left out: it is of a server that it was made from. It is
// pure.
func startOf(position, host string, f followed) (string, error) {
	at, err := domains(position)
	if err != nil {
		return "", err
	}
	live, err := domains(f.Live)
	if err != nil {
		return "", err
	}
	const again = "SET GLOBAL gtid_slave_pos = @@GLOBAL.gtid_binlog_pos on it, while it replicates from no other " +
		"server, and make another backup, or remove follow"
	if lacking := without(live, at); len(lacking) > 0 {
		return "", refusedBackup("its position %s has nothing of the domains %s, in which the server %s has written (its "+
			"gtid_binlog_pos is %s): it would send again what the backup has of them. %s", position,
			strings.Join(lacking, ", "), host, f.Live, again)
	}
	known := false // the place is one of this server's binary log
	if f.At != nil {
		there, err := domains(*f.At)
		if err != nil {
			return "", err
		}
		for domain, g := range there {
			if have, is := at[domain]; is && have != g {
				return "", refusedBackup("its position is %s, and where it was made the binary log of the server %s is at %s: "+
					"what is between them would be sent again, or not at all. Name the server that was backed up in host. If it "+
					"is that one, %s", position, host, *f.At, again)
			}
		}
		known = len(there) > 0
	}
	if f.Unasked != nil {
		return "", because(task.ReasonSourceUnreachable, fmt.Errorf("the server %s could not be asked whether the backup's "+
			"position %s is that of its files: %w", host, position, f.Unasked))
	}
	foreign := without(at, live)
	if len(foreign) == 0 {
		return position, nil
	}
	applied, err := domains(f.Applied)
	if err != nil {
		return "", err
	}
	for domain, g := range at {
		if _, is := live[domain]; !is {
			known = known && applied[domain] == g
		}
	}
	if !known {
		return "", refusedBackup("its position %s has the domains %s, in which the server %s has written nothing (its "+
			"gtid_binlog_pos is %q, its gtid_slave_pos %q): name the server that was backed up in host. If it is that one, %s",
			position, strings.Join(foreign, ", "), host, f.Live, f.Applied, again)
	}
	var out []string
	for _, domain := range slices.Sorted(maps.Keys(live)) {
		out = append(out, at[domain].String())
	}
	return strings.Join(out, ","), nil
}

// domains are the GTIDs of a position.
func domains(position string) (map[uint32]binlog.GTID, error) {
	out := map[uint32]binlog.GTID{}
	for one := range strings.SplitSeq(position, ",") {
		g, err := binlog.Parse(strings.TrimSpace(one))
		if err != nil {
			return nil, refusedBackup("its position, or that of the server to follow, cannot be read: %w", err)
		}
		if g != (binlog.GTID{}) {
			out[g.Domain] = g
		}
	}
	return out, nil
}

// without are the domains that only the first one has, in order.
func without(all, these map[uint32]binlog.GTID) (out []string) {
	for _, domain := range slices.Sorted(maps.Keys(all)) {
		if _, is := these[domain]; !is {
			out = append(out, fmt.Sprint(domain))
		}
	}
	return out
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
	for name, engine := range tables {
		statement := "DROP TABLE mysql.`" + strings.ReplaceAll(name, "`", "``") + "`"
		if name == "gtid_slave_pos" {
			if engine == "InnoDB" { // made anew it would be the same
				continue
			}
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

//go:build integration

package external

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestCompare: a server that follows a source is compared with it at one position, while the source goes on. Whatever
// was changed on the follower is named, and so is a follower that does not stay where it is.
func TestCompare(t *testing.T) {
	source, _ := start(t, "galera-mariadb:11.8", "--log-bin", "--server-id=7", "--gtid-domain-id=3", "--binlog-format=ROW")
	follower, _ := start(t, "galera-mariadb:11.8", "--server-id=8", "--gtid-domain-id=4")
	run(t, source, makeAccount,
		"GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT, REPLICATION SLAVE ON *.* TO 'copy@er'@'%'",
		"CREATE USER reader IDENTIFIED BY ''", "GRANT ALL ON *.* TO reader", "CREATE DATABASE shop",
		"CREATE TABLE shop.left_side (id INT PRIMARY KEY, v INT)", "CREATE TABLE shop.right_side LIKE shop.left_side",
		"INSERT INTO shop.left_side SELECT seq, 100 FROM shop.seq_1_to_300000",
		"INSERT INTO shop.right_side SELECT seq, 100 FROM shop.seq_1_to_300000",
		"CREATE TABLE shop.orders (id INT PRIMARY KEY, created TIMESTAMP NULL, day DATE AS (DATE(created)) STORED)",
		"SET STATEMENT time_zone = '+00:00' FOR INSERT INTO shop.orders (id, created) VALUES (1, '2026-06-01 12:00:00')",
		"CREATE VIEW shop.total AS SELECT SUM(v) AS v FROM shop.left_side", "CREATE SEQUENCE shop.tickets NOCACHE")
	run(t, follower, fmt.Sprintf("CHANGE MASTER TO master_host='%s', master_user='copy@er', master_password='se''cret', "+
		"master_use_gtid=slave_pos, master_ssl_verify_server_cert=0", server(source).Host), "START SLAVE")
	from, err := server(source).Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	at := server(follower)
	at.User, at.Password = "reader", ""
	to, err := waitOpen(t, at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = to.Close() }()
	hold := func(ctx context.Context, gtid string) error {
		run(t, follower, "START SLAVE UNTIL master_gtid_pos='"+gtid+"'")
		for at := ""; at != gtid; at = value(t, follower, "SELECT @@gtid_slave_pos") {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			time.Sleep(50 * time.Millisecond)
		}
		return nil
	}
	compare := func() (Compared, error) {
		run(t, follower, "STOP SLAVE")
		defer run(t, follower, "STOP SLAVE", "START SLAVE")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		return Compare(ctx, from, map[string]*sql.DB{"n-0": to}, 3, hold)
	}
	moved := move(t, source)
	begun := moved.count()
	taking, stop := context.WithCancel(t.Context())
	var taker sync.WaitGroup
	taker.Go(func() {
		for taking.Err() == nil { // a statement that is given up may take its number later
			_, _ = source.ExecContext(t.Context(), "DO NEXTVAL(shop.tickets)")
		}
	})
	found, err := compare()
	stop()
	taker.Wait()
	if err != nil || len(found.Differences) > 0 || found.Tables != 3 || found.Rows != 600_001 || found.Sequences != 1 {
		t.Errorf("%+v: %v", found, err)
	}
	if moved.stop(t) == begun {
		t.Error("nothing was written meanwhile: the test shows nothing")
	}
	for name, damage := range map[string]struct{ do, undo, says string }{
		"a changed row": {"UPDATE shop.left_side SET v = v + 1 WHERE id = 7",
			"UPDATE shop.left_side SET v = v - 1 WHERE id = 7", "n-0: the checksum of shop.left_side"},
		"a row more": {"INSERT INTO shop.right_side VALUES (-1, 1)", "DELETE FROM shop.right_side WHERE id = -1",
			"n-0: shop.right_side has 300001 rows, and the source 300000"},
		"a table more": {"CREATE TABLE shop.own (id INT PRIMARY KEY)", "DROP TABLE shop.own",
			"n-0: the table shop.own is not on the source"},
		"a sequence behind": {"ALTER SEQUENCE shop.tickets RESTART 1",
			"ALTER SEQUENCE shop.tickets RESTART " + value(t, source, "SELECT next_not_cached_value FROM shop.tickets"),
			"n-0: the sequence shop.tickets goes on with 1, and the source's with "},
		"a sequence that repeats": {"ALTER SEQUENCE shop.tickets CYCLE", "ALTER SEQUENCE shop.tickets NOCYCLE",
			"n-0: the sequence shop.tickets is defined as "},
		"a sequence more": {"CREATE SEQUENCE shop.own NOCACHE", "DROP SEQUENCE shop.own",
			"n-0: the sequence shop.own is not on the source"},
		"a table more, and a changed row": {
			"CREATE TABLE shop.own (id INT PRIMARY KEY); UPDATE shop.left_side SET v = v + 1 WHERE id = 7",
			"DROP TABLE shop.own; UPDATE shop.left_side SET v = v - 1 WHERE id = 7", "n-0: the checksum of shop.left_side"},
		"a column that is computed in another session": {
			"DELETE FROM shop.orders;SET STATEMENT time_zone = '+13:00' FOR INSERT INTO shop.orders (id, created) VALUES " +
				"(1, '2026-06-02 01:00:00')",
			"DELETE FROM shop.orders;SET STATEMENT time_zone = '+00:00' FOR INSERT INTO shop.orders (id, created) VALUES " +
				"(1, '2026-06-01 12:00:00')",
			"n-0: the checksum of shop.orders, with 1 rows and the STORED generated day, is not the source's"},
		"another engine": {"ALTER TABLE shop.left_side ENGINE=Aria", "ALTER TABLE shop.left_side ENGINE=InnoDB",
			"has the engine Aria"},
		"a view less": {"RENAME TABLE shop.total TO shop.other", "RENAME TABLE shop.other TO shop.total",
			"n-0: the view shop.total is missing"},
	} {
		do := strings.Split(damage.do, "; ")
		run(t, follower, do...)
		found, err := compare()
		if err != nil || len(found.Differences) != len(do) || !strings.Contains(found.Differences[0], damage.says) {
			t.Errorf("%s: %q, %v", name, found.Differences, err)
		}
		run(t, follower, strings.Split(damage.undo, "; ")...)
	}
	goesOn := func(ctx context.Context, gtid string) error {
		if err := hold(ctx, gtid); err != nil {
			return err
		}
		run(t, source, "UPDATE shop.left_side SET v = v + 1 WHERE id = 7")
		run(t, follower, "STOP SLAVE", "START SLAVE")
		for value(t, follower, "SELECT @@gtid_slave_pos") == gtid {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			time.Sleep(50 * time.Millisecond)
		}
		return nil
	}
	exchanges := func(ctx context.Context, gtid string) error {
		defer run(t, source, "RENAME TABLE shop.left_side TO shop.t, shop.right_side TO shop.left_side, "+
			"shop.t TO shop.right_side")
		return hold(ctx, gtid)
	}
	run(t, follower, "STOP SLAVE")
	if found, err := Compare(t.Context(), from, map[string]*sql.DB{"n-0": to}, 1, exchanges); !errors.Is(err, ErrChanged) {
		t.Errorf("tables that were renamed meanwhile: %+v, %v", found, err)
	}
	run(t, follower, "START SLAVE", "STOP SLAVE")
	if _, err := Compare(t.Context(), from, map[string]*sql.DB{"n-0": to}, 1, goesOn); err == nil ||
		errors.As(err, &SourceError{}) || !strings.Contains(err.Error(), "n-0 is at") {
		t.Errorf("a follower that goes on: %v", err)
	}
}

// waitOpen waits until an account has reached a follower.
func waitOpen(t *testing.T, s Server) (*sql.DB, error) {
	t.Helper()
	db, err := s.Open()
	for try := 0; err == nil && try < 1800; try++ {
		if err = db.Ping(); err == nil {
			return db, nil
		}
		err = nil
		time.Sleep(100 * time.Millisecond)
	}
	return db, errors.Join(err, db.Ping())
}

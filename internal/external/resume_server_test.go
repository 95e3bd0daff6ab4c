//go:build integration

package external

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// TestResume: a copy that is cut off is resumed with a snapshot of later: what the source has not changed is kept, what
// it has changed, added or deleted since is copied again, and all of it is of the later moment.
func TestResume(t *testing.T) {
	source, _ := start(t, "galera-mariadb:10.11", "--log-bin", "--server-id=7", "--gtid-domain-id=3")
	target, socket := start(t, "galera-mariadb:11.8", "--skip-log-bin")
	run(t, source, makeAccount, "GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT ON *.* TO 'copy@er'@'%'",
		"CREATE DATABASE shop",
		"CREATE TABLE shop.t (id INT AUTO_INCREMENT PRIMARY KEY, v CHAR(40))",
		"INSERT INTO shop.t SELECT seq, SHA1(seq) FROM shop.seq_1_to_1000000",
		"CREATE TABLE shop.named (name VARCHAR(40) PRIMARY KEY, v INT)",
		"INSERT INTO shop.named SELECT SHA1(seq), seq FROM shop.seq_1_to_50000",
		"CREATE TABLE shop.child (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES shop.t (id) ON DELETE CASCADE)",
		"INSERT INTO shop.child SELECT seq, seq FROM shop.seq_1_to_1000",
		"CREATE TABLE shop.seen (n INT PRIMARY KEY)",
		"CREATE TRIGGER shop.seeing AFTER INSERT ON shop.t FOR EACH ROW INSERT INTO seen VALUES (NEW.id)",
		"ANALYZE TABLE shop.t, shop.named, shop.child")
	from, err := server(source).Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	to, err := OpenTarget(socket, "root", "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = to.Close() }()
	mark, loaded := "", 0
	cut := func(after int64, resumed string) (Report, error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		return Copy(ctx, from, to, Options{Connections: 3, Resumed: resumed,
			Created: func(is string) error {
				mark = is
				return nil
			},
			Loaded: func() error {
				loaded++
				return nil
			},
			Progress: func(p Progress) {
				if p.Rows > after {
					cancel()
				}
			}})
	}
	if _, err := cut(600_000, ""); err == nil || mark == "" || loaded > 0 {
		t.Fatalf("%v, %q, %d", err, mark, loaded)
	}
	had := value(t, target, "SELECT COUNT(*) FROM shop.t")
	run(t, source, "UPDATE shop.t SET v = 'changed' WHERE id = 1500", "DELETE FROM shop.t WHERE id = 2500",
		"DELETE FROM shop.t WHERE id BETWEEN 500 AND 600", // and of child
		"INSERT INTO shop.t VALUES (1000005, 'new'), (1000010, 'gone')", "DELETE FROM shop.t WHERE id = 1000010",
		"UPDATE shop.named SET v = -1 WHERE v = 7")
	r, err := cut(2_000_000, mark)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s rows were there: %+v", had, r)
	if r.Kept < 200_000 || r.Kept > 500_000 || r.Rows != 1_000_000-102+1+50_000+899+2 || loaded != 1 {
		t.Errorf("%+v, %d", r, loaded)
	}
	for _, query := range []string{
		"SELECT CONCAT(COUNT(*), ' ', BIT_XOR(CRC32(CONCAT(id, v)))) FROM shop.t",
		"SELECT CONCAT(COUNT(*), ' ', SUM(v)) FROM shop.named", "SELECT CONCAT(COUNT(*), ' ', SUM(t)) FROM shop.child",
		"SELECT CONCAT(COUNT(*)) FROM shop.seen",
		"SELECT auto_increment FROM information_schema.tables WHERE table_schema = 'shop' AND table_name = 't'",
		"SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = 'shop'",
	} {
		if is, want := value(t, target, query), value(t, source, query); is != want {
			t.Errorf("%s: %s, and %s on the source", query, is, want)
		}
	}
	if _, err := cut(0, fmt.Sprint(mark, "x")); !errors.Is(err, ErrOtherTables) {
		t.Errorf("tables of other definitions are taken over: %v", err)
	}
}

// TestResumeSkewed: a part that has most rows of a table, and is not the source's any more, is emptied a bounded number
// of rows at a time.
func TestResumeSkewed(t *testing.T) {
	source, _ := start(t, "galera-mariadb:11.8")
	target, socket := start(t, "galera-mariadb:11.8", "--skip-log-bin")
	run(t, source, makeAccount, "GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT ON *.* TO 'copy@er'@'%'",
		"CREATE DATABASE shop", "CREATE TABLE shop.t (id BIGINT PRIMARY KEY, v INT)",
		"INSERT INTO shop.t SELECT seq, seq FROM shop.seq_1_to_260000", "INSERT INTO shop.t VALUES (1 << 62, 0)",
		"ANALYZE TABLE shop.t")
	var mark string
	cut := func(after int64) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		return copiedWithin(ctx, t, source, socket, Options{Connections: 1, Resumed: mark,
			Created: func(is string) error {
				mark = is
				return nil
			},
			Progress: func(p Progress) {
				if p.Rows > after {
					cancel()
				}
			}})
	}
	if err := cut(2*chunkRows + chunkRows/2); err == nil || mark == "" {
		t.Fatalf("%v, %q", err, mark)
	}
	if err := cut(1 << 30); err != nil {
		t.Fatal(err)
	}
	if n := value(t, target, "SELECT COUNT(*) FROM shop.t"); n != "260001" {
		t.Error(n)
	}
	if n := value(t, target, "SELECT variable_value FROM information_schema.global_status WHERE "+
		"variable_name = 'COM_DELETE'"); n != "3" {
		t.Errorf("the part was emptied by %s statements", n)
	}
}

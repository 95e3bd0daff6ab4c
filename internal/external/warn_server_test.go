//go:build integration

package external

import (
	"errors"
	"strings"
	"testing"
)

// TestWarnings: objects of a source that have definers without an account, and events, are reported by name, and
// copied. A source with a collation that the cluster lacks is refused before anything is created.
func TestWarnings(t *testing.T) {
	t.Parallel()
	source, _ := start(t, "galera-mariadb:11.8")
	target, socket := start(t, "galera-mariadb:10.11")
	run(t, source, makeAccount, "GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT ON *.* TO 'copy@er'@'%'",
		"CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY, v VARCHAR(9) COLLATE utf8mb4_general_ci) "+
			"COLLATE utf8mb4_general_ci", "CREATE USER app@'%', left_out@'%'",
		"SET NAMES utf8mb4 COLLATE utf8mb4_general_ci; USE shop; CREATE DEFINER=app@'%' VIEW kept AS SELECT id FROM t; "+
			"CREATE DEFINER=gone@nowhere VIEW v AS SELECT id FROM t; "+
			"CREATE DEFINER=gone@nowhere TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.id = NEW.id; "+
			"CREATE DEFINER=left_out@'%' PROCEDURE p() SELECT 1; "+
			"CREATE DEFINER=app@'%' EVENT nightly ON SCHEDULE EVERY 1 DAY DO DELETE FROM t; "+
			"CREATE EVENT of_a_replica ON SCHEDULE EVERY 1 DAY DISABLE ON SLAVE DO DELETE FROM t")
	from, err := server(source).Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	o := Options{Users: true, Skip: []string{"left_out"}, Connections: 1}
	is, err := Inspect(t.Context(), from, o, Wanted{Version: "11.8.3"})
	if err != nil || len(is.Findings) > 0 {
		t.Fatalf("%+v: %v", is, err)
	}
	var found []string
	for _, w := range is.Warnings {
		found = append(found, w.Name+" "+strings.Join(w.Objects, "; "))
	}
	want := "DefinerMissing gone@nowhere, which the source lacks, too (trigger shop.tr and 1 other object); " +
		"left_out@% (procedure shop.p)\nEventsEnabled shop.nightly\nEventsDoNotRun shop.of_a_replica"
	if got := strings.Join(found, "\n"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	to, err := OpenTarget(socket, "root", "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = to.Close() }()
	run(t, source, "CREATE TABLE shop.later (id INT PRIMARY KEY, v VARCHAR(9) CHARACTER SET utf8mb4 COLLATE "+
		"utf8mb4_uca1400_ai_ci, w VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci)")
	_, err = Copy(t.Context(), from, to, o)
	t.Log(err)
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "utf8mb4_0900_ai_ci (shop.later.w)") ||
		value(t, target, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'shop'") != "0" {
		t.Errorf("a collation that the target lacks: %v", err)
	}
	run(t, source, "DROP TABLE shop.later")
	if _, err := Copy(t.Context(), from, to, o); err != nil {
		t.Errorf("what is only warned of is not copied: %v", err)
	}
	for query, says := range map[string]string{"SELECT * FROM shop.v": "1449", "INSERT INTO shop.t VALUES (1, '')": "1449",
		"CALL shop.p()": "1449"} {
		if _, err := target.Exec(query); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", query, err)
		}
	}
}

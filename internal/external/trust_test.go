package external

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
)

// TestPlausible: a source's statement is run only if it is of the kind that was asked for, in a database that was.
func TestPlausible(t *testing.T) {
	const by = "CREATE DEFINER=`ro``ot`@`%` "
	for _, c := range []struct {
		kind, name, create string
		good               bool
	}{
		{"DATABASE", "", "CREATE DATABASE `shop` /*!40100 DEFAULT CHARACTER SET latin1 */", true},
		{"DATABASE", "", "CREATE DATABASE `shop`", true},
		{"DATABASE", "", "CREATE DATABASE `mysql`", false},
		{"DATABASE", "", "GRANT ALL ON *.* TO evil", false},
		{"TABLE", "a`b", "CREATE TABLE `a``b` (\n  `id` int(11)", true},
		{"TABLE", "t", "CREATE TABLE `t2` (\n", false},
		{"TABLE", "t", "CREATE OR REPLACE TABLE `mysql`.`global_priv` (", false},
		{"TABLE", "t", "CREATE TABLE `t` SELECT LOAD_FILE('/etc/passwd')", false},
		{"VIEW", "v", "CREATE ALGORITHM=UNDEFINED DEFINER=`a`@`b` SQL SECURITY DEFINER VIEW `shop`.`v` AS select 1", true},
		{"VIEW", "v", "CREATE USER evil /* VIEW `v` */", false},
		{"FUNCTION", "f", by + "FUNCTION `f`(x INT) RETURNS INT", true},
		{"FUNCTION", "f", by + "AGGREGATE FUNCTION `f`(x INT) RETURNS INT", true},
		{"FUNCTION", "f", `CREATE DEFINER="root"@"localhost" FUNCTION "f"(x INT) RETURNS INT`, true},
		{"FUNCTION", "f", "CREATE FUNCTION `f` RETURNS STRING SONAME 'lib.so'", false},
		{"PROCEDURE", "p", by + "PROCEDURE `p`()\nBEGIN END", true},
		{"PACKAGE BODY", "p", by + "PACKAGE BODY `p` AS END", true},
		{"TRIGGER", "g", by + "trigger\n g BEFORE INSERT ON t", true},
		{"TRIGGER", "g", "CREATE OR REPLACE DEFINER=`a`@`b` TRIGGER g BEFORE", true},
		{"TRIGGER", "g", "CREATE DEFINER=`a`@`b` TRIGGER`g`BEFORE INSERT ON t", true},
		{"TRIGGER", "g", "CREATE DEFINER=root@localhost TRIGGER g BEFORE INSERT ON t", true},
		{"TRIGGER", "g", "CREATE DEFINER=root@localhost USER g", false},
		{"TRIGGER", "g", "INSTALL SONAME 'ha_federatedx'", false},
		{"EVENT", "e", by + "EVENT `e` ON SCHEDULE EVERY 1 DAY", true},
		{"EVENT", "e", "CREATE USER evil", false},
		{"EVENT", "e", "CREATE DEFINER=`x` USER evil -- EVENT `e`", false},
	} {
		if err := plausible(c.kind, Object{Database: "shop", Name: c.name, Create: c.create}); (err == nil) != c.good {
			t.Errorf("%s %s: %v", c.kind, c.create, err)
		}
	}
	event := Object{Database: "shop", Name: "e", Create: by + "EVENT `e` ON SCHEDULE EVERY 1 DAY",
		SQLMode: "ANSI,NO_BACKSLASH_ESCAPES", Collation: "utf8mb4_uca1400_ai_ci", TimeZone: "Etc/GMT+5"}
	if err := plausible("EVENT", event); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*Object, string){func(o *Object, v string) { o.SQLMode = v },
		func(o *Object, v string) { o.Collation = v }, func(o *Object, v string) { o.TimeZone = v }} {
		odd := event
		change(&odd, `\', general_log = 'ON`)
		if plausible("EVENT", odd) == nil {
			t.Errorf("%+v is taken", odd)
		}
	}
	elsewhere := foreign([]string{"Shop"})
	if elsewhere("shop") || !elsewhere("mysql") || !elsewhere("") {
		t.Error("databases that were not asked for are not seen")
	}
}

// TestNumbers: a value that a source calls a number is written only if it is one: it has no quotes.
func TestNumbers(t *testing.T) {
	for value, good := range map[string]bool{"0": true, "-12.50": true, "1e-300": true, "00042": true, "": false,
		"(SELECT LOAD_FILE('/etc/passwd'))": false, "1),(2": false, "SLEEP(9)": false} {
		i := inserter{begin: "INSERT INTO t VALUES ", kinds: []kind{kindNumber}}
		err := i.add(t.Context(), []sql.RawBytes{sql.RawBytes(value)})
		var source SourceError
		if (err == nil) != good || err != nil && !errors.As(err, &source) {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// TestManyTables: what is compared grows with the number of tables, not with its square, which would take many minutes
// here.
func TestManyTables(t *testing.T) {
	var a Inventory
	for i := range 40_000 {
		o := Object{Database: "shop", Name: fmt.Sprintf("t%d", i), Create: "CREATE TABLE"}
		a.Tables, a.Views = append(a.Tables, Table{Object: o}), append(a.Views, o)
	}
	b := Inventory{Tables: slices.Clone(a.Tables), Views: slices.Clone(a.Views)}
	slices.Reverse(b.Tables)
	slices.Reverse(b.Views)
	if what, lacks := changed(a, b), a.missing(b); what != "" || len(lacks) > 0 {
		t.Error(what, lacks)
	}
	b.Tables = b.Tables[1:]
	if lacks := a.missing(b); len(lacks) != 1 || !strings.Contains(lacks[0], "t39999") {
		t.Error(lacks)
	}
}

// answers is a server of a test: what it returns, by how a query begins. The first row has the names of the columns.
type answers map[string][][]string

// Connect implements driver.Connector.
func (a answers) Connect(context.Context) (driver.Conn, error) { return answering{answers: a}, nil }

// Driver implements driver.Connector.
func (answers) Driver() driver.Driver { return nil }

type answering struct {
	driver.Conn
	answers answers
}

// Close implements driver.Conn.
func (answering) Close() error { return nil }

// QueryContext implements driver.QueryerContext.
func (a answering) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	for beginning, rows := range a.answers {
		if strings.HasPrefix(query, beginning) {
			return &answered{rows: rows}, nil
		}
	}
	return &answered{rows: [][]string{{"nothing"}}}, nil
}

type answered struct{ rows [][]string }

// Columns implements driver.Rows.
func (a *answered) Columns() []string { return a.rows[0] }

// Close implements driver.Rows.
func (a *answered) Close() error { return nil }

// Next implements driver.Rows.
func (a *answered) Next(to []driver.Value) error {
	if len(a.rows) < 2 {
		return io.EOF
	}
	for i, v := range a.rows[1] {
		to[i] = v
	}
	a.rows = append(a.rows[:1:1], a.rows[2:]...)
	return nil
}

// TestHostileDefinitions: no definition leaves a source's inventory that is of another kind, or of a database that was
// not asked for.
func TestHostileDefinitions(t *testing.T) {
	honest := answers{
		"SHOW CREATE DATABASE": {{"Database", "Create Database"}, {"shop", "CREATE DATABASE `shop`"}},
		"SELECT table_schema, table_name, table_type": {{"s", "n", "t", "e", "r", "b", "c", "j"},
			{"shop", "t", "BASE TABLE", "InnoDB", "1", "2", "", "0"}},
		"SHOW CREATE TABLE":   {{"Table", "Create Table"}, {"t", "CREATE TABLE `t` (\n)"}},
		"SELECT event_schema": {{"s", "n", "k"}, {"shop", "e", "EVENT"}},
		"SHOW CREATE EVENT": {{"Event", "sql_mode", "time_zone", "Create Event"},
			{"e", "", "SYSTEM", "CREATE DEFINER=`a`@`b` EVENT `e` ON SCHEDULE EVERY 1 DAY DO SELECT 1"}},
	}
	for name, change := range map[string]answers{
		"nothing":  {},
		"database": {"SHOW CREATE DATABASE": {{"Database", "Create Database"}, {"shop", "CREATE USER evil"}}},
		"table":    {"SHOW CREATE TABLE": {{"Table", "Create Table"}, {"t", "CREATE USER evil"}}},
		"event": {"SHOW CREATE EVENT": {{"Event", "sql_mode", "time_zone", "Create Event"},
			{"e", "", "", "CREATE USER evil"}}},
		"table elsewhere": {"SELECT table_schema, table_name, table_type": {{"s", "n", "t", "e", "r", "b", "c", "j"},
			{"mysql", "t", "BASE TABLE", "InnoDB", "1", "2", "", "0"}}},
		"event elsewhere": {"SELECT event_schema": {{"s", "n", "k"}, {"mysql", "e", "EVENT"}}},
		"another kind":    {"SELECT event_schema": {{"s", "n", "k"}, {"shop", "e", "USER"}}},
	} {
		t.Run(name, func(t *testing.T) {
			all := maps.Clone(honest)
			maps.Copy(all, change)
			c, err := sql.OpenDB(all).Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			inv, err := readInventory(t.Context(), c, []string{"shop"})
			if len(change) > 0 && !errors.Is(err, errImplausible) {
				t.Errorf("%+v, %v", inv, err)
			}
			if len(change) == 0 && (err != nil || len(inv.Tables) != 1 || len(inv.Events) != 1) {
				t.Errorf("%+v, %v", inv, err)
			}
		})
	}
}

// TestAccountDefinition: an account whose password has expired keeps the lifetime of its passwords, and a source
// changes nothing else by it.
func TestAccountDefinition(t *testing.T) {
	const create = "CREATE USER `app`@`%` IDENTIFIED BY PASSWORD '*A' PASSWORD EXPIRE"
	for _, c := range []struct{ rows, want []string }{
		{[]string{create}, []string{create}},
		{[]string{create, "ALTER USER `app`@`%` PASSWORD EXPIRE INTERVAL 30 DAY"},
			[]string{create, "ALTER USER 'app'@'%' PASSWORD EXPIRE INTERVAL 30 DAY"}},
		{[]string{create, "ALTER USER `app`@`%` PASSWORD EXPIRE NEVER"},
			[]string{create, "ALTER USER 'app'@'%' PASSWORD EXPIRE NEVER"}},
		{[]string{create, "ALTER USER `root`@`%` PASSWORD EXPIRE NEVER"},
			[]string{create, "ALTER USER 'app'@'%' PASSWORD EXPIRE NEVER"}},
		{[]string{create, "ALTER USER `root`@`%` IDENTIFIED BY 'x'"}, nil},
		{[]string{create, "ALTER USER `root`@`%` PASSWORD EXPIRE NEVER IDENTIFIED BY 'x'"}, nil},
		{[]string{create, "SET PASSWORD = '' -- PASSWORD EXPIRE NEVER"}, nil},
		{[]string{"ALTER USER `app`@`%` PASSWORD EXPIRE NEVER"}, nil},
		{nil, nil},
	} {
		all := answers{"SHOW CREATE USER": {{"CREATE USER for app@%"}}}
		for _, r := range c.rows {
			all["SHOW CREATE USER"] = append(all["SHOW CREATE USER"], []string{r})
		}
		from, err := sql.OpenDB(all).Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		have, err := definition(t.Context(), from, account{Name: "app", Host: "%"})
		if !slices.Equal(have, c.want) || (c.want == nil) != errors.Is(err, errImplausible) {
			t.Errorf("%q: %q, %v", c.rows, have, err)
		}
	}
}

// TestHostileServer: one that answers as no MariaDB server does gets neither the password nor a file, and ends no
// program.
func TestHostileServer(t *testing.T) {
	const password = "secret-of-the-account"
	ok := []byte{0, 0, 0, 2, 0, 0, 0}
	change := func(plugin string, challenge ...byte) []byte {
		return append(append([]byte{0xfe}, plugin+"\x00"...), challenge...)
	}
	long := bytes.Repeat([]byte{7}, 21)
	for name, answers := range map[string][][]byte{
		"asks for a file":                     {ok, append([]byte{0xfb}, "/etc/passwd"...), ok},
		"asks for the password in clear":      {change("mysql_clear_password", long...)},
		"sends a challenge that is too short": {change("mysql_native_password")},
		"sends an old challenge":              {change("mysql_old_password", long...)},
		"sends its own key (sha256)":          {change("sha256_password", long...), rsaAnswer(), ok},
		"sends its own key (caching_sha2)":    {change("caching_sha2_password", long...), {1, 4}, rsaAnswer(), ok},
		"sends a greeting that is cut":        nil,
	} {
		t.Run(name, func(t *testing.T) {
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			heard := make(chan [][]byte, 1)
			ctx, end := context.WithCancel(t.Context())
			defer end()
			go func() { heard <- hostile(ctx, l, answers) }()
			at := l.Addr().(*net.TCPAddr)
			db, err := Server{Host: "127.0.0.1", Port: at.Port, User: "copier", Password: password, Plain: true}.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			c, err := db.Conn(t.Context())
			if err == nil {
				_ = c.Close()
				t.Error("it is connected")
			}
			end()
			_ = l.Close()
			for _, p := range <-heard {
				if bytes.Contains(p, []byte(password)) || bytes.Contains(p, []byte("root:")) {
					t.Errorf("it was sent %q", p)
				}
				if strings.Contains(name, "its own key") && len(p) == 1 && (p[0] == 1 || p[0] == 2) { // 1 alone is COM_QUIT, too
					t.Error("it was asked for the key that the password is encrypted by")
				}
			}
		})
	}
}

func rsaAnswer() []byte { return append([]byte{1}, "-----BEGIN PUBLIC KEY-----\nnone"...) }

// hostile greets one client, gives these answers, and returns what it was sent until ctx ends.
func hostile(ctx context.Context, l net.Listener, answers [][]byte) (heard [][]byte) {
	c, err := l.Accept()
	if err != nil {
		return nil
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	defer c.Close()
	greeting := append([]byte("\x0a11.8.3-MariaDB\x00\x01\x00\x00\x00"), "12345678\x00"...)
	greeting = append(greeting, 0xff, 0xf7, 45, 2, 0, 0xff, 0x81, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	greeting = append(greeting, "123456789012\x00mysql_native_password\x00"...)
	if answers == nil {
		greeting = greeting[:20]
	}
	sequence := byte(0)
	send := func(p []byte) {
		head := binary.LittleEndian.AppendUint32(nil, uint32(len(p))) //nolint:gosec // short
		head[3] = sequence
		_, _ = c.Write(append(head, p...))
	}
	send(greeting)
	for _, a := range answers {
		p, at, err := packet(c)
		if err != nil {
			return heard
		}
		heard, sequence = append(heard, p), at+1
		send(a)
	}
	for {
		p, _, err := packet(c)
		if err != nil {
			return heard
		}
		heard = append(heard, p)
	}
}

func packet(r io.Reader) (payload []byte, sequence byte, err error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, 0, err
	}
	sequence, head[3] = head[3], 0
	payload = make([]byte, binary.LittleEndian.Uint32(head))
	_, err = io.ReadFull(r, payload)
	return payload, sequence, err
}

package runner

import (
	"database/sql/driver"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// TestDenied: a server that refuses an account is not waited for; one that does not answer yet is.
func TestDenied(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&mysql.MySQLError{Number: 1045, Message: "Access denied for user"}, true},
		{fmt.Errorf("ping: %w", &mysql.MySQLError{Number: 1698}), true},
		{&mysql.MySQLError{Number: 1524, Message: "Plugin 'unix_socket' is not loaded"}, true},
		{&mysql.MySQLError{Number: 1040, Message: "Too many connections"}, false},
		{driver.ErrBadConn, false},
	} {
		if denied(c.err) != c.want {
			t.Errorf("%v", c.err)
		}
	}
}

// TestGood: the lines of CHECK TABLE, as MariaDB 11.8 writes them.
func TestGood(t *testing.T) {
	for _, c := range []struct {
		kind, text string
		want       bool
	}{
		{"status", "OK", true},
		{"status", "Table is already up to date", true},
		{"note", "The storage engine for the table doesn't support check", true},
		{"warning", "1 client is using or hasn't closed the table properly", true},
		{"error", "Corrupt", false},
		{"Error", "Table 'a.b' doesn't exist in engine", false},
		{"status", "Operation failed", false},
	} {
		if good(c.kind, c.text) != c.want {
			t.Errorf("%s %s", c.kind, c.text)
		}
	}
}

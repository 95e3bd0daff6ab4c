package accounts

import (
	"strings"
	"testing"
)

// TestMayAll: rows of mysql.global_priv as servers write them, and others.
func TestMayAll(t *testing.T) {
	for priv, want := range map[string]bool{
		// mariadb-install-db's, and GRANT's.
		ownRow: true,
		`{"access":1099511627775,"version_id":110809,"plugin":"unix_socket","authentication_string":""}`: true,
		`{"access":1099511627775,"plugin":"mysql_native_password","authentication_string":"*A"}`:         false,
		`{"access":1099511627775,"plugin":"unix_socket","account_locked":true}`:                          false,
		`{"access":1,"plugin":"unix_socket"}`:                                                            false,
		`{"plugin":"unix_socket"}`:                                                                       false,
		`{`:                                                                                              false,
	} {
		if mayAll(priv) != want {
			t.Errorf("%s: %v", priv, !want)
		}
	}
}

// TestInitFile: each statement is one line, as the server splits them there, and a name cannot end its quotes.
func TestInitFile(t *testing.T) {
	file := InitFile("it's")
	lines := strings.Split(strings.TrimSuffix(file, "\n"), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "SET SESSION wsrep_on = OFF") || !strings.HasSuffix(lines[1],
		"END;") ||
		strings.Count(file, "'it''s'") != 2 || strings.Contains(strings.ReplaceAll(file, "'it''s'", ""), "it's") {
		t.Error(file)
	}
}

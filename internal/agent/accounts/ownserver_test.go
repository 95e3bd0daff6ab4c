//go:build integration

package accounts

import "testing"

// TestOwnAfterImport: an import empties the tables of accounts. The definer of the server's own views comes back with
// its rights on a table, whatever the server still has in memory.
func TestOwnAfterImport(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.exec(t, "DELETE FROM mysql.global_priv WHERE User = 'mariadb.sys'")
		s.exec(t, "DELETE FROM mysql.tables_priv WHERE User = 'mariadb.sys'")
		own := &Own{DB: s.root, User: "mysql"}
		defer own.Forget()
		for range 2 {
			if _, err := own.Keep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s.exec(t, "FLUSH PRIVILEGES")
		if restored, err := own.Keep(t.Context()); restored != "" || err != nil {
			t.Errorf("it is restored once more: %q, %v", restored, err)
		}
		s.exec(t, "SELECT COUNT(*) FROM mysql.user")
	})
}

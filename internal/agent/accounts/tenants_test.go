//go:build integration

package accounts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// tenant is an account of another namespace than the cluster's.
func tenant(t *testing.T, namespace, name string, edit func(*agentapi.SQLUser)) agentapi.SQLUser {
	return app(t, func(u *agentapi.SQLUser) {
		u.Owner, u.Tenant, u.Name = namespace+"/"+name, true, name
		if edit != nil {
			edit(u)
		}
	})
}

func (s *server) keepDatabase(t *testing.T, namespace, name string, present bool) agentapi.SQLResult {
	t.Helper()
	return s.keeper.Database(t.Context(), agentapi.SQLDatabase{SQLOwner: agentapi.SQLOwner{Owner: namespace + "/" + name,
		Tenant: true}, Name: name, Present: present})
}

// TestTenants: a namespace has its own databases and accounts, whatever was whose before.
func TestTenants(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.exec(t, "CREATE DATABASE production")
		done(t, s.keepDatabase(t, "team-a", "guest", true), -1)
		a := tenant(t, "team-a", "anna", func(u *agentapi.SQLUser) {
			u.Grants = []agentapi.SQLGrant{grant("guest", "*", "ALL"), grant("production", "*", "SELECT")}
		})
		if r := s.keepUser(t, a); r.Reason != agentapi.SQLForeign || r.Message != "production" {
			t.Errorf("%+v", r)
		}
		anna := s.as(t, "anna", "word")
		may := func(what string, want bool) {
			t.Helper()
			if _, err := anna.Exec(what); (err == nil) != want {
				t.Errorf("%s: %v", what, err)
			}
		}
		may("CREATE TABLE guest.t (a INT)", true)
		may("SELECT * FROM production.none", false)
		may("USE production", false)
		a.Grants = a.Grants[:1]
		done(t, s.keepUser(t, a), 0)

		// Its database goes, and another namespace has one of the same name.
		s.exec(t, "GRANT SELECT ON guest.t TO anna")
		done(t, s.keepDatabase(t, "team-a", "guest", false), -1)
		done(t, s.keepDatabase(t, "team-b", "guest", true), -1)
		s.exec(t, "CREATE TABLE guest.t (a INT)")
		may("SELECT * FROM guest.t", false)
		if r := s.keepUser(t, a); r.Reason != agentapi.SQLForeign || r.Statements != 0 {
			t.Errorf("%+v", r)
		}
		// What it got by another way goes as well.
		s.exec(t, "GRANT ALL ON guest.* TO anna")
		if r := s.keepUser(t, a); r.Reason != agentapi.SQLForeign || r.Statements != 1 {
			t.Errorf("%+v", r)
		}
		may("SELECT * FROM guest.t", false)
		if r := s.keepDatabase(t, "team-a", "guest", true); r.Reason != agentapi.SQLOwned ||
			strings.Contains(r.Owner+r.Message, "team-b") {
			t.Errorf("%+v", r)
		}

		// No account with the same name as another owner's.
		s.exec(t, "CREATE USER hand@'10.%' IDENTIFIED BY 'x'")
		for name, u := range map[string]agentapi.SQLUser{
			"by hand":           tenant(t, "team-a", "hand", func(u *agentapi.SQLUser) { u.Host = "10.1.%" }),
			"another namespace": tenant(t, "team-b", "anna", func(u *agentapi.SQLUser) { u.Host = "10.1.%" }),
		} {
			if r := s.keepUser(t, u); r.Reason != agentapi.SQLOwned || strings.Contains(r.Owner+r.Message, "team-a") ||
				r.Statements != 0 {
				t.Errorf("%s: %+v", name, r)
			}
		}
		done(t, s.keepUser(t, tenant(t, "team-a", "anna", func(u *agentapi.SQLUser) { u.Host = "10.1.%" })), -1)
	})
}

// TestManyUsers: those of a request are made together, and cost no statement once they are there.
func TestManyUsers(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		const many = 500
		var batches [][]agentapi.SQLUser
		for i := range many {
			if i%agentapi.MaxUsers == 0 {
				batches = append(batches, nil)
			}
			last := &batches[len(batches)-1]
			*last = append(*last, app(t, func(u *agentapi.SQLUser) {
				u.Name, u.Owner, u.TLS = fmt.Sprint("u", i), fmt.Sprint("demo/u", i), i%2 == 0
			}))
		}
		counted := func() int {
			var n int
			if err := s.root.QueryRow(
				"SELECT SUM(VARIABLE_VALUE) FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME IN " +
					"('COM_CREATE_USER', 'COM_ALTER_USER', 'COM_DROP_USER', 'COM_GRANT', 'COM_REVOKE', 'COM_CREATE_DB', " +
					"'COM_CREATE_TABLE', 'COM_REPLACE', 'COM_DELETE')").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		all := func(statements int) {
			t.Helper()
			for _, users := range batches {
				for _, r := range s.keeper.Users(t.Context(), users) {
					done(t, r, statements)
				}
			}
		}
		creates := func() int {
			var n int
			if err := s.root.QueryRow(
				"SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'COM_CREATE_USER'").
				Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		none := creates()
		all(-1)
		if created := creates() - none; created != 2*len(batches) {
			t.Errorf("%d users of two terms in %d requests by %d statements", many, len(batches), created)
		}
		before := counted()
		all(0)
		var waits int
		if err := s.root.QueryRow("SELECT @@SESSION.wsrep_sync_wait").Scan(&waits); err != nil || waits != 0 {
			t.Errorf("the agent's own connections wait, too: %d, %v", waits, err)
		}
		if after := counted(); after != before {
			t.Errorf("%d unchanged users cost %d statements", many, after-before)
		}
		// One that is wrong keeps no other waiting, nor does one that the server refuses.
		wrong := []agentapi.SQLUser{app(t, func(u *agentapi.SQLUser) { u.Name, u.Owner = "w0", "demo/w0" }),
			app(t, func(u *agentapi.SQLUser) { u.Name, u.Owner = "w1", "demo/w1" }), batches[0][0]}
		wrong[0].Host = "UPPER"
		wrong[1].Grants = []agentapi.SQLGrant{grant("*", "*", "SELEKT")}
		if r := s.keeper.Users(t.Context(), wrong); r[0].Reason != agentapi.SQLRefused ||
			r[1].Reason != agentapi.SQLRefused || r[1].Number == 0 || r[2].Reason != "" {
			t.Errorf("%+v", r)
		}
	})
}

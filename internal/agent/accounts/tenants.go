package accounts

import (
	"context"
	"slices"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// own splits a tenant's grants: those on databases of its namespace, and the names of the others' databases, which it
// does not get. What counts is the mark in the database: no other place records who owns a database at this moment.
func (s session) own(ctx context.Context, u agentapi.SQLUser) (grants []agentapi.SQLGrant, foreign []string,
	err error) {
	if !u.Tenant {
		return u.Grants, nil, nil
	}
	for _, g := range u.Grants {
		owner, err := s.owner(ctx, key{kind: databaseMark, name: g.Database})
		switch {
		case err != nil:
			return nil, nil, err
		case u.Has(owner):
			grants = append(grants, g)
		case !slices.Contains(foreign, g.Database):
			foreign = append(foreign, g.Database)
		}
	}
	return grants, foreign, nil
}

// checkShadowing refuses a tenant an account with the same name as another owner's: the server takes the one with the
// closer host, so that either would stand in the other's way.
func (s session) checkShadowing(ctx context.Context, u agentapi.SQLUser) error {
	if !u.Tenant {
		return nil
	}
	hosts, err := s.rows(ctx, "SELECT Host FROM mysql.global_priv WHERE User = ? AND Host <> ?", u.Name, u.Host)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		owner, err := s.owner(ctx, key{userMark, u.Name, h[0]})
		if err != nil {
			return err
		}
		if !u.Has(owner) {
			return blockedError{agentapi.SQLResult{Reason: agentapi.SQLOwned,
				Message: "an account of this name and another host belongs to another owner"}}
		}
	}
	return nil
}

// forget takes the privileges on a database from the accounts that have a mark. The server keeps them when the database
// goes, and the next one of its name may be another tenant's.
func (w *work) forget(ctx context.Context, database string) error {
	const privileged = "SELECT User, Host FROM mysql.db WHERE Db IN (?, ?) UNION SELECT User, Host FROM " +
		"mysql.tables_priv WHERE Db = ?" +
		" UNION SELECT User, Host FROM mysql.columns_priv WHERE Db = ? UNION SELECT User, Host FROM mysql.procs_priv WHERE " +
		"Db = ?"
	accounts, err := w.rows(ctx, "SELECT o.name, o.host FROM ("+privileged+") p JOIN "+marks+
		" o ON o.kind = ? AND o.name = p.User AND o.host = p.Host",
		database, pattern(database), database, database, database, userMark)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		h, err := w.session.user(ctx, a[0], a[1])
		if err != nil {
			return err
		}
		if h == nil {
			continue
		}
		gone := rights{}
		for r := range h.rights {
			if r.database == database || r.table == all && r.database == pattern(database) {
				gone[r] = true
			}
		}
		for _, statement := range grouped(gone, "REVOKE", "FROM", account(a[0], a[1])) {
			if err := w.do(ctx, statement); err != nil {
				return err
			}
		}
	}
	return nil
}

package accounts

import (
	"context"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/sqlrows"
)

// Kinds of marks.
const (
	userMark     = "user"
	databaseMark = "database"
)

const marks = agentapi.MarksDatabase + ".owners"

// key is what a mark is about. A database has no host.
type key struct{ kind, name, host string }

// owner reads a mark, "" when there is none.
func (s session) owner(ctx context.Context, k key) (string, error) {
	row, err := s.first(ctx, "SELECT owner FROM "+marks+" WHERE kind = ? AND name = ? AND host = ?", k.kind, k.name,
		k.host)
	if n := sqlrows.ErrorNumber(err); n == errNoTable || n == errNoDatabase {
		return "", nil // nothing was ever marked here
	}
	if err != nil || row == nil {
		return "", err
	}
	return row[0], nil
}

// mark writes whose it is, before anything is made of it.
func (s session) mark(ctx context.Context, k key, owner string) error {
	set := func() error {
		_, err := s.ExecContext(ctx, "REPLACE INTO "+marks+" VALUES (?, ?, ?, ?)", k.kind, k.name, k.host, owner)
		return err
	}
	err := set()
	if n := sqlrows.ErrorNumber(err); n != errNoTable && n != errNoDatabase {
		return err
	}
	for _, statement := range []string{
		"CREATE DATABASE IF NOT EXISTS " + agentapi.MarksDatabase + " CHARACTER SET utf8mb4",
		"CREATE TABLE IF NOT EXISTS " + marks +
			" (kind VARCHAR(16) NOT NULL, name VARCHAR(80) NOT NULL, host VARCHAR(255) NOT NULL, owner VARCHAR(400) NOT NULL," +
			" PRIMARY KEY (kind, name, host)) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin COMMENT 'which " +
			"resource made an account or a database'",
	} {
		if _, err := s.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return set()
}

func (s session) unmark(ctx context.Context, k key) error {
	_, err := s.ExecContext(ctx, "DELETE FROM "+marks+" WHERE kind = ? AND name = ? AND host = ?", k.kind, k.name, k.host)
	return err
}

package accounts

import (
	"context"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// schema is a database as it was read.
type schema struct{ characterSet, collation string }

// schemaStatements are what makes a database what it is to be.
func schemaStatements(d agentapi.SQLDatabase, is *schema) []string {
	clauses := ""
	if d.CharacterSet != "" {
		clauses += " CHARACTER SET " + d.CharacterSet
	}
	if d.Collation != "" {
		clauses += " COLLATE " + d.Collation
	}
	switch {
	case is == nil:
		return []string{"CREATE DATABASE IF NOT EXISTS " + ident(d.Name) + clauses}
	case d.CharacterSet != "" && !sameCharacterSet(d.CharacterSet, is.characterSet), d.Collation != "" &&
		!sameCollation(d.Collation, *is):
		return []string{"ALTER DATABASE " + ident(d.Name) + clauses}
	}
	return nil
}

// sameCharacterSet knows that the server calls utf8 by one of two other names.
func sameCharacterSet(want, is string) bool {
	return strings.EqualFold(want, is) || strings.EqualFold(want, "utf8") && (is == "utf8mb3" || is == "utf8mb4")
}

// sameCollation knows that the server takes some collations without the name of their character set, and shows them
// with it.
func sameCollation(want string, is schema) bool {
	return strings.EqualFold(want, is.collation) || strings.EqualFold(is.characterSet+"_"+want, is.collation) ||
		strings.HasPrefix(strings.ToLower(want), "utf8_") && strings.EqualFold(is.characterSet+want[4:], is.collation)
}

func (w *work) database(ctx context.Context, d agentapi.SQLDatabase) error {
	d.Name = w.name(d.Name)
	k := key{kind: databaseMark, name: d.Name}
	owner, err := w.owner(ctx, k)
	if err != nil {
		return err
	}
	is, err := w.schema(ctx, d.Name)
	if err != nil {
		return err
	}
	if !d.Present {
		if own, err := mayDrop(owner, d.SQLOwner); err != nil || !own {
			return err
		}
		return w.dropDatabase(ctx, k, is != nil)
	}
	if err := w.claim(ctx, k, owner, d.SQLOwner, is != nil); err != nil {
		return err
	}
	for _, statement := range schemaStatements(d, is) {
		if err := w.do(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// dropDatabase drops a database with what was granted on it. Its mark goes last: until then no other resource can have
// it.
func (w *work) dropDatabase(ctx context.Context, k key, exists bool) error {
	if err := w.forget(ctx, k.name); err != nil {
		return err
	}
	if exists {
		if err := w.do(ctx, "DROP DATABASE IF EXISTS "+ident(k.name)); err != nil {
			return err
		}
	}
	w.done++
	return w.unmark(ctx, k)
}

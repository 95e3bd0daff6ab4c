package accounts

import (
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
	case d.CharacterSet != "" && !sameCharacterSet(d.CharacterSet, is.characterSet), d.Collation != "" && !sameCollation(d.Collation, *is):
		return []string{"ALTER DATABASE " + ident(d.Name) + clauses}
	}
	return nil
}

// sameCharacterSet knows that the server calls utf8 by one of two other names.
func sameCharacterSet(want, is string) bool {
	return strings.EqualFold(want, is) || strings.EqualFold(want, "utf8") && (is == "utf8mb3" || is == "utf8mb4")
}

// sameCollation knows that the server takes some collations without the name of their character set, and shows them with it.
func sameCollation(want string, is schema) bool {
	return strings.EqualFold(want, is.collation) || strings.EqualFold(is.characterSet+"_"+want, is.collation) ||
		strings.HasPrefix(strings.ToLower(want), "utf8_") && strings.EqualFold(is.characterSet+want[4:], is.collation)
}

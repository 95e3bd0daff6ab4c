package accounts

import (
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// ident quotes an identifier: within backquotes only a backquote has a meaning.
func ident(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

// text quotes a string for a session whose sql_mode is empty.
func text(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'"
}

// account names an account in a statement.
func account(name, host string) string { return text(name) + "@" + text(host) }

// pattern is a database's name where GRANT takes a pattern: % and _ mean themselves.
func pattern(database string) string {
	if database == all {
		return all
	}
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(database)
}

// plain is the name that a pattern of pattern's stands for.
func plain(pattern string) string {
	return strings.NewReplacer(`\_`, "_", `\%`, "%", `\\`, `\`).Replace(pattern)
}

func quotedAccount(u agentapi.SQLUser) string { return account(u.Name, u.Host) }

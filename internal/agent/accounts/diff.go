package accounts

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// have is an account as it was read.
type have struct {
	login login
	shownGrants
}

// statements are what makes an account that exists what it is to be: nothing when it is that already. waits names what
// is not there yet, for which a grant waits. They are pure, and in an order in which an application notices the least:
// a new right comes before an old one goes, except where the server takes both together.
func statements(u agentapi.SQLUser, h have, exists objects) (do, waits []string) {
	who, login := quotedAccount(u), wantedLogin(u)
	if !h.login.equal(login) {
		do = append(do, "ALTER USER "+who+" "+login.identified()+login.terms())
	}
	want, is := wanted(u.Grants), h.shownGrants
	is.rights = maps.Clone(is.rights)
	first := narrowed(is.rights, want)
	extra := minus(is.rights, want)
	maps.DeleteFunc(extra, func(r right, _ bool) bool { // part of what is wanted
		return r.privilege != grantOption && want[right{r.scope, everything, ""}]
	})
	missing := minus(want, is.rights)
	for r := range missing {
		if what := exists.lacks(r, want); what != "" {
			delete(missing, r)
			waits = append(waits, what+" does not exist")
		}
	}
	do = append(do, grouped(first, "REVOKE", "FROM", who)...)
	do = append(do, grouped(missing, "GRANT", "TO", who)...)
	do = append(do, grouped(extra, "REVOKE", "FROM", who)...)
	for _, r := range u.Roles {
		if !exists.roles[r] {
			waits = append(waits, "the role "+r+" does not exist")
		}
	}
	do = append(do, roles(u, is.roles, exists)...)
	if login.Role != "" && h.login.Role != login.Role && exists.roles[login.Role] {
		do = append(do, "SET DEFAULT ROLE "+ident(login.Role)+" FOR "+who)
	}
	slices.Sort(waits)
	return do, slices.Compact(waits)
}

// narrowed are the rights that take others along when they are revoked: all privileges, and a privilege on all columns.
// They go first, and what is wanted of them is granted right after. It removes from is what they take along.
func narrowed(is, want rights) rights {
	out := rights{}
	for r := range is {
		if want[r] || r.column != "" || r.privilege == grantOption {
			continue
		}
		takes := func(o right) bool {
			return o.scope == r.scope && o.privilege != grantOption &&
				(r.privilege == everything || o.privilege == r.privilege && o.column != "")
		}
		for w := range want {
			if takes(w) {
				out[r] = true
			}
		}
		if out[r] || r.privilege == everything {
			out[r] = true
			maps.DeleteFunc(is, func(o right, _ bool) bool { return o == r || takes(o) })
		}
	}
	return out
}

func roles(u agentapi.SQLUser, is []string, exists objects) (do []string) {
	for _, r := range u.Roles {
		if !slices.Contains(is, r) && exists.roles[r] {
			do = append(do, "GRANT "+ident(r)+" TO "+quotedAccount(u))
		}
	}
	for _, r := range is {
		if !slices.Contains(u.Roles, r) {
			do = append(do, "REVOKE "+ident(r)+" FROM "+quotedAccount(u))
		}
	}
	return do
}

func minus(a, b rights) rights {
	out := maps.Clone(a)
	maps.DeleteFunc(out, func(r right, _ bool) bool { return b[r] })
	return out
}

// grouped makes one statement for each scope, because each costs the whole cluster a moment.
func grouped(of rights, verb, preposition, who string) (do []string) {
	byScope := map[scope][]right{}
	for r := range of {
		byScope[r.scope] = append(byScope[r.scope], r)
	}
	for _, on := range slices.SortedFunc(maps.Keys(byScope),
		func(a, b scope) int { return cmp.Compare(a.String(), b.String()) }) {
		columns, with := map[string][]string{}, ""
		for _, r := range byScope[on] {
			if r.privilege == grantOption && verb == "GRANT" {
				with = " WITH GRANT OPTION"
				continue
			}
			columns[r.privilege] = append(columns[r.privilege], r.column)
		}
		var privileges []string
		for _, p := range slices.Sorted(maps.Keys(columns)) {
			privileges = append(privileges, columnList(p, columns[p])...)
		}
		if len(privileges) == 0 {
			privileges = []string{usage}
		}
		do = append(do, verb+" "+strings.Join(privileges, ", ")+" ON "+on.String()+" "+preposition+" "+who+with)
	}
	return do
}

// columnList is a privilege on everything, on columns, or on both.
func columnList(privilege string, columns []string) (out []string) {
	var quoted []string
	slices.Sort(columns)
	for _, c := range columns {
		if c == "" {
			out = append(out, privilege)
			continue
		}
		quoted = append(quoted, ident(c))
	}
	if len(quoted) > 0 {
		out = append(out, privilege+" ("+strings.Join(quoted, ", ")+")")
	}
	return out
}

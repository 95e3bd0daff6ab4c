package external

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ownAccounts are of every server, or managed by the operator: those of the source stay there.
var ownAccounts = []string{"root", "mysql", "mariadb.sys", "galera", "PUBLIC", ""}

// account is an account, or a role.
type account struct {
	Name, Host, Plugin string
	Role               bool
}

func (a account) String() string {
	if a.Role {
		return text(a.Name)
	}
	return text(a.Name) + "@" + text(a.Host)
}

func accountsOf(ctx context.Context, c *sql.Conn) (out []account, err error) {
	err = each(ctx, c, "SELECT user, host, plugin, is_role FROM mysql.user ORDER BY is_role DESC, user, host",
		func(v []string) {
			out = append(out, account{Name: v[0], Host: v[1], Plugin: v[2], Role: v[3] == "Y"})
		})
	return out, err
}

// split separates the accounts that are copied from those that are not.
func split(all []account, skip []string) (copied []account, skipped []string) {
	for _, a := range all {
		switch {
		case slices.Contains(ownAccounts, a.Name) || slices.Contains(skip, a.Name):
			if a.Name != "root" && a.Name != "mariadb.sys" && a.Name != "mysql" { // every server has those
				skipped = append(skipped, a.String())
			}
		default:
			copied = append(copied, a)
		}
	}
	return copied, skipped
}

// DropOwned removes the accounts of a server that are not copied, of its physical copy: those that the operator makes,
// and anonymous ones. root goes, too, but at localhost: the operator makes it, and one at 127.0.0.1 would keep its old
// password, and be preferred to that one. It returns the names of those that are gone, and the objects that cannot be
// used without them. The account of the session stays.
func DropOwned(ctx context.Context, target *sql.DB, skip []string) (dropped []string, err error) {
	c, err := target.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	all, err := accountsOf(ctx, c)
	if err != nil {
		return nil, err
	}
	var own string
	if err := c.QueryRowContext(ctx, "SELECT CURRENT_USER()").Scan(&own); err != nil {
		return nil, err
	}
	gone := owned(all, own, skip)
	for _, a := range gone {
		kind := "USER "
		if a.Role {
			kind = "ROLE "
		}
		if _, err := c.ExecContext(ctx, "DROP "+kind+a.String()); err != nil {
			return nil, fmt.Errorf("dropping %s: %w", a, err)
		}
	}
	gone = slices.DeleteFunc(gone, func(a account) bool { return a.Name == "root" && a.Host == "%" }) // it is made again
	for _, a := range gone {
		dropped = append(dropped, a.String())
	}
	orphans, err := definedBy(ctx, c, gone)
	if err != nil { // they are reported, and nothing else depends on them
		orphans = []string{fmt.Sprintf("objects with one of them as DEFINER, which could not be listed: %s", err)}
	}
	return append(dropped, orphans...), nil
}

// owned are those of the accounts that DropOwned drops.
func owned(all []account, own string, skip []string) (out []account) {
	_, skipped := split(all, skip)
	for _, a := range all {
		switch {
		case a.Name == "PUBLIC" || a.Name+"@"+a.Host == own: // PUBLIC stands for every account
		case slices.Contains(skipped, a.String()) || a.Name == "root" && a.Host != "localhost":
			out = append(out, a)
		}
	}
	return out
}

// definedBy names the views, routines, triggers and events with one of the accounts as DEFINER.
func definedBy(ctx context.Context, c *sql.Conn, accounts []account) (out []string, err error) {
	if len(accounts) == 0 {
		return nil, nil
	}
	var names []string
	for _, a := range accounts {
		if names = append(names, a.Name+"@"+a.Host); a.Role {
			names = append(names, a.Name)
		}
	}
	found, err := definedIn(ctx, c, func(string) string { return "definer IN (" + list(names) + ")" })
	for _, d := range found {
		out = append(out, fmt.Sprintf("the DEFINER %s of the %s", d.Definer, d))
	}
	return out, err
}

// copyAccounts creates roles and accounts with their grants, by statements. It returns what was left out: accounts, and
// grants on what was not copied.
func (c *copier) copyAccounts(ctx context.Context) ([]string, error) {
	from, err := c.source.Conn(ctx)
	if err != nil {
		return nil, ofSource("connecting", err)
	}
	defer func() { _ = from.Close() }()
	if err := c.snapshot.of(ctx, from); err != nil {
		return nil, ofSource("reading the accounts", err)
	}
	to, err := c.target.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = to.Close() }()
	if _, err := to.ExecContext(ctx, "SET SESSION sql_mode = ''"); err != nil {
		return nil, err
	}
	all, err := accountsOf(ctx, from)
	if err != nil {
		return nil, ofSource("reading the accounts", err)
	}
	copied, skipped := split(all, c.Skip)
	var expired []account
	for _, a := range copied {
		statements, err := definition(ctx, from, a)
		if err != nil {
			return nil, err
		}
		for _, statement := range statements {
			if _, err := to.ExecContext(ctx, statement); err != nil {
				return nil, fmt.Errorf("%w: the account %s: %w", ErrRefused, a, withoutStatement(err))
			}
		}
		if strings.HasSuffix(statements[0], " PASSWORD EXPIRE") {
			expired = append(expired, a)
		}
	}
	for _, a := range copied {
		left, err := grant(ctx, from, to, a)
		if err != nil {
			return nil, err
		}
		skipped = append(skipped, left...)
	}
	for _, a := range expired { // a grant that names the password counts as a change of it
		if _, err := to.ExecContext(ctx, "ALTER USER "+a.String()+" PASSWORD EXPIRE"); err != nil {
			return nil, fmt.Errorf("%w: the account %s: %w", ErrRefused, a, err)
		}
	}
	return skipped, nil
}

// lifetime is the end of the second row of SHOW CREATE USER: for how long a password is valid, of an account whose
// password has expired.
var lifetime = regexp.MustCompile(`(?s)^ALTER USER .* (PASSWORD EXPIRE (NEVER|INTERVAL [0-9]{1,9} DAY))$`)

// definition returns the statements that create an account or a role. An account whose password has expired has a
// second one, which keeps the lifetime of passwords.
func definition(ctx context.Context, from *sql.Conn, a account) ([]string, error) {
	if a.Role {
		return []string{"CREATE ROLE " + a.String()}, nil
	}
	var out []string
	err := each(ctx, from, "SHOW CREATE USER "+a.String(), func(v []string) { out = append(out, v[0]) })
	if err != nil {
		return nil, ofSource("reading the account "+a.String(), err)
	}
	if len(out) == 0 || !strings.HasPrefix(out[0], "CREATE USER ") {
		return nil, SourceError{fmt.Errorf("%w: the definition of the account %s is none", errImplausible, a)}
	}
	for i, row := range out[1:] {
		terms := lifetime.FindStringSubmatch(row)
		if terms == nil {
			return nil, SourceError{fmt.Errorf("%w: the account %s has a definition of another kind", errImplausible, a)}
		}
		out[i+1] = "ALTER USER " + a.String() + " " + terms[1] // of no other account, and nothing else
	}
	return out, nil
}

// grant gives an account what it has on the source.
func grant(ctx context.Context, from, to *sql.Conn, a account) (left []string, err error) {
	var grants []string
	err = each(ctx, from, "SHOW GRANTS FOR "+a.String(), func(v []string) { grants = append(grants, v[0]) })
	if err != nil {
		return nil, ofSource("reading the grants of "+a.String(), err)
	}
	for _, g := range grants {
		if !strings.HasPrefix(g, "GRANT ") && !strings.HasPrefix(g, "SET DEFAULT ROLE ") {
			return nil, SourceError{fmt.Errorf("%w: a grant of %s is none", errImplausible, a)}
		}
		_, err := to.ExecContext(ctx, g)
		switch code(err) {
		case errNoSuchTable, errNoSuchRoutine:
			what, _, _ := strings.Cut(g, " TO ")
			left = append(left, what+" TO "+a.String())
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%w: a grant of %s: %w", ErrRefused, a, withoutStatement(err))
		}
	}
	return left, nil
}

// withoutStatement leaves out a message that quotes its statement, which holds a password's hash.
func withoutStatement(err error) error {
	if code(err) == errSyntax {
		return errors.New("error 1064, a syntax error")
	}
	return err
}

package agentapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// PathUsers takes SQLUsers.
	PathUsers = "/v1/users"
	// PathDatabases takes an SQLDatabase.
	PathDatabases = "/v1/databases"
)

// SQLOwner is whose an account or a database is to be.
type SQLOwner struct {
	// Owner marks whose it is, as NAMESPACE/NAME#UID. No other owner changes it. A resource that was created again under
	// its name takes it over; one that was deleted drops nothing of its successor's.
	Owner string `json:"owner"`
	// Instead is an owner whose mark may be replaced, because that owner is gone; "" for none.
	Instead string `json:"instead,omitempty"`
	// Adopt takes over what has no mark.
	Adopt bool `json:"adopt,omitempty"`
	// Tenant reports whether the owner is of another namespace than the cluster's: it gets privileges on its own
	// namespace's databases, and hears nothing of other owners.
	Tenant bool `json:"tenant,omitempty"`
}

// Namespace returns the namespace of an owner.
func (o SQLOwner) Namespace() string {
	namespace, _, _ := strings.Cut(o.Owner, "/")
	return namespace
}

// Named returns NAMESPACE/NAME of a mark.
func Named(mark string) string {
	name, _, _ := strings.Cut(mark, "#")
	return name
}

// Again reports whether a mark is of a resource of this name, which has been created again since then.
func (o SQLOwner) Again(mark string) bool { return mark != o.Owner && Named(mark) == Named(o.Owner) }

// Has reports whether another owner is of the same namespace.
func (o SQLOwner) Has(other string) bool { return strings.HasPrefix(other, o.Namespace()+"/") }

func (o SQLOwner) check() error {
	return must(owners.MatchString(o.Owner) && (o.Instead == "" || owners.MatchString(o.Instead)), "owner")
}

// SQLUsers are accounts as they are to be, asked for together.
type SQLUsers struct {
	Users []SQLUser `json:"users"`
}

// SQLUser is an account as it is to be in the database. It holds what the server keeps of passwords, and no password.
type SQLUser struct {
	SQLOwner

	Name string `json:"name"`
	Host string `json:"host"`
	// Present reports whether the account is to be there. Otherwise it is dropped.
	Present bool `json:"present"`

	// Plugin is the authentication plugin, and Accepts is what it keeps of each password that is accepted: one or two.
	Plugin  string   `json:"plugin,omitempty"`
	Accepts []string `json:"accepts,omitempty"`
	// TLS asks for TLS, Subject for a certificate with this subject as well, which Issuer has signed.
	TLS     bool   `json:"tls,omitempty"`
	Subject string `json:"subject,omitempty"`
	Issuer  string `json:"issuer,omitempty"`

	Grants []SQLGrant `json:"grants,omitempty"`
	Roles  []string   `json:"roles,omitempty"`
	Limits SQLLimits  `json:"limits"`
}

// Weight returns how many names and privileges there are.
func (u SQLUser) Weight() int {
	n := 1 + len(u.Roles)
	for _, g := range u.Grants {
		n += 1 + len(g.Privileges) + len(g.Columns)
	}
	return n
}

// SQLGrant is what an account may do with something.
type SQLGrant struct {
	Privileges []string `json:"privileges"`
	// Database is "*" for all of them, Table "*" for all of a database.
	Database  string   `json:"database"`
	Table     string   `json:"table"`
	Columns   []string `json:"columns,omitempty"`
	WithGrant bool     `json:"withGrant,omitempty"`
}

// SQLLimits are an account's limits; 0 is none.
type SQLLimits struct {
	QueriesPerHour     int64 `json:"queriesPerHour,omitempty"`
	UpdatesPerHour     int64 `json:"updatesPerHour,omitempty"`
	ConnectionsPerHour int64 `json:"connectionsPerHour,omitempty"`
	UserConnections    int64 `json:"userConnections,omitempty"`
	// StatementMillis is how long a statement may take.
	StatementMillis int64 `json:"statementMillis,omitempty"`
}

// SQLDatabase is a database as it is to be.
type SQLDatabase struct {
	SQLOwner

	Name    string `json:"name"`
	Present bool   `json:"present"`
	// CharacterSet and Collation are "" for the server's own.
	CharacterSet string `json:"characterSet,omitempty"`
	Collation    string `json:"collation,omitempty"`
}

// Why an agent did not do it. "" with a message is any other reason, which may pass.
const (
	SQLExists    = "Exists"    // it is there and has no mark
	SQLOwned     = "Owned"     // it has the mark of another owner
	SQLNoPlugin  = "NoPlugin"  // the server does not have the plugin
	SQLWaits     = "Waits"     // a grant names what does not exist
	SQLForeign   = "Foreign"   // a tenant's grant names a database that is not its own
	SQLRefused   = "Refused"   // the server refused a statement
	SQLNotServed = "NotServed" // the member does not take changes now
)

// SQLResults are the answers about accounts, in the order of the question.
type SQLResults struct {
	Results []SQLResult `json:"results"`
	// Message explains why there are none.
	Message string `json:"message,omitempty"`
}

// SQLResult is the answer.
type SQLResult struct {
	// Statements is how many statements were carried out, each of them in every node. One that made several accounts
	// counts for each.
	Statements int `json:"statements"`
	// Reason is one of those above, "" when all is done. Message describes what it is about.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Number is the server's error number, 0 for none.
	Number uint16 `json:"number,omitempty"`
	// Owner is who has it, with SQLOwned; "" for a tenant.
	Owner string `json:"owner,omitempty"`
}

const (
	maxUserName   = 80
	maxHost       = 255
	maxIdentifier = 64
	maxGrants     = 128
	// MaxUsers is how many accounts may be asked for together.
	MaxUsers = 64
)

var (
	owners = regexp.MustCompile(`^[a-z0-9][-a-z0-9.]*/[a-z0-9][-a-z0-9.]*(#[-0-9A-Za-z]{1,64})?$`)
	// hosts are in lower case, as the server keeps them: otherwise one account would have two names.
	hosts         = regexp.MustCompile(`^[a-z0-9.:%_/-]+$`)
	privileges    = regexp.MustCompile(`^[A-Za-z]+( [A-Za-z]+)*$`)
	reservedWords = regexp.MustCompile(`^[A-Za-z0-9_]*$`)
	subjects      = regexp.MustCompile(`^(/[A-Z]+=[a-z0-9][-a-z0-9.]*)*$`)
	issuers       = regexp.MustCompile(`^(/CN=[a-z0-9][-a-z0-9.]* clients CA)?$`)
	// kept is what the plugins keep of a password: hexadecimal digits, base64, and parsec's parts.
	kept = map[string]*regexp.Regexp{
		"mysql_native_password": regexp.MustCompile(`^(\*[0-9A-F]{40})?$`),
		"ed25519":               regexp.MustCompile(`^[A-Za-z0-9+/]{43}$`),
		"parsec":                regexp.MustCompile(`^P[0-9]:[A-Za-z0-9+/=]{24}:[A-Za-z0-9+/=]{43,44}$`),
	}
	// ownUsers are accounts of the server and of the operator, and what PROCESSLIST calls the server's threads.
	ownUsers = []string{"root", "mysql", "mariadb.sys", "public", "galera", "system user", "event_scheduler",
		"unauthenticated user"}
	ownDatabases = []string{"mysql", "sys", "information_schema", "performance_schema", MarksDatabase, "lost+found"}
)

// rawName begins a name that the server takes as that of a folder, whatever it is quoted in.
const rawName = "#mysql50#"

// MarksDatabase holds the marks of owners.
const MarksDatabase = "galera_operator"

// Check refuses what no operator asks for. Each account is checked for itself: a wrong one keeps no other waiting.
func (all SQLUsers) Check() error {
	return must(len(all.Users) > 0 && len(all.Users) <= MaxUsers, "number of users")
}

// Check refuses what no operator asks for. Names need quoting all the same.
func (u SQLUser) Check() error {
	errs := []error{
		u.check(),
		must(name(u.Name, maxUserName) && !reserved(u.Name, ownUsers), "name"),
		must(hosts.MatchString(u.Host) && len(u.Host) <= maxHost && u.Host != "localhost", "host"),
	}
	if !u.Present {
		return errors.Join(errs...)
	}
	form := kept[u.Plugin]
	errs = append(errs, must(form != nil && (len(u.Accepts) == 1 || len(u.Accepts) == 2), "plugin"),
		must(subjects.MatchString(u.Subject), "subject"),
		must(issuers.MatchString(u.Issuer) && (u.Subject == "") == (u.Issuer == ""), "issuer"),
		must(len(u.Grants) <= maxGrants && len(u.Roles) <= maxGrants, "number of grants"))
	for _, a := range u.Accepts {
		// An empty password is for an account that needs a certificate.
		errs = append(errs, must(form != nil && form.MatchString(a) && (a != "" || u.Subject != ""), "hash"))
	}
	for _, g := range u.Grants {
		errs = append(errs, g.check())
	}
	for _, r := range u.Roles {
		errs = append(errs, must(name(r, maxUserName), "role"))
	}
	l := u.Limits
	return errors.Join(append(errs, must(min(l.ConnectionsPerHour, l.QueriesPerHour, l.UpdatesPerHour, l.UserConnections,
		l.StatementMillis) >= 0, "limits"))...)
}

func (g SQLGrant) check() error {
	errs := []error{must(name(g.Database, maxIdentifier) && name(g.Table, maxIdentifier) && len(g.Privileges) > 0,
		"grant")}
	for _, p := range g.Privileges {
		errs = append(errs, must(privileges.MatchString(p), "privilege"))
	}
	for _, c := range g.Columns {
		errs = append(errs, must(name(c, maxIdentifier) && g.Table != "*", "column"))
	}
	return errors.Join(append(errs, must(g.Table == "*" || g.Database != "*", "table"))...)
}

// Check refuses what no operator asks for.
func (d SQLDatabase) Check() error {
	return errors.Join(
		d.check(),
		must(name(d.Name, maxIdentifier) && !reserved(d.Name, ownDatabases) && !strings.HasPrefix(d.Name, rawName), "name"),
		must(reservedWords.MatchString(d.CharacterSet) && reservedWords.MatchString(d.Collation),
			"character set or collation"),
	)
}

func must(good bool, what string) error {
	if good {
		return nil
	}
	return fmt.Errorf("not a valid %s", what)
}

// name reports whether the server can take a name: identifiers have no characters beyond U+FFFF and no space at their
// end.
func name(s string, limit int) bool {
	return s != "" && utf8.ValidString(s) && utf8.RuneCountInString(s) <= limit && !strings.HasSuffix(s, " ") &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f || r > 0xffff })
}

func reserved(name string, of []string) bool { return slices.Contains(of, strings.ToLower(name)) }

// KeepUsers asks an agent to have accounts as they are to be. An error means that there is no answer.
func (c *Client) KeepUsers(ctx context.Context, host string, users []SQLUser) ([]SQLResult, error) {
	var out SQLResults
	status, err := c.post(ctx, host, PathUsers, SQLUsers{users}, &out)
	if err == nil && len(out.Results) != len(users) {
		err = fmt.Errorf("agent at %s: HTTP %d: %d answers about %d accounts: %s", host, status, len(out.Results), len(users),
			out.Message)
	}
	return out.Results, err
}

// KeepDatabase asks an agent to have a database as it is to be.
func (c *Client) KeepDatabase(ctx context.Context, host string, d SQLDatabase) (SQLResult, error) {
	var out SQLResult
	status, err := c.post(ctx, host, PathDatabases, d, &out)
	if err == nil && status != http.StatusOK && status != http.StatusConflict {
		err = fmt.Errorf("agent at %s: HTTP %d: %s", host, status, out.Message)
	}
	return out, err
}

package accounts

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestStatements: the difference alone, one statement for each scope, and what is taken away in an order that leaves
// what is wanted.
func TestStatements(t *testing.T) {
	base := agentapi.SQLUser{Name: "app", Host: "%", Plugin: "mysql_native_password", Accepts: []string{"*A"}}
	exists := objects{databases: map[string]bool{"shop": true},
		tables: map[scope]map[string]bool{{database: "shop", table: "t"}: {"a": true},
			{database: "shop", table: "a`b"}: {"a": true}}}
	for name, tc := range map[string]struct {
		grants []agentapi.SQLGrant
		shown  []string
		want   []string
	}{
		"as desired": {[]agentapi.SQLGrant{{Privileges: []string{"select", "INSERT"}, Database: "shop", Table: "*"}},
			[]string{"GRANT USAGE ON *.* TO `app`@`%` REQUIRE SSL", "GRANT SELECT, INSERT ON `shop`.* TO `app`@`%`"}, nil},
		"one more": {[]agentapi.SQLGrant{{Privileges: []string{"SELECT", "INSERT", "UPDATE"}, Database: "shop", Table: "*"}},
			[]string{"GRANT SELECT ON `shop`.* TO `app`@`%`"}, []string{"GRANT INSERT, UPDATE ON `shop`.* TO 'app'@'%'"}},
		"fewer": {nil, []string{"GRANT SELECT (`a`, `b`), INSERT ON `shop`.`t` TO `app`@`%` WITH GRANT OPTION",
			"GRANT EXECUTE ON PROCEDURE `shop`.`p` TO `app`@`%`"},
			[]string{"REVOKE EXECUTE ON PROCEDURE `shop`.`p` FROM 'app'@'%'",
				"REVOKE GRANT OPTION, INSERT, SELECT (`a`, `b`) ON `shop`.`t` FROM 'app'@'%'"}},
		"fewer than all": {[]agentapi.SQLGrant{{Privileges: []string{"SELECT"}, Database: "shop", Table: "*"}},
			[]string{"GRANT ALL PRIVILEGES ON `shop`.* TO `app`@`%`"},
			[]string{"REVOKE ALL PRIVILEGES ON `shop`.* FROM 'app'@'%'", "GRANT SELECT ON `shop`.* TO 'app'@'%'"}},
		"all instead of some": {[]agentapi.SQLGrant{{Privileges: []string{"ALL"}, Database: "shop", Table: "*"}},
			[]string{"GRANT SELECT ON `shop`.* TO `app`@`%`"},
			[]string{"GRANT ALL PRIVILEGES ON `shop`.* TO 'app'@'%'"}},
		"a role too many": {nil, []string{"GRANT `it's` TO `app`@`%`", "SET DEFAULT ROLE `it's` FOR `app`@`%`"},
			[]string{"REVOKE `it's` FROM 'app'@'%'"}},
		"a quote": {[]agentapi.SQLGrant{{Privileges: []string{"SELECT"}, Database: "shop", Table: "a`b"}},
			[]string{"GRANT SELECT ON `shop`.`a``b` TO `app`@`%`"}, nil},
	} {
		u := base
		u.Grants = tc.grants
		is, err := parseGrants(tc.shown)
		if err != nil {
			t.Fatal(err)
		}
		before := maps.Clone(is.rights)
		do, waits := statements(u, have{login: wantedLogin(u), shownGrants: is}, exists)
		if !slices.Equal(do, tc.want) || len(waits) > 0 || !maps.Equal(before, is.rights) {
			t.Errorf("%s:\n%s", name, strings.Join(do, "\n"))
		}
	}
}

// TestMissingObjectsNeedNoStatement: what does not exist costs no statement, and is named.
func TestMissingObjectsNeedNoStatement(t *testing.T) {
	exists := objects{databases: map[string]bool{"shop": true},
		tables: map[scope]map[string]bool{{database: "shop", table: "t"}: {"a": true},
			{database: "shop", table: "later"}: {}}, roles: map[string]bool{"clerk": true}}
	for name, tc := range map[string]struct {
		grant agentapi.SQLGrant
		roles []string
		waits string
	}{
		"a database": {agentapi.SQLGrant{Database: "la_ter", Table: "*"}, nil,
			"the database la_ter does not exist"},
		"a table's database": {agentapi.SQLGrant{Database: "la_ter", Table: "t"}, nil,
			"the database la_ter does not exist"},
		"a table": {agentapi.SQLGrant{Database: "shop", Table: "later"}, nil,
			"the table shop.later does not exist"},
		"a column's table": {agentapi.SQLGrant{Database: "shop", Table: "later", Columns: []string{"a"}}, nil,
			"the table shop.later does not exist"},
		"a column": {agentapi.SQLGrant{Database: "shop", Table: "t", Columns: []string{"A", "b"}}, nil,
			"the column shop.t.b does not exist"},
		"a role": {agentapi.SQLGrant{Database: "shop", Table: "t"}, []string{"clerk", "boss"},
			"the role boss does not exist"},
		"a table that it creates": {agentapi.SQLGrant{Privileges: []string{"CREATE", "SELECT"}, Database: "shop",
			Table: "later"}, nil, ""},
		"all there is": {agentapi.SQLGrant{Database: "*", Table: "*"}, []string{"clerk"}, ""},
	} {
		if tc.grant.Privileges == nil {
			tc.grant.Privileges = []string{"SELECT"}
		}
		u := agentapi.SQLUser{Name: "app", Host: "%", Plugin: "mysql_native_password", Accepts: []string{"*A"},
			Grants: []agentapi.SQLGrant{tc.grant}, Roles: tc.roles}
		do, waits := statements(u, have{login: wantedLogin(u), shownGrants: shownGrants{rights: rights{}}}, exists)
		if got := strings.Join(waits, "; "); got != tc.waits ||
			strings.Contains(strings.Join(do, ";"), "later") != (name == "a table that it creates") ||
			strings.Contains(strings.Join(do, ";"), "boss") {
			t.Errorf("%s: %q, %q", name, do, waits)
		}
	}
}

// TestIssuerOfCertificates: a certificate of a user's name opens the account only if the clients' CA has signed it. An
// account that any issuer's certificate opens, and one of another cluster's clients, are changed.
func TestIssuerOfCertificates(t *testing.T) {
	u := agentapi.SQLUser{Name: "app", Host: "%", Plugin: "mysql_native_password", Accepts: []string{""}, TLS: true,
		Subject: "/O=demo/CN=app", Issuer: "/CN=shop.demo clients CA"}
	want := wantedLogin(u)
	if have := want.terms(); !strings.HasPrefix(have,
		" REQUIRE SUBJECT '/O=demo/CN=app' AND ISSUER '/CN=shop.demo clients CA' WITH ") {
		t.Error(have)
	}
	for _, issuer := range []string{"", "/CN=other.demo clients CA"} {
		is := want
		is.Issuer = issuer
		do, _ := statements(u, have{login: is, shownGrants: shownGrants{rights: rights{}}}, objects{})
		if len(do) == 0 || !strings.HasPrefix(do[0], "ALTER USER ") || !strings.Contains(do[0], u.Issuer) {
			t.Errorf("an account of the issuer %q is left: %q", issuer, do)
		}
	}
}

// TestLogins: what mysql.global_priv holds, in the order of the ways in.
func TestLogins(t *testing.T) {
	for text, want := range map[string]login{
		`{"access":0,"plugin":"mysql_native_password","authentication_string":"*A"}`:                                                    {Plugin: "mysql_native_password", Accepts: []string{"*A"}},
		`{"plugin":"ed25519","authentication_string":"B","auth_or":[{"plugin":"ed25519","authentication_string":"A"},{}],"ssl_type":1}`: {Plugin: "ed25519", Accepts: []string{"A", "B"}, SSL: sslAny},
		`{"plugin":"ed25519","authentication_string":"B","auth_or":[{},{"plugin":"unix_socket"}]}`:                                      {Plugin: "", Accepts: []string{"B", ""}},
		`{"plugin":"","authentication_string":"","ssl_type":3,"x509_subject":"/CN=a","x509_issuer":"/CN=b","max_statement_time":1.5}`:   {Accepts: []string{""}, SSL: sslSpecified, Subject: "/CN=a", Issuer: "/CN=b", Limits: agentapi.SQLLimits{StatementMillis: 1500}},
		`{"plugin":"","authentication_string":"","ssl_type":3,"x509_subject":"/CN=a","ssl_cipher":"c"}`:                                 {Accepts: []string{""}, SSL: -1, Subject: "/CN=a"},
	} {
		got, err := parseLogin(text)
		if err != nil || !got.equal(want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	if _, err := parseLogin("{"); err == nil {
		t.Error("read")
	}
}

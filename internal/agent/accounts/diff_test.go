package accounts

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestStatements: the difference alone, one statement for each scope, and what is taken away in an order that leaves what is wanted.
func TestStatements(t *testing.T) {
	base := agentapi.SQLUser{Name: "app", Host: "%", Plugin: "mysql_native_password", Accepts: []string{"*A"}}
	there := map[string]bool{"shop": true}
	for name, tc := range map[string]struct {
		grants []agentapi.SQLGrant
		shown  []string
		want   []string
	}{
		"as wished": {[]agentapi.SQLGrant{{Privileges: []string{"select", "INSERT"}, Database: "shop", Table: "*"}},
			[]string{"GRANT USAGE ON *.* TO `app`@`%` REQUIRE SSL", "GRANT SELECT, INSERT ON `shop`.* TO `app`@`%`"}, nil},
		"one more": {[]agentapi.SQLGrant{{Privileges: []string{"SELECT", "INSERT", "UPDATE"}, Database: "shop", Table: "*"}},
			[]string{"GRANT SELECT ON `shop`.* TO `app`@`%`"}, []string{"GRANT INSERT, UPDATE ON `shop`.* TO 'app'@'%'"}},
		"fewer": {nil, []string{"GRANT SELECT (`a`, `b`), INSERT ON `shop`.`t` TO `app`@`%` WITH GRANT OPTION", "GRANT EXECUTE ON PROCEDURE `shop`.`p` TO `app`@`%`"},
			[]string{"REVOKE EXECUTE ON PROCEDURE `shop`.`p` FROM 'app'@'%'", "REVOKE GRANT OPTION, INSERT, SELECT (`a`, `b`) ON `shop`.`t` FROM 'app'@'%'"}},
		"fewer than all": {[]agentapi.SQLGrant{{Privileges: []string{"SELECT"}, Database: "shop", Table: "*"}}, []string{"GRANT ALL PRIVILEGES ON `shop`.* TO `app`@`%`"},
			[]string{"REVOKE ALL PRIVILEGES ON `shop`.* FROM 'app'@'%'", "GRANT SELECT ON `shop`.* TO 'app'@'%'"}},
		"all instead of some": {[]agentapi.SQLGrant{{Privileges: []string{"ALL"}, Database: "shop", Table: "*"}}, []string{"GRANT SELECT ON `shop`.* TO `app`@`%`"},
			[]string{"GRANT ALL PRIVILEGES ON `shop`.* TO 'app'@'%'"}},
		"a role too many": {nil, []string{"GRANT `it's` TO `app`@`%`", "SET DEFAULT ROLE `it's` FOR `app`@`%`"}, []string{"REVOKE `it's` FROM 'app'@'%'"}},
		"a quote":         {[]agentapi.SQLGrant{{Privileges: []string{"SELECT"}, Database: "shop", Table: "a`b"}}, []string{"GRANT SELECT ON `shop`.`a``b` TO `app`@`%`"}, nil},
	} {
		u := base
		u.Grants = tc.grants
		is, err := parseGrants(tc.shown)
		if err != nil {
			t.Fatal(err)
		}
		before := maps.Clone(is.rights)
		do, waits := statements(u, &have{login: wantedLogin(u), shown: is, databases: there})
		if !slices.Equal(do, tc.want) || len(waits) > 0 || !maps.Equal(before, is.rights) {
			t.Errorf("%s:\n%s", name, strings.Join(do, "\n"))
		}
	}
	u := base
	u.Grants = []agentapi.SQLGrant{{Privileges: []string{"SELECT"}, Database: "la_ter", Table: "*"}}
	if do, waits := statements(u, &have{login: wantedLogin(u), shown: shown{rights: rights{}}, databases: there}); len(do) > 0 || len(waits) != 1 || !strings.Contains(waits[0], "la_ter ") {
		t.Errorf("%q, %q", do, waits)
	}
}

// TestLogins: what mysql.global_priv holds, in the order of the ways in.
func TestLogins(t *testing.T) {
	for text, want := range map[string]login{
		`{"access":0,"plugin":"mysql_native_password","authentication_string":"*A"}`:                                                    {Plugin: "mysql_native_password", Accepts: []string{"*A"}},
		`{"plugin":"ed25519","authentication_string":"B","auth_or":[{"plugin":"ed25519","authentication_string":"A"},{}],"ssl_type":1}`: {Plugin: "ed25519", Accepts: []string{"A", "B"}, SSL: sslAny},
		`{"plugin":"ed25519","authentication_string":"B","auth_or":[{},{"plugin":"unix_socket"}]}`:                                      {Plugin: "", Accepts: []string{"B", ""}},
		`{"plugin":"","authentication_string":"","ssl_type":3,"x509_subject":"/CN=a","x509_issuer":"/CN=b","max_statement_time":1.5}`:   {Accepts: []string{""}, SSL: -1, Subject: "/CN=a", Limits: agentapi.SQLLimits{StatementMillis: 1500}},
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

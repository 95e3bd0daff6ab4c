package proxy

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

func state() agentapi.ProxyState {
	hash := "*" + strings.Repeat("A", 40)
	return agentapi.ProxyState{Revision: 1, Mode: agentapi.ProxyReadWriteSplit, MaxConnections: 50,
		MaxFrontendConnections: 2048, Multiplexing: true, RequireTLS: true, CA: "ca", ControlCA: "control",
		ServerVersion: "11.8.6-MariaDB",
		Nodes: []agentapi.ProxyNode{{Name: "shop-0", Address: "10.0.0.1", ServerName: "a", Writer: true},
			{Name: "shop-1", Address: "10.0.0.2", ServerName: "b", Reader: true},
			{Name: "shop-2", Address: "10.0.0.3", ServerName: "c"}},
		Users: []agentapi.ProxyUser{{Name: "app", Hash: hash}, {Name: "o'neil", Hash: hash, MaxConnections: 3}}}
}

func statementsOf(s agentapi.ProxyState, name string) string {
	for _, part := range sections(s, "/run/ca.pem") {
		if part.name == name {
			return strings.Join(part.statements, "\n")
		}
	}
	return ""
}

// TestServers: a node that serves nowhere is drained and not removed, so that what is in progress ends well.
func TestServers(t *testing.T) {
	got := statementsOf(state(), "servers")
	for _, want := range []string{
		"(1,'10.0.0.1',3306,'ONLINE',50,1,'shop-0'),(2,'10.0.0.1',3306,'OFFLINE_SOFT',50,1,'shop-0')",
		"(1,'10.0.0.2',3306,'OFFLINE_SOFT',50,1,'shop-1'),(2,'10.0.0.2',3306,'ONLINE',50,1,'shop-1')",
		"(1,'10.0.0.3',3306,'OFFLINE_SOFT',50,1,'shop-2'),(2,'10.0.0.3',3306,'OFFLINE_SOFT',50,1,'shop-2')",
		"(2,'SET SESSION wsrep_sync_wait=1')",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	if one := strings.Count(got, "'ONLINE'"); one != 2 {
		t.Errorf("%d groups have a node", one)
	}
	none := state()
	none.Nodes = nil
	if got := statementsOf(none, "servers"); strings.Contains(got, "INTO mysql_servers") ||
		!strings.HasPrefix(got, "DELETE FROM mysql_servers\n") || !strings.HasSuffix(got, "\nLOAD MYSQL SERVERS TO RUNTIME") {
		t.Errorf("without nodes:\n%s", got)
	}
}

// TestUsers: a name is quoted, the policy of the cluster refuses plaintext for every account, and each mode has its
// group.
func TestUsers(t *testing.T) {
	hash := "*" + strings.Repeat("A", 40)
	if got := statementsOf(state(), "users"); !strings.Contains(got,
		"('app','"+hash+"',1,1,1,2048),('o''neil','"+hash+"',1,1,1,3)") {
		t.Error(got)
	}
	s := state()
	s.Mode, s.RequireTLS, s.Users[0].TLS = agentapi.ProxyReadOnly, false, true
	if got := statementsOf(s, "users"); !strings.Contains(got,
		"('app','"+hash+"',1,2,1,2048),('o''neil','"+hash+"',0,2,1,3)") {
		t.Error(got)
	}
}

// TestNothingIsSentTwice: a write whose answer is lost may have been carried out.
func TestNothingIsSentTwice(t *testing.T) {
	got := statementsOf(state(), "variables")
	for name, value := range map[string]string{"mysql-query_retries_on_failure": "0", "mysql-monitor_enabled": "false",
		"mysql-ssl_p2s_ca": "/run/ca.pem", "mysql-have_ssl": "true"} {
		if !strings.Contains(got, "SET variable_value='"+value+"' WHERE variable_name='"+name+"'") {
			t.Errorf("%s is not %s:\n%s", name, value, got)
		}
	}
}

// TestRules: a read goes to a reader unless it locks, or depends on its connection.
func TestRules(t *testing.T) {
	binds, read := regexp.MustCompile("(?i)"+bindsToPrimary), regexp.MustCompile("(?i)"+reads)
	for statement, reader := range map[string]bool{
		"SELECT * FROM t":                           true,
		"select count(*) from orders where id = 3":  true,
		"SELECT * FROM t FOR UPDATE":                false,
		"SELECT * FROM t FOR\n  update SKIP LOCKED": false,
		"SELECT * FROM t FOR/* now */UPDATE":        false,
		"SELECT * FROM t LOCK IN SHARE MODE":        false,
		"SELECT @x := 1":                            false,
		"SELECT @@server_id":                        false,
		"SELECT GET_LOCK('a', 1)":                   false,
		"SELECT RELEASE_ALL_LOCKS()":                false,
		"SELECT LAST_INSERT_ID()":                   false,
		"SELECT NEXT VALUE FOR s":                   false,
		"SELECT id INTO OUTFILE 'x' FROM t":         false,
		"SELECT 'for update' FROM t":                false, // a string that resembles a lock costs nothing but the choice
		"INSERT INTO t SELECT * FROM u":             false,
		"WITH c AS (SELECT 1) SELECT * FROM c":      false,
		"UPDATE t SET a = 1":                        false,
		"SELECT 1; UPDATE t SET a = 1":              false, // by a client with CLIENT_MULTI_STATEMENTS
		"SELECT * FROM t; ":                         true,
	} {
		if got := !binds.MatchString(statement) && read.MatchString(statement); got != reader {
			t.Errorf("%q: to a reader %v", statement, got)
		}
	}
	for mode, want := range map[agentapi.ProxyMode]bool{agentapi.ProxyPrimary: false, agentapi.ProxyReadOnly: false,
		agentapi.ProxyReadWriteSplit: true} {
		s := state()
		s.Mode = mode
		if got := strings.Contains(statementsOf(s, "rules"), "INSERT"); got != want {
			t.Errorf("%s has rules: %v", mode, got)
		}
	}
}

// TestConfigurationHasNoNetworkDoor: the admin interface is a unix socket, and there is no other one.
func TestConfigurationHasNoNetworkDoor(t *testing.T) {
	got := configuration("/run/proxysql/data", "/run/proxysql/admin.sock", "WORD", "0.0.0.0:3306")
	for _, want := range []string{`mysql_ifaces="/run/proxysql/admin.sock"`, `interfaces="0.0.0.0:3306"`,
		"restapi_enabled=false", "web_enabled=false", `admin_credentials="agent:WORD"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
}

// TestOnlyWhatDiffersIsLoaded: a move of the primary changes the servers and nothing else.
func TestOnlyWhatDiffersIsLoaded(t *testing.T) {
	before, after := state(), state()
	after.Nodes[0].Writer, after.Nodes[1].Writer = false, true
	var changed []string
	for i, part := range sections(after, "/run/ca.pem") {
		if !slices.Equal(part.statements, sections(before, "/run/ca.pem")[i].statements) {
			changed = append(changed, part.name)
		}
	}
	if !slices.Equal(changed, []string{"servers"}) {
		t.Errorf("%q", changed)
	}
}

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
	for _, part := range sections(s, "/run/ca.pem", nil) {
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
		"(1,'IF NOT EXISTS (SELECT 1 FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME=''SSL_CIPHER''",
		"has no TLS''; END IF'),(2,'IF NOT EXISTS (SELECT 1 FROM information_schema.SESSION_STATUS WHERE ",
		"has no TLS''; ELSE SET SESSION wsrep_sync_wait=1; END IF')",
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

// TestUsers: a name is quoted, the policy of the cluster refuses plaintext for every account, and open
// sessions keep their group, which is that of the primary in every mode.
func TestUsers(t *testing.T) {
	hash := "*" + strings.Repeat("A", 40)
	if got := statementsOf(state(), "users"); !strings.Contains(got,
		"('app','"+hash+"',1,1,1,2048),('o''neil','"+hash+"',1,1,1,3)") {
		t.Error(got)
	}
	s := state()
	s.Mode, s.RequireTLS, s.Users[0].TLS = agentapi.ProxyReadOnly, false, true
	if got := statementsOf(s, "users"); !strings.Contains(got,
		"('app','"+hash+"',1,1,1,2048),('o''neil','"+hash+"',0,1,1,3)") {
		t.Error(got)
	}
}

// TestNothingIsSentTwice: a write whose answer is lost may have been carried out.
func TestNothingIsSentTwice(t *testing.T) {
	got := statementsOf(state(), "variables")
	for name, value := range map[string]string{"mysql-query_retries_on_failure": "0", "mysql-monitor_enabled": "false",
		"mysql-ssl_p2s_ca": "/run/ca.pem", "mysql-have_ssl": "true", "mysql-enforce_autocommit_on_reads": "true",
		"mysql-connect_timeout_server_max": "30000", "mysql-auto_increment_delay_multiplex": "5",
		"mysql-poll_timeout":           "100",
		"mysql-shun_recovery_time_sec": "1", "mysql-max_connections": "2048",
		"mysql-server_version": "11.8.6-MariaDB", "mysql-default_charset": "utf8mb4", "mysql-multiplexing": "true"} {
		if !strings.Contains(got, "SET variable_value='"+value+"' WHERE variable_name='"+name+"'") {
			t.Errorf("%s is not %s:\n%s", name, value, got)
		}
	}
}

// TestAConnectionIsWaitedForAndHeldAsIsAsked: for so long a statement waits for one, and for so many it is kept after
// an insert.
func TestAConnectionIsWaitedForAndHeldAsIsAsked(t *testing.T) {
	s := state()
	s.WaitMilliseconds, s.HoldAfterInsert = 1500, new(int32)
	got := statementsOf(s, "variables")
	for _, want := range []string{"'1500' WHERE variable_name='mysql-connect_timeout_server_max'",
		"'0' WHERE variable_name='mysql-auto_increment_delay_multiplex'"} {
		if !strings.Contains(got, "SET variable_value="+want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
}

// where is what becomes of a statement of a session, by the rules of a mode.
func where(mode agentapi.ProxyMode, flag int32, statement string) (r route) {
	for _, r := range routes(mode) {
		if r.flag == flag && regexp.MustCompile("(?i)"+r.pattern).MatchString(statement) {
			return r
		}
	}
	return route{flag: flag, group: groupWriter}
}

// TestRules: a read goes to a reader unless it locks, or depends on its connection.
func TestRules(t *testing.T) {
	for statement, reader := range map[string]bool{
		"SELECT * FROM t":                           true,
		"select count(*) from orders where id = 3":  true,
		"SELECT * FROM t FOR UPDATE":                false,
		"SELECT * FROM t FOR\n  update SKIP LOCKED": false,
		"SELECT * FROM t FOR/* now */UPDATE":        false,
		"SELECT * FROM t FOR SHARE":                 false,
		"SELECT * FROM t LOCK IN SHARE MODE":        false,
		"SELECT @x := 1":                            false,
		"SELECT @@server_id":                        false,
		"SELECT GET_LOCK('a', 1)":                   false,
		"SELECT IS_USED_LOCK('a')":                  false,
		"SELECT RELEASE_ALL_LOCKS()":                false,
		"SELECT LAST_INSERT_ID()":                   false,
		"SELECT FOUND_ROWS()":                       false,
		"SELECT ROW_COUNT()":                        false,
		"SELECT CONNECTION_ID()":                    false,
		"SELECT NEXT VALUE FOR s":                   false,
		"SELECT PREVIOUS VALUE FOR s":               false,
		"SELECT NEXTVAL(s)":                         false,
		"SELECT LASTVAL(s)":                         false,
		"SELECT SETVAL(s, 3)":                       false,
		"SELECT id INTO OUTFILE 'x' FROM t":         false,
		"SELECT 'for update' FROM t":                false, // a string that resembles a lock costs nothing but the choice
		"INSERT INTO t SELECT * FROM u":             false,
		"WITH c AS (SELECT 1) SELECT * FROM c":      false,
		"UPDATE t SET a = 1":                        false,
		"BEGIN":                                     false,
		"SELECT 1; UPDATE t SET a = 1":              false, // by a client with CLIENT_MULTI_STATEMENTS
		"SELECT * FROM t; ":                         true,
		"CREATE TEMPORARY TABLE t (a INT)":          false,
	} {
		if got := where(agentapi.ProxyReadWriteSplit, 0, statement).group == groupReader; got != reader {
			t.Errorf("%q: to a reader %v", statement, got)
		}
		if where(agentapi.ProxyPrimary, 0, statement).group != groupWriter ||
			where(agentapi.ProxyReadOnly, 0, statement).group != groupReader {
			t.Errorf("%q does not go where its mode asks for", statement)
		}
	}
	for mode, want := range map[agentapi.ProxyMode]int{agentapi.ProxyPrimary: 0, agentapi.ProxyReadOnly: 2,
		agentapi.ProxyReadWriteSplit: 4} {
		s := state()
		s.Mode = mode
		if got := strings.Count(statementsOf(s, "rules"), "INSERT INTO"); got != want {
			t.Errorf("%s has %d rules", mode, got)
		}
	}
}

// TestSessionsOfTheirOwn: a session with a temporary table stays where it is, also after a change of the mode; one with
// a variable keeps its connection; a SET that changes more is left to ProxySQL, which refuses what would read without
// it.
func TestSessionsOfTheirOwn(t *testing.T) {
	for _, create := range []string{"CREATE TEMPORARY TABLE t (a INT)", "create or replace temporary table t (a INT)"} {
		r := where(agentapi.ProxyReadWriteSplit, 0, create)
		if r.column != "next_query_flagIN" ||
			where(agentapi.ProxyReadWriteSplit, r.value, "SELECT * FROM t").group != groupWriter {
			t.Errorf("%s: %+v", create, r)
		}
		if where(agentapi.ProxyReadOnly, r.value, "INSERT INTO t VALUES (1)").group != groupReader {
			t.Error("such a session writes to the primary in the mode ReadOnly")
		}
	}
	for set, own := range map[string]bool{"SET @a = 1": true, "set @a := 'x';": true, "SET @`a b` = 1": false,
		"SET @a = @@sql_mode": false, "SET @a = 1, sql_mode = ''": false, "SET sql_mode = ''": false,
		"SET @a = 1; DELETE FROM t": false, "SET @@sql_mode = ''": false, "SET SESSION foo = 1": false} {
		if got := where(agentapi.ProxyReadWriteSplit, 0, set).column == "multiplex"; got != own {
			t.Errorf("%q keeps its connection by a rule: %v", set, got)
		}
	}
	if got := statementsOf(state(), "rules"); !strings.Contains(got, ",next_query_flagIN) VALUES (1,1,1,0,") ||
		!strings.Contains(got, ",multiplex) VALUES (2,1,1,0,") {
		t.Error(got)
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
	for i, part := range sections(after, "/run/ca.pem", nil) {
		if !slices.Equal(part.statements, sections(before, "/run/ca.pem", nil)[i].statements) {
			changed = append(changed, part.name)
		}
	}
	if !slices.Equal(changed, []string{"servers"}) {
		t.Errorf("%q", changed)
	}
}

package proxy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Host groups of ProxySQL.
const (
	groupWriter = 1
	groupReader = 2
)

var groups = []int{groupWriter, groupReader}

// section is a part of ProxySQL's configuration that is loaded as one: a client sees it as it was or as it is to be.
type section struct {
	name       string
	statements []string
	// loadedByStart reports whether PROXYSQL START carries out the last statement, which cannot be sent before.
	loadedByStart bool
}

// sections returns the whole configuration of a state. Every section replaces what was there. cut are the servers whose
// connections end.
func sections(s agentapi.ProxyState, caFile string, cut []server) []section {
	return []section{
		{"variables", variables(s, caFile), false},
		{"servers", servers(s, cut), true},
		{"rules", rules(s), true},
		{"users", users(s), false},
	}
}

// setting is a global variable of ProxySQL.
type setting struct{ name, value string }

// variables leave nothing to ProxySQL's own judgement: its monitor finds no primary, and a statement is never sent
// twice, because the first one may have been carried out.
func variables(s agentapi.ProxyState, caFile string) []string {
	hold := agentapi.DefaultHoldAfterInsert
	if s.HoldAfterInsert != nil {
		hold = *s.HoldAfterInsert
	}
	var out []string
	for _, v := range []setting{
		{"mysql-server_version", s.ServerVersion},
		{"mysql-max_connections", number(s.MaxFrontendConnections)},
		{"mysql-have_ssl", strconv.FormatBool(!s.Local)},
		{"mysql-ssl_p2s_ca", caFile},
		{"mysql-monitor_enabled", "false"},
		{"mysql-multiplexing", strconv.FormatBool(s.Multiplexing)},
		{"mysql-query_retries_on_failure", "0"},
		// A session with autocommit=0 has a transaction from its first read on: it stays on the node where it begins.
		{"mysql-enforce_autocommit_on_reads", "true"},
		{"mysql-default_charset", "utf8mb4"},
		{"mysql-connect_timeout_server_max", strconv.FormatInt(cmp.Or(s.WaitMilliseconds,
			agentapi.DefaultProxyWait.Milliseconds()), 10)},
		{"mysql-auto_increment_delay_multiplex", number(hold)},
		// A statement that waits for a connection asks again after a millisecond, or, where ProxySQL 2.7.1 computes a pause
		// of nothing, when a thread without an event turns again. That is after two seconds by default.
		{"mysql-poll_timeout", "100"},
		{"mysql-shun_recovery_time_sec", "1"},
		{"mysql-verbose_query_error", "false"},
		{"admin-stats_mysql_connections", "0"},
		{"admin-stats_mysql_connection_pool", "0"},
		{"admin-stats_mysql_query_cache", "0"},
		{"admin-stats_mysql_query_digest_to_disk", "0"},
		{"admin-stats_system_cpu", "0"},
		{"admin-stats_system_memory", "0"},
	} {
		out = append(out, fmt.Sprintf("UPDATE global_variables SET variable_value=%s WHERE variable_name=%s",
			quote(v.value), quote(v.name)))
	}
	return append(out, "LOAD MYSQL VARIABLES TO RUNTIME", "LOAD ADMIN VARIABLES TO RUNTIME")
}

// servers have every node in both groups. One that does not serve there is drained: what is in progress goes on, and
// nothing new begins. One that is cut takes its connections with it.
func servers(s agentapi.ProxyState, cut []server) []string {
	var rows []string
	for _, n := range s.Nodes {
		for _, group := range groups {
			status := "OFFLINE_SOFT"
			switch {
			case serves(n, group):
				status = "ONLINE"
			case slices.Contains(cut, server{group, n.Address}):
				status = "OFFLINE_HARD"
			}
			rows = append(rows, fmt.Sprintf("(%d,%s,3306,%s,%d,1,%s)", group, quote(n.Address), quote(status),
				s.MaxConnections, quote(n.Name)))
		}
	}
	out := []string{"DELETE FROM mysql_servers", "DELETE FROM mysql_hostgroup_attributes"}
	if len(rows) > 0 {
		out = append(out, "INSERT INTO mysql_servers (hostgroup_id,hostname,port,status,max_connections,use_ssl,comment) "+
			"VALUES "+strings.Join(rows, ","))
	}
	// A reader answers once it has applied what the cluster had committed when it was asked: a client reads its own
	// writes.
	return append(out, fmt.Sprintf("INSERT INTO mysql_hostgroup_attributes "+
		"(hostgroup_id,init_connect) VALUES (%d,%s),(%d,%s)",
		groupWriter, quote(refusePlaintext+"END IF"),
		groupReader, quote(refusePlaintext+"ELSE SET SESSION wsrep_sync_wait=1; END IF")), "LOAD MYSQL SERVERS TO RUNTIME")
}

// refusePlaintext is the first statement of every connection to a node. ProxySQL 2.7.1 goes on without TLS where a
// server offers none, whatever use_ssl and the CA are; after an error here it closes the connection. The error is that
// of a bad handshake: clients get it with the text, and would get error 2013 without one for a number above 2000.
const refusePlaintext = "IF NOT EXISTS (SELECT 1 FROM information_schema.SESSION_STATUS WHERE " +
	"VARIABLE_NAME='SSL_CIPHER' AND VARIABLE_VALUE<>'') THEN SIGNAL SQLSTATE '08004' SET MYSQL_ERRNO=1043, " +
	"MESSAGE_TEXT='the connection of the proxy to the node has no TLS'; "

// flagPinned marks a session that has a table of its own: its statements follow no rule of flag 0.
const flagPinned = 1

// Reads go to a reader unless they lock, depend on the connection, or are followed by another statement, which may
// write. Patterns see the whole text, of which a string may look like a lock: such a read goes to the primary, which is
// never wrong.
const (
	bindsToPrimary = `FOR(\s|/\*.*?\*/)+(UPDATE|SHARE)|LOCK(\s|/\*.*?\*/)+IN|@|_LOCKS?\s*\(|LAST_INSERT_ID|FOUND_ROWS|` +
		`ROW_COUNT|CONNECTION_ID|NEXTVAL|LASTVAL|SETVAL|(NEXT|PREVIOUS)\s+VALUE|\sINTO\s|;\s*\S`
	reads = `^SELECT\s`
	// ownTable is followed by reads that no other connection can answer, and that nothing tells from others.
	ownTable = `^CREATE\s+(OR\s+REPLACE\s+)?TEMPORARY\s`
	// ownVariable sets one variable of the user's, on the connection that answers what has an @. Any other SET that
	// ProxySQL does not know locks the session to the primary: its reads end in error 9006, and not without the setting.
	ownVariable = `^\s*SET\s+@[A-Za-z0-9_.$]+\s*:?=[^,@;]*;?\s*$`
)

// route is a query rule. The first one that matches counts; without one a statement goes to the writer.
type route struct {
	// flag is that of the sessions that the rule is for.
	flag int32
	// match is match_digest, the statement without its literals and comments, or match_pattern, its whole text.
	match, pattern string
	group          int
	// column is another one that the rule sets, to value; "" for none.
	column string
	value  int32
}

// routes send statements where the mode asks for. Every account has the writer as its default, which an open session
// keeps: a rule is in effect for its next statement.
func routes(mode agentapi.ProxyMode) []route {
	switch mode {
	case agentapi.ProxyReadWriteSplit:
		return []route{
			{match: "match_digest", pattern: ownTable, group: groupWriter, column: "next_query_flagIN", value: flagPinned},
			{match: "match_pattern", pattern: ownVariable, group: groupWriter, column: "multiplex"},
			{match: "match_pattern", pattern: bindsToPrimary, group: groupWriter},
			{match: "match_digest", pattern: reads, group: groupReader},
		}
	case agentapi.ProxyReadOnly:
		return []route{{match: "match_pattern", pattern: ".", group: groupReader},
			{flag: flagPinned, match: "match_pattern", pattern: ".", group: groupReader}}
	}
	return nil
}

func rules(s agentapi.ProxyState) []string {
	out := []string{"DELETE FROM mysql_query_rules"}
	for i, r := range routes(s.Mode) {
		column, value := "", ""
		if r.column != "" {
			column, value = ","+r.column, ","+number(r.value)
		}
		out = append(out, fmt.Sprintf("INSERT INTO mysql_query_rules (rule_id,active,apply,flagIN,%s,re_modifiers,"+
			"destination_hostgroup%s) VALUES (%d,1,1,%d,%s,'CASELESS',%d%s)", r.match, column, i+1, r.flag, quote(r.pattern),
			r.group, value))
	}
	return append(out, "LOAD MYSQL QUERY RULES TO RUNTIME")
}

func users(s agentapi.ProxyState) []string {
	var rows []string
	for _, u := range s.Users {
		most := u.MaxConnections
		if most == 0 {
			most = int64(s.MaxFrontendConnections)
		}
		ssl := 0
		if u.TLS || s.RequireTLS {
			ssl = 1
		}
		rows = append(rows, fmt.Sprintf("(%s,%s,%d,%d,1,%d)", quote(u.Name), quote(u.Hash), ssl, groupWriter, most))
	}
	out := []string{"DELETE FROM mysql_users"}
	if len(rows) > 0 {
		out = append(out, "INSERT INTO mysql_users (username,password,use_ssl,default_hostgroup,transaction_persistent,"+
			"max_connections) VALUES "+strings.Join(rows, ","))
	}
	return append(out, "LOAD MYSQL USERS TO RUNTIME")
}

// quote makes a string of SQLite.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func number(n int32) string { return strconv.Itoa(int(n)) }

// configuration is the file that ProxySQL starts with: it has what cannot be changed later, where ProxySQL listens.
// libconfig gives a backslash and a quotation mark a meaning, which neither the password nor the paths contain.
func configuration(dir, socket, password, listen string) string {
	return fmt.Sprintf("datadir=%q\nadmin_variables=\n{\n\tadmin_credentials=%q\n\tmysql_ifaces=%q\n"+
		"\trestapi_enabled=false\n\tweb_enabled=false\n}\nmysql_variables=\n{\n\tinterfaces=%q\n\tmonitor_enabled=false\n}\n",
		dir, adminUser+":"+password, socket, listen)
}

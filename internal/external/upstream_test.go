package external

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// replica is a server that has applied all that it has received.
func replica(logs bool) Upstream {
	return Upstream{Position: "0-1-7", Applied: "0-1-7", Logged: "0-1-7", Logs: logs, Channels: []Channel{{
		Source: "up:3306", IO: "Yes", SQL: "Yes", GTID: true, Received: "0-1-7", Read: "b.1:900", Executed: "b.1:900",
		Behind: "0", Delay: "0"}}}
}

// TestOutstanding: the position of a server is its last one only when it has applied all that it has received.
func TestOutstanding(t *testing.T) {
	node := func(n GaleraNode) Upstream { return Upstream{Galera: &n, Logs: true} }
	first := func(u *Upstream) *Channel { return &u.Channels[0] }
	for name, c := range map[string]struct {
		of     Upstream
		change func(*Upstream)
		says   string // "" for nothing
	}{
		"a server of its own":    {of: Upstream{Logs: true}},
		"one without an own log": {of: Upstream{}},
		"at rest":                {of: replica(true)},
		"its log lacks them":     {of: replica(false), says: "log_slave_updates is OFF"},
		"stopped": {replica(true), func(u *Upstream) { first(u).IO, first(u).SQL = "No", "No" },
			"is stopped: run there START SLAVE, or, if it is no longer a replica, run there: RESET SLAVE ALL"},
		"stopped, with a name": {replica(true), func(u *Upstream) {
			first(u).IO, first(u).SQL, first(u).Name = "No", "No", "o'b"
		}, `run there START SLAVE 'o\'b', or, if it is no longer a replica, run there: RESET SLAVE 'o\'b' ALL`},
		"stopped, with something unapplied": {replica(true), func(u *Upstream) {
			first(u).IO, first(u).SQL, first(u).Received = "No", "No", "0-1-8"
		}, "run there START SLAVE. It has received, and not applied yet: 0-1-8"},
		"the SQL thread has stopped": {replica(true), func(u *Upstream) {
			first(u).SQL, first(u).Error, first(u).Behind, first(u).Read = "No", "Duplicate entry", "", "b.1:990"
		}, "Slave_SQL_Running is No): run there START SLAVE. It has received up to b.1:990, and has applied up to b.1:900. " +
			"Its last error: Duplicate entry"},
		"it connects": {replica(true), func(u *Upstream) { first(u).IO, first(u).Behind = "Connecting", "" },
			"Slave_IO_Running is Connecting): let it connect, or, if it is no longer a replica, run there: RESET"},
		"it applies": {replica(true), func(u *Upstream) { first(u).Received = "0-1-9" }, "not applied yet: 0-1-9"},
		"it is delayed": {replica(true), func(u *Upstream) { first(u).Received, first(u).Delay = "0-1-9", "3600" },
			"delayed by 3600 seconds: STOP SLAVE; CHANGE MASTER TO MASTER_DELAY = 0"},
		"it was delayed": {of: replica(true), change: func(u *Upstream) { first(u).Delay = "3600" }},
		"another domain": {replica(true), func(u *Upstream) { first(u).Received = "0-1-7,5-1-2" },
			"not applied yet: 5-1-2"},
		"what it has written itself": {of: replica(true), change: func(u *Upstream) {
			first(u).Received, u.Logged = "0-9-8", "0-1-7,0-9-8"
		}},
		"what it has not written itself": {replica(true), func(u *Upstream) {
			first(u).Received, u.Logged = "0-9-9", "0-1-7, 0-9-8"
		}, "not applied yet: 0-9-9"},
		"what is no GTID": {replica(true), func(u *Upstream) { first(u).Received = "0-1" }, "not applied yet: 0-1"},
		"a part of a transaction": {replica(true), func(u *Upstream) { first(u).Read = "b.1:90000" },
			"has received up to b.1:90000, and has applied up to b.1:900"},
		"without GTIDs": {replica(true), func(u *Upstream) {
			first(u).GTID, first(u).Received, first(u).Read = false, "", "b.2:4"
		}, "has received up to b.2:4"},
		"without GTIDs, at rest": {of: replica(true), change: func(u *Upstream) {
			first(u).GTID, first(u).Received = false, "0-1-99"
		}},
		"behind":         {replica(true), func(u *Upstream) { first(u).Behind = "7" }, "7 seconds behind"},
		"of unknown lag": {replica(true), func(u *Upstream) { first(u).Behind = "" }, "does not report how far"},
		"a second source": {replica(true), func(u *Upstream) {
			u.Channels = append(u.Channels, Channel{Source: "b:1"})
		}, "b:1"},
		"a node": {of: node(GaleraNode{State: "Synced", Queue: "0"})},
		"a node that does not log": {Upstream{Galera: &GaleraNode{State: "Synced", Queue: "0"}}, nil,
			"follow the server that is written to"},
		"a joining node":            {node(GaleraNode{State: "Joined", Queue: "0"}), nil, "not Synced with its Galera"},
		"a node that says nothing":  {node(GaleraNode{}), nil, "not Synced"},
		"a node behind its cluster": {node(GaleraNode{State: "Synced", Queue: "3"}), nil, "wsrep_local_recv_queue is 3"},
		"a node that waits in vain": {node(GaleraNode{State: "Synced", Queue: "0", Unsynced: "Err 1"}), nil, "Err 1"},
	} {
		if c.change != nil {
			c.change(&c.of)
		}
		got := strings.Join(c.of.Outstanding(), "\n")
		if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestUnseen: a person compares the position that a channel has received, by what the channel goes by.
func TestUnseen(t *testing.T) {
	u := replica(true)
	u.Channels = append(u.Channels, Channel{Source: "b:1", Read: "b.7", Received: "0-1-3"})
	const want = "SELECT @@GLOBAL.gtid_binlog_pos on up:3306 has to be 0-1-7, and SHOW MASTER STATUS on b:1 has to be b.7"
	if got := u.Unseen(); !strings.HasSuffix(got, ": "+want) {
		t.Error(got)
	}
	if got := (Upstream{Galera: &GaleraNode{}}).Unseen(); got != "" {
		t.Error(got)
	}
	at := u.At()
	u.Channels[1].Read = "b.8"
	if u.At() == at {
		t.Error("what is received is not seen")
	}
}

// TestGaleraNode: a node that has lost its cluster is one, and a server that only could be one is none.
func TestGaleraNode(t *testing.T) {
	for name, c := range map[string]struct {
		on, provider, size string
		is                 bool
	}{
		"another server": {"", "", "", false},
		"off":            {"OFF", "/lib/galera.so", "0", false},
		"no provider":    {"ON", "none", "0", false},
		"a member":       {"ON", "/lib/galera.so", "3", true},
		"a lost one":     {"ON", "/lib/galera.so", "0", true},
		"switched off":   {"OFF", "/lib/galera.so", "3", true},
	} {
		v := map[string]string{"WSREP_ON": c.on, "WSREP_PROVIDER": c.provider, "WSREP_CLUSTER_SIZE": c.size}
		if got := galeraNode(v) != nil; got != c.is {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestMonitorPrivilege: the error of an account that may not see the channels has the statement that grants it, and
// the check names the privilege. No channel is one answer, and no permission another.
func TestMonitorPrivilege(t *testing.T) {
	for version, want := range map[string]string{"10.5.8-MariaDB": "REPLICATION SLAVE ADMIN",
		"10.5.9-MariaDB-log": "SLAVE MONITOR", "10.11.3-MariaDB": "SLAVE MONITOR", "11.8.3-MariaDB": "SLAVE MONITOR"} {
		denied := &mysql.MySQLError{Number: 1227, Message: "Access denied; you need (at least one of) the … privilege(s)"}
		db := sql.OpenDB(&scripted{answers: map[string]scriptedAnswer{"SHOW ALL SLAVES STATUS": {err: denied},
			"CURRENT_USER()": {names: []string{"v", "u"}, rows: [][]driver.Value{{version, "o'b@10.%"}}}}})
		if _, err := AskUpstream(t.Context(), db); err == nil || code(err) != errPrivilege ||
			!strings.Contains(err.Error(), "; GRANT "+want+` ON *.* TO 'o\'b'@'10.%'`) {
			t.Errorf("%s: %v", version, err)
		}
		c, err := sql.OpenDB(&scripted{answers: map[string]scriptedAnswer{
			"SHOW ALL SLAVES STATUS": {err: denied}}}).Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, follow := range []bool{false, true} {
			lacks, err := lacking(t.Context(), c, version, follow)
			if got := strings.Contains(strings.Join(lacks, ","), want); got != follow || err != nil {
				t.Errorf("%s, followed: %v: %s, %v", version, follow, lacks, err)
			}
		}
	}
}

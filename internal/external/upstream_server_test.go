//go:build integration

package external

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestUpstream: of a replica it is seen whether it has applied what it has received, by whatever its channel goes, and
// also while its threads do not run. At rest it is at rest, whatever was left out, or has come back to it.
func TestUpstream(t *testing.T) {
	for _, series := range []string{"10.11", "11.8"} {
		t.Run(series, func(t *testing.T) {
			t.Parallel()
			image := "galera-mariadb:" + series
			up, _ := start(t, image, "--log-bin", "--server-id=1", "--log-slave-updates", "--binlog-format=ROW")
			replica, _ := start(t, image, "--log-bin", "--server-id=2", "--log-slave-updates", "--binlog-format=ROW",
				"--slave-parallel-threads=4")
			run(t, up, makeAccount, "GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT, REPLICATION SLAVE, BINLOG MONITOR "+
				"ON *.* TO 'copy@er'@'%'", "CREATE DATABASE shop", "CREATE TABLE shop.t (id INT AUTO_INCREMENT PRIMARY KEY)",
				"CREATE DATABASE other", "CREATE TABLE other.t (id INT AUTO_INCREMENT PRIMARY KEY)")
			follows := func(from *sql.DB, options string) string {
				return fmt.Sprintf("CHANGE MASTER TO master_host='%s', master_user='copy@er', master_password='se''cret', "+
					"master_ssl_verify_server_cert=0, master_connect_retry=1, %s", server(from).Host, options)
			}
			run(t, replica, follows(up, "master_use_gtid=slave_pos"), "START SLAVE")
			written := func() { t.Helper(); run(t, up, "INSERT INTO shop.t VALUES ()") }
			waitFor(t, "the account", func() string {
				return value(t, replica, "SELECT IF(COUNT(*) = 1, '', 'none') FROM information_schema.user_privileges "+
					"WHERE grantee LIKE '%copy@er%' AND privilege_type = 'BINLOG MONITOR'")
			})

			before, err := server(replica).Open()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = before.Close() }()
			_, err = AskUpstream(t.Context(), before)
			if code(err) != errPrivilege {
				t.Fatalf("the account may see the channels, or does not know that it may not: %v", err)
			}
			found, inspected := Inspect(t.Context(), before, Options{Follow: true}, Wanted{})
			if inspected != nil || len(found.Findings) != 1 || found.Findings[0].Name != PrivilegeMissing ||
				!strings.Contains(found.Findings[0].Message, "GRANT SLAVE MONITOR ON *.*") {
				t.Errorf("%+v: %v", found, inspected)
			}
			at := value(t, replica, "SELECT @@GLOBAL.gtid_binlog_pos")
			_, statements, _ := strings.Cut(err.Error(), "Run there: ")
			statements, _, _ = strings.Cut(statements, " (")
			run(t, replica, statements)
			if now := value(t, replica, "SELECT @@GLOBAL.gtid_binlog_pos"); now != at {
				t.Errorf("the grant has a GTID of the replica: %s after %s", now, at)
			}
			replica.SetMaxIdleConns(0) // no session without a binary log is left

			from, err := server(replica).Open()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = from.Close() }()
			ask := func() Upstream {
				t.Helper()
				u, err := AskUpstream(t.Context(), from)
				if err != nil {
					t.Fatal(err)
				}
				return u
			}
			rests := func(when string) {
				t.Helper()
				waitFor(t, when, func() string {
					u := ask()
					_, has, _ := strings.Cut(u.Unseen(), " has to be ")
					at := value(t, up, "SELECT @@GLOBAL.gtid_binlog_pos")
					if u.Channels[0].GTID && gtids(has) != gtids(at) {
						return "it has received " + has + ", and its source is at " + at
					}
					return strings.Join(u.Outstanding(), "\n")
				})
			}
			waits := func(when string, says ...string) {
				t.Helper()
				waitFor(t, when, func() string {
					all := strings.Join(ask().Outstanding(), "\n")
					if slices.ContainsFunc(says, func(s string) bool { return !strings.Contains(all, s) }) {
						return "not seen: " + all
					}
					return ""
				})
				if of := ask().String(); of != "a replica of "+server(up).Host+":3306" {
					t.Errorf("%s: it is %q", when, of)
				}
			}
			rests("at first")
			run(t, replica, "STOP SLAVE SQL_THREAD")
			written()
			waits("the SQL thread is stopped", "Slave_SQL_Running is No")
			run(t, replica, "START SLAVE")
			rests("it runs again")
			run(t, replica, "STOP SLAVE", "START SLAVE")
			rests("it was started again, and nothing has come")
			run(t, replica, "STOP SLAVE IO_THREAD")
			waits("it is not connected", "Slave_IO_Running is No")
			run(t, replica, "STOP SLAVE", "CHANGE MASTER TO master_delay=3600", "START SLAVE")
			written()
			waits("it is delayed", "not applied yet: "+value(t, up, "SELECT @@GLOBAL.gtid_binlog_pos"), "3600 seconds")
			run(t, replica, "STOP SLAVE", "CHANGE MASTER TO master_delay=0", "START SLAVE")
			rests("it is not delayed any more")
			run(t, up, "FLUSH BINARY LOGS")
			rests("the source has rotated its log")
			run(t, replica, "STOP SLAVE", "SET GLOBAL replicate_ignore_db='other'", "START SLAVE")
			run(t, up, "USE other; INSERT INTO other.t VALUES ()")
			rests("a database is left out")
			run(t, replica, "STOP SLAVE", "CHANGE MASTER TO ignore_domain_ids=(5)", "START SLAVE")
			run(t, up, "SET SESSION gtid_domain_id = 5; INSERT INTO shop.t VALUES (); SET SESSION gtid_domain_id = 0")
			rests("a domain is left out")
			lock, err := replica.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = lock.Close() }()
			if _, err := lock.ExecContext(t.Context(), "LOCK TABLES shop.t WRITE"); err != nil {
				t.Fatal(err)
			}
			written()
			waits("a transaction takes long", "not applied yet: ")
			if _, err := lock.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
				t.Fatal(err)
			}
			rests("it was applied")
			run(t, up, follows(replica, "master_use_gtid=slave_pos"), "START SLAVE")
			run(t, replica, "INSERT INTO shop.t VALUES (1000)")
			waitFor(t, "the row comes", func() string {
				return value(t, up, "SELECT IF(COUNT(*) = 1, '', 'no row') FROM shop.t WHERE id = 1000")
			})
			rests("its own transaction has come back")
			run(t, up, "STOP SLAVE", "RESET SLAVE ALL")

			// With parallel threads, on a busy machine, a channel without GTIDs receives a transaction at times, and never
			// applies it (10.11 and 11.8).
			run(t, replica, "STOP SLAVE", "SET GLOBAL slave_parallel_threads = 0",
				"CHANGE MASTER TO master_use_gtid=no, ignore_domain_ids=()", "START SLAVE")
			written()
			rests("without GTIDs")
			run(t, replica, "STOP SLAVE", "CHANGE MASTER TO master_delay=3600", "START SLAVE")
			written()
			waits("delayed without GTIDs", "has received up to", "3600 seconds")
			run(t, replica, "STOP SLAVE")
			waits("stopped", "is stopped: run there START SLAVE")
			run(t, replica, "RESET SLAVE ALL")
			if u := ask(); u.String() != "" || len(u.Outstanding()) > 0 || !u.Logs || u.Position == "" {
				t.Errorf("it is no replica any more: %+v", u)
			}
		})
	}
}

// TestUpstreamOfNode: a node of a Galera cluster is known as one, and whether it is Synced.
func TestUpstreamOfNode(t *testing.T) {
	for _, series := range []string{"10.11", "11.8"} {
		t.Run(series, func(t *testing.T) {
			t.Parallel()
			node, _ := start(t, "galera-mariadb:"+series, "--log-bin", "--server-id=1", "--log-slave-updates",
				"--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--wsrep-on=ON", "--wsrep-cluster-address=gcomm://",
				"--wsrep-provider=/usr/lib/galera/libgalera_smm.so")
			waitFor(t, "a component", func() string {
				return value(t, node, "SELECT IF(variable_value = 'ON', '', variable_value) FROM "+
					"information_schema.GLOBAL_STATUS WHERE variable_name = 'WSREP_READY'")
			})
			run(t, node, "CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)")
			u, err := AskUpstream(t.Context(), node)
			if err != nil || u.String() != "a node of a Galera cluster" || len(u.Outstanding()) > 0 || u.Position == "" {
				t.Errorf("%+v, %v: %v", u.Galera, u.Outstanding(), err)
			}
			run(t, node, "SET GLOBAL wsrep_desync = ON")
			u, err = AskUpstream(t.Context(), node)
			if err != nil || !strings.Contains(strings.Join(u.Outstanding(), ""), "Donor/Desynced") {
				t.Errorf("%+v, %v: %v", u.Galera, u.Outstanding(), err)
			}
			run(t, node, "SET GLOBAL wsrep_desync = OFF", "SET GLOBAL wsrep_cluster_address = 'gcomm://192.0.2.1'")
			waitFor(t, "no component", func() string {
				u, err := AskUpstream(t.Context(), node)
				if err != nil || u.Galera == nil || u.Galera.Unsynced == "" {
					return fmt.Sprintf("%+v, %v", u.Galera, err)
				}
				return ""
			})
		})
	}
}

// waitFor waits until nothing is reported any more.
func waitFor(t *testing.T, what string, missing func() string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		switch got := missing(); {
		case got == "":
			return
		case time.Now().After(end):
			t.Fatalf("%s: %s", what, got)
		}
	}
}

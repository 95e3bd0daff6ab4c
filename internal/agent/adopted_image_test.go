//go:build integration

package agent_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// The layout of Bitnami's image and chart (bitnami/containers, mariadb/10.11, libmariadb.sh): another user ID, another
// data directory, options of their own, replication mode "master". All accounts that the installation has made are
// deleted as rows, and root is made at any host only.
const (
	bitnamiRoot    = "old root"
	bitnamiOptions = "[mysqld]\nskip_name_resolve\nexplicit_defaults_for_timestamp\nport=3306\ntmpdir=/bitnami/mariadb/tmp\n" +
		"socket=/tmp/s\npid_file=/bitnami/mariadb/tmp/mysqld.pid\nmax_allowed_packet=16M\nbind_address=0.0.0.0\n" +
		"slow_query_log=0\nlong_query_time=10.0\ncharacter_set_server=utf8mb4\ndatadir=/bitnami/mariadb/data\n" +
		"[client]\nport=3306\nsocket=/tmp/s\ndefault_character_set=utf8mb4\n"
	bitnamiStart = "mkdir /bitnami/mariadb/tmp && printf '" + bitnamiOptions + "' > /bitnami/mariadb/my.cnf && " +
		"mariadb-install-db --defaults-file=/bitnami/mariadb/my.cnf --auth-root-authentication-method=normal >/dev/null && " +
		"exec mariadbd --defaults-file=/bitnami/mariadb/my.cnf --server-id=417 --binlog-format=ROW --log-bin=mysql-bin " +
		"--sync-binlog=1 --innodb_flush_log_at_trx_commit=1"
)

// bitnamiAccounts has the accounts made as the image does.
var bitnamiAccounts = "DELETE FROM mysql.user WHERE user NOT IN ('mysql.sys','mysql.infoschema','mysql.session'," +
	"'mariadb.sys'); RESET MASTER; FLUSH PRIVILEGES; CREATE USER root@'%' IDENTIFIED BY '" + bitnamiRoot + "'; " +
	"GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION; CREATE USER app@'%' IDENTIFIED BY 'x'; " +
	"CREATE DATABASE shop CHARACTER SET utf8mb4; GRANT ALL ON shop.* TO app@'%'; " + channelUser

// TestBitnamiLayout: a server with the layout of Bitnami's image comes by a backup that its root has made, is followed
// from there, and can be copied by the credentials of its root.
func TestBitnamiLayout(t *testing.T) {
	if os.Getenv("GALERA_SLOW") == "" {
		t.Skip("GALERA_SLOW is not set")
	}
	t.Parallel()
	s := &adopting{following: toFollow(t, 2, image), series: image,
		command: "mariadb-backup --defaults-file=/bitnami/mariadb/my.cnf --backup --user=root --password='" + bitnamiRoot + "' "}
	s.jobs = newJobs(s.world)
	s.world.run(exec.Command("docker", "run", "-d", "--name", s.source, "--network", s.world.network, "--user=1001",
		"-e", "MYSQL_PWD="+bitnamiRoot, "--tmpfs", "/bitnami/mariadb:uid=1001", "--entrypoint=sh", image, "-c", bitnamiStart))
	t.Cleanup(func() { _ = exec.Command("docker", "rm", "-f", "-v", s.source).Run() })
	install := []string{"exec", "-e", "MYSQL_PWD=", s.source, "mariadb", "-uroot", "--socket=/tmp/s", "-e", bitnamiAccounts}
	for deadline := time.Now().Add(90 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		out, err := exec.Command("docker", install...).CombinedOutput()
		if err == nil {
			break
		}
		if !strings.Contains(string(out), "connect") || time.Now().After(deadline) {
			t.Fatalf("%v: %s\n%s", err, out, s.world.run(exec.Command("docker", "logs", s.source)))
		}
	}
	s.mustSource(tables + "; CREATE VIEW shop.v AS SELECT id FROM shop.t; INSERT INTO shop.t VALUES (0, 'é')")
	s.credentials("channel", channelPassword)

	s.write()
	s.await0("SELECT COUNT(*) > 50 FROM shop.t")
	s.stream("bitnami.xb.zst", true)
	s.filled = s.jobs.fillAt(s.volume(), s.task())
	if r := s.filled; r.Error != "" || r.Restored == nil || r.Source == nil || r.Source.Tables != 2 ||
		len(r.Source.Skipped) > 0 {
		t.Fatalf("%+v, %+v", r, r.Source)
	}
	s.forms()
	const have = "SELECT GROUP_CONCAT(user, '@', host ORDER BY user, host) FROM mysql.global_priv WHERE user IN " +
		"('app', 'root'); SELECT definer FROM information_schema.views WHERE table_name = 'v'"
	for i := range s.world.nodes {
		s.await(i, have, "app@%,root@%\nroot@%")
	}
	s.follows()

	s.credentials("root", bitnamiRoot)
	copied := s.jobs.fill(task.Task{Import: &task.External{Host: s.source, Port: 3306, Plain: true, Users: true,
		Connections: 2, Settings: map[string]string{"innodb_buffer_pool_size": "64M"}, ID: "external-2",
		History: importHistory}})
	if r := copied; r.Error != "" || r.Source == nil || r.Source.Tables != 2 || len(r.Source.Skipped) > 0 {
		t.Errorf("a copy: %+v, %+v", r, r.Source)
	}
}

// credentials are those with which Jobs connect to the source.
func (s *adopting) credentials(user, password string) {
	s.jobs.put("source/"+task.SourceUser, []byte(user))
	s.jobs.put("source/"+task.SourcePassword, []byte(password+"\n"))
}

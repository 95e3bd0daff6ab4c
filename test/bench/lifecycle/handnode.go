package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/test/harness"
)

// handNode is one database node in a plain container.
type handNode struct {
	name    string
	address string
	// sh is a shell that stays open: starting one for every command costs as much as the recovery.
	sh *shell
}

const (
	handConfig = "/etc/hand.cnf"
	handData   = "/var/lib/mysql/data"
	handUser   = "hand"
)

// handSettings are those that matter for a start: the same as in the operator's pods.
const handSettings = `[mysqld]
user=mysql
datadir=%[1]s
socket=/run/mysqld/mysqld.sock
bind-address=0.0.0.0
skip-name-resolve
binlog_format=ROW
default_storage_engine=InnoDB
innodb_autoinc_lock_mode=2
wsrep_on=ON
wsrep_provider=%[2]s
wsrep_cluster_name=hand
wsrep_cluster_address=gcomm://%[3]s
wsrep_node_name=%[4]s
wsrep_node_address=%[5]s
wsrep_sst_method=mariabackup
wsrep_sst_auth=root:
wsrep_provider_options="socket.ssl=yes;socket.ssl_cert=/certs/tls.crt;socket.ssl_key=/certs/tls.key;socket.ssl_ca=/certs/ca.crt;gcache.recover=yes;pc.recovery=no"
[sst]
encrypt=4
tcert=/certs/tls.crt
tkey=/certs/tls.key
tca=/certs/ca.crt
[mariabackup]
skip-ssl
`

// run runs a script in the node's container.
func (n handNode) run(ctx context.Context, script string, args ...string) (string, error) {
	return harness.Docker(ctx, append([]string{"exec", n.name, "sh", "-euc", script, "sh"}, args...)...)
}

func (n handNode) configure(ctx context.Context, addresses []string) error {
	provider, err := n.run(ctx, `find / -xdev -name libgalera_smm.so | head -n 1`)
	if err != nil {
		return err
	}
	text := fmt.Sprintf(handSettings, handData, strings.TrimSpace(provider), strings.Join(addresses, ","), n.name,
		n.address)
	_, err = harness.DockerWithInput(ctx, text, "exec", "-i", n.name, "sh", "-euc",
		`cat >"$1"; mkdir -p "$2" /run/mysqld; chown mysql:mysql "$2" /var/lib/mysql /run/mysqld`, "sh", handConfig, handData)
	return err
}

func (n handNode) initialise(ctx context.Context) error {
	_, err := n.run(ctx,
		`mariadb-install-db --defaults-file="$1" --auth-root-authentication-method=normal --wsrep-on=OFF >/dev/null`,
		handConfig)
	return err
}

// start starts the server and does not wait for it.
func (n handNode) start(options ...string) error {
	_, err := n.sh.run("mariadbd --defaults-file=" + handConfig + " " + strings.Join(options, " ") + " >>/tmp/log 2>&1 &")
	return err
}

func (n handNode) startAsNew(position galera.Position) error {
	if _, err := n.sh.run("sed -i 's/^safe_to_bootstrap:.*/safe_to_bootstrap: 1/' " + handData +
		"/grastate.dat"); err != nil {
		return err
	}
	return n.start("--wsrep-new-cluster", "--wsrep-start-position="+position.String())
}

func (n handNode) kill() error {
	_, err := n.sh.run("kill -9 $(pidof mariadbd); while pidof mariadbd >/dev/null; do :; done")
	return err
}

// stop ends the server in order.
func (n handNode) stop() error {
	_, err := n.sh.run("kill $(pidof mariadbd); while pidof mariadbd >/dev/null; do sleep 0.02; done")
	return err
}

var recoveredPosition = regexp.MustCompile(`Recovered position: (\S+)`)

// recover asks InnoDB for the node's position.
func (n handNode) recover() (galera.Position, error) {
	out, err := n.sh.run("mariadbd --defaults-file=" + handConfig + " --wsrep-recover --disable-log-error 2>&1")
	if err != nil {
		return galera.Position{}, err
	}
	m := recoveredPosition.FindStringSubmatch(out)
	if m == nil {
		return galera.Position{}, errors.New("no position: " + out)
	}
	return galera.ParsePosition(m[1])
}

func (n handNode) prepareTable(ctx context.Context) error {
	_, err := n.run(ctx, `mariadb -S /run/mysqld/mysqld.sock -e "$1"`, fmt.Sprintf(
		"CREATE USER %[1]s@'%%' IDENTIFIED BY '%[1]s'; GRANT ALL ON *.* TO %[1]s@'%%'; CREATE DATABASE bench; USE bench; "+
			"CREATE TABLE bench.w (seq BIGINT AUTO_INCREMENT PRIMARY KEY, id BIGINT NOT NULL, payload TEXT, KEY (id)); "+
			"INSERT INTO bench.w (id) SELECT seq FROM seq_1_to_20000", handUser))
	return err
}

func (n handNode) open() (*sql.DB, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = handUser, handUser, "tcp", n.address+":3306"
	cfg.Timeout, cfg.ReadTimeout = time.Second, 3*time.Second
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

func (n handNode) write(ctx context.Context, rows int) (err error) {
	db, err := n.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for i := range rows {
		if _, err := db.ExecContext(ctx, "INSERT INTO bench.w (id) VALUES (?)", i); err != nil {
			return err
		}
	}
	return nil
}

// synced describes what is missing to be Synced in a component of that size. Before there is a user to
// log in over the network, the node is asked from inside.
func (n handNode) synced(size int) error {
	out, err := n.sh.run(
		`mariadb -N -S /run/mysqld/mysqld.sock -e "SHOW STATUS WHERE Variable_name IN ('wsrep_local_state_comment', 'wsrep_cluster_size')" 2>&1`)
	if err != nil {
		return err
	}
	if !strings.Contains(out, "Synced") || !strings.Contains(out, fmt.Sprintf("wsrep_cluster_size\t%d", size)) {
		return errors.New(strings.Join(strings.Fields(out), " "))
	}
	return nil
}

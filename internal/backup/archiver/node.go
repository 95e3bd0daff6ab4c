package archiver

import (
	"context"
	"crypto/tls"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/dump"
	"github.com/galera-operator/galera-operator/internal/backup/nodetls"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const (
	port = "3306"
	// askTime bounds a question to a node.
	askTime = 15 * time.Second
	// dialTime bounds a connection for the binary log; silence is after how long it is given up.
	dialTime = 10 * time.Second
	silence  = 20 * time.Second
	// noPosition is what a server answers that does not have what follows a GTID.
	noPosition = 1236
)

// node is a node that can be followed.
type node struct {
	host   string
	user   string
	config *tls.Config
	db     *sql.DB
}

// nodes are those that serve, the one that the Service for reading leads to first; away is why others do not.
func (a *archiver) nodes(ctx context.Context) (synced []source, away map[string]string, err error) {
	config, err := nodetls.Read(task.ClientDir, tls.VersionTLS12)
	if err != nil {
		return nil, nil, err
	}
	away = map[string]string{}
	hosts := slices.Clone(a.task.Nodes)
	if first := a.best(ctx, config); first != "" {
		slices.SortStableFunc(hosts, func(x, y string) int { return rank(x, first) - rank(y, first) })
	}
	var errs []error
	for _, host := range hosts {
		n, err := connect(ctx, a.task.User, host, config)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", host, err))
			away[host] = err.Error()
			continue
		}
		synced = append(synced, n)
	}
	if len(synced) == 0 {
		return nil, away, fmt.Errorf("no node serves: %w", errors.Join(errs...))
	}
	return synced, away, nil
}

func rank(host, first string) int {
	if name, _, _ := strings.Cut(host, "."); name == first {
		return 0
	}
	return 1
}

// best is the name of the node that the Service for reading leads to: not the primary, if there is another one.
func (a *archiver) best(ctx context.Context, config *tls.Config) (name string) {
	db, err := open(a.task.User, a.task.ReadOnly, config)
	if err != nil {
		return ""
	}
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	_ = db.QueryRowContext(ctx, "SELECT @@hostname").Scan(&name)
	return name
}

func open(user, host string, config *tls.Config) (*sql.DB, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr, cfg.Timeout, cfg.ReadTimeout = user, "tcp", net.JoinHostPort(host, port), askTime, askTime
	cfg.TLS = config.Clone()
	cfg.TLS.ServerName = host
	cfg.Logger = log.New(io.Discard, "", 0) // every error is returned as well
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, nil
}

// connect takes only a node that is Synced in the Primary component, and writes a binary log.
func connect(ctx context.Context, user, host string, config *tls.Config) (*node, error) {
	db, err := open(user, host, config)
	if err != nil {
		return nil, err
	}
	n := &node{host: host, user: user, config: config, db: db}
	if _, err := n.position(ctx); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

func (n *node) name() string { return n.host }

func (n *node) close() { _ = n.db.Close() }

// position is what the node has in its binary log now: wsrep_sync_wait has it apply all that was committed anywhere
// first.
func (n *node) position(ctx context.Context) (at position, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var state, component, name string
	row := n.db.QueryRowContext(ctx,
		`SELECT MAX(IF(variable_name = 'WSREP_LOCAL_STATE', variable_value, '')), MAX(IF(variable_name = 'WSREP_CLUSTER_STATUS', variable_value, '')),
		MAX(IF(variable_name = 'WSREP_LAST_COMMITTED', CAST(variable_value AS SIGNED), 0)), @@hostname
		FROM information_schema.global_status WHERE variable_name IN ('WSREP_LOCAL_STATE', 'WSREP_CLUSTER_STATUS', 'WSREP_LAST_COMMITTED')`)
	if err := row.Scan(&state, &component, &at.before, &name); err != nil {
		return at, err
	}
	if state != "4" || component != "Primary" {
		return at, errors.New("it is not Synced in the Primary component")
	}
	var all string
	var mode, logs bool
	err = n.db.QueryRowContext(ctx,
		`SET STATEMENT wsrep_sync_wait = 1 FOR SELECT @@gtid_binlog_pos, @@wsrep_gtid_domain_id, @@gtid_domain_id, @@server_id, @@wsrep_gtid_mode, @@log_bin, @@gtid_slave_pos`).
		Scan(&all, &at.Domain, &at.local.Domain, &at.local.Server, &mode, &logs, &at.applied)
	if err == nil && (!mode || !logs) {
		err = errors.New("it does not write a binary log yet: it was not restarted since spec.backup.pointInTime is enabled")
	}
	if err != nil {
		return at, err
	}
	at.sort(all)
	err = n.group(ctx, &at)
	return at, err
}

// group adds where the node is in Galera's history, and in which line of it. It comes after the position in the binary
// log, and is not before it.
func (n *node) group(ctx context.Context, at *position) error {
	var history, number string
	var clock float64
	asked := time.Now()
	row := n.db.QueryRowContext(ctx,
		`SELECT MAX(IF(variable_name = 'WSREP_CLUSTER_STATE_UUID', variable_value, '')), MAX(IF(variable_name = 'WSREP_CLUSTER_CONF_ID', variable_value, '')),
		MAX(IF(variable_name = 'WSREP_LAST_COMMITTED', CAST(variable_value AS SIGNED), 0)), @@timestamp
		FROM information_schema.global_status WHERE variable_name IN ('WSREP_CLUSTER_STATE_UUID', 'WSREP_CLUSTER_CONF_ID', 'WSREP_LAST_COMMITTED')`)
	if err := row.Scan(&history, &number, &at.seqno, &clock); err != nil {
		return err
	}
	at.ahead = aheadBy(time.UnixMicro(int64(clock*1e6)), asked, time.Now())
	at.view = history + ":" + number
	view, err := peerView(ctx, n.host, n.config)
	if err != nil {
		return fmt.Errorf("its agent does not answer: %w", err)
	}
	if since := view.LoggedSince; since.UUID == history {
		at.since = since.Seqno
	}
	for _, l := range view.Lineage.Lines() {
		at.Lines = append(at.Lines, binlog.Line{History: l.Start.UUID, ID: l.ID, Epoch: l.Epoch, Start: l.Start.Seqno,
			Copied: l.Copied})
	}
	if len(at.Lines) > 0 && at.Lines[0].History != history {
		return fmt.Errorf("it is in the history %s, and its agent says %s", history, at.Lines[0].History)
	}
	return nil
}

// peerView is what a node's agent reports to the other agents, and to the archiver by its certificate.
func peerView(ctx context.Context, host string, config *tls.Config) (view agentapi.PeerView, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"https://"+net.JoinHostPort(host, strconv.Itoa(agentapi.PeerPort))+agentapi.PathPeer, nil)
	if err != nil {
		return view, err
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config.Clone(), DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return view, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return view, fmt.Errorf("it answers %s", resp.Status)
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&view)
	return view, err
}

// open asks for what follows a position.
func (n *node) open(after []string) (events, error) {
	set, err := gomysql.ParseMariadbGTIDSet(strings.Join(after, ","))
	if err != nil {
		return nil, err
	}
	c, err := n.dial()
	if err != nil {
		return nil, refused(err)
	}
	d, err := dump.Replica{Name: "archiver", Server: 1<<31 + rand.Uint32N(1<<30), //nolint:gosec // no secret
		After: set.String(), Strict: true, Ended: refused}.Open(c)
	if err != nil {
		_ = c.Close()
		return nil, refused(err)
	}
	return d, nil
}

// refused sorts out whether the server lacks what it was asked for.
func refused(err error) error {
	var answer *gomysql.MyError
	if errors.As(err, &answer) && answer.Code == noPosition {
		return refusal{purged{errors.New(answer.Message)}}
	}
	return fmt.Errorf("the stream of the binary log has ended: %w", err)
}

// dial connects for the binary log.
func (n *node) dial() (*client.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTime)
	defer cancel()
	config := n.config.Clone()
	config.ServerName = n.host
	return client.ConnectWithDialer(ctx, "tcp", net.JoinHostPort(n.host, port), n.user, "", "",
		(&net.Dialer{}).DialContext, func(c *client.Conn) error {
			c.SetTLSConfig(config)
			c.SetAttributes(map[string]string{"_client_role": "binary_log_listener"})
			c.ReadTimeout = silence
			return nil
		})
}

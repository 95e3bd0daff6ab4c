package external

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// Upstream is what a server carries out of what other servers write, and how far it is with that.
type Upstream struct {
	// Channels are all that are configured, whether they run or not.
	Channels []Channel
	// Galera is what a node of a Galera cluster says of itself, nil for other servers.
	Galera *GaleraNode
	// Position is the server's own, Applied its gtid_slave_pos, and Logged its gtid_binlog_state.
	Position, Applied, Logged string
	// Logs reports whether its binary log has what other servers write.
	Logs bool
}

// Channel is a row of SHOW ALL SLAVES STATUS.
type Channel struct {
	// Name is "" for the one by default. Source is HOST:PORT.
	Name, Source string
	// IO and SQL are "Yes" while its threads run, and Error is why not, if there is an error.
	IO, SQL, Error string
	// GTID reports whether it goes by GTIDs, and Received is up to where it has received them.
	GTID     bool
	Received string
	// Read and Executed are up to where it has received and applied the source's binary log, as FILE:OFFSET.
	Read, Executed string
	// Behind are seconds, "" while that is not known, and Delay those of MASTER_DELAY.
	Behind, Delay string
}

// GaleraNode is what the status variables of a node of a Galera cluster say.
type GaleraNode struct {
	// State is its wsrep_local_state_comment, and Queue its wsrep_local_recv_queue.
	State, Queue string
	// Unsynced is why it has not applied all that its cluster has, as far as it has said.
	Unsynced string
}

// AskUpstream asks a server for what it carries out of other servers' writes. The error of an account that lacks
// the privilege has the statement that grants it.
func AskUpstream(ctx context.Context, db *sql.DB) (Upstream, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return Upstream{}, err
	}
	defer func() { _ = c.Close() }()
	u, err := askUpstream(ctx, c)
	if code(err) != errPrivilege {
		return u, err
	}
	var version, account string
	if ask := c.QueryRowContext(ctx, "SELECT VERSION(), CURRENT_USER()").Scan(&version, &account); ask != nil {
		return u, errors.Join(err, ask)
	}
	at := strings.LastIndex(account, "@")
	// Without a GTID of its own, which the channels of a replica may not take, and its followers would not have.
	return u, fmt.Errorf("the account may not see that. Run there: SET SESSION sql_log_bin = 0; GRANT %s ON *.* TO %s@%s "+
		"(%w)", monitorPrivilege(version), text(account[:max(at, 0)]), text(account[at+1:]), err)
}

// monitorPrivilege is what SHOW ALL SLAVES STATUS needs.
func monitorPrivilege(version string) string {
	var patch int
	if n, _ := fmt.Sscanf(version, "10.5.%d", &patch); n == 1 && patch < 9 {
		return "REPLICATION SLAVE ADMIN"
	}
	return "SLAVE MONITOR"
}

func askUpstream(ctx context.Context, c *sql.Conn) (u Upstream, err error) {
	if u.Channels, err = channelsOf(ctx, c); err != nil { // before what is applied of it
		return u, err
	}
	v := map[string]string{}
	for _, of := range []string{"GLOBAL_STATUS", "GLOBAL_VARIABLES"} {
		err := each(ctx, c, "SELECT variable_name, variable_value FROM information_schema."+of+
			" WHERE variable_name LIKE 'WSREP%'", func(row []string) { v[strings.ToUpper(row[0])] = row[1] })
		if err != nil {
			return u, err
		}
	}
	u.Galera = galeraNode(v)
	positions := "SELECT @@GLOBAL.gtid_binlog_pos, @@GLOBAL.gtid_slave_pos, @@GLOBAL.gtid_binlog_state, " +
		"@@GLOBAL.log_slave_updates"
	read := func(query string) error {
		return c.QueryRowContext(ctx, query).Scan(&u.Position, &u.Applied, &u.Logged, &u.Logs)
	}
	if u.Galera == nil {
		return u, read(positions)
	}
	err = read("SET STATEMENT wsrep_sync_wait = 1 FOR " + positions)
	if n := code(err); n == errNodeNotReady || n == errLockWait {
		u.Galera.Unsynced, err = err.Error(), read("SET STATEMENT wsrep_sync_wait = 0, wsrep_dirty_reads = ON FOR "+positions)
	}
	return u, err
}

// channelsOf lists the channels that are configured.
func channelsOf(ctx context.Context, c *sql.Conn) (out []Channel, err error) {
	err = eachNamed(ctx, c, "SHOW ALL SLAVES STATUS", func(v map[string]sql.NullString) {
		if v["master_host"].String == "" {
			return
		}
		at := func(file, offset string) string { return v[file].String + ":" + v[offset].String }
		out = append(out, Channel{Name: v["connection_name"].String,
			Source: net.JoinHostPort(v["master_host"].String, v["master_port"].String),
			IO:     v["slave_io_running"].String, SQL: v["slave_sql_running"].String,
			Error: strings.TrimSpace(v["last_io_error"].String + " " + v["last_sql_error"].String),
			GTID:  v["using_gtid"].String != "No", Received: strings.ReplaceAll(v["gtid_io_pos"].String, " ", ""),
			Read: at("master_log_file", "read_master_log_pos"), Executed: at("relay_master_log_file", "exec_master_log_pos"),
			Behind: v["seconds_behind_master"].String, Delay: v["sql_delay"].String})
	})
	return out, err
}

// galeraNode returns what the variables say of a node, nil if the server is none. A node that has lost its cluster is
// one.
func galeraNode(v map[string]string) *GaleraNode {
	alone := v["WSREP_CLUSTER_SIZE"] == "" || v["WSREP_CLUSTER_SIZE"] == "0"
	off := v["WSREP_ON"] != "ON" || v["WSREP_PROVIDER"] == "" || strings.EqualFold(v["WSREP_PROVIDER"], "none")
	if alone && off {
		return nil
	}
	return &GaleraNode{State: v["WSREP_LOCAL_STATE_COMMENT"], Queue: v["WSREP_LOCAL_RECV_QUEUE"]}
}

// String describes whose writes the server carries out, "" if no one's. It is pure.
func (u Upstream) String() string {
	var out []string
	if len(u.Channels) > 0 {
		names := make([]string, len(u.Channels))
		for i, c := range u.Channels {
			names[i] = c.Source
		}
		out = append(out, "a replica of "+strings.Join(names, " and "))
	}
	if u.Galera != nil {
		out = append(out, "a node of a Galera cluster")
	}
	return strings.Join(out, ", and ")
}

// Outstanding returns why the server's position is not the end of what it has received, and what to do. It is pure.
func (u Upstream) Outstanding() (out []string) {
	if !u.Logs && u.String() != "" {
		out = append(out, "its binary log, and so the cluster, lacks what other servers write (log_slave_updates is OFF): "+
			"follow the server that is written to"+ifUnused(u.Channels))
	}
	for _, c := range u.Channels {
		if why := u.waits(c); why != "" {
			out = append(out, c.String()+" "+why)
		}
	}
	switch n := u.Galera; {
	case n == nil:
	case n.Unsynced != "":
		out = append(out, "the node has not applied all that its Galera cluster has: "+n.Unsynced)
	case n.State != "Synced":
		out = append(out, fmt.Sprintf("the node is not Synced with its Galera cluster (%s)", n.State))
	case n.Queue != "0":
		out = append(out, "the node has not applied all that its Galera cluster has (wsrep_local_recv_queue is "+n.Queue+")")
	}
	return out
}

// ifUnused is what to do about a channel that was left behind, for instance by a promotion.
func ifUnused(channels []Channel) string {
	if len(channels) == 0 {
		return ""
	}
	statements := make([]string, len(channels))
	for i, c := range channels {
		statements[i] = c.statement("RESET SLAVE", " ALL")
	}
	return ", or, if it is no longer a replica, run there: " + strings.Join(statements, "; ")
}

// waits is why a channel has not applied all that its source has written, as far as that can be seen.
func (u Upstream) waits(c Channel) (why string) {
	unapplied := u.unapplied(c)
	switch {
	case c.IO == "No" && c.SQL == "No":
		why = "is stopped: run there " + c.statement("START SLAVE", "")
	case c.SQL != "Yes":
		why = fmt.Sprintf("applies nothing (Slave_SQL_Running is %s): run there %s", c.SQL, c.statement("START SLAVE", ""))
	case c.IO != "Yes":
		why = fmt.Sprintf("receives nothing (Slave_IO_Running is %s): let it connect", c.IO)
	case unapplied != "":
		why, unapplied = unapplied, ""
	case c.Behind == "":
		return "does not report how far behind it is"
	case c.Behind != "0":
		return fmt.Sprintf("is %s seconds behind", c.Behind)
	default:
		return ""
	}
	switch running := c.IO == "Yes" && c.SQL == "Yes"; {
	case unapplied != "":
		why += ". It " + unapplied
	case !running: // what is received and not applied would be lost
		why += ifUnused([]Channel{c})
	}
	if c.Delay != "" && c.Delay != "0" {
		why += fmt.Sprintf(". It is delayed by %s seconds: STOP SLAVE; CHANGE MASTER TO MASTER_DELAY = 0; START SLAVE",
			c.Delay)
	}
	if c.Error != "" {
		why += ". Its last error: " + c.Error
	}
	return why
}

// unapplied is what a channel has received only, "" for nothing.
func (u Upstream) unapplied(c Channel) string {
	if missing := u.missing(c.Received); c.GTID && len(missing) > 0 {
		return "has received, and not applied yet: " + strings.Join(missing, ", ")
	}
	if c.Read != c.Executed {
		return fmt.Sprintf("has received up to %s, and has applied up to %s", c.Read, c.Executed)
	}
	return ""
}

// missing returns what of a position the server has not applied. A channel does not apply what the server itself has
// written, and that is in the binary log already.
func (u Upstream) missing(received string) (out []string) {
	for one := range strings.SplitSeq(received, ",") {
		g, err := binlog.Parse(one)
		if err != nil {
			out = append(out, one)
			continue
		}
		logged := slices.ContainsFunc(strings.Split(u.Logged, ","), func(other string) bool {
			have, err := binlog.Parse(strings.TrimSpace(other))
			return err == nil && have.Domain == g.Domain && have.Server == g.Server && have.Seq >= g.Seq
		})
		if applied, _ := binlog.In(u.Applied, g.Domain); applied.Seq < g.Seq && !logged {
			out = append(out, one)
		}
	}
	return out
}

// At changes with everything that the server writes or receives.
func (u Upstream) At() string {
	at := []string{u.Position}
	for _, c := range u.Channels {
		at = append(at, c.Received, c.Read)
	}
	return strings.Join(at, " ")
}

// Unseen is what a person has to compare: what the sources of the channels have not sent cannot be seen here. It is
// pure, and "" without channels.
func (u Upstream) Unseen() string {
	var out []string
	for _, c := range u.Channels {
		statement, at := "SHOW MASTER STATUS", c.Read
		if c.GTID && c.Received != "" {
			statement, at = "SELECT @@GLOBAL.gtid_binlog_pos", c.Received
		}
		out = append(out, fmt.Sprintf("%s on %s has to be %s", statement, c.Source, at))
	}
	if len(out) == 0 {
		return ""
	}
	return "what the source has not received yet cannot be seen there. Compare, and press Ctrl-C if it differs: " +
		strings.Join(out, ", and ")
}

// String names a channel.
func (c Channel) String() string {
	if c.Name == "" {
		return "the channel from " + c.Source
	}
	return "the channel " + text(c.Name) + " from " + c.Source
}

// statement is one about the channel.
func (c Channel) statement(verb, end string) string {
	if c.Name != "" {
		verb += " " + text(c.Name)
	}
	return verb + end
}

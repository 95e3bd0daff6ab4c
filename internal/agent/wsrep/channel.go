package wsrep

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/sqlrows"
)

// Channel is the asynchronous replication of the server behind a connection: it applies the transactions of a source.
type Channel struct{ *Conn }

// Source is how a channel reaches its source.
type Source struct {
	Host           string
	Port           int
	User, Password string
	// CA is the file that the source's certificate is verified by, "" for a connection without TLS.
	CA string
	// Until is the position after which nothing is applied, "" for none.
	Until string
	// Ended reports whether nothing is left to apply at a position: no channel is opened there.
	Ended func(position string) bool
	// Lacks returns what of positions a source does not have that has a gtid_binlog_state, "" for nothing. It is nil where
	// there is one source only: that is not asked.
	Lacks func(state string, positions ...string) string
}

// SourceError is an error of one source: another one may be followed.
type SourceError struct{ Err error }

func (e SourceError) Error() string { return e.Err.Error() }

func (e SourceError) Unwrap() error { return e.Err }

// connectRetry is how many seconds a channel waits before it connects again.
const connectRetry = 2

// Open begins, or begins again, with the first transaction of the source that the group has not applied. All that was
// committed before is applied here first. A server without a position would begin with the source's first transaction:
// it does not begin.
//
// One of several sources is asked first whether it has everything that was applied. While it does not answer, the
// channel stays as it is.
func (c Channel) Open(ctx context.Context, from Source) error {
	state := ""
	if from.Lacks != nil {
		var err error
		if state, err = from.state(ctx); err != nil {
			return SourceError{fmt.Errorf("it cannot be asked what it has: %w", err)}
		}
	}
	return c.session(ctx, func(ctx context.Context, conn *sql.Conn) error {
		if _, err := conn.ExecContext(ctx, "STOP SLAVE"); err != nil {
			return fmt.Errorf("stopping the channel: %w", err)
		}
		if _, err := conn.ExecContext(ctx, "SET SESSION wsrep_sync_wait = 15, sql_mode = ''"); err != nil {
			return fmt.Errorf("preparing the session: %w", err)
		}
		var position string
		rows := 0
		if err := conn.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_slave_pos, COUNT(*) FROM mysql.gtid_slave_pos").Scan(
			&position, &rows); err != nil {
			return fmt.Errorf("reading the position: %w", err)
		}
		if position == "" {
			return errors.New("this server has no position in the source's history (gtid_slave_pos is empty)")
		}
		if from.Ended(position) {
			return fmt.Errorf("this server has applied everything: its position is %s", position)
		}
		if from.Lacks != nil {
			if lacks := from.Lacks(state, position); lacks != "" {
				return SourceError{fmt.Errorf("it is not followed: it has not, or not yet, what this cluster has applied (%s). "+
					"Its gtid_binlog_state is %q", lacks, clip(state))}
			}
			if lacks := from.Lacks(state, from.Until); from.Until != "" && lacks != "" {
				return SourceError{fmt.Errorf("it is not followed: it has not, or not yet, what is applied last (%s). Its "+
					"gtid_binlog_state is %q", lacks, clip(state))}
			}
		}
		change := fmt.Sprintf("CHANGE MASTER TO MASTER_HOST = %s, MASTER_PORT = %d, MASTER_USER = %s, MASTER_PASSWORD = %s, "+
			"MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = %d, ", literal(from.Host), from.Port, literal(from.User),
			literal(from.Password), connectRetry)
		if from.CA == "" {
			change += "MASTER_SSL = 0, MASTER_SSL_VERIFY_SERVER_CERT = 0"
		} else {
			change += "MASTER_SSL = 1, MASTER_SSL_VERIFY_SERVER_CERT = 1, MASTER_SSL_CA = " + literal(from.CA)
		}
		if _, err := conn.ExecContext(ctx, change); err != nil {
			return fmt.Errorf("configuring the channel: %w", err)
		}
		start := "START SLAVE"
		if from.Until != "" {
			start += " UNTIL master_gtid_pos = " + literal(from.Until)
		}
		if _, err := conn.ExecContext(ctx, start); err != nil {
			return fmt.Errorf("starting the channel: %w", err)
		}
		return nil
	})
}

// Close ends it, and forgets how the source is reached. It works on a non-Primary node, too.
func (c Channel) Close(ctx context.Context) error {
	return c.session(ctx, func(ctx context.Context, conn *sql.Conn) error {
		for _, statement := range []string{"SET SESSION wsrep_on = OFF", "STOP SLAVE", "RESET SLAVE ALL"} {
			if _, err := conn.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	})
}

// session runs statements in a session that is not used again.
func (c Channel) session(ctx context.Context, do func(context.Context, *sql.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*queryTimeout)
	defer cancel()
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer discard(conn)
	return do(ctx, conn)
}

// LateTime is for how long the server may still come to accept writes after SetReadOnly has failed to have it do so.
const LateTime = queryTimeout + 3*time.Second

// SetReadOnly lets the server refuse or accept the writes of clients. One that accepts them has the wsrep_mode mode:
// that of the option file refuses tables and views which Galera does not replicate. A server that comes to the
// statement later, with no one waiting any more, goes on refusing them.
func (c Channel) SetReadOnly(ctx context.Context, on bool, mode string) error {
	if on {
		return c.exec(ctx, "SET GLOBAL read_only = ON")
	}
	if _, err := strconv.ParseUint(mode, 10, 64); err != nil {
		mode = literal(mode)
	}
	err := c.exec(ctx, "SET GLOBAL wsrep_mode = "+mode)
	until := time.Now().Add(queryTimeout).Unix() + 1
	return errors.Join(err, c.exec(ctx, fmt.Sprintf(
		"SET GLOBAL read_only = IF(UNIX_TIMESTAMP() <= %d, 0, @@GLOBAL.read_only)", until)))
}

// End returns what the server has in its binary log, once it has applied everything that its group has. read_only is
// checked when a statement begins: one that changes tables may wait for its turn then.
func (c Channel) End(ctx context.Context) (position string, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	err = c.db.QueryRowContext(ctx, "SET STATEMENT wsrep_sync_wait = 1 FOR SELECT @@GLOBAL.gtid_binlog_pos").
		Scan(&position)
	return position, err
}

// Read returns how far a server is that serves.
func (c Channel) Read(ctx context.Context) (*agentapi.Following, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var out agentapi.Following
	err := c.db.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_slave_pos, @@GLOBAL.read_only").Scan(&out.Applied,
		&out.ReadOnly)
	if err != nil {
		return nil, fmt.Errorf("reading the position: %w", err)
	}
	status, err := c.slaveStatus(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the channel: %w", err)
	}
	if status != nil {
		out.Channel = channelState(status)
	}
	return &out, nil
}

// slaveStatus returns the columns of SHOW SLAVE STATUS, nil without a channel.
func (c Channel) slaveStatus(ctx context.Context) (map[string]string, error) {
	rows, err := sqlrows.Named(ctx, c.db, "SHOW SLAVE STATUS")
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

// maxError is what is reported of an error: it may name a whole statement, with its data.
const maxError = 300

func clip(message string) string {
	return strings.ToValidUTF8(message[:min(len(message), maxError)], "?")
}

// channelState takes the columns of SHOW SLAVE STATUS.
func channelState(v map[string]string) *agentapi.ChannelState {
	port, _ := strconv.Atoi(v["Master_Port"])
	out := &agentapi.ChannelState{Source: agentapi.Endpoint{Host: v["Master_Host"], Port: port}.String(),
		Connected: v["Slave_IO_Running"] == "Yes", Applying: v["Slave_SQL_Running"] == "Yes",
		Running: v["Slave_IO_Running"] != "No" || v["Slave_SQL_Running"] != "No", Received: v["Gtid_IO_Pos"]}
	if seconds, err := strconv.ParseInt(v["Seconds_Behind_Master"], 10, 64); err == nil {
		out.SecondsBehind = &seconds
	}
	for _, part := range []string{"SQL", "IO"} {
		number, err := strconv.Atoi(v["Last_"+part+"_Errno"])
		if err == nil && number != 0 && out.ErrorNumber == 0 {
			message := v["Last_"+part+"_Error"]
			out.ErrorNumber, out.Error = number, clip(message)
		}
	}
	return out
}

package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	gomysql "github.com/go-mysql-org/go-mysql/mysql"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/dump"
)

const (
	// dialTime bounds a connection to a server, silence is after how long it is given up.
	dialTime = 10 * time.Second
	silence  = 20 * time.Second
	// verifyTime bounds the reading of one transaction.
	verifyTime = time.Minute
)

// upstream is the binary log of a server of the cluster that is followed.
type upstream struct {
	log   *dump.Log
	group binlog.Grouper
	marks marker
	// local is the domain and the server of what the node writes for itself.
	domain uint32
	local  binlog.GTID
}

// dialled is how a server is reached.
type dialled struct {
	who   func() (account, error)
	trust func(host string) (*tls.Config, error)
}

// open asks a server for the transaction at, and what follows. It is the caller's to verify that one.
func (d dialled) open(ctx context.Context, server string, at binlog.GTID) (*upstream, error) {
	who, err := d.who()
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(server)
	if err != nil {
		return nil, err
	}
	trust, err := d.trust(host)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	c, err := client.ConnectWithDialer(ctx, "tcp", server, who.user, who.password, "", (&net.Dialer{}).DialContext,
		func(c *client.Conn) error {
			c.SetTLSConfig(trust)
			c.ReadTimeout = silence
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("it cannot be logged in to: %w", err)
	}
	u, err := ask(c, at)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return u, nil
}

// ask has a server send its binary log from a transaction on. The other domains begin where they are now: what a node
// writes for itself is not followed.
func ask(c *client.Conn, at binlog.GTID) (*upstream, error) {
	r, err := c.Execute("SELECT @@gtid_binlog_pos, @@gtid_domain_id, @@server_id")
	if err != nil {
		return nil, fmt.Errorf("it cannot be asked where it is: %w", err)
	}
	position, err := r.GetString(0, 0)
	domain, domainErr := r.GetUint(0, 1)
	server, serverErr := r.GetUint(0, 2)
	if err := errors.Join(err, domainErr, serverErr); err != nil {
		return nil, err
	}
	last, others := binlog.In(position, at.Domain)
	if last.Server != at.Server || last.Seq < at.Seq {
		return nil, fmt.Errorf("it has not, or not yet, %s: it is at %s", at, position)
	}
	before := at
	before.Seq--
	//nolint:gosec // both have 32 bits, and the number has to differ from others, not be secret
	u := &upstream{domain: at.Domain, local: binlog.GTID{Domain: uint32(domain), Server: uint32(server)}}
	u.log, err = dump.Replica{Name: "second-site", Server: 1<<31 + rand.Uint32N(1<<30), //nolint:gosec // as above
		After: strings.Join(append(slices.Clone(others), before.String()), ","), Ended: explain}.Open(c)
	if err != nil {
		return nil, explain(err)
	}
	return u, nil
}

// explain describes why a server's binary log has ended.
func explain(err error) error {
	var answer *gomysql.MyError
	if errors.As(err, &answer) {
		return fmt.Errorf("error %d: %s", answer.Code, answer.Message)
	}
	return fmt.Errorf("the connection has ended: %w", err)
}

// isForeign reports whether another server has written a transaction: neither the cluster nor the node for itself.
func (u *upstream) isForeign(g binlog.GTID) bool {
	return g.Domain != u.domain && (g.Domain != u.local.Domain || g.Server != u.local.Server)
}

// event returns the next event with its kind, nil when none comes for a while. What the node has written for itself is
// Outside.
func (u *upstream) event(ctx context.Context, wait time.Duration) (kind int, e binlog.Event, is mark, err error) {
	if e, err = u.log.Event(ctx, wait); err != nil || e == nil {
		return binlog.Outside, nil, mark{}, err
	}
	if kind, err = u.group.See(e); err != nil {
		return binlog.Outside, nil, mark{}, err
	}
	t := u.group.Done()
	if kind == binlog.Begin && u.isForeign(t.GTID) {
		return kind, nil, mark{}, fmt.Errorf("it has the transaction %s of another server, which the archive cannot have",
			t.GTID)
	}
	is = u.marks.see(kind, e, t)
	if kind != binlog.Format && kind != binlog.Outside && t.GTID.Domain != u.domain {
		kind = binlog.Outside
	}
	return kind, e, is, nil
}

// verify reads the transaction at, which is the first one, and compares it with what the follower has. It returns the
// format that the server has described its events with.
func (u *upstream) verify(ctx context.Context, at binlog.GTID, want mark) (format binlog.Event, err error) {
	for end := time.Now().Add(verifyTime); time.Now().Before(end); {
		kind, e, is, err := u.event(ctx, time.Second)
		switch t := u.group.Done(); {
		case err != nil:
			return nil, err
		case kind == binlog.Format:
			format = slices.Clone(e)
		case kind == binlog.Begin && t.GTID != at:
			return nil, fmt.Errorf("%s comes in the place of %s", t.GTID, at)
		case kind == binlog.End && is != want:
			return nil, fmt.Errorf("its transaction %s is another one than that which this cluster has: it has lost "+
				"transactions, and counts on", at)
		case kind == binlog.End && format == nil:
			return nil, errors.New("it has not described the format of its events")
		case kind == binlog.End:
			return format, nil
		}
	}
	return nil, fmt.Errorf("it has not sent %s within %s", at, verifyTime)
}

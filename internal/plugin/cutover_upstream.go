package plugin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/external"
)

// quietFor is for how long a source that is not read-only must have written and received nothing.
const quietFor = 5 * time.Second

// upstream asks whose writes a source carries out, and refuses a cutover that would not end them.
func upstream(ctx context.Context, source *sql.DB, stopped bool) error {
	u, err := external.AskUpstream(ctx, source)
	if err != nil {
		return fmt.Errorf("asking the source whether it is a replica: %w; nothing was changed", err)
	}
	return refusesUpstream(u, stopped)
}

// refusesUpstream is why writes do not end with the source's. It is pure.
func refusesUpstream(u external.Upstream, stopped bool) error {
	of := u.String()
	if of == "" || stopped {
		return nil
	}
	unused := ""
	if len(u.Channels) > 0 {
		unused = ". If it is no longer a replica, run RESET SLAVE ALL there instead, for each channel that SHOW ALL SLAVES " +
			"STATUS names"
	}
	return fmt.Errorf("the source is %s: read_only there does not end what other servers write. End all writes, also on "+
		"the other servers, then add --writes-stopped%s; nothing was changed", of, unused)
}

// quiet is what is known of a source that nothing is to write to any more.
type quiet struct {
	// at is where it was at rest when it was asked last, "" if it was not, and why it is not at rest.
	at, why  string
	position string
}

// errNoBinaryLog is a source that cannot be followed any more.
var errNoBinaryLog = errors.New("the source has no binary log any more")

// next takes an answer of the source. Twice the same one, with nothing outstanding, is the end. It is pure.
func (q *quiet) next(u external.Upstream) (line string, done bool, err error) {
	if u.Position == "" {
		return "", false, errNoBinaryLog
	}
	q.position = strings.ReplaceAll(u.Position, " ", "")
	if outstanding := u.Outstanding(); len(outstanding) > 0 {
		q.at, q.why = "", strings.Join(outstanding, "; ")
		return "waiting for the source: " + q.why, false, nil
	}
	at := u.At()
	done = at == q.at
	q.at, q.why = at, "it goes on writing: stop what writes there, accounts with READ ONLY ADMIN included"
	return u.Unseen(), done, nil
}

// quietPosition is the position of a source to which nothing writes any more, once it has carried out everything that
// it has received, and nothing else has come for a while.
func (e cutovers) quietPosition(ctx context.Context, cluster string, source *sql.DB,
	timeout time.Duration) (string, error) {
	var q quiet
	err := e.await(ctx, timeout, task{cluster: cluster, every: quietFor, late: "the source is not at rest",
		goesOn: "nothing was changed",
		poll: func(ctx context.Context) (string, bool, error) {
			u, err := external.AskUpstream(ctx, source)
			if err != nil {
				return "", false, fmt.Errorf("asking the source what it has applied: %w", err)
			}
			return q.next(u)
		}})
	if err != nil && q.why != "" {
		return "", fmt.Errorf("%w: %s", err, q.why)
	}
	return q.position, err
}

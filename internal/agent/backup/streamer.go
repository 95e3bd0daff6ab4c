// Package backup is the agent's component for the backups this member gives: it streams mariadb-backup's copy to the
// caller that the operator has admitted, one at a time, and only while the member serves. It holds no credentials of
// any store.
package backup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// Streamer is not safe for concurrent use (event loop only), except for Admit, Admitted and Handler.
type Streamer struct {
	loop   eventloop.Loop
	places platform.Places
	table  *platform.ProcessTable
	image  *mariadbd.Image
	run    *process.Supervisor
	user   string
	line   func() galera.Line
	keys   func() (Keys, error)
	// created asks the server for the settings that its data directory keeps.
	created func(context.Context) (map[string]string, error)

	mu       sync.Mutex
	admitted agentapi.BackupAdmission
	until    time.Time

	current *stream // the one in progress, or the last one
}

// Keys are the encryption keys of a server, by their fingerprints, and what it encrypts with.
type Keys struct {
	Fingerprints map[string]string
	Algorithm    string
}

// stream is one backup that is given.
type stream struct {
	id      string
	since   time.Time
	line    galera.Line
	keys    Keys
	server  int // the process of mariadbd
	version string
	bytes   atomic.Int64
	running bool
	// joining reports whether the node's join is not recorded to be complete: an SST may have replaced the files, in
	// place, with the marks of copies that were given of those before.
	joining bool
	ended   time.Time
	problem string
	cancel  context.CancelCauseFunc
}

// New returns a Streamer that has given nothing. user is the account mariadb-backup logs in as, on the unix socket.
// line is asked on the loop for the line of history that the member's data belong to, keys for what the running server
// may have encrypted them with. created asks it for the settings that its data directory keeps.
func New(loop eventloop.Loop, places platform.Places, table *platform.ProcessTable, image *mariadbd.Image,
	run *process.Supervisor,
	user string, line func() galera.Line, keys func() (Keys, error),
	created func(context.Context) (map[string]string, error)) *Streamer {
	return &Streamer{loop: loop, places: places, table: table, image: image, run: run, user: user, line: line,
		keys: keys, created: created}
}

// Admit lets the holder of a key take a backup, for a while. Safe for concurrent use.
func (r *Streamer) Admit(a agentapi.BackupAdmission) error {
	if err := a.Check(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.admitted, r.until = a, time.Now().Add(agentapi.BackupAdmitted)
	return nil
}

// Admitted returns the id of the backup the holder of a key may take, "" for none. Safe for concurrent use.
func (r *Streamer) Admitted(keySHA256 string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().After(r.until) || r.admitted.KeySHA256 != keySHA256 {
		return ""
	}
	return r.admitted.ID
}

// begin asks the loop whether a backup may begin now.
func (r *Streamer) begin(ctx context.Context, id string) (*stream, context.Context, error) {
	type answer struct {
		g   *stream
		ctx context.Context
		err error
	}
	answers := make(chan answer, 1)
	r.loop.Post(func() {
		if why := r.busyReason(); why != "" {
			answers <- answer{err: errors.New(why)}
			return
		}
		keys, err := r.keys()
		if err != nil {
			answers <- answer{err: fmt.Errorf("reading which encryption keys the server has: %w", err)}
			return
		}
		g := &stream{id: id, since: time.Now(), line: r.line(), keys: keys, server: r.run.PID(),
			version: r.image.ServerVersion,
			running: true, joining: r.run.Note != nil}
		var giving context.Context
		giving, g.cancel = context.WithCancelCause(ctx)
		r.current = g
		r.loop.Logger.Info("giving a backup", "id", id)
		answers <- answer{g: g, ctx: giving}
	})
	select {
	case a := <-answers:
		return a.g, a.ctx, a.err
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

var errLine = errors.New("the cluster went on in another line of history during the backup")

// sameLine asks the loop whether the data are still of the line of history that they were of when the backup began.
func (r *Streamer) sameLine(ctx context.Context, g *stream) error {
	now := make(chan galera.Line, 1)
	r.loop.Post(func() { now <- r.line() })
	select {
	case line := <-now:
		if line != g.line {
			return errLine
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// busyReason returns the reason why no backup can begin, "" when one can.
func (r *Streamer) busyReason() string {
	switch {
	case r.current != nil && r.current.running:
		return "the member gives the backup " + r.current.id + " already"
	case r.loop.Draining() || r.run.Leaving():
		return "the member is about to stop"
	case !r.run.Serves():
		return "the member does not serve"
	case tool() == "":
		return "the image has no mariadb-backup"
	}
	return ""
}

// end is called when a backup has ended, well or not.
func (r *Streamer) end(g *stream, err error) {
	g.cancel(nil)
	r.loop.Post(func() {
		g.running, g.ended = false, time.Now()
		if err != nil {
			g.problem = err.Error()
			r.loop.Logger.Warn("a backup has failed", "id", g.id, "error", err)
			return
		}
		r.loop.Logger.Info("a backup was given", "id", g.id, "bytes", g.bytes.Load(), "took",
			time.Since(g.since).Round(time.Millisecond).String())
	})
}

var errServerGone = errors.New("mariadbd has stopped, or left the cluster, during the backup")

// Tick ends a backup whose server is gone, or is about to stop: what it has read so far is of no use.
func (r *Streamer) Tick() {
	if g := r.current; g != nil && g.running && (r.run.PID() != g.server || r.run.Leaving() || r.run.WithoutQuorum() ||
		r.loop.Draining()) {
		g.cancel(errServerGone)
	}
}

// Busy implements handover.Part: a successor would not have the stream.
func (r *Streamer) Busy() string {
	if r.current != nil && r.current.running {
		return "the backup " + r.current.id + " is given"
	}
	return ""
}

// Report reports the backup that is given, or was given last.
func (r *Streamer) Report(to *agentapi.Report) {
	if g := r.current; g != nil {
		to.Backup = &agentapi.BackupReport{ID: g.id, Since: g.since, Bytes: g.bytes.Load(), Running: g.running ||
			r.settling(g), Problem: g.problem}
	}
}

// settleTimeout is how long a member may need to be Synced again after a backup.
const settleTimeout = 10 * time.Second

// settling reports whether the server is still out of step because of a backup that has just ended.
func (r *Streamer) settling(g *stream) bool {
	return r.run.PID() == g.server && !r.run.Serves() && time.Since(g.ended) < settleTimeout
}

func tool() string { return mariadbd.First("mariadb-backup", "mariabackup") }

func failed(exit mariadbd.Exit) error {
	if exit.Code == 0 {
		return nil
	}
	return fmt.Errorf("mariadb-backup ended with exit code %d: %s", exit.Code, mariadbd.ToolWhy(exit.Lines))
}

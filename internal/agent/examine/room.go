// Package examine is the agent's room that looks at the data directory while mariadbd is down: whether there is a database,
// at which position of which history, and which versions have used it. It changes nothing that could be data.
package examine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/image"
	"github.com/galera-operator/galera-operator/internal/agent/place"
	"github.com/galera-operator/galera-operator/internal/agent/procs"
	"github.com/galera-operator/galera-operator/internal/agent/room"
	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agent/volume"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	// recoverTime bounds --wsrep-recover: InnoDB replays its whole log, which may be as large as the memory, and one that is
	// cut off has to begin anew. Only what hangs takes a day.
	recoverTime = 24 * time.Hour
	// heldTime bounds the first look that is made again while the member is stopped by order: whoever waits for the member to
	// be Stopped must see it so.
	heldTime = 10 * time.Minute
	// SlowAfter is when a look that goes on is told of.
	SlowAfter = 5 * time.Minute
)

// Found is what a look at the data directory found, mariadbd being down.
type Found struct {
	Data     galera.DataState
	Position galera.Position
	// Safe is grastate.dat's safe_to_bootstrap.
	Safe bool
	// Start is the position as mariadbd wants it back, "" when it was not recovered.
	Start string
	// Cut says that a full transfer to this address was cut off: its donor may still be at it.
	Cut bool
	// Trouble is set when there is a database of which no position is known.
	Trouble *agentapi.Failure
	// Expelled is where a database stands that Galera has marked as differing from the others'. It
	// may be replaced, and must not be gone on from.
	Expelled galera.Position
	// Versions are the servers the data have seen; Newer is the one that has used them when that is of a
	// later series than the image's. Then they must not be touched, and may be replaced.
	Versions datadir.Versions
	Newer    string
}

// Replaced says that only a full copy makes a member of the component out of what is here.
func (f Found) Replaced() bool {
	return f.Data != galera.DataPresent || f.Expelled.Known() || f.Newer != ""
}

// Args give mariadbd the position the member was found at. One that is not known is not given: the join is a full
// transfer then.
func (f Found) Args() []string {
	switch {
	case !f.Position.Known():
		return nil
	case f.Start != "":
		return []string{"--wsrep-start-position=" + f.Start}
	}
	return []string{"--wsrep-start-position=" + f.Position.String()}
}

// Room is the loop's.
type Room struct {
	// Done says that data and position have been looked at since mariadbd was last up, Found what was seen.
	Done  bool
	Found Found
	// Trouble is why the last look failed, nil when it did not. The next one is made at RetryAt.
	Trouble *agentapi.Failure
	RetryAt time.Time
	// From is when the look under way began, Cut ends it.
	From time.Time
	Cut  context.CancelFunc

	loop    room.Loop
	places  place.Places
	address string
	markers datadir.Markers
	image   *image.Image
	table   *procs.Table
	volume  *volume.Volume
}

// New returns a room that knows nothing of the data. address is the member's own.
func New(loop room.Loop, places place.Places, address string, image *image.Image, table *procs.Table, volume *volume.Volume) Room {
	return Room{loop: loop, places: places, address: address, markers: datadir.Markers{Dir: places.State}, image: image, table: table, volume: volume}
}

// Begin lets a worker look. done gets what it found after Done, Found and Trouble have been set.
func (r *Room) Begin(limit time.Duration, done func(found Found, err error)) {
	r.From = time.Now()
	ctx, cancel := r.loop.Work(limit)
	r.Cut = cancel
	wait := r.volume.After()
	go func() {
		defer cancel()
		wait()
		sizes := volume.Measure(r.places, false)
		found, err := r.data(ctx)
		r.loop.Post(func() {
			r.volume.Take(sizes)
			r.ended(found, err)
			done(found, err)
		})
	}()
}

func (r *Room) ended(found Found, err error) {
	if err != nil {
		r.Found, r.Trouble = Found{Data: found.Data}, failure(err)
		return
	}
	r.Done, r.Found, r.Trouble = true, found, nil
	r.loop.Logger.Info("examined", "data", found.Data, "position", found.Position.String(), "safeToBootstrap", found.Safe)
}

// Exited forgets what was found before a server ran.
func (r *Room) Exited() { r.Done, r.Found = false, Found{} }

// Slow tells of a look under way that goes on for long, nil when it does not.
func (r *Room) Slow(now time.Time) *agentapi.Failure {
	if now.Sub(r.From) <= SlowAfter {
		return nil
	}
	return &agentapi.Failure{Reason: agentapi.FailureExamining, At: r.From, Message: fmt.Sprintf(
		"the look at the data directory (mariadbd --wsrep-recover) has gone on since %s, and goes on: InnoDB may have a long log to replay, or hang. "+
			"See mariadbd's log, and the storage", r.From.UTC().Format(time.RFC3339))}
}

// Limit bounds a look, after so many failures in a row. One that is made again while the member is stopped by order gets twice the time of the one before: whoever
// needs the position has it in the end, however long the log is.
func Limit(again bool, failures int) time.Duration {
	if !again {
		return recoverTime
	}
	return min(recoverTime, heldTime<<min(max(failures-1, 0), 8))
}

func failure(err error) *agentapi.Failure {
	f := &agentapi.Failure{Reason: agentapi.FailureRecovery, Message: err.Error(), At: time.Now()}
	if errors.Is(err, context.Canceled) {
		f.Message = "the look at the data directory was cut off by a stop before the position was known; it is made again: " + err.Error()
	}
	var failed *server.RecoverError
	if errors.As(err, &failed) {
		f.ExitCode = failed.Exit.Code
		if reason := server.Classify(failed.Exit.Lines); reason != agentapi.FailureStart {
			f.Reason = reason
		}
	}
	return f
}

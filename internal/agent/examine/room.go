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
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/mariadbd"
	"github.com/galera-operator/galera-operator/internal/agent/platform/paths"
	"github.com/galera-operator/galera-operator/internal/agent/platform/procs"
	"github.com/galera-operator/galera-operator/internal/agent/room"
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
	// slowAfter is when a look that goes on is told of.
	slowAfter = 5 * time.Minute
	// stopPatience is how long a look may go on after a Stop; it is cut off then.
	stopPatience = 30 * time.Second
	// heldAgain is the pause between two looks at the data of a member that was stopped by order, after one that failed.
	heldAgain = time.Minute
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
	// Marked says that Galera has marked the data as unsafe, VotedOut that the group has found them to differ from the others': they may be
	// replaced, and must not be gone on from. Copy says that the component that is joined wants a full copy.
	Marked, VotedOut, Copy bool
	// Versions are the servers the data have seen; Newer is the one that has used them when that is of a
	// later series than the image's. Then they must not be touched, and may be replaced.
	Versions datadir.Versions
	Newer    string
}

// Replaced says that only a full copy makes a member of the component out of what is here.
func (f Found) Replaced() bool {
	return f.Data != galera.DataPresent || f.Marked || f.VotedOut || f.Copy || f.Newer != ""
}

// Args give mariadbd the position the member was found at, or, for a join, none when a full copy is to come: without one Galera asks for it.
func (f Found) Args(join bool) []string {
	switch {
	case !f.Position.Known() || join && f.Replaced():
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
	// Versions are those of the data, as far as known.
	Versions datadir.Versions

	votedOut bool // noted of the server that runs
	looking  bool
	from     time.Time // when the look under way began
	cut      context.CancelFunc
	waited   bool // the first look of this run of the agent is over

	loop     room.Loop
	places   paths.Places
	address  string
	markers  datadir.Markers
	image    *image.Image
	table    *procs.Table
	volume   *volume.Volume
	attempts *lifecycle.Attempts
	held     func() bool
}

// New returns a room that knows nothing of the data. address is the member's own; held says that it is stopped by order.
func New(loop room.Loop, places paths.Places, address string, image *image.Image, table *procs.Table, volume *volume.Volume,
	attempts *lifecycle.Attempts, held func() bool) Room {
	return Room{loop: loop, places: places, address: address, markers: datadir.Markers{Dir: places.State}, image: image, table: table,
		volume: volume, attempts: attempts, held: held}
}

// Job is what a worker of the room does at present.
func (r *Room) Job() lifecycle.Job {
	if r.looking {
		return lifecycle.JobExamine
	}
	return lifecycle.JobNone
}

// See notes that the group has voted the running server out: nothing in its data tells that from a statement that was cut off.
func (r *Room) See(votedOut bool) {
	if !votedOut || r.votedOut {
		return
	}
	r.votedOut = true
	r.loop.Logger.Error("the group has found the data to differ from the other members'")
	r.volume.Do(r.markers.SetVotedOut, func(err error) { r.votedOut = err == nil })
}

// Begin lets a worker look at the data directory.
func (r *Room) Begin() {
	before := r.Trouble
	r.looking, r.from = true, time.Now()
	ctx, cancel := r.loop.Work(Limit(r.held() && before != nil, r.attempts.Failed))
	r.cut = cancel
	wait := r.volume.After()
	go func() {
		defer cancel()
		wait()
		sizes := volume.Measure(r.places, false)
		found, err := r.data(ctx)
		r.loop.Post(func() {
			r.volume.Take(sizes)
			r.looking = false
			if err != nil {
				r.failed(found, err)
				return
			}
			r.ended(found, before)
		})
	}()
}

func (r *Room) failed(found Found, err error) {
	r.Found, r.Trouble = Found{Data: found.Data}, failure(err)
	r.attempts.Failed++
	r.RetryAt = time.Now().Add(lifecycle.Backoff(r.attempts.Failed))
	if r.held() {
		r.RetryAt = time.Now().Add(heldAgain)
	}
	r.attempts.Failure = r.Trouble
	if !r.loop.Draining() {
		r.loop.Logger.Error("the position could not be found out", "error", err)
	}
}

// ended goes on from what was found; before is why the look before failed, nil when it did not.
func (r *Room) ended(found Found, before *agentapi.Failure) {
	r.Done, r.Found, r.Trouble, r.Versions = true, found, nil, found.Versions
	r.loop.Logger.Info("examined", "data", found.Data, "position", found.Position.String(), "safeToBootstrap", found.Safe)
	if found.Cut && !r.waited {
		// Seen: the donor of a joiner that was killed streamed its data into the next attempt.
		r.attempts.CutOff(time.Now())
	}
	r.waited = true // from now on the end of a run sees to it
	switch {
	case found.Trouble != nil:
		found.Trouble.At = time.Now()
		r.attempts.Failure = found.Trouble
	case before != nil && r.attempts.Failure == before:
		r.attempts.Failure = nil // it was the examination that had failed
	}
}

// EndFor cuts a look off that keeps a Stop, given at a time, from ending. A member that is stopped by order starts nothing, so that its
// position may stay unknown for now.
func (r *Room) EndFor(stop, now time.Time) {
	if r.looking && !r.volume.Frozen() && now.Sub(r.from) >= stopPatience && now.Sub(stop) >= stopPatience {
		r.cut()
	}
}

// Exited forgets what was found before a server ran.
func (r *Room) Exited() { r.Done, r.Found, r.votedOut = false, Found{}, false }

// Slow tells of a look under way that goes on for long, nil when it does not.
func (r *Room) Slow(now time.Time) *agentapi.Failure {
	if !r.looking || now.Sub(r.from) <= slowAfter {
		return nil
	}
	return &agentapi.Failure{Reason: agentapi.FailureExamining, At: r.from, Message: fmt.Sprintf(
		"the look at the data directory (mariadbd --wsrep-recover) has gone on since %s, and goes on: InnoDB may have a long log to replay, or hang. "+
			"See mariadbd's log, and the storage", r.from.UTC().Format(time.RFC3339))}
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
	var failed *mariadbd.RecoverError
	if errors.As(err, &failed) {
		f.ExitCode = failed.Exit.Code
		if reason := mariadbd.Classify(failed.Exit.Lines); reason != agentapi.FailureStart {
			f.Reason = reason
		}
	}
	return f
}

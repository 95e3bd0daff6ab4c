package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

const (
	// recoverTimeout bounds --wsrep-recover: InnoDB replays its whole log, which may be as large as the memory, and after
	// an interruption it starts again. Only a hung one takes a day.
	recoverTimeout = 24 * time.Hour
	// heldTimeout bounds the first examination that is repeated while the member is stopped by order: the operator waits
	// for it to be Stopped.
	heldTimeout = 10 * time.Minute
	// slowAfter is when a running examination is reported.
	slowAfter = 5 * time.Minute
	// stopTimeout is how long an examination may run after a Stop; it is interrupted then.
	stopTimeout = 30 * time.Second
	// heldRetryInterval is the pause before an examination is repeated, after a failed one, on a member that is stopped by
	// order.
	heldRetryInterval = time.Minute
)

// Found is what an examination of the data directory found while mariadbd was down.
type Found struct {
	Data     galera.DataState
	Position galera.Position
	// SafeToBootstrap is safe_to_bootstrap of grastate.dat.
	SafeToBootstrap bool
	// StartPosition is the value for --wsrep-start-position, "" when the position was not recovered.
	StartPosition string
	// SSTInterrupted: an SST to this address was interrupted; its donor may still be sending.
	SSTInterrupted bool
	// Trouble is set when there is a database of which no position is known.
	Trouble *agentapi.Failure
	// Marked: only an SST makes this node a member of a running component (zero UUID in grastate.dat, or an unfinished
	// join that needed one); it may still be bootstrapped. VotedOut: the group voted it inconsistent; it is never
	// bootstrapped. NeedsSST: the component it joins requires an SST.
	Marked, VotedOut, NeedsSST bool
	// Versions are the servers the data have seen; Newer is the one that has used them when that is of a
	// later series than the image's. Then they must not be touched, and may be replaced.
	Versions datadir.Versions
	Newer    string
}

// Replaced returns whether only an SST makes this node a member of the component.
func (f Found) Replaced() bool {
	return f.Data != galera.DataPresent || f.Marked || f.VotedOut || f.NeedsSST || f.Newer != ""
}

// Args are mariadbd's arguments for the position; none for a join by SST: without a position Galera requests one.
func (f Found) Args(join bool) []string {
	switch {
	case !f.Position.Known() || join && f.Replaced():
		return nil
	case f.StartPosition != "":
		return []string{"--wsrep-start-position=" + f.StartPosition}
	}
	return []string{"--wsrep-start-position=" + f.Position.String()}
}

// Examiner is not safe for concurrent use; event loop only.
type Examiner struct {
	// Done is true once data and position were examined since mariadbd was last up; Found is the result.
	Done  bool
	Found Found
	// Trouble is why the last examination failed, nil when it did not. The next one starts at RetryAt.
	Trouble *agentapi.Failure
	RetryAt time.Time
	// Versions are those of the data, as far as known.
	Versions datadir.Versions

	votedOut  bool // recorded for the running server
	examining bool
	from      time.Time // when the running examination began
	cancel    context.CancelFunc
	waited    bool // the first examination of this agent is over

	loop                  eventloop.Loop
	places                platform.Places
	address               string
	markers               datadir.Markers
	image                 *mariadbd.Image
	table                 *platform.ProcessTable
	volume                *datadir.Volume
	attempts              *lifecycle.Attempts
	book                  func() orders.Content
	damaged               func() error
	keys                  func() map[string]string
	recordRefusedSettings RecordRefusedSettings
}

// RecordRefusedSettings returns, for the settings in use when it is called, what notes that mariadbd ended because of
// them: certainly, or possibly.
type RecordRefusedSettings func() func(certain bool, why string)

// NewExaminer returns an Examiner that knows nothing of the data. address is the member's own; book returns the content
// of the order book, damaged why it cannot be read, keys the fingerprints of the encryption keys that a server is
// started with; blame notes settings with which no examination succeeds.
func NewExaminer(loop eventloop.Loop, places platform.Places, address string, image *mariadbd.Image,
	table *platform.ProcessTable,
	volume *datadir.Volume,
	attempts *lifecycle.Attempts, book func() orders.Content, damaged func() error, keys func() map[string]string,
	blame RecordRefusedSettings) Examiner {
	return Examiner{loop: loop, places: places, address: address, markers: datadir.Markers{Dir: places.State},
		image: image, table: table,
		volume: volume, attempts: attempts, book: book, damaged: damaged, keys: keys, recordRefusedSettings: blame}
}

// held reports whether the member is stopped by order.
func (r *Examiner) held() bool { return r.book().Held }

// served reports whether the member may have been in a component: its order book names a line of history, or cannot be
// read.
func (r *Examiner) served() bool { return r.damaged() != nil || r.book().Lineage.Epoch > 0 }

// Job is what the worker does at present.
func (r *Examiner) Job() lifecycle.Job {
	if r.examining {
		return lifecycle.JobExamine
	}
	return lifecycle.JobNone
}

// See records that the group voted the running server inconsistent: its data alone look like an interrupted DDL
// statement.
func (r *Examiner) See(votedOut bool) {
	if !votedOut || r.votedOut {
		return
	}
	r.votedOut = true
	r.loop.Logger.Error("this node was voted out: the group found its data inconsistent")
	r.volume.Do(r.markers.SetVotedOut, func(err error) { r.votedOut = err == nil })
}

// Begin starts a worker that examines the data directory.
func (r *Examiner) Begin() {
	before := r.Trouble
	r.examining, r.from = true, time.Now()
	ctx, cancel := r.loop.Work(examineLimit(r.held() && before != nil, r.attempts.Failed))
	r.cancel = cancel
	wait, served, keys, blame := r.volume.After(), r.served(), r.keys(), r.recordRefusedSettings()
	go func() {
		defer cancel()
		wait()
		sizes := datadir.MeasureVolume(r.places, false)
		found, err := r.data(ctx, served, keys)
		r.loop.Post(func() {
			r.volume.Take(sizes)
			r.examining = false
			if err != nil {
				r.failed(found, err, blame)
				return
			}
			r.ended(found, before)
		})
	}()
}

func (r *Examiner) failed(found Found, err error, blame func(certain bool, why string)) {
	r.Found, r.Trouble = Found{Data: found.Data}, failure(err)
	r.attempts.Failed++
	r.RetryAt = time.Now().Add(lifecycle.Backoff(r.attempts.Failed))
	if r.held() {
		r.RetryAt = time.Now().Add(heldRetryInterval)
	}
	r.attempts.Failure = r.Trouble
	if !r.loop.Draining() {
		r.loop.Logger.Error("the position could not be determined", "error", err)
	}
	var ended *mariadbd.RecoverError
	if !errors.As(err, &ended) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	if certain, possible := mariadbd.SettingsToBlame(ended.Exit); possible {
		blame(certain, err.Error()) // the last: other settings are examined at once
	}
}

// ended continues with what was found; before is why the examination before failed, nil when it did not.
func (r *Examiner) ended(found Found, before *agentapi.Failure) {
	r.Done, r.Found, r.Trouble, r.Versions = true, found, nil, found.Versions
	r.loop.Logger.Info("examined", "data", found.Data, "position", found.Position.String(), "safeToBootstrap",
		found.SafeToBootstrap)
	if found.SSTInterrupted && !r.waited {
		// Seen: the donor of a joiner that was killed streamed its data into the next attempt.
		r.attempts.RecordInterruptedSST(time.Now())
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

// EndFor interrupts an examination that delays a Stop, which was ordered at a time. A member that is stopped by order
// starts nothing, so its position may stay unknown for now.
func (r *Examiner) EndFor(stop, now time.Time) {
	if r.examining && !r.volume.Frozen() && now.Sub(r.from) >= stopTimeout && now.Sub(stop) >= stopTimeout {
		r.cancel()
	}
}

// Exited forgets what was found before a server ran.
func (r *Examiner) Exited() { r.Done, r.Found, r.votedOut = false, Found{}, false }

// Slow reports an examination that runs for long, nil otherwise.
func (r *Examiner) Slow(now time.Time) *agentapi.Failure {
	if !r.examining || now.Sub(r.from) <= slowAfter {
		return nil
	}
	return &agentapi.Failure{Reason: agentapi.FailureExamining, At: r.from, Message: fmt.Sprintf(
		"mariadbd --wsrep-recover has been running since %s and continues: InnoDB may be replaying a long redo log, or "+
			"hang. Check mariadbd's log and the storage", r.from.UTC().Format(time.RFC3339))}
}

// examineLimit bounds an examination after so many failures in a row. One that is repeated while the member is stopped
// by order gets twice the time of the one before: the operator gets the position in the end, however long the log is.
func examineLimit(again bool, failures int) time.Duration {
	if !again {
		return recoverTimeout
	}
	return min(recoverTimeout, heldTimeout<<min(max(failures-1, 0), 8))
}

func failure(err error) *agentapi.Failure {
	f := &agentapi.Failure{Reason: agentapi.FailureRecovery, Message: err.Error(), At: time.Now()}
	if errors.Is(err, context.Canceled) {
		f.Message = "mariadbd --wsrep-recover was interrupted by a stop before the position was known; it is run again: " +
			err.Error()
	}
	var keys *datadir.KeysError
	if errors.As(err, &keys) {
		f.Reason = agentapi.FailureKeys
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

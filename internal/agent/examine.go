package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/volume"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// examination is what a look at the data directory found, mariadbd being down.
type examination struct {
	data     galera.DataState
	position galera.Position
	safe     bool
	// start is the position as mariadbd wants it back, "" when it was not recovered.
	start string
	// cut says that a full transfer to this address was cut off: its donor may still be at it.
	cut bool
	// trouble is set when there is a database of which no position is known.
	trouble *agentapi.Failure
	// expelled is where a database stands that Galera has marked as differing from the others'. It
	// may be replaced, and must not be gone on from.
	expelled galera.Position
	// versions are the servers the data have seen; newer is the one that has used them when that is of a
	// later series than the image's. Then they must not be touched, and may be replaced.
	versions datadir.Versions
	newer    string
}

// replaced says that only a full copy makes a member of the component out of what is here.
func (e examination) replaced() bool {
	return e.data != galera.DataPresent || e.expelled.Known() || e.newer != ""
}

// recoverTime bounds --wsrep-recover: InnoDB replays its whole log, which may be as large as the memory, and one that is cut
// off has to begin anew. Only what hangs takes a day.
const recoverTime = 24 * time.Hour

const (
	// examinationSlow is when a look at the data directory that goes on is told of.
	examinationSlow = 5 * time.Minute
	// examinePatience is how long one may go on after a Stop; it is cut off then.
	examinePatience = 30 * time.Second
	// heldAgain is the pause between two looks at the data of a member that was stopped by order, after one that failed;
	// heldTime bounds the first of them: whoever waits for the member to be Stopped must see it so.
	heldAgain = time.Minute
	heldTime  = 10 * time.Minute
)

// examine lets a worker look at the data directory.
func (a *agent) examine() {
	a.job, a.examineFrom = JobExamine, time.Now()
	ctx, cancel := a.workerContext(examineLimit(a.book.Content().Held && a.examining != nil, a.failures))
	a.cutExamine = cancel
	wait := a.volume.After()
	go func() {
		defer cancel()
		wait()
		s := volume.Measure(a.Places, false)
		found, err := a.examineData(ctx)
		a.post(func() {
			a.volume.Take(s)
			a.onExamined(found, err)
		})
	}()
}

// examineLimit bounds a look. One that is made again while the member is stopped by order gets twice the time of the one before: whoever
// needs the position has it in the end, however long the log is.
func examineLimit(again bool, failures int) time.Duration {
	if !again {
		return recoverTime
	}
	return min(recoverTime, heldTime<<min(max(failures-1, 0), 8))
}

// endExamination cuts a look off that keeps a Stop from ending. A member that is stopped by order starts nothing, so that its
// position may stay unknown for now.
func (a *agent) endExamination(now time.Time) {
	if a.job != JobExamine || a.current == nil || a.current.Kind != agentapi.OrderStop || a.volume.Frozen() ||
		now.Sub(a.examineFrom) < examinePatience || now.Sub(a.heldSince) < examinePatience {
		return
	}
	a.cutExamine()
}

// slowExamination tells of a look that goes on for long.
func (a *agent) slowExamination(now time.Time) *agentapi.Failure {
	took := now.Sub(a.examineFrom)
	if a.job != JobExamine || took <= examinationSlow {
		return nil
	}
	return &agentapi.Failure{Reason: agentapi.FailureExamining, At: a.examineFrom, Message: fmt.Sprintf(
		"the look at the data directory (mariadbd --wsrep-recover) has gone on since %s, and goes on: InnoDB may have a long log to replay, or hang. "+
			"See mariadbd's log, and the storage", a.examineFrom.UTC().Format(time.RFC3339))}
}

// workerContext ends when the pod is drained.
func (a *agent) workerContext(limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	stop := context.AfterFunc(a.drainContext, cancel)
	return ctx, func() { stop(); cancel() }
}

func (a *agent) onExamined(found examination, err error) {
	a.job = JobNone
	if err != nil {
		a.failures++
		a.examineAt = time.Now().Add(Backoff(a.failures))
		if a.book.Content().Held {
			a.examineAt = time.Now().Add(heldAgain)
		}
		a.found = examination{data: found.data}
		a.failure = recoveryFailure(err)
		a.examining = a.failure
		if !a.draining {
			a.Logger.Error("the position could not be found out", "error", err)
		}
		return
	}
	a.examined, a.found, a.versions = true, found, found.versions
	if found.cut && !a.waited {
		// Seen: the donor of a joiner that was killed streamed its data into the next attempt.
		a.quietUntil = time.Now().Add(RetryAfterTransfer)
	}
	a.waited = true // from now on onExit sees to it
	a.Logger.Info("examined", "data", found.data, "position", found.position.String(), "safeToBootstrap", found.safe)
	switch {
	case found.trouble != nil:
		found.trouble.At = time.Now()
		a.failure = found.trouble
	case a.examining != nil && a.failure == a.examining:
		a.failure = nil // it was the examination that had failed
	}
	a.examining = nil
}

func recoveryFailure(err error) *agentapi.Failure {
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

// examineData finds out what the data directory holds. It changes nothing that could be data.
func (a *agent) examineData(ctx context.Context) (examination, error) {
	p := a.Places
	if err := os.RemoveAll(p.InitDir()); err != nil {
		return examination{}, err
	}
	note, err := a.markers.Joining()
	if err != nil {
		return examination{}, err
	}
	look, err := datadir.LookAt(p.Data)
	if err != nil {
		return examination{}, err
	}
	found := examination{data: datadir.Judge(look, note)}
	found.cut = note != nil && note.Transfer && (note.Address == "" || note.Address == a.Address)
	if found.data != galera.DataPresent {
		return found, nil
	}
	if found.versions, err = a.markers.Versions(p.Data); err != nil {
		return found, err
	}
	if galera.Older(a.image.ServerVersion, found.versions.Used) {
		return newerData(found, p.Data, note), nil
	}
	return a.findPosition(ctx, found)
}

// newerData finds out where data of a later series stand without letting mariadbd near them: Galera's own
// file tells after a good end, and a join that did not end has begun from a known position.
func newerData(found examination, dir string, note *datadir.Joining) examination {
	found.newer = found.versions.Used
	if grastate, err := datadir.ReadGrastate(dir); err == nil && grastate.Position.Known() {
		found.position, found.safe = grastate.Position, grastate.SafeToBootstrap
	} else if note != nil {
		found.position = note.From
	}
	return found
}

// findPosition trusts grastate.dat when it names a position, and asks InnoDB otherwise.
func (a *agent) findPosition(ctx context.Context, found examination) (examination, error) {
	grastate, grastateErr := datadir.ReadGrastate(a.Places.Data)
	if grastateErr == nil {
		found.safe = grastate.SafeToBootstrap
		if grastate.Position.Known() {
			found.position = grastate.Position
			return found, nil
		}
	}
	started := time.Now()
	recovered, err := server.Recover(ctx, &a.table, server.Command{
		Path: a.image.Mariadbd, Args: server.Args(a.Places), Env: server.Env(a.Places), Dir: a.Places.Data,
	})
	if err != nil {
		return found, err
	}
	pos := recovered.Position
	found.start = recovered.Start
	a.Logger.Info("position recovered", "position", pos.String(), "took", time.Since(started).Round(time.Millisecond).String())
	if !pos.Known() && a.markers.Initialising() {
		return a.discardUnborn()
	}
	marked := ""
	if grastateErr == nil {
		marked = grastate.Position.UUID
	}
	return judgeRecovered(found, pos, marked), nil
}

// judgeRecovered says what a recovered position is worth beside the UUID in grastate.dat, which is
// "" when there is no such file.
func judgeRecovered(found examination, pos galera.Position, marked string) examination {
	switch {
	case !pos.Known():
		found.trouble = &agentapi.Failure{Reason: agentapi.FailureRecovery,
			Message: "the data directory holds a database without any Galera history; it was not made here, and joining would replace it"}
	case marked == galera.ZeroUUID:
		// Galera writes the zero UUID over a node's own when the others have voted it out.
		found.expelled = pos
		found.trouble = &agentapi.Failure{Reason: agentapi.FailureInconsistent,
			Message: fmt.Sprintf("Galera has marked the data here, at %s, as differing from the other members'; a full transfer will replace them", pos)}
	case marked != "" && marked != pos.UUID:
		found.trouble = &agentapi.Failure{Reason: agentapi.FailureRecovery,
			Message: fmt.Sprintf("grastate.dat names the history %s, the database %s", marked, pos.UUID)}
	default:
		found.position = pos
	}
	return found
}

// discardUnborn removes a database that was made by an Initialise order and never took part in a
// component: its making was cut off, and it has not a single write-set.
func (a *agent) discardUnborn() (examination, error) {
	a.Logger.Warn("removing a database whose initialisation was cut off before it had any history")
	if err := os.RemoveAll(a.Places.Data); err != nil {
		return examination{}, err
	}
	if err := datadir.SyncDir(a.Places.Volume); err != nil {
		return examination{}, err
	}
	return examination{data: galera.DataEmpty}, a.markers.ClearInitialising()
}

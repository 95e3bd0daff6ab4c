package join

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// observeInterval is the pause between two observations of a running SST.
const observeInterval = time.Second

// Watch records that an SST has begun, and follows it.
func (r *JoinerTracker) Watch() {
	if r.Run.Proc == nil || r.Run.Note == nil {
		return
	}
	if !r.recordSST(lifecycle.HasState(r.Run.Status)) {
		if r.Join != nil && r.Join.EndedAt == nil {
			r.Join.Phase = istPhase(r.Run.Status)
		}
		return
	}
	if r.progress == nil {
		r.progress, r.workers = lifecycle.BeginSST(time.Now()), &config.TransferWorkers{}
	}
	if r.observing || time.Since(r.observedAt) < observeInterval {
		return
	}
	r.observing = true
	proc, workers, method, dir := r.Run.Proc, r.workers, r.Run.Note.Method, r.places.Data
	notes := r.places.TransferNotes()
	go func() {
		seen := observe(proc.PID, proc.StartedAt, workers, method, dir, notes)
		r.loop.Post(func() {
			if r.Run.Proc == proc && r.progress != nil {
				r.onObservation(seen)
			}
		})
	}()
}

// istPhase is the phase of a join without SST.
func istPhase(status *agentapi.Server) string {
	if status != nil {
		return agentapi.JoinApplying
	}
	return agentapi.JoinWaiting
}

// recordSST returns whether this join is an SST, and writes that to the joining marker when it detects one. last is the
// final check, once the node is Joined, Donor or Synced.
func (r *JoinerTracker) recordSST(last bool) bool {
	if r.Run.Note.SST || r.recording || r.completing {
		return r.Run.Note.SST
	}
	r.recording = true
	proc, note, begun, dir := r.Run.Proc, *r.Run.Note, r.reports.sstReported(r.Group.Views), r.places.Data
	note.SST = true
	r.Volume.Do(func() error {
		if contents, err := datadir.Inspect(dir); !begun && err == nil {
			begun = contents.SST
		}
		if !begun {
			return nil
		}
		return r.markers.SetJoining(note)
	}, func(err error) {
		if r.Run.Proc != proc || r.Run.Note == nil {
			return
		}
		r.recording = false
		if err != nil {
			r.Volume.Suspect()
			r.loop.Logger.Error("cannot record the SST in the joining marker", "error", err)
			return
		}
		if begun {
			r.Run.Note = &note
			r.Join.Kind = agentapi.JoinSST
		}
		switch {
		case !last && lifecycle.HasState(r.Run.Status):
			r.recordSST(true)
		case last:
			r.known = true
			if r.Run.Status != nil {
				r.events.Judge()
			}
		}
	})
	return r.Run.Note != nil && r.Run.Note.SST
}

// kindKnown returns whether IST or SST is certain. An SST taken for IST would not be synced to disk.
func (r *JoinerTracker) kindKnown() bool {
	if r.Run.Note.SST || r.known {
		return true
	}
	r.recordSST(true)
	return r.Run.Note != nil && (r.Run.Note.SST || r.known)
}

// observe reads files and processes; it takes as long as a walk through the directory.
func observe(pid int, started time.Time, workers *config.TransferWorkers, method, dir,
	notes string) lifecycle.SSTObservation {
	below := platform.Descendants(pid)
	var copiers []int
	for _, p := range below {
		if name := platform.ProcessName(p); method != config.Rsync || name == "rsync" {
			copiers = append(copiers, p)
		}
	}
	written, work := workers.Count(copiers)
	l := lifecycle.SSTObservation{At: time.Now(), Work: work, Preparing: config.PreparingSince(dir, started),
		Ended: scriptEnded(notes)}
	if method == config.Rsync {
		l.Bytes = written // rsync overwrites the old files: their size shows nothing
	} else {
		l.Bytes = datadir.SSTSize(filepath.Join(dir, ".sst"))
	}
	return l
}

// scriptEnded returns whether the joiner's script has begun and ended. If it had failed, mariadbd would have ended,
// too.
func scriptEnded(path string) bool {
	ended := false
	for _, n := range config.TransferNotes(path) {
		if n.Role == config.RoleJoiner {
			ended = !n.Running()
		}
	}
	return ended
}

func (r *JoinerTracker) onObservation(l lifecycle.SSTObservation) {
	r.observing, r.observedAt = false, l.At
	before := r.progress.Phase()
	if r.Run.Status != nil {
		l.Ended = true
	}
	r.progress.Add(l)
	j := r.Join
	if j == nil || j.EndedAt != nil {
		return
	}
	if moved := r.progress.Moved(); moved.After(j.MovedAt) {
		j.MovedAt = moved
	}
	if phase := r.progress.Phase(); phase != before {
		r.loop.Logger.Info("state transfer", "phase", phase, "donor", j.Donor, "bytes", r.progress.Bytes(),
			"after", l.At.Sub(j.StartedAt).Round(time.Millisecond).String())
		if phase != agentapi.JoinWaiting {
			r.Run.Attempts.Failure = nil // of the attempt before: this one proceeds
		}
		if phase == agentapi.JoinApplying {
			r.durable() // while the server starts
		}
	} else if l.At.Sub(r.shownAt) < reportInterval {
		return
	}
	r.shownAt = l.At
	showProgress(r.Join, r.progress, l.At)
}

// showProgress copies the present numbers to the report's join.
func showProgress(j *agentapi.Join, p *lifecycle.SSTProgress, now time.Time) {
	j.Phase, j.Bytes, j.Rate = p.Phase(), p.Bytes(), p.Rate()
	if p.Phase() == agentapi.JoinApplying {
		return // the rest is counted in write-sets
	}
	j.ETA = nil
	if left := j.Total - j.Bytes; left > 0 && j.Rate > 0 {
		eta := now.Add(time.Duration(float64(left) / float64(j.Rate) * float64(time.Second))).Round(time.Second)
		j.ETA = &eta
	}
}

// Received reports whether some of a join's SST has arrived.
func Received(j *agentapi.Join) bool { return j != nil && j.Phase != agentapi.JoinWaiting }

// EndStalledSST kills mariadbd when its SST has stalled (lifecycle.SSTStalled).
func (r *JoinerTracker) EndStalledSST() {
	p := r.progress
	if p == nil || !inProgress(r.Run) || r.Config.Node == nil {
		return
	}
	if r.Volume.Frozen() {
		p.ResetStall(time.Now())
	}
	limit := r.Config.Node.StateTransfer.Stall()
	if !lifecycle.SSTStalled(p, time.Now(), limit) {
		return
	}
	r.endTransfer(&agentapi.Failure{Reason: agentapi.FailureStalled, At: time.Now(), Message: fmt.Sprintf(
		"SST from %s: no progress for %s in phase %s, after %d MiB; mariadbd was killed, the join is tried again",
		donorOf(r.Join), limit, p.Phase(), p.Bytes()>>20)})
}

// donorOf names the donor of a join in a message.
func donorOf(j *agentapi.Join) string {
	if j == nil || j.Donor == "" {
		return "its donor"
	}
	return j.Donor
}

// durable returns whether the SST is synced to disk, and starts the sync. Neither mbstream nor rsync syncs, and InnoDB
// syncs only its own writes: after a power cut a partial SST could count as complete. Until then the joining marker
// stays, and the node serves no client.
func (r *JoinerTracker) durable() bool {
	if r.Run.Note == nil || !r.Run.Note.SST || r.synced {
		return true
	}
	if !r.syncing {
		r.syncing = true
		proc := r.Run.Proc
		go func() {
			err := datadir.SyncAll(r.places.Data)
			r.loop.Post(func() { r.onDurable(proc, err) })
		}()
	}
	return false
}

// onDurable continues the join after the sync. If the sync failed the SST is useless: the kernel reports a failed write
// once, so a second sync would seem to succeed.
func (r *JoinerTracker) onDurable(proc *mariadbd.Process, err error) {
	switch {
	case r.Run.Proc != proc || r.Run.Leaving():
	case err != nil:
		f := &agentapi.Failure{Reason: agentapi.FailureTransfer, At: time.Now(),
			Message: "the received SST could not be synced to disk: " + err.Error()}
		if errors.Is(err, syscall.ENOSPC) {
			f.Reason = agentapi.FailureDiskFull
		}
		r.endTransfer(f)
	default:
		r.synced = true
		if r.Run.Status != nil {
			r.events.Judge()
		}
	}
}

package joiner

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/config/servercnf"
	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/mariadbd"
	"github.com/galera-operator/galera-operator/internal/agent/platform/procs"
	"github.com/galera-operator/galera-operator/internal/agent/sst"
	"github.com/galera-operator/galera-operator/internal/agent/sst/transfer"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// lookEvery is the pause between two looks at a running transfer.
const lookEvery = time.Second

// Watch notes that a full transfer has begun, and follows it.
func (r *Room) Watch() {
	if r.Run.Proc == nil || r.Run.Note == nil {
		return
	}
	if !r.noteCopy(lifecycle.HasState(r.Run.Status)) {
		if r.Join != nil && r.Join.EndedAt == nil {
			r.Join.Phase = istPhase(r.Run.Status)
		}
		return
	}
	if r.progress == nil {
		r.progress, r.workers = sst.Begin(time.Now()), &transfer.Workers{}
	}
	if r.looking || time.Since(r.lookedAt) < lookEvery {
		return
	}
	r.looking = true
	proc, workers, method, dir := r.Run.Proc, r.workers, r.Run.Note.Method, r.places.Data
	notes := r.places.TransferNotes()
	go func() {
		look := lookAt(proc.PID, proc.StartedAt, workers, method, dir, notes)
		r.loop.Post(func() {
			if r.Run.Proc == proc && r.progress != nil {
				r.onLook(look)
			}
		})
	}()
}

// istPhase is how far a join without a full transfer is.
func istPhase(status *agentapi.Server) string {
	if status != nil {
		return agentapi.JoinApplying
	}
	return agentapi.JoinWaiting
}

// noteCopy says whether a full transfer is awaited or under way, and sees to it that that is put down. The last look is the one at
// a server that has its state.
func (r *Room) noteCopy(last bool) bool {
	if r.Run.Note.Transfer || r.noting || r.completing {
		return r.Run.Note.Transfer
	}
	r.noting = true
	proc, note, begun, dir := r.Run.Proc, *r.Run.Note, r.gifts.copied(r.Group.Views), r.places.Data
	note.Transfer = true
	r.Volume.Do(func() error {
		if look, err := datadir.LookAt(dir); !begun && err == nil {
			begun = look.Transfer
		}
		if !begun {
			return nil
		}
		return r.markers.SetJoining(note)
	}, func(err error) {
		if r.Run.Proc != proc || r.Run.Note == nil {
			return
		}
		r.noting = false
		if err != nil {
			r.Volume.Suspect()
			r.loop.Logger.Error("the transfer could not be noted", "error", err)
			return
		}
		if begun {
			r.Run.Note = &note
			r.Join.Kind = agentapi.JoinSST
		}
		switch {
		case !last && lifecycle.HasState(r.Run.Status):
			r.noteCopy(true)
		case last:
			r.known = true
			if r.Run.Status != nil {
				r.events.Judge()
			}
		}
	})
	return r.Run.Note != nil && r.Run.Note.Transfer
}

// kindKnown says whether it is known by which kind of transfer the state has come. A copy that was not noticed would be
// taken for write-sets, and not be brought to the disk.
func (r *Room) kindKnown() bool {
	if r.Run.Note.Transfer || r.known {
		return true
	}
	r.noteCopy(true)
	return r.Run.Note != nil && (r.Run.Note.Transfer || r.known)
}

// lookAt looks at files and processes; it takes as long as a walk through the directory.
func lookAt(pid int, started time.Time, workers *transfer.Workers, method, dir, notes string) sst.Look {
	below := procs.Below(pid)
	var copiers []int
	for _, p := range below {
		if name := procs.Name(p); method != servercnf.Rsync || name == "rsync" {
			copiers = append(copiers, p)
		}
	}
	written, work := workers.Count(copiers)
	l := sst.Look{At: time.Now(), Work: work, Preparing: transfer.PreparingSince(dir, started), Ended: scriptEnded(notes)}
	if method == servercnf.Rsync {
		l.Bytes = written // it writes over the old files: their size says nothing
	} else {
		l.Bytes = datadir.CopySize(filepath.Join(dir, ".sst"))
	}
	return l
}

// scriptEnded says whether the joiner's script has begun and ended. mariadbd would have ended, too, if
// it had failed.
func scriptEnded(path string) bool {
	ended := false
	for _, n := range transfer.Notes(path) {
		if n.Role == transfer.RoleJoiner {
			ended = !n.Running()
		}
	}
	return ended
}

func (r *Room) onLook(l sst.Look) {
	r.looking, r.lookedAt = false, l.At
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
			r.Run.Attempts.Failure = nil // of the attempt before: this one is on its way
		}
		if phase == agentapi.JoinApplying {
			r.durable() // while the server starts
		}
	} else if l.At.Sub(r.shownAt) < showEvery {
		return
	}
	r.shownAt = l.At
	showProgress(r.Join, r.progress, l.At)
}

// showProgress tells a join the present numbers.
func showProgress(j *agentapi.Join, p *sst.Progress, now time.Time) {
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

// EndStalledCopy ends a run whose full transfer has stood still for too long (sst.CopyStalled).
func (r *Room) EndStalledCopy() {
	p := r.progress
	if p == nil || !r.under() || r.Config.Node == nil {
		return
	}
	if r.Volume.Frozen() {
		p.Hold(time.Now())
	}
	limit := r.Config.Node.StateTransfer.Stall()
	if !sst.CopyStalled(p, time.Now(), limit) {
		return
	}
	r.end(&agentapi.Failure{Reason: agentapi.FailureStalled, At: time.Now(), Message: fmt.Sprintf(
		"the full transfer from %s made no progress for %s in the phase %s, after %d MiB; it was ended and will be begun anew",
		r.donor(), limit, p.Phase(), p.Bytes()>>20)})
}

// donor names the donor in a message.
func (r *Room) donor() string {
	if r.Join == nil || r.Join.Donor == "" {
		return "its donor"
	}
	return r.Join.Donor
}

// durable says that the full copy is on the disk, and sees to it that it comes there. Neither mbstream nor rsync
// does, and InnoDB only for what it writes itself: after a power cut, pieces would be taken for the data that the copy was
// noted as. Until then the note of the join stays, and no client is served.
func (r *Room) durable() bool {
	if r.Run.Note == nil || !r.Run.Note.Transfer || r.kept {
		return true
	}
	if !r.keeping {
		r.keeping = true
		proc := r.Run.Proc
		go func() {
			err := datadir.SyncAll(r.places.Data)
			r.loop.Post(func() { r.onDurable(proc, err) })
		}()
	}
	return false
}

// onDurable goes on where the copy is on the disk. One that cannot be brought there is worth nothing: the kernel tells of a
// failed write once, and another attempt would seem to succeed.
func (r *Room) onDurable(proc *mariadbd.Process, err error) {
	switch {
	case r.Run.Proc != proc || r.Run.Leaving():
	case err != nil:
		f := &agentapi.Failure{Reason: agentapi.FailureTransfer, At: time.Now(), Message: "the full copy could not be brought to the disk: " + err.Error()}
		if errors.Is(err, syscall.ENOSPC) {
			f.Reason = agentapi.FailureDiskFull
		}
		r.end(f)
	default:
		r.kept = true
		if r.Run.Status != nil {
			r.events.Judge()
		}
	}
}

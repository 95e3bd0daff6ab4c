package agent

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/procs"
	"github.com/galera-operator/galera-operator/internal/agent/servercnf"
	"github.com/galera-operator/galera-operator/internal/agent/sst"
	"github.com/galera-operator/galera-operator/internal/agent/transfer"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	// lookEvery is the pause between two looks at a running transfer.
	lookEvery = time.Second
	// showEvery is how often the numbers of a running transfer change in the report.
	showEvery = 10 * time.Second
)

// following is what is known of the state transfer of one run.
type following struct {
	progress *sst.Progress // nil unless a full transfer is awaited or under way
	workers  *transfer.Workers
	looking  bool
	lookedAt time.Time
	// heardAt is when the connection the write-sets come over was looked at.
	heardAt time.Time
	ist     sst.ISTWatch
	// measuring says that what has come is being added up, at the end.
	measuring bool
	// noting says that a look for a full copy, and its note, are on their way; known that the last one is over.
	noting, known bool
	// kept says that the copy is on the disk, keeping that it is on its way there.
	keeping, kept bool
	shownAt       time.Time
	// lag is the last one shown.
	lag lag
	// before is what the members that were heard had given to this one when the join began.
	before map[string]time.Time
}

// watchTransfer notes that a full transfer has begun, and follows it.
func (a *agent) watchTransfer() {
	if a.proc == nil || a.run.note == nil {
		return
	}
	if !a.noteTransfer(lifecycle.HasState(a.status)) {
		a.setJoinPhase(a.incrementalPhase())
		return
	}
	f := &a.run.follow
	if f.progress == nil {
		f.progress, f.workers = sst.Begin(time.Now()), &transfer.Workers{}
	}
	if f.looking || time.Since(f.lookedAt) < lookEvery {
		return
	}
	f.looking = true
	proc, workers, method, dir := a.proc, f.workers, a.run.note.Method, a.Places.Data
	notes := a.Places.TransferNotes()
	go func() {
		look := lookAtTransfer(proc.PID, proc.StartedAt, workers, method, dir, notes)
		a.post(func() {
			if a.proc == proc && a.run.follow.progress != nil {
				a.onLook(look)
			}
		})
	}()
}

// noteTransfer says whether a full transfer is awaited or under way, and sees to it that that is put down. The last look is the one at
// a server that has its state.
func (a *agent) noteTransfer(last bool) bool {
	f := &a.run.follow
	if a.run.note.Transfer || f.noting || a.run.completing {
		return a.run.note.Transfer
	}
	f.noting = true
	proc, note, begun, dir := a.proc, *a.run.note, a.copyGiven(), a.Places.Data
	note.Transfer = true
	a.volume.Do(func() error {
		if look, err := datadir.LookAt(dir); !begun && err == nil {
			begun = look.Transfer
		}
		if !begun {
			return nil
		}
		return a.markers.SetJoining(note)
	}, func(err error) {
		if a.proc != proc || a.run.note == nil {
			return
		}
		f.noting = false
		if err != nil {
			a.volume.Suspect()
			a.Logger.Error("the transfer could not be noted", "error", err)
			return
		}
		if begun {
			a.run.note = &note
			a.join.Kind = agentapi.JoinSST
		}
		switch {
		case !last && lifecycle.HasState(a.status):
			a.noteTransfer(true)
		case last:
			f.known = true
			if a.status != nil {
				a.judgeServer()
			}
		}
	})
	return a.run.note != nil && a.run.note.Transfer
}

// transferKnown says whether it is known by which kind of transfer the state has come. A copy that was not noticed would be
// taken for write-sets, and not be brought to the disk.
func (a *agent) transferKnown() bool {
	if a.run.note.Transfer || a.run.follow.known {
		return true
	}
	a.noteTransfer(true)
	return a.run.note != nil && (a.run.note.Transfer || a.run.follow.known)
}

// copyGiven says that others tell of a full copy to a join that hoped for write-sets only. MariaBackup's leaves a directory, too;
// rsync's, which writes over the old files, is known only to the donor.
func (a *agent) copyGiven() bool {
	return slices.ContainsFunc(a.givers(), func(p agentapi.PeerView) bool { return a.toUs(p).Kind == agentapi.JoinSST })
}

// givers are the members that give to this one, or have given to it: a short transfer may be over when the others are
// asked. What somebody gave to us before this join began, whether or not they noticed that that failed, is none; who was
// not heard then may have given at any time.
func (a *agent) givers() []agentapi.PeerView {
	return slices.DeleteFunc(lifecycle.PrimaryPeers(a.peers), func(p agentapi.PeerView) bool {
		before, heard := a.run.follow.before[p.Name]
		g := a.toUs(p)
		return g == nil || g.Since.Equal(before) || !heard && p.Giving == nil
	})
}

// laterGiver puts who gives at the moment after all who gave, and of those the last one last.
func (a *agent) laterGiver(p, q agentapi.PeerView) int {
	switch {
	case p.Giving != nil && q.Giving == nil:
		return 1
	case p.Giving == nil && q.Giving != nil:
		return -1
	}
	return a.toUs(p).Since.Compare(a.toUs(q).Since)
}

// toUs is the transfer a member gives, or gave last, when that is to this one; nil otherwise.
func (a *agent) toUs(p agentapi.PeerView) *agentapi.Giving {
	if g := cmp.Or(p.Giving, p.Gave); g != nil && g.To == a.Address {
		return g
	}
	return nil
}

// incrementalPhase is how far a join without a full transfer is.
func (a *agent) incrementalPhase() string {
	if a.status != nil {
		return agentapi.JoinApplying
	}
	return agentapi.JoinWaiting
}

func (a *agent) setJoinPhase(phase string) {
	if a.join != nil && a.join.EndedAt == nil {
		a.join.Phase = phase
	}
}

// lookAtTransfer looks at files and processes; it takes as long as a walk through the directory.
func lookAtTransfer(pid int, started time.Time, workers *transfer.Workers, method, dir, notes string) sst.Look {
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

func (a *agent) onLook(l sst.Look) {
	f := &a.run.follow
	f.looking, f.lookedAt = false, l.At
	before := f.progress.Phase()
	if a.status != nil {
		l.Ended = true
	}
	f.progress.Add(l)
	if a.join == nil || a.join.EndedAt != nil {
		return
	}
	if phase := f.progress.Phase(); phase != before {
		a.Logger.Info("state transfer", "phase", phase, "donor", a.join.Donor, "bytes", f.progress.Bytes(),
			"after", l.At.Sub(a.join.StartedAt).Round(time.Millisecond).String())
		if phase != agentapi.JoinWaiting {
			a.failure = nil // of the attempt before: this one is on its way
		}
		if phase == agentapi.JoinApplying {
			a.copyDurable() // while the server starts
		}
	} else if l.At.Sub(f.shownAt) < showEvery {
		return
	}
	f.shownAt = l.At
	a.showProgress(l.At)
}

// showProgress puts the present numbers into the report.
func (a *agent) showProgress(now time.Time) {
	p := a.run.follow.progress
	a.join.Phase, a.join.Bytes, a.join.Rate = p.Phase(), p.Bytes(), p.Rate()
	if p.Phase() == agentapi.JoinApplying {
		return // the rest is counted in write-sets
	}
	a.join.ETA = nil
	if left := a.join.Total - a.join.Bytes; left > 0 && a.join.Rate > 0 {
		eta := now.Add(time.Duration(float64(left) / float64(a.join.Rate) * float64(time.Second))).Round(time.Second)
		a.join.ETA = &eta
	}
}

// donorTold is how long after a join its donor is asked for: a short one is over before the answers come.
const donorTold = 10 * time.Second

// findDonor takes from the other members' answers who gives to this one, and how much there is.
func (a *agent) findDonor() {
	if a.join == nil || a.join.EndedAt != nil && (a.join.Kind == agentapi.JoinNone || time.Since(*a.join.EndedAt) > donorTold) {
		return
	}
	if givers := a.givers(); len(givers) > 0 {
		p := slices.MaxFunc(givers, a.laterGiver)
		a.join.Donor = p.Name
		if a.run.note != nil && a.run.note.Transfer && a.toUs(p).Kind == agentapi.JoinSST {
			a.join.Total = max(a.join.Total, p.DataBytes)
		}
		return
	}
	if a.join.Donor == "" && a.join.EndedAt == nil {
		a.join.Donor = lifecycle.OnlyDonor(a.peers)
	}
}

// endStalledCopy ends a run whose full transfer has stood still for too long.
func (a *agent) endStalledCopy() {
	p := a.run.follow.progress
	if a.proc == nil || p == nil || a.run.stopping || a.run.condemned || a.run.note == nil || a.config.Node == nil {
		return
	}
	if a.volume.Frozen() {
		p.Hold(time.Now())
	}
	limit := a.config.Node.StateTransfer.Stall()
	if !sst.CopyStalled(p, time.Now(), limit) {
		return
	}
	f := &agentapi.Failure{Reason: agentapi.FailureStalled, At: time.Now(), Message: stalledMessage(a.join, p, limit)}
	a.endTransfer(f)
}

// endTransfer ends a run whose transfer has failed though its server goes on.
func (a *agent) endTransfer(f *agentapi.Failure) {
	a.transferFailed(f, a.join)
	a.run.stopping, a.run.givenUp = true, true
	a.run.patience, a.run.stopAt = patienceJoiner, time.Now().Add(patienceJoiner)
	a.proc.Kill() // it has served nobody: there is nothing to lose
}

func stalledMessage(j *agentapi.Join, p *sst.Progress, limit time.Duration) string {
	from := "its donor"
	if j != nil && j.Donor != "" {
		from = j.Donor
	}
	return fmt.Sprintf("the full transfer from %s made no progress for %s in the phase %s, after %d MiB; it was ended and will be begun anew",
		from, limit, p.Phase(), p.Bytes()>>20)
}

// transferFailed counts an attempt that failed in a full transfer. The next one asks another donor first, where this one may be to blame,
// and waits longer every time: a copy costs its donor something.
func (a *agent) transferFailed(f *agentapi.Failure, join *agentapi.Join) {
	a.failedDonor = ""
	// A full disk here is not the donor's fault. A certificate may be either's.
	if join != nil && f.Reason != agentapi.FailureDiskFull {
		a.failedDonor = join.Donor
	}
	a.attemptFailed(f)
	a.retryAt = time.Now().Add(lifecycle.TransferBackoff(a.failures))
}

// givenBefore tells of each member that is heard since when it gives to this one, or gave; zero when it does not. This one
// does not take that any more.
func (a *agent) givenBefore() map[string]time.Time {
	out := map[string]time.Time{}
	for name, p := range a.peers {
		if out[name] = (time.Time{}); a.toUs(p) != nil {
			out[name] = a.toUs(p).Since
		}
	}
	return out
}

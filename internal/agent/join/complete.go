package join

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Judge continues a join whose node has the component's state, and ends it when the node has caught up.
func (r *JoinerTracker) Judge() {
	if lifecycle.HasState(r.Run.Status) && r.Run.Note != nil && r.kindKnown() && r.durable() {
		r.stateComplete()
	}
	if j := r.Join; j != nil && !r.measuring && caughtUp(j, r.Run) {
		end(j, time.Now())
		r.loop.Logger.Info("joined", "kind", j.Kind, "donor", j.Donor, "took",
			j.EndedAt.Sub(j.StartedAt).Round(time.Millisecond).String(),
			"writeSets", j.WriteSets, "position", r.Run.Position.String())
	}
}

// stateComplete is called when the IST or SST is complete (Joined, Donor or Synced). Write-sets received meanwhile may
// still have to be applied.
func (r *JoinerTracker) stateComplete() {
	if r.completing {
		return
	}
	if note := r.Run.Note; note.Marked && !note.SST {
		r.Run.EndTransfer(&agentapi.Failure{Reason: agentapi.FailureTransfer, At: time.Now(),
			Message: "the node joined without the SST that its data need; it is restarted to get one"}, donorOf(r.Join))
		return
	}
	r.completing = true
	proc, copied := r.Run.Proc, sstVersions(r.Run.Note, r.Join, r.Image.ServerVersion, r.Group.Views)
	unproved := unproved(r)
	r.Volume.Do(func() error {
		if err := r.markers.ClearInitialising(); err != nil {
			return err
		}
		if copied != nil {
			if err := r.events.Copied(); err != nil {
				return err
			}
			if err := r.markers.SetVersions(*copied); err != nil {
				return err
			}
		}
		if unproved {
			if err := r.events.Unproved(); err != nil {
				return err
			}
		}
		if err := r.markers.ClearVotedOut(); err != nil {
			return err
		}
		return r.markers.ClearJoining()
	}, func(err error) {
		if r.Run.Proc != proc {
			return
		}
		r.completing = false
		if err != nil { // tried again at the next status
			r.Volume.Suspect()
			r.loop.Logger.Error("cannot update the markers of the join", "error", err)
			return
		}
		if copied != nil {
			r.Exam.Versions = *copied
		}
		r.complete()
		if r.Run.Status != nil {
			r.events.Judge()
		}
	})
}

// unproved returns whether the state may have come by an SST that nothing shows.
func unproved(r *JoinerTracker) bool {
	return !r.Run.Note.SST && r.Run.Note.Method == config.Rsync &&
		lifecycle.JoinKind(false, r.Run.From, r.Run.Position) != agentapi.JoinNone && !r.reports.istReported(r.Group.Views)
}

// sstVersions returns the versions of data received by SST, nil without one: the system tables are the donor's.
func sstVersions(note *datadir.Joining, j *agentapi.Join, server string,
	views map[string]agentapi.PeerView) *datadir.Versions {
	if !note.SST {
		return nil
	}
	v := datadir.Versions{Used: server}
	if j != nil {
		v.Tables = views[j.Donor].Tables
	}
	return &v
}

// complete records how the state came, after the joining marker was removed.
func (r *JoinerTracker) complete() {
	note, j := *r.Run.Note, r.Join
	r.Run.Note, r.Run.Attempts.FailedDonor = nil, ""
	if j == nil {
		return
	}
	j.Phase, j.Rate, j.ETA = agentapi.JoinApplying, 0, nil
	j.Kind = lifecycle.JoinKind(note.SST, r.Run.From, r.Run.Position)
	switch j.Kind {
	case agentapi.JoinIST:
		j.WriteSets = r.Run.Position.Seqno - r.Run.From.Seqno
	case agentapi.JoinSST:
		r.measureSST()
	}
}

// caughtUp returns whether a join that has not ended is over.
func caughtUp(j *agentapi.Join, run *process.Supervisor) bool {
	return run.Note == nil && j.EndedAt == nil && run.Status != nil && run.Status.State != galera.NodeJoined
}

// end ends the join of a member that has caught up.
func end(j *agentapi.Join, now time.Time) {
	j.EndedAt, j.Phase, j.Behind, j.ETA = &now, "", 0, nil
}

// measureSST starts a worker that adds up the bytes of the SST.
func (r *JoinerTracker) measureSST() {
	r.measuring = true
	proc := r.Run.Proc
	go func() {
		size := datadir.SSTSize(r.places.Data)
		r.loop.Post(func() {
			if r.Run.Proc != proc {
				return
			}
			r.measuring = false
			if r.Join != nil {
				r.Join.Bytes = size
			}
		})
	}()
}

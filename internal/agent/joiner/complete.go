package joiner

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Judge continues a join whose node has the component's state, and ends it when the node has caught up.
func (r *Room) Judge() {
	if lifecycle.HasState(r.Run.Status) && r.Run.Note != nil && r.kindKnown() && r.durable() {
		r.stateComplete()
	}
	if r.caughtUp() {
		r.ended()
	}
}

// stateComplete is called when the IST or SST is complete (Joined, Donor or Synced). Write-sets received meanwhile may still
// have to be applied.
func (r *Room) stateComplete() {
	if r.completing {
		return
	}
	if note := r.Run.Note; note.Marked && !note.SST {
		r.Run.EndTransfer(&agentapi.Failure{Reason: agentapi.FailureTransfer, At: time.Now(),
			Message: "the node joined without the SST that its data need; it is restarted to get one"}, r.donor())
		return
	}
	r.completing = true
	proc, copied := r.Run.Proc, r.sstVersions()
	r.Volume.Do(func() error {
		if err := r.markers.ClearInitialising(); err != nil {
			return err
		}
		if copied != nil {
			if err := r.markers.SetVersions(*copied); err != nil {
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

// sstVersions returns the versions of data received by SST, nil without one: the system tables are the donor's.
func (r *Room) sstVersions() *datadir.Versions {
	if !r.Run.Note.SST {
		return nil
	}
	v := datadir.Versions{Used: r.Image.ServerVersion}
	if r.Join != nil {
		v.Tables = r.Group.Views[r.Join.Donor].Tables
	}
	return &v
}

// complete records how the state came, after the joining marker was removed.
func (r *Room) complete() {
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

// caughtUp returns whether the join is over and its numbers are known.
func (r *Room) caughtUp() bool {
	return r.Run.Note == nil && r.Join != nil && r.Join.EndedAt == nil && !r.measuring &&
		r.Run.Status != nil && r.Run.Status.State != galera.NodeJoined
}

// ended is called when the member has caught up.
func (r *Room) ended() {
	now, j := time.Now(), r.Join
	j.EndedAt, j.Phase, j.Behind, j.ETA = &now, "", 0, nil
	r.loop.Logger.Info("joined", "kind", j.Kind, "donor", j.Donor, "took", now.Sub(j.StartedAt).Round(time.Millisecond).String(),
		"writeSets", j.WriteSets, "position", r.Run.Position.String())
}

// measureSST starts a worker that adds up the bytes of the SST.
func (r *Room) measureSST() {
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

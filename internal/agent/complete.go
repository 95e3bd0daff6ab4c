package agent

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// recordFirstLine records the first line of a history that was initialised here, before anybody is
// told that there is a component to join: a joiner takes over the lines it is told of. It says whether that is done.
func (a *agent) recordFirstLine() bool {
	if a.lineTold() {
		return true
	}
	line := galera.FirstLine(galera.Line{Epoch: a.run.epoch, Start: galera.Position{UUID: a.status.ClusterUUID}})
	if line.Epoch <= a.orders.Content().Lineage.Epoch {
		a.run.lined = true
	} else if !a.run.lining {
		a.run.lining = true
		proc := a.proc
		a.orders.SetLineage(line, func(err error) {
			if a.proc != proc {
				return
			}
			a.run.lining, a.run.lined = false, err == nil
			if a.run.lined && a.status != nil {
				a.judgeServer()
			}
		})
	}
	return a.run.lined
}

// lineTold says that what the server tells of its component may be passed on.
func (a *agent) lineTold() bool {
	return a.run.lined || a.run.kind != agentapi.OrderInitialise || a.status == nil ||
		a.status.Component != galera.ComponentPrimary || a.status.ClusterUUID == ""
}

// stateComplete is called when all of the component's state is here. What was written meanwhile may
// have to be applied yet.
func (a *agent) stateComplete() {
	if a.run.completing {
		return
	}
	a.run.completing = true
	proc, copied := a.proc, a.copiedVersions()
	a.volume.Do(func() error {
		if err := a.markers.ClearInitialising(); err != nil {
			return err
		}
		if copied != nil {
			if err := a.markers.SetVersions(*copied); err != nil {
				return err
			}
		}
		return a.markers.ClearJoining()
	}, func(err error) {
		if a.proc != proc {
			return
		}
		a.run.completing = false
		if err != nil { // tried again at the next status
			a.volume.Suspect()
			a.Logger.Error("the notes of the join cannot be changed", "error", err)
			return
		}
		if copied != nil {
			a.versions = *copied
		}
		a.joinComplete()
		if a.status != nil {
			a.judgeServer()
		}
	})
}

// joinComplete tells how a join went whose note is gone.
func (a *agent) joinComplete() {
	note := *a.run.note
	a.run.note, a.failedDonor = nil, ""
	if a.join == nil {
		return
	}
	a.join.Phase, a.join.Rate, a.join.ETA = agentapi.JoinApplying, 0, nil
	a.join.Kind = lifecycle.JoinKind(note.Transfer, a.run.from, a.position)
	switch a.join.Kind {
	case agentapi.JoinIST:
		a.join.WriteSets = a.position.Seqno - a.run.from.Seqno
	case agentapi.JoinSST:
		a.measureCopy()
	}
}

// caughtUp says that a join is over, and all that is told of it known.
func (a *agent) caughtUp() bool {
	return a.run.note == nil && a.join != nil && a.join.EndedAt == nil && !a.run.follow.measuring &&
		a.status != nil && a.status.State != galera.NodeJoined
}

// joinEnded is called when the member has caught up.
func (a *agent) joinEnded() {
	now := time.Now()
	a.join.EndedAt, a.join.Phase, a.join.Behind, a.join.ETA = &now, "", 0, nil
	a.Logger.Info("joined", "kind", a.join.Kind, "donor", a.join.Donor, "took", now.Sub(a.join.StartedAt).Round(time.Millisecond).String(),
		"writeSets", a.join.WriteSets, "position", a.position.String())
}

// measureCopy lets a worker add up what has come.
func (a *agent) measureCopy() {
	a.run.follow.measuring = true
	proc := a.proc
	go func() {
		size := datadir.CopySize(a.Places.Data)
		a.post(func() {
			if a.proc != proc {
				return
			}
			a.run.follow.measuring = false
			if a.join != nil {
				a.join.Bytes = size
			}
		})
	}()
}

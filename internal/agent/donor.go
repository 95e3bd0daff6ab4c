package agent

import (
	"maps"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/sst"
	"github.com/galera-operator/galera-operator/internal/agent/transfer"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// sizeLasts is how long a measured size of the data is good enough for others to plan with.
const sizeLasts = 10 * time.Minute

// ownData is what the member knows of the size of its data, and of the transfers it gives.
type ownData struct {
	bytes      int64
	measuredAt time.Time
	measuring  bool
	giving     *agentapi.Giving
	gave       *agentapi.Giving // the last one that was given
	given      map[string]int64 // transfers given, by kind, since the agent started
	donation   sst.Donation
	hearing    hearing
}

// watchGiving looks for what the transfer scripts have noted since the last look.
func (a *agent) watchGiving() {
	if a.proc == nil {
		a.own.giving, a.own.donation = nil, sst.Donation{}
		return
	}
	notes := transfer.Notes(a.Places.TransferNotes())
	for _, n := range notes[min(a.run.notes, len(notes)):] {
		if n.Role != transfer.RoleDonor {
			continue
		}
		given := maps.Clone(a.own.given) // reports hold the old one
		if given == nil {
			given = map[string]int64{}
		}
		given[n.Kind]++
		a.own.given = given
		a.own.giving = &agentapi.Giving{Kind: n.Kind, To: n.Host, Since: time.Now()}
		a.own.gave = a.own.giving
		a.own.measuredAt = time.Time{}
		a.Logger.Info("giving a state transfer", "kind", n.Kind, "to", n.Host)
	}
	a.run.notes = max(a.run.notes, len(notes)) // a file that cannot be read has none
	if len(notes) > 0 {
		switch last := notes[len(notes)-1]; {
		case !last.Running():
			a.own.giving = nil
		case last.Role == transfer.RoleDonor:
			a.endLostJoiner(last, time.Now())
		}
	}
	a.own.donation.See(a.status, a.own.giving != nil, time.Now())
	a.measureData()
}

// measureData lets a worker find out how large a full copy would be.
func (a *agent) measureData() {
	if a.own.measuring || !a.run.served || time.Since(a.own.measuredAt) < sizeLasts {
		return
	}
	a.own.measuring = true
	go func() {
		size := datadir.CopySize(a.Places.Data)
		a.post(func() { a.own.measuring, a.own.measuredAt, a.own.bytes = false, time.Now(), size })
	}()
}

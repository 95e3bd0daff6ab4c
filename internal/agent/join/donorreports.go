package join

import (
	"cmp"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// donorReports finds this join's donor in the reports of the other members.
type donorReports struct {
	to string // our address
	// earlier are the transfers to this address that were known when the join began (earlierTransfers).
	earlier map[string]time.Time
	// next are those that were known when the next join began, nil before that: later ones belong to that one.
	next map[string]time.Time
}

// earlierTransfers maps each member that answers to the start of its current or last transfer to an address, zero
// without one. They belong to earlier joins.
func earlierTransfers(to string, views map[string]agentapi.PeerView) map[string]time.Time {
	out := map[string]time.Time{}
	for name, p := range views {
		if out[name] = (time.Time{}); transferTo(p, to) != nil {
			out[name] = transferTo(p, to).Since
		}
	}
	return out
}

// transferTo returns a member's current or last transfer if that goes to an address, nil otherwise.
func transferTo(p agentapi.PeerView, to string) *agentapi.Donation {
	if g := cmp.Or(p.Donation, p.LastDonation); g != nil && g.To == to {
		return g
	}
	return nil
}

func (d donorReports) transferToUs(p agentapi.PeerView) *agentapi.Donation {
	return transferTo(p, d.to)
}

// donors are the members whose current or last transfer belongs to this join: a short one may be over when they are
// asked. Transfers that were already known when this join began do not count, even if the donor still shows them as
// running; nor does a finished one of a member that had not answered then, as it may be older.
func (d donorReports) donors(views map[string]agentapi.PeerView) []agentapi.PeerView {
	return slices.DeleteFunc(lifecycle.PrimaryPeers(views), func(p agentapi.PeerView) bool {
		before, heard := d.earlier[p.Name]
		given := d.transferToUs(p)
		return given == nil || given.Since.Equal(before) || !heard && p.Donation == nil ||
			d.next != nil && !given.Since.Equal(d.next[p.Name])
	})
}

// last returns the donor of the running transfer, else that of the last one to begin.
func (d donorReports) last(views map[string]agentapi.PeerView) (agentapi.PeerView, bool) {
	donors := d.donors(views)
	if len(donors) == 0 {
		return agentapi.PeerView{}, false
	}
	return slices.MaxFunc(donors, func(p, q agentapi.PeerView) int {
		switch {
		case p.Donation != nil && q.Donation == nil:
			return 1
		case p.Donation == nil && q.Donation != nil:
			return -1
		}
		return d.transferToUs(p).Since.Compare(d.transferToUs(q).Since)
	}), true
}

// sstReported returns whether a donor reports an SST although this joiner expected IST. An SST by MariaBackup also
// shows by its directory; one by rsync is known only to the donor.
func (d donorReports) sstReported(views map[string]agentapi.PeerView) bool {
	return slices.ContainsFunc(d.donors(views),
		func(p agentapi.PeerView) bool { return d.transferToUs(p).Kind == agentapi.JoinSST })
}

// istReported returns whether a donor of this join reports that it has given write-sets.
func (d donorReports) istReported(views map[string]agentapi.PeerView) bool {
	return slices.ContainsFunc(d.donors(views),
		func(p agentapi.PeerView) bool { return d.transferToUs(p).Kind == agentapi.JoinIST })
}

package joiner

import (
	"cmp"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// gifts tells which of the transfers that other members give, or gave last, are those of this join.
type gifts struct {
	to string // our address
	// before is what the members that were heard had given to us when the join began.
	before map[string]time.Time
}

// givenBefore tells of each member that is heard since when it gives to an address, or gave; zero when it does not. This join does not
// take that any more.
func givenBefore(to string, views map[string]agentapi.PeerView) map[string]time.Time {
	out := map[string]time.Time{}
	for name, p := range views {
		if out[name] = (time.Time{}); toUs(p, to) != nil {
			out[name] = toUs(p, to).Since
		}
	}
	return out
}

// toUs is the transfer a member gives, or gave last, when that is to an address; nil otherwise.
func toUs(p agentapi.PeerView, to string) *agentapi.Giving {
	if g := cmp.Or(p.Giving, p.Gave); g != nil && g.To == to {
		return g
	}
	return nil
}

func (g gifts) toUs(p agentapi.PeerView) *agentapi.Giving { return toUs(p, g.to) }

// givers are the members that give to us, or have given to us: a short transfer may be over when the others are
// asked. What was given to us before this join began, whether or not the donor noticed that that failed, is none; a member that was
// not heard then may have given at any time.
func (g gifts) givers(views map[string]agentapi.PeerView) []agentapi.PeerView {
	return slices.DeleteFunc(lifecycle.PrimaryPeers(views), func(p agentapi.PeerView) bool {
		before, heard := g.before[p.Name]
		given := g.toUs(p)
		return given == nil || given.Since.Equal(before) || !heard && p.Giving == nil
	})
}

// last is the donor that gives at the moment, else the one that gave last.
func (g gifts) last(views map[string]agentapi.PeerView) (agentapi.PeerView, bool) {
	givers := g.givers(views)
	if len(givers) == 0 {
		return agentapi.PeerView{}, false
	}
	return slices.MaxFunc(givers, func(p, q agentapi.PeerView) int {
		switch {
		case p.Giving != nil && q.Giving == nil:
			return 1
		case p.Giving == nil && q.Giving != nil:
			return -1
		}
		return g.toUs(p).Since.Compare(g.toUs(q).Since)
	}), true
}

// copied says that others tell of a full copy to a join that hoped for write-sets only. MariaBackup's leaves a directory, too;
// rsync's, which writes over the old files, is known only to the donor.
func (g gifts) copied(views map[string]agentapi.PeerView) bool {
	return slices.ContainsFunc(g.givers(views), func(p agentapi.PeerView) bool { return g.toUs(p).Kind == agentapi.JoinSST })
}

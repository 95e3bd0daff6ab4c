package wsrep

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// View is what is known of the members of the last view. Not safe for concurrent use; event loop only.
type View struct {
	// ID is the wsrep_cluster_conf_id of the view, 0 until a status has reported it.
	ID         int64
	members    []agentapi.GroupMember // of the view the last notification reported
	primary    bool                   // whether that is a Primary component
	reportedAt time.Time
}

// Take keeps the members of a new view; the next status shows which one that is.
func (v *View) Take(members []agentapi.GroupMember, primary bool) {
	v.members, v.primary, v.ID, v.reportedAt = members, primary, 0, time.Now()
}

// Exited forgets the members: another server begins.
func (v *View) Exited() { v.members = nil }

// Members returns the members of the view a status was read in, nil when that is not known. The status variables follow
// the notification a moment later, and before they do they may be of an earlier view of the same size; the notification
// may also be late. So for a moment after it the names are of the last view seen, and then of no other. A component
// without quorum has no number: there the names are of the last view, if that had no quorum either.
func (v *View) Members(s agentapi.Server, asked time.Time) []agentapi.GroupMember {
	if len(v.members) != s.Size || v.primary != (s.Component == galera.ComponentPrimary) {
		return nil
	}
	if !v.primary {
		if s.Component != galera.ComponentNonPrimary || asked.Before(v.reportedAt) {
			return nil
		}
		return v.members
	}
	if reported := asked.Sub(v.reportedAt); reported >= 0 && (v.ID == 0 || reported < fastAfterPoke) {
		v.ID = s.ViewID
	}
	if v.ID != s.ViewID {
		return nil
	}
	return v.members
}

// NodesOf returns the members with the names of their pods. A name that belongs to no peer is kept: an arbitrator's,
// and that of a member who has left.
func NodesOf(members []agentapi.GroupMember, peers []agentapi.Peer) []agentapi.GroupMember {
	out := slices.Clone(members)
	for i, m := range members {
		for _, p := range peers {
			if agentapi.GroupName(p.Name) == m.Name {
				out[i].Name = p.Name
			}
		}
	}
	return out
}

// SavedView is a View that outlives its process.
type SavedView struct {
	ID         int64                  `json:"id"`
	Group      []agentapi.GroupMember `json:"group,omitempty"`
	Primary    bool                   `json:"primary,omitempty"`
	ReportedAt time.Time              `json:"reportedAt"`
}

// Save returns what Load takes.
func (v *View) Save() SavedView { return SavedView{v.ID, v.members, v.primary, v.reportedAt} }

// Load takes over what an agent before knew.
func (v *View) Load(s SavedView) {
	v.ID, v.members, v.primary, v.reportedAt = s.ID, s.Group, s.Primary, s.ReportedAt
}

// quorumTimeout is how long a rebuilt quorum may take to show.
const quorumTimeout = 15 * time.Second

// RebuildQuorum makes the server's non-Primary component Primary, and waits until the status shows it. A worker calls
// it.
func (c *Conn) RebuildQuorum(ctx context.Context) error {
	if err := c.Bootstrap(ctx); err != nil {
		return err
	}
	deadline := time.Now().Add(quorumTimeout)
	for {
		s, err := c.Status(ctx)
		if err == nil && s.Server.Component == galera.ComponentPrimary {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the component did not become Primary within %s", quorumTimeout)
		}
		time.Sleep(pollFast)
	}
}

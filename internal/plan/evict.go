package plan

import "github.com/galera-operator/galera-operator/internal/galera"

// Eviction tells a member's server that another one has ended: nobody waits for its silence then.
type Eviction struct {
	// Member is who is told.
	Member string
	// Gone is whose server has ended; NodeUUID named it in the group.
	Gone, NodeUUID string
	// ViewID is the Primary view both were in; in any other one the member refuses.
	ViewID int64
}

// Evictions finds the servers that their own agents saw end, and for each a member that still counts on it. A
// group takes seconds of silence for the end of a member, because silence can have other reasons; nobody can
// write meanwhile. Here the reason is known. It is no Action: it needs no journal, hurts nobody when it is
// repeated or too late, and must not wait for what else is to be done.
//
// A member believes one eviction in each view, and that is harmless to quorum, whatever else happens. Say that some
// component had a majority of a view, and went on. Its members evicted, while they were in that view, servers that
// had ended, so nobody among themselves: only the others can evict any of them, and those are fewer than half, with
// one eviction each. So they never evict the whole of that component, and cannot be Primary without it.
func Evictions(s galera.Snapshot) []Eviction {
	if _, grave := refuseTwoPrimaries(s); grave || s.Arbitrator != nil {
		return nil // an arbitrator cannot be made to forget an eviction, and others learn of it again and again
	}
	var out []Eviction
	asked := map[string]bool{} // each believes but one
	for _, gone := range s.Members {
		if gone.Ended == nil {
			continue
		}
		for _, m := range s.Members {
			if m.InPrimary() && m.Server.ViewID == gone.Ended.ViewID && !asked[m.Name] {
				asked[m.Name] = true
				out = append(out, Eviction{Member: m.Name, Gone: gone.Name, NodeUUID: gone.Ended.NodeUUID, ViewID: gone.Ended.ViewID})
				break
			}
		}
	}
	return out
}

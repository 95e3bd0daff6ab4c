package plan

import "github.com/galera-operator/galera-operator/internal/galera"

// Eviction asks a member's server to evict a terminated server, so that the group need not wait for its silence.
type Eviction struct {
	// Member is asked.
	Member string
	// Gone is the member whose server has ended; NodeUUID was its UUID in the group.
	Gone, NodeUUID string
	// ViewID is the Primary view of both; in any other view the member refuses.
	ViewID int64
}

// Evictions finds the servers that their own agents saw end, and for each a member that still has it in its view. The
// group would wait for seconds of silence, because silence can have other reasons, and no node can write meanwhile.
// Here the reason is known. It is no Action: it needs no journal, does no harm when it is repeated or late, and must
// not wait for other work.
//
// A member accepts one eviction in each view. That is safe for quorum, whatever else happens. Suppose that a component
// had a majority of a view, and went on. While its members were in that view, they evicted only servers that had
// ended, so none of each other. Only the rest of the view can evict any of them: fewer than half, with one eviction
// each. So the rest never evicts that whole component, and cannot be Primary without it.
func Evictions(s galera.Snapshot) []Eviction {
	if _, grave := refuseTwoPrimaries(s); grave || s.Arbitrator != nil {
		return nil // garbd cannot be made to forget an eviction, and passes it on again and again
	}
	var out []Eviction
	asked := map[string]bool{} // each accepts only one
	for _, gone := range s.Members {
		if gone.Ended == nil {
			continue
		}
		for _, m := range s.Members {
			if m.InPrimary() && m.Server.ViewID == gone.Ended.ViewID && !asked[m.Name] {
				asked[m.Name] = true
				out = append(out, Eviction{Member: m.Name, Gone: gone.Name, NodeUUID: gone.Ended.NodeUUID,
					ViewID: gone.Ended.ViewID})
				break
			}
		}
	}
	return out
}

package lifecycle

import (
	"slices"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// DonorWish is what decides among the members that can give a full copy.
type DonorWish struct {
	// Preferred come first.
	Preferred []string
	// Failed is the donor of the last attempt, when that failed and it may be to blame; "" otherwise.
	Failed string
	// Blocks says that a donor serves nobody while it gives.
	Blocks bool
}

// Donors lists the members to ask for a full copy, in this order: the preferred ones, then the others
// by name. The member clients are sent to is not among them: Galera takes it when nobody listed can
// give, which the trailing comma allows. Only when all others are the one that failed is it asked before
// that, unless giving would block it. Without anybody listed, busy names a member that could give if it
// were not giving already; the one that failed is not waited for, as it may hang.
func Donors(peers map[string]agentapi.PeerView, wish DonorWish) (names []string, busy string) {
	spare, again := "", ""
	for _, p := range PrimaryPeers(peers) {
		switch {
		case p.Draining:
		case p.Primary:
			if p.State == galera.NodeSynced && p.Name != wish.Failed && !wish.Blocks {
				spare = p.Name
			}
		case p.State == galera.NodeSynced && p.Name == wish.Failed:
			again = p.Name
		case p.State == galera.NodeSynced:
			names = append(names, p.Name)
		case p.State == galera.NodeDonor && p.Name != wish.Failed && p.Giving != nil && p.Giving.Kind == agentapi.JoinSST:
			busy = p.Name
		}
	}
	rank := func(name string) int {
		if i := slices.Index(wish.Preferred, name); i >= 0 {
			return i
		}
		return len(wish.Preferred)
	}
	slices.SortStableFunc(names, func(x, y string) int { return rank(x) - rank(y) })
	if again != "" {
		if len(names) == 0 && spare != "" {
			names = append(names, spare)
		}
		names = append(names, again)
	}
	if len(names) > 0 {
		busy = ""
	}
	return names, busy
}

// DonorList is what a joiner with an image tells Galera in wsrep_sst_donor. others says that Galera may take another member when
// none on the list can give (the trailing comma); it may not when a member is of a later series than the image, so that
// every able member is on the list then.
func DonorList(image string, peers map[string]agentapi.PeerView, wish DonorWish) (names []string, others bool) {
	able, later := AbleDonors(image, peers)
	names, _ = Donors(able, wish)
	if !later {
		return names, true
	}
	for _, p := range PrimaryPeers(able) {
		if p.State == galera.NodeSynced && !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names, false
}

// AwaitDonor holds a join back while no able member is Synced, and one by a full copy while that would have to come from the member
// clients are sent to.
func AwaitDonor(v JoinVerdict, image string, fullCopy bool, peers map[string]agentapi.PeerView, wish DonorWish) JoinVerdict {
	able, later := AbleDonors(image, peers)
	if later && !slices.ContainsFunc(PrimaryPeers(able), func(p agentapi.PeerView) bool { return p.State == galera.NodeSynced }) {
		return JoinVerdict{Wait: "a member whose MariaDB is not of a later series, to join by"}
	}
	if !fullCopy {
		return v
	}
	if _, busy := Donors(able, wish); busy != "" {
		return JoinVerdict{Wait: busy + " gives its data to another member, and the primary is spared"}
	}
	return v
}

// CopySize is how large a full copy of the others' data is in bytes, 0 when no member has told.
func CopySize(peers map[string]agentapi.PeerView) int64 {
	var size int64
	for _, p := range PrimaryPeers(peers) {
		size = max(size, p.DataBytes)
	}
	return size
}

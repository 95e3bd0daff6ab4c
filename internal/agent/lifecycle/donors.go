package lifecycle

import (
	"slices"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// DonorPreferences are the facts and preferences that decide the order of donors for an SST.
type DonorPreferences struct {
	// Preferred come first.
	Preferred []string
	// Failed is the donor of the last attempt, when that failed and it may be to blame; "" otherwise.
	Failed string
	// Blocks is true if a donor rejects writes during SST (rsync).
	Blocks bool
}

// Donors lists the members to ask for an SST, in this order: the preferred ones, then the others by name. The primary
// is not among them: Galera takes it when none on the list can be the donor, which the trailing comma allows. It is on
// the list only when all others are the one that failed, and before that one, unless SST would block it. With an empty
// list, busy names a member that could be the donor if it were not one already; the one that failed is not waited for,
// as it may hang.
func Donors(peers map[string]agentapi.PeerView, desired DonorPreferences) (names []string, busy string) {
	spare, again := "", ""
	for _, p := range PrimaryPeers(peers) {
		switch {
		case p.Draining:
		case p.Primary:
			if p.State == galera.NodeSynced && p.Name != desired.Failed && !desired.Blocks {
				spare = p.Name
			}
		case p.State == galera.NodeSynced && p.Name == desired.Failed:
			again = p.Name
		case p.State == galera.NodeSynced:
			names = append(names, p.Name)
		case p.State == galera.NodeDonor && p.Name != desired.Failed && p.Donation != nil &&
			p.Donation.Kind == agentapi.JoinSST:
			busy = p.Name
		}
	}
	rank := func(name string) int {
		if i := slices.Index(desired.Preferred, name); i >= 0 {
			return i
		}
		return len(desired.Preferred)
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

// DonorList returns the value of wsrep_sst_donor for a joiner with an image. others reports whether Galera may take
// another member when none on the list can give (the trailing comma); it may not when a member is of a later series
// than the image, so that every able member is on the list then.
func DonorList(image string, peers map[string]agentapi.PeerView, desired DonorPreferences) (names []string,
	others bool) {
	able, later := ableDonors(image, peers)
	names, _ = Donors(able, desired)
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

// AwaitDonor delays a join while no able member is Synced, and one by SST while only the primary could be its donor.
func AwaitDonor(v JoinDecision, image string, sst bool, peers map[string]agentapi.PeerView,
	desired DonorPreferences) JoinDecision {
	able, later := ableDonors(image, peers)
	if later && !slices.ContainsFunc(PrimaryPeers(able),
		func(p agentapi.PeerView) bool { return p.State == galera.NodeSynced }) {
		return JoinDecision{Wait: "a member whose MariaDB is not of a later series, to join by"}
	}
	if !sst {
		return v
	}
	if _, busy := Donors(able, desired); busy != "" {
		return JoinDecision{Wait: busy + " is the donor of another joiner, and the primary is spared"}
	}
	return v
}

// SSTSize is the size of an SST in bytes, 0 when no member has reported its own.
func SSTSize(peers map[string]agentapi.PeerView) int64 {
	var size int64
	for _, p := range PrimaryPeers(peers) {
		size = max(size, p.DataBytes)
	}
	return size
}

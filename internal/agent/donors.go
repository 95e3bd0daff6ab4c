package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/volume"

	"github.com/galera-operator/galera-operator/internal/agent/gcache"
	"github.com/galera-operator/galera-operator/internal/agent/servercnf"
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
	for _, p := range primaryPeers(peers) {
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

func (a *agent) donorWish() DonorWish {
	st := a.config.Node.StateTransfer
	return DonorWish{Preferred: st.Donors, Failed: a.failedDonor, Blocks: st.Method == servercnf.Rsync}
}

// donorArgs tell mariadbd whom to ask.
func (a *agent) donorArgs() []string {
	able, later := ableDonors(a.image.ServerVersion, a.peers)
	names, _ := Donors(able, a.donorWish())
	if later {
		// Without the comma nobody else is asked, so whoever is able has to be on the list.
		for _, p := range primaryPeers(able) {
			if p.State == galera.NodeSynced && !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
		return []string{"--wsrep-sst-donor=" + strings.Join(agentapi.GroupNames(names), ",")}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{"--wsrep-sst-donor=" + strings.Join(agentapi.GroupNames(names), ",") + ","}
}

// awaitDonor holds a join back while nobody could help who may, and a full transfer while it would have
// to come from the member clients are sent to, and while there is no room for it.
func (a *agent) awaitDonor(v JoinVerdict) JoinVerdict {
	able, later := ableDonors(a.image.ServerVersion, a.peers)
	if later && !slices.ContainsFunc(primaryPeers(able), func(p agentapi.PeerView) bool { return p.State == galera.NodeSynced }) {
		return JoinVerdict{Wait: "a member whose MariaDB is not of a later series, to join by"}
	}
	if !a.exam.Found.Replaced() {
		return v
	}
	if _, busy := Donors(able, a.donorWish()); busy != "" {
		return JoinVerdict{Wait: busy + " gives its data to another member, and the primary is spared"}
	}
	return a.awaitRoom(v)
}

// awaitRoom compares the size of the donors' data with what the volume has: a transfer that cannot
// end well would only trouble its donor.
func (a *agent) awaitRoom(v JoinVerdict) JoinVerdict {
	need := a.copySize()
	if need == 0 || a.proc != nil {
		return v
	}
	if a.volume.Sizes().At.IsZero() {
		a.volume.Measure(false)
	}
	if a.volume.Sizes().At.IsZero() {
		return JoinVerdict{Wait: "the volume to tell how much room it has"}
	}
	// A larger cache takes only what the copy leaves (gcache.Wish).
	if a.volume.Sizes().Cache == 0 {
		need += gcache.Least
	}
	free := a.volume.Sizes().Free
	if free == 0 || need <= free {
		return v // without a walk through the directory, in most cases
	}
	if time.Since(a.volume.Sizes().DataAt) >= volume.WalkLasts {
		a.volume.Measure(true)
	}
	if a.volume.Sizes().DataAt.IsZero() {
		return JoinVerdict{Wait: "the volume to tell how much lies on it"}
	}
	// What lies here is removed before the new data come.
	room := a.volume.Sizes().Free + a.volume.Sizes().Data
	if need <= room {
		return v
	}
	return failed(agentapi.FailureDiskFull, "the volume has room for %s, and a full copy of the other members' data with the cache of write-sets "+
		"takes %s; make room on the volume, or give the cluster larger ones", inMiB(room), inMiB(need))
}

// copySize is how large a full copy of the others' data is, 0 when nobody has told.
func (a *agent) copySize() int64 {
	var size int64
	for _, p := range primaryPeers(a.peers) {
		size = max(size, p.DataBytes)
	}
	return size
}

func inMiB(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

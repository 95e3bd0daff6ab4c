package agent

import (
	"fmt"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/gcache"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/servercnf"
	"github.com/galera-operator/galera-operator/internal/agent/volume"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

func (a *agent) donorWish() lifecycle.DonorWish {
	st := a.config.Node.StateTransfer
	return lifecycle.DonorWish{Preferred: st.Donors, Failed: a.failedDonor, Blocks: st.Method == servercnf.Rsync}
}

// donorArgs tell mariadbd whom to ask.
func (a *agent) donorArgs() []string {
	names, others := lifecycle.DonorList(a.image.ServerVersion, a.peers, a.donorWish())
	list := strings.Join(agentapi.GroupNames(names), ",")
	switch {
	case others && len(names) == 0:
		return nil
	case others:
		list += ","
	}
	return []string{"--wsrep-sst-donor=" + list}
}

// awaitDonor holds a join back while no member could help, and a full copy while there is no room for it.
func (a *agent) awaitDonor(v lifecycle.JoinVerdict) lifecycle.JoinVerdict {
	copied := a.exam.Found.Replaced()
	v = lifecycle.AwaitDonor(v, a.image.ServerVersion, copied, a.peers, a.donorWish())
	if !v.Join || !copied {
		return v
	}
	return a.awaitRoom(v)
}

// awaitRoom compares the size of the donors' data with what the volume has: a transfer that cannot
// end well would only trouble its donor.
func (a *agent) awaitRoom(v lifecycle.JoinVerdict) lifecycle.JoinVerdict {
	need := lifecycle.CopySize(a.peers)
	if need == 0 || a.proc != nil {
		return v
	}
	if a.volume.Sizes().At.IsZero() {
		a.volume.Measure(false)
	}
	if a.volume.Sizes().At.IsZero() {
		return lifecycle.JoinVerdict{Wait: "the volume to tell how much room it has"}
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
		return lifecycle.JoinVerdict{Wait: "the volume to tell how much lies on it"}
	}
	// What lies here is removed before the new data come.
	room := a.volume.Sizes().Free + a.volume.Sizes().Data
	if need <= room {
		return v
	}
	return lifecycle.Refused(agentapi.FailureDiskFull, "the volume has room for %s, and a full copy of the other members' data with the cache of write-sets "+
		"takes %s; make room on the volume, or give the cluster larger ones", inMiB(room), inMiB(need))
}

func inMiB(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

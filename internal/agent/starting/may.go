package starting

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/config/servercnf"
	"github.com/galera-operator/galera-operator/internal/agent/gcache"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/peers"
	"github.com/galera-operator/galera-operator/internal/agent/volume"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Blind says why not even the position can be found out, nil when it can.
func (r *Room) Blind() *agentapi.Failure {
	return cmp.Or(r.Image.Problem(), r.Config.Missing())
}

// Unusable says why nothing can be started, nil when something can.
func (r *Room) Unusable() *agentapi.Failure {
	if f := r.Blind(); f != nil {
		return f
	}
	if f := r.Orders.Unusable(r.member.Name); f != nil {
		return f
	}
	if r.Image.Provider == "" {
		return &agentapi.Failure{Reason: agentapi.FailureNoProvider, Message: "the image has no Galera provider (libgalera_smm.so)"}
	}
	if why := r.Certs.Missing(); why != "" && servercnf.NeedsPair(r.Config.Node.TLS) {
		return &agentapi.Failure{Reason: agentapi.FailureCertificate, Message: why}
	}
	return nil
}

// MayJoin judges whether this member may join the others, from which donor, and whether there is room for what comes.
func (r *Room) MayJoin() lifecycle.JoinVerdict {
	found := r.Exam.Found
	joiner := lifecycle.Joiner{Data: found.Data, Position: found.Position, Marked: found.Marked || found.VotedOut, Lineage: r.Orders.Content().Lineage}
	if lifecycle.AwaitNotice(time.Since(r.Run.DownSince)) {
		joiner.Crashed = r.member.Name
	}
	v := lifecycle.JudgeJoin(joiner, r.Group.Views)
	v = lifecycle.JudgeVersions(lifecycle.Build{Name: r.member.Name, Image: r.Image.ServerVersion, Newer: found.Newer}, v, r.Group.Views)
	if v.Join && r.Config.Node != nil {
		v = r.transferPossible(v)
	}
	if v.Join && r.Run.Proc == nil && r.Config.Node != nil {
		v = r.awaitDonor(v)
	}
	return v
}

// transferPossible turns the verdict into a failure when no state transfer could succeed.
func (r *Room) transferPossible(v lifecycle.JoinVerdict) lifecycle.JoinVerdict {
	if len(r.Image.Missing) > 0 {
		return lifecycle.Refused(agentapi.FailureToolMissing, "the image lacks %s, which a state transfer needs", strings.Join(r.Image.Missing, ", "))
	}
	if why := servercnf.CertificateProblem(*r.Config.Node, r.Certs.Installed().Pair.Leaf); why != "" {
		return lifecycle.Refused(agentapi.FailureCertificate, "%s", why)
	}
	return v
}

func (r *Room) donorWish() lifecycle.DonorWish {
	st := r.Config.Node.StateTransfer
	return lifecycle.DonorWish{Preferred: st.Donors, Failed: r.Run.Attempts.FailedDonor, Blocks: st.Method == servercnf.Rsync}
}

// awaitDonor holds a join back while no member could help, and a full copy while there is no room for it.
func (r *Room) awaitDonor(v lifecycle.JoinVerdict) lifecycle.JoinVerdict {
	copied := v.Copy || r.Exam.Found.Replaced()
	v = lifecycle.AwaitDonor(v, r.Image.ServerVersion, copied, r.Group.Views, r.donorWish())
	if !v.Join || !copied {
		return v
	}
	return r.awaitRoom(v)
}

// awaitRoom compares the size of the donors' data with what the volume has: a transfer that cannot
// end well would only trouble its donor.
func (r *Room) awaitRoom(v lifecycle.JoinVerdict) lifecycle.JoinVerdict {
	need := lifecycle.CopySize(r.Group.Views)
	if need == 0 {
		return v
	}
	if r.Volume.Sizes().At.IsZero() {
		r.Volume.Measure(false)
	}
	if r.Volume.Sizes().At.IsZero() {
		return lifecycle.JoinVerdict{Wait: "the volume to tell how much room it has"}
	}
	// A larger cache takes only what the copy leaves (gcache.Wish).
	if r.Volume.Sizes().Cache == 0 {
		need += gcache.Least
	}
	free := r.Volume.Sizes().Free
	if free == 0 || need <= free {
		return v // without a walk through the directory, in most cases
	}
	if time.Since(r.Volume.Sizes().DataAt) >= volume.WalkLasts {
		r.Volume.Measure(true)
	}
	if r.Volume.Sizes().DataAt.IsZero() {
		return lifecycle.JoinVerdict{Wait: "the volume to tell how much lies on it"}
	}
	// What lies here is removed before the new data come.
	room := r.Volume.Sizes().Free + r.Volume.Sizes().Data
	if need <= room {
		return v
	}
	return lifecycle.Refused(agentapi.FailureDiskFull, "the volume has room for %s, and a full copy of the other members' data with the cache of write-sets "+
		"takes %s; make room on the volume, or give the cluster larger ones", inMiB(room), inMiB(need))
}

func inMiB(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

// donorArgs tell mariadbd which donors to ask.
func (r *Room) donorArgs() []string {
	names, others := lifecycle.DonorList(r.Image.ServerVersion, r.Group.Views, r.donorWish())
	list := strings.Join(agentapi.GroupNames(names), ",")
	switch {
	case others && len(names) == 0:
		return nil
	case others:
		list += ","
	}
	return []string{"--wsrep-sst-donor=" + list}
}

// addressArgs tells a node with dynamic sockets which members to dial when it starts; it meets the rest of the group then.
func (r *Room) addressArgs() []string {
	if r.Config.Output.Socket != galera.SocketDynamic {
		return nil
	}
	names := peers.DialFirst(peers.Staying(lifecycle.PrimaryPeers(r.Group.Views)), r.Run.Attempts.Failed)
	var first []agentapi.Peer
	for _, p := range r.Config.Node.Members {
		if slices.Contains(names, p.Name) {
			first = append(first, p)
		}
	}
	if len(first) == 0 {
		return nil
	}
	return []string{"--wsrep-cluster-address=" + servercnf.ClusterAddress(first)}
}

// methodArgs hold mariadbd to the transfer method the join was noted with: the option file may be another one by the time it reads
// it. One that serves is told of a change (config.Room.SetLive).
func (r *Room) methodArgs() []string {
	method, ok := r.Config.Output.MyCnf.Get("mysqld", "wsrep_sst_method")
	if !ok {
		return nil
	}
	return []string{"--wsrep-sst-method=" + method}
}

// cacheWish is what decides how large a gcache mariadbd is started with.
func (r *Room) cacheWish() gcache.Wish {
	st := r.Config.Node.StateTransfer
	options, _ := r.Config.Output.MyCnf.Get("mysqld", "wsrep_provider_options")
	return gcache.Wish{Options: options, Window: time.Duration(st.WindowSeconds) * time.Second, Budget: st.CacheBudget,
		Replaced: r.Exam.Found.Replaced(), Copied: lifecycle.CopySize(r.Group.Views)}
}

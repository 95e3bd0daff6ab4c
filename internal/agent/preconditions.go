package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/join"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// PositionUnavailable returns why not even the position can be determined, nil when it can.
func (r *Starter) PositionUnavailable() *agentapi.Failure {
	return cmp.Or(r.Image.Problem(), r.Config.Missing())
}

// StartUnavailable returns why mariadbd cannot be started, nil when it can.
func (r *Starter) StartUnavailable() *agentapi.Failure {
	if f := r.PositionUnavailable(); f != nil {
		return f
	}
	if f := r.Orders.Unusable(); f != nil {
		return f
	}
	if f := otherCluster(r.StarterDependencies); f != nil {
		return f
	}
	if r.Image.Provider == "" {
		return &agentapi.Failure{Reason: agentapi.FailureNoProvider,
			Message: "the image has no Galera provider (libgalera_smm.so)"}
	}
	if why := r.Certs.Missing(); why != "" && config.NeedsPair(r.Config.Node.TLS) {
		return &agentapi.Failure{Reason: agentapi.FailureCertificate, Message: why}
	}
	return nil
}

// otherCluster is why data that are recorded as another cluster's are not used, nil when they are not. No history
// distinguishes a copy of a volume from the original.
func otherCluster(r StarterDependencies) *agentapi.Failure {
	of, own := r.Orders.Content().Cluster, r.Config.Node.Identity()
	if r.Exam.Found.Data != galera.DataPresent || !of.Excludes(own) {
		return nil
	}
	return &agentapi.Failure{Reason: agentapi.FailureOtherCluster,
		Message: fmt.Sprintf("the volume holds data of the cluster %s, but this "+
			"is a node of %s: the volume was copied or moved. Nothing is started with it. For a cluster with a copy of these "+
			"data, delete this "+
			"one and its volumes, and create it with spec.bootstrapFrom", of, own)}
}

// MayJoin decides whether this member may join the others, from which donor, and whether an SST would fit.
func (r *Starter) MayJoin() lifecycle.JoinDecision {
	found := r.Exam.Found
	joiner := lifecycle.Joiner{Data: found.Data, Position: found.Position, Marked: found.Marked || found.VotedOut,
		Lineage: r.Orders.Content().Lineage}
	if r.Config.Node != nil {
		joiner.History = r.Config.Node.History
	}
	if lifecycle.AwaitNotice(time.Since(r.Run.DownSince)) {
		joiner.Crashed = r.member.Name
	}
	v := lifecycle.JudgeJoin(joiner, r.Group.Views)
	v = lifecycle.NameRefused(v, r.Group.Views, r.Group.Refused())
	v = lifecycle.NameOthers(v, r.Group.Views, r.Group.Others())
	v = lifecycle.JudgeVersions(lifecycle.Build{Image: r.Image.ServerVersion, Newer: found.Newer}, v, r.Group.Views)
	if v.Join && r.Config.Node != nil {
		v = r.transferPossible(v)
	}
	if v.Join && r.Run.Proc == nil && r.Config.Node != nil {
		v = r.awaitDonor(v)
	}
	return v
}

// transferPossible turns the decision into a failure when no state transfer could succeed.
func (r *Starter) transferPossible(v lifecycle.JoinDecision) lifecycle.JoinDecision {
	if len(r.Image.Missing) > 0 {
		return lifecycle.Refused(agentapi.FailureToolMissing, "the image lacks %s, which a state transfer needs",
			strings.Join(r.Image.Missing, ", "))
	}
	if why := config.CertificateProblem(*r.Config.Node, r.Certs.Installed().Pair.Leaf); why != "" {
		return lifecycle.Refused(agentapi.FailureCertificate, "%s", why)
	}
	return v
}

func (r *Starter) donorPreferences() lifecycle.DonorPreferences {
	st := r.Config.Node.StateTransfer
	return lifecycle.DonorPreferences{Preferred: st.Donors, Failed: r.Run.Attempts.FailedDonor,
		Blocks: st.Method == config.Rsync}
}

// awaitDonor delays a join while no member can be its donor, and an SST while it does not fit on the volume.
func (r *Starter) awaitDonor(v lifecycle.JoinDecision) lifecycle.JoinDecision {
	copied := v.SST || r.Exam.Found.Replaced()
	v = lifecycle.AwaitDonor(v, r.Image.ServerVersion, copied, r.Group.Views, r.donorPreferences())
	if !v.Join || !copied {
		return v
	}
	return r.awaitSpace(v)
}

// awaitSpace compares the size of the donors' data with the space on the volume: an SST that cannot succeed would only
// burden its donor.
func (r *Starter) awaitSpace(v lifecycle.JoinDecision) lifecycle.JoinDecision {
	need := lifecycle.SSTSize(r.Group.Views)
	if need == 0 {
		return v
	}
	if r.Volume.Sizes().At.IsZero() {
		r.Volume.Measure(false)
	}
	if r.Volume.Sizes().At.IsZero() {
		return lifecycle.JoinDecision{Wait: "the volume's free space to be measured"}
	}
	// A larger gcache takes only what the SST leaves (join.GCacheRequest).
	if r.Volume.Sizes().Cache == 0 {
		need += join.MinSize
	}
	free := r.Volume.Sizes().Free
	if free == 0 || need <= free {
		return v // in most cases without a walk through the directory
	}
	if time.Since(r.Volume.Sizes().DataAt) >= datadir.WalkTTL {
		r.Volume.Measure(true)
	}
	if r.Volume.Sizes().DataAt.IsZero() {
		return lifecycle.JoinDecision{Wait: "the size of the data directory to be measured"}
	}
	// An SST replaces the present data.
	freeSpace := r.Volume.Sizes().Free + r.Volume.Sizes().Data
	if need <= freeSpace {
		return v
	}
	return lifecycle.Refused(agentapi.FailureDiskFull,
		"no SST requested: it needs %s (the other members' data and the gcache), the volume has %s "+
			"(free space and the present data, which an SST replaces)", inMiB(need), inMiB(freeSpace))
}

func inMiB(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

// donorArgs are the donors that mariadbd asks.
func (r *Starter) donorArgs() []string {
	names, others := lifecycle.DonorList(r.Image.ServerVersion, r.Group.Views, r.donorPreferences())
	list := strings.Join(agentapi.GroupNames(names), ",")
	switch {
	case others && len(names) == 0:
		return nil
	case others:
		list += ","
	}
	return []string{"--wsrep-sst-donor=" + list}
}

// addressArgs names the members that a node with dynamic sockets dials when it starts; it meets the rest of the group
// then.
func (r *Starter) addressArgs() []string {
	if r.Config.Output.Socket != galera.SocketDynamic {
		return nil
	}
	names := api.DialFirst(api.Staying(lifecycle.PrimaryPeers(r.Group.Views)), r.Run.Attempts.Failed)
	var first []agentapi.Peer
	for _, p := range r.Config.Node.Members {
		if slices.Contains(names, p.Name) {
			first = append(first, p)
		}
	}
	if len(first) == 0 {
		return nil
	}
	return []string{"--wsrep-cluster-address=" + config.ClusterAddress(first)}
}

// methodArgs sets the transfer method that the joining marker names: the option file may have another one by the time
// mariadbd reads it. A serving node takes over a change live (config.Manager.SetLive).
func (r *Starter) methodArgs() []string {
	method, ok := r.Config.Output.MyCnf.Get("mysqld", "wsrep_sst_method")
	if !ok {
		return nil
	}
	return []string{"--wsrep-sst-method=" + method}
}

// cacheRequest is what decides how large a gcache mariadbd is started with.
func (r *Starter) cacheRequest() join.GCacheRequest {
	st := r.Config.Node.StateTransfer
	if cacheInMemory(r.Config.Node) {
		st.WindowSeconds = 0 // the pod has memory for the least size only
	}
	options, _ := r.Config.Output.MyCnf.Get("mysqld", "wsrep_provider_options")
	return join.GCacheRequest{Options: options, Window: time.Duration(st.WindowSeconds) * time.Second,
		Budget:   st.CacheBudget,
		Replaced: r.Exam.Found.Replaced(), Copied: lifecycle.SSTSize(r.Group.Views)}
}

// cacheInMemory reports whether a server's cache of write-sets is in memory.
func cacheInMemory(c *agentapi.NodeConfig) bool { return c.AtRest != nil && c.AtRest.CacheInMemory }

package status

import (
	"crypto/x509"
	"fmt"
	"slices"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// arbitratorStatus describes the arbitrator, nil without one. The pod of a removed arbitrator may exist for a while.
func arbitratorStatus(in Input, before *v1alpha1.ArbitratorStatus) *v1alpha1.ArbitratorStatus {
	a := in.Snapshot.Arbitrator
	if a == nil || !a.Wanted && !a.Deployed {
		return nil
	}
	if before == nil {
		before = &v1alpha1.ArbitratorStatus{}
	}
	out := &v1alpha1.ArbitratorStatus{
		Connected: a.Votes(), Ready: a.Votes() && !a.RestartNeeded && a.ConfigLoaded == in.Config.Revision,
		Phase: phaseUnknown, Process: a.Process, Version: before.Version,
	}
	if p := in.Facts.ArbitratorPod; p != nil {
		out.Pod = p.Name
	}
	r := in.report(a.Name)
	switch {
	case !a.Scheduled:
		out.Phase, out.Message = string(galera.PhaseStopped), "it starts when two nodes serve"
		return out
	case !a.Pod.Exists:
		out.Message = "there is no pod"
		return out
	case r == nil:
		out.Message = "the agent does not answer"
		return out
	}
	out.Phase, out.Version, out.Message = known(r.Phase, phases, phaseUnknown), r.Image.ProviderVersion, r.Waiting
	out.Agent = agent(in, r)
	out.TLS = channel(in, r, agentapi.ChannelReplication, before.TLS)
	if a.Failure != nil {
		out.Message = a.Failure.Message
	} else if out.Message == "" && a.RestartNeeded {
		out.Message = "waiting for its restart with new settings or a new certificate"
	}
	out.Message = clip(out.Message, 1024)
	return out
}

// arbitratorProblem reports an image without garbd.
func arbitratorProblem(in Input) *validate.Problem {
	a := in.Snapshot.Arbitrator
	if a == nil || !a.Wanted && !a.Deployed || a.Failure == nil || a.Failure.Reason != agentapi.FailureNoArbitrator {
		return nil
	}
	return blocking(v1alpha1.ReasonArbitratorUnusable, "the arbitrator cannot run: "+a.Failure.Message+
		"; or use an odd number of nodes without an arbitrator")
}

// arbitratorReady describes what keeps the arbitrator from being ready. ok is true if nothing does.
func arbitratorReady(in Input) (v condition, ok bool) {
	a := in.Snapshot.Arbitrator
	if a == nil || !a.Wanted {
		return condition{}, true
	}
	s := arbitratorStatus(in, in.cluster().Status.Arbitrator)
	switch {
	case !s.Connected:
		return no(v1alpha1.ReasonArbitratorAway, "the arbitrator is not in the Primary component"+because(s.Message)), false
	case !s.Ready:
		return no(v1alpha1.ReasonConfigurationStale,
			"the arbitrator does not run with the published configuration and certificate yet"+because(s.Message)), false
	}
	return condition{}, true
}

// arbitratorEncrypted requires the same evidence from the arbitrator as from every node: its own checks, its handshakes
// with all nodes, and theirs with it.
func arbitratorEncrypted(in Input) (condition, bool) {
	a := in.Snapshot.Arbitrator
	if a == nil || !a.Scheduled || in.Config.TLS.Replication == galera.SocketPlain {
		return condition{}, true
	}
	r := in.report(a.Name)
	if r == nil || a.Process == "" {
		return unproved("waiting for evidence from the arbitrator"), false
	}
	if v, ok := judgeChannel(in, a.Name, agentapi.ChannelReplication, r); !ok {
		return v, false
	}
	if v, ok := judgePeers(in, a.Name, r); !ok {
		return v, false
	}
	for _, m := range in.Snapshot.Members {
		if m := in.report(m.Name); m != nil {
			if v, ok := judgePeer(m, m.Name, a.Name); !ok {
				return v, false
			}
		}
	}
	return condition{}, true
}

func arbitratorSuffix(in Input) string {
	if a := in.Snapshot.Arbitrator; a == nil || !a.Scheduled || in.Config.TLS.Replication == galera.SocketPlain {
		return ""
	}
	return " and the arbitrator"
}

// arbitratorCertificate reports whether the running garbd presents or trusts other certificates than the published
// ones. garbd cannot load new ones; it waits for its restart.
func arbitratorCertificate(in Input) (v condition, ok bool) {
	a := in.Snapshot.Arbitrator
	if a == nil || a.Process == "" {
		return condition{}, true
	}
	r := in.report(a.Name)
	if r == nil || r.TLS.Loaded == "" {
		return condition{}, true
	}
	if r.TLS.LoadedSerial != in.Published.Serial {
		return no(v1alpha1.ReasonCertificateNotLoaded,
			fmt.Sprintf("the arbitrator still presents certificate %s; the published one is %s, which it gets with its restart",
				r.TLS.LoadedSerial, in.Published.Serial)), false
	}
	for _, fp := range r.TLS.TrustedCAs {
		if !slices.ContainsFunc(in.Published.CAs, func(c *x509.Certificate) bool { return pki.Fingerprint(c) == fp }) {
			return no(v1alpha1.ReasonOldCATrusted,
				"the CA was replaced, and the arbitrator trusts the old one until its restart"), false
		}
	}
	return condition{}, true
}

// votes counts the votes in the Primary component, and all votes.
func votes(in Input) (present, all int, names string) {
	for _, m := range in.Snapshot.Members {
		if m.InPrimary() {
			present++
		}
	}
	all, names = len(in.Snapshot.Members), "nodes"
	if a := in.Snapshot.Arbitrator; a != nil && (a.Wanted || a.Counted) {
		all, names = all+1, "nodes, the arbitrator included,"
		if a.Counted && present > 0 {
			present++
		}
	}
	return present, all, names
}

// arbitratorEvents reports that the arbitrator joined or left the Primary component.
func arbitratorEvents(before, after *v1alpha1.ArbitratorStatus) []Event {
	was, is := before != nil && before.Connected, after != nil && after.Connected
	switch {
	case is && (!was || before.Process != after.Process):
		return []Event{{"Normal", "ArbitratorCounted", actionObserve,
			fmt.Sprintf("the arbitrator (%s) is in the Primary component", after.Process)}}
	case was && !is && after != nil:
		return []Event{{"Warning", v1alpha1.ReasonArbitratorAway, actionObserve,
			"the arbitrator is not in the Primary component" + because(after.Message)}}
	}
	return nil
}

package proxy

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Pod is a pod of a proxy, and what it has answered.
type Pod struct {
	Name string
	// Report is nil while the pod does not answer; Silent explains that.
	Report *agentapi.ProxyReport
	Silent string
	// Running reports whether the pod may have connections: it has been started, and has not ended.
	Running bool
	// Terminating reports whether the pod is being deleted: it takes no new clients, and ends what is in progress.
	Terminating bool
}

// Lasting returns the pods that are not being deleted.
func Lasting(pods []Pod) []Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p Pod) bool { return p.Terminating })
}

// Condition is a condition, without its type.
type Condition struct {
	True            bool
	Reason, Message string
}

// Ready reports whether every pod that the spec asks for runs with the state. ready is how many take clients, by the
// Deployment.
func Ready(p *v1alpha1.GaleraProxy, s agentapi.ProxyState, pods []Pod, ready int32) Condition {
	if p.Spec.Replicas == 0 {
		return Condition{Reason: v1alpha1.ReasonScaledToZero, Message: "spec.replicas is 0: there are no pods"}
	}
	writer := ""
	for _, n := range s.Nodes {
		if n.Writer {
			writer = n.Name
		}
	}
	if writer == "" && s.Mode != agentapi.ProxyReadOnly {
		return Condition{Reason: v1alpha1.ReasonNoPrimaryKnown,
			Message: "the cluster has no primary at the moment: statements wait for one (spec.pool.waitTimeout)"}
	}
	answered := 0
	for _, pod := range pods {
		switch {
		case pod.Report == nil:
			return Condition{Reason: v1alpha1.ReasonProxyStarting, Message: "the pod " + pod.Name + " does not answer: " +
				pod.Silent}
		case pod.Report.Problem != "":
			return Condition{Reason: v1alpha1.ReasonProxyFailing, Message: "the pod " + pod.Name + " reports: " +
				pod.Report.Problem}
		case pod.Report.Revision != s.Revision:
			return Condition{Reason: v1alpha1.ReasonProxyOutdated, Message: "the pod " + pod.Name +
				" has not loaded the latest state yet"}
		}
		answered++
	}
	if answered < int(p.Spec.Replicas) || ready < p.Spec.Replicas {
		return Condition{Reason: v1alpha1.ReasonProxyStarting,
			Message: fmt.Sprintf("%d of %d pods are ready", min(int32(answered), ready), p.Spec.Replicas)} //nolint:gosec // few
	}
	return Condition{True: true, Reason: v1alpha1.ReasonReady, Message: taking(answered)}
}

func taking(pods int) string {
	if pods == 1 {
		return "the pod takes clients"
	}
	return fmt.Sprintf("all %d pods take clients", pods)
}

// evidenceLasts is how long a handshake counts; pods make one every 15 seconds.
const evidenceLasts = 3 * time.Minute

// Encrypted reports whether both channels of every pod were proved by handshakes, while it ran with the state.
func Encrypted(c *v1alpha1.GaleraCluster, s agentapi.ProxyState, pods []Pod, now time.Time) Condition {
	no := func(format string, args ...any) Condition {
		return Condition{Reason: v1alpha1.ReasonNotYetProved, Message: fmt.Sprintf(format, args...)}
	}
	if len(pods) == 0 {
		return no("there is no pod to prove")
	}
	for _, pod := range pods {
		if pod.Report == nil {
			return no("the pod %s does not answer: %s", pod.Name, pod.Silent)
		}
		front := pod.Report.Frontend
		switch {
		case pod.Report.Problem != "":
			return no("the pod %s reports: %s", pod.Name, pod.Report.Problem)
		case pod.Report.Revision != s.Revision:
			return no("the pod %s has not loaded the latest state yet", pod.Name)
		case now.Sub(front.CheckedAt) > evidenceLasts || front.Observed != agentapi.ObservedTLS:
			return no("the port for clients of the pod %s is not proved yet: %s", pod.Name, front.Problem)
		case !front.Verified:
			return Condition{Reason: v1alpha1.ReasonPeerUnverified, Message: "the pod " + pod.Name + ": " + front.Problem}
		case c.Spec.TLS.Clients == v1alpha1.TLSRequired && !front.PlaintextRefused:
			return Condition{Reason: v1alpha1.ReasonPlaintextAccepted,
				Message: "the pod " + pod.Name + " was not seen to refuse plaintext" + because(front.Problem)}
		}
		for _, n := range s.Nodes {
			if !n.Writer && !n.Reader {
				continue
			}
			back := backend(pod.Report, n.Name)
			switch {
			case back.Observed == agentapi.ObservedPlaintext || back.Observed == agentapi.ObservedMixed:
				return Condition{Reason: v1alpha1.ReasonPlaintextAccepted, Message: "the node " + n.Name +
					" offers the pod " + pod.Name + " no TLS: connections to it are closed before their first statement"}
			case now.Sub(back.CheckedAt) > evidenceLasts || back.Observed != agentapi.ObservedTLS:
				return no("the pod %s has not proved the node %s yet: %s", pod.Name, n.Name, back.Problem)
			case !back.Verified:
				return Condition{Reason: v1alpha1.ReasonPeerUnverified,
					Message: "the pod " + pod.Name + " does not trust the node " + n.Name + ": " + back.Problem}
			}
		}
	}
	return Condition{True: true, Reason: v1alpha1.ReasonProved,
		Message: "the port for clients and every node in use were proved by handshakes, and every connection to a node has " +
			"TLS before its first statement"}
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// ProofLasts is how long a proof of a proxy counts that is not renewed; its controller does that once a minute.
const ProofLasts = 3 * time.Minute

// Lately reports whether a proof counts at a time. One of the future, by the clock of another leader, counts for as
// long.
func Lately(p *v1alpha1.ProxyProof, now time.Time) bool {
	return p != nil && now.Sub(p.ProvedAt.Time).Abs() <= ProofLasts
}

// backend is what a pod has found at a node: nothing when it does not know the node.
func backend(r *agentapi.ProxyReport, node string) agentapi.ChannelFact {
	for _, n := range r.Nodes {
		if n.Name == node {
			return n.Backend
		}
	}
	return agentapi.ChannelFact{}
}

// Summary sums up what pods report.
func Summary(s agentapi.ProxyState, pods []Pod, to *v1alpha1.GaleraProxyStatus) {
	to.Clients, to.Waiting, to.Pools, to.Primary, to.CertificateSerial = 0, 0, nil, "",
		serial(pods, func(r agentapi.ProxyReport) string {
			return r.Frontend.Serial
		})
	agreed := len(Lasting(pods)) > 0
	for _, n := range s.Nodes {
		pool := v1alpha1.ProxyPoolStatus{Name: n.Name, Role: role(n)}
		if pool.Role == roleDraining && drained(n.Name, s, pods) {
			pool.Role = roleDrained
		}
		for _, pod := range pods {
			if pod.Report == nil {
				continue
			}
			for _, seen := range pod.Report.Nodes {
				if seen.Name == n.Name {
					pool.Used += seen.Used
					pool.Free += seen.Free
					pool.Queries += seen.Queries
					pool.Opened += seen.Opened
					pool.Errors += seen.Errors
				}
			}
		}
		pool.CertificateSerial = serial(pods, func(r agentapi.ProxyReport) string {
			if i := slices.IndexFunc(r.Nodes, func(seen agentapi.ProxyPool) bool { return seen.Name == n.Name }); i >= 0 {
				return r.Nodes[i].Backend.Serial
			}
			return ""
		})
		to.Pools = append(to.Pools, pool)
	}
	for _, pod := range pods {
		if pod.Report == nil || pod.Report.Revision != s.Revision {
			agreed = agreed && pod.Terminating
			continue
		}
		to.Clients += pod.Report.Clients
		to.Waiting += pod.Report.Waiting
	}
	for _, n := range s.Nodes {
		if n.Writer && agreed {
			to.Primary = n.Name
		}
	}
}

// serial returns the one that all pods have seen, "" while they differ or one has seen none.
func serial(pods []Pod, of func(agentapi.ProxyReport) string) string {
	seen := map[string]bool{}
	out := ""
	for _, pod := range Lasting(pods) {
		if out = ""; pod.Report != nil {
			out = of(*pod.Report)
		}
		seen[out] = true
	}
	if len(seen) != 1 {
		return ""
	}
	return out
}

// OnlyCounts reports whether two statuses differ in nothing but numbers that change all the time.
func OnlyCounts(a, b v1alpha1.GaleraProxyStatus) bool {
	return equality.Semantic.DeepEqual(uncounted(a), uncounted(b))
}

func uncounted(s v1alpha1.GaleraProxyStatus) v1alpha1.GaleraProxyStatus {
	s.Clients, s.Waiting, s.Pools = 0, 0, slices.Clone(s.Pools)
	if s.Proof != nil {
		s.Proof = &v1alpha1.ProxyProof{Clients: s.Proof.Clients}
	}
	for i := range s.Pools {
		s.Pools[i] = v1alpha1.ProxyPoolStatus{Name: s.Pools[i].Name, Role: s.Pools[i].Role,
			CertificateSerial: s.Pools[i].CertificateSerial}
	}
	return s
}

func role(n agentapi.ProxyNode) string {
	switch {
	case n.Writer && n.Reader:
		return "Both"
	case n.Writer:
		return "Writer"
	case n.Reader:
		return "Reader"
	}
	return roleDraining
}

// Roles of a node that takes no new statements.
const (
	roleDraining = "Draining"
	roleDrained  = "Drained"
)

// drained reports whether every pod has loaded a state in which a node takes no new statements, and has no connection
// to it in use. A pod that does not answer may have some, and so may one that could not ask its ProxySQL.
func drained(node string, s agentapi.ProxyState, pods []Pod) bool {
	for _, pod := range pods {
		switch {
		case !pod.Running:
			continue
		case pod.Report == nil, pod.Report.Problem != "", pod.Report.Revision != s.Revision:
			return false
		}
		for _, n := range pod.Report.Nodes {
			if n.Name == node && n.Used > 0 {
				return false
			}
		}
	}
	return true
}

// Used returns the nodes of a cluster that its proxies may send statements to.
func Used(cluster string, proxies []v1alpha1.GaleraProxy) map[string]bool {
	out := map[string]bool{}
	for i := range proxies {
		if proxies[i].Spec.ClusterRef.Name != cluster {
			continue
		}
		for _, pool := range proxies[i].Status.Pools {
			if pool.Role != roleDrained {
				out[pool.Name] = true
			}
		}
	}
	return out
}

// Draining reports whether a node takes no new statements, and a pod may have some in progress.
func Draining(s *v1alpha1.GaleraProxyStatus) bool {
	return slices.ContainsFunc(s.Pools, func(p v1alpha1.ProxyPoolStatus) bool { return p.Role == roleDraining })
}

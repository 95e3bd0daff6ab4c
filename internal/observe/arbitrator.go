package observe

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// arbitrator reads the Deployment, and the newest pod that is not terminating. A pod is there for a while after
// its Deployment.
func (r Readers) arbitrator(ctx context.Context, f *Facts) error {
	key := client.ObjectKey{Namespace: f.Cluster.Namespace, Name: resources.ArbitratorName(f.Cluster)}
	d := &appsv1.Deployment{}
	err := r.Cached.Get(ctx, key, d)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err == nil {
		f.Arbitrator = d
	}
	var pods corev1.PodList
	err = r.Cached.List(ctx, &pods, client.InNamespace(key.Namespace),
		client.MatchingLabels(resources.ArbitratorSelector(f.Cluster)))
	if err != nil {
		return fmt.Errorf("listing the arbitrator's pods: %w", err)
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded &&
			newer(p, f.ArbitratorPod) {
			f.ArbitratorPod = p
		}
	}
	return nil
}

func newer(p, than *corev1.Pod) bool {
	if than == nil || (p.DeletionTimestamp == nil) != (than.DeletionTimestamp == nil) {
		return than == nil || p.DeletionTimestamp == nil
	}
	return p.CreationTimestamp.After(than.CreationTimestamp.Time)
}

// HasArbitrator reports whether there is an arbitrator, or is to be one.
func HasArbitrator(f Facts) bool { return f.Arbitrator != nil || f.Cluster.Spec.Arbitrator.Enabled }

// arbitration fills in the arbitrator, and takes it out of the lists of members.
func arbitration(s *galera.Snapshot, f Facts, seen map[string]Seen, now time.Time) {
	var processes []string
	for i := range s.Members {
		processes = append(processes, withoutArbitrators(s.Members[i].Server)...)
	}
	if !HasArbitrator(f) && f.ArbitratorPod == nil {
		return
	}
	a := &galera.Arbitrator{Name: resources.ArbitratorName(f.Cluster), Wanted: f.Cluster.Spec.Arbitrator.Enabled}
	s.Arbitrator = a
	if d := f.Arbitrator; d != nil {
		a.Deployed, a.Scheduled = true, d.Spec.Replicas == nil || *d.Spec.Replicas > 0
		a.Outdated = arbitratorOutdated(d, f, s.RestartsWait != "")
	}
	p := f.ArbitratorPod
	if p == nil {
		return
	}
	a.Pod = galera.Pod{Exists: true, Terminating: p.DeletionTimestamp != nil, Ready: PodReady(p),
		Waiting:  waiting(p, resources.ArbitratorContainer),
		Outdated: f.Arbitrator == nil || revision(p.Annotations) != revision(f.Arbitrator.Spec.Template.Annotations)}
	if known, ok := seen[a.Name]; ok && known.Live {
		describe(a, known.Report, s.Members, now)
		a.Counted = a.Process != "" && slices.Contains(processes, a.Process)
	}
}

// arbitratorOutdated reports whether the Deployment is to be applied again. A running pod stays, as long as it runs,
// when only the agent's image is another one; and while restarts for the operator's own sake wait.
func arbitratorOutdated(d *appsv1.Deployment, f Facts, restartsWait bool) bool {
	stays := f.ArbitratorPod != nil && PodReady(f.ArbitratorPod)
	if d.Spec.Template.Annotations[v1alpha1.AnnotationArbitratorRevision] != f.ArbitratorRevision {
		return !stays || !restartsWait
	}
	return !stays && f.ArbitratorPod != nil && waiting(f.ArbitratorPod, resources.ArbitratorContainer) &&
		agentImage(d.Spec.Template.Spec) != f.AgentImage
}

// agentImage is the image an agent is taken from.
func agentImage(p corev1.PodSpec) string {
	if len(p.InitContainers) == 0 {
		return ""
	}
	return p.InitContainers[0].Image
}

// withoutArbitrators leaves only members with data in a server's view of its component, and returns
// the arbitrators of a Primary one.
func withoutArbitrators(s *galera.Server) []string {
	if s == nil {
		return nil
	}
	var out []string
	s.Members = slices.DeleteFunc(slices.Clone(s.Members), func(name string) bool {
		if agentapi.IsArbitrator(name) {
			out = append(out, name)
			return true
		}
		return false
	})
	s.Size -= len(out)
	if s.Component != galera.ComponentPrimary {
		return nil
	}
	return out
}

func describe(a *galera.Arbitrator, r agentapi.Report, members []galera.Member, now time.Time) {
	a.Known = true
	if r.Arbitration != nil {
		a.Process = r.Arbitration.Process
	}
	a.ConfigLoaded, a.RestartNeeded, a.Publication = r.Config.Loaded, r.Config.RestartNeeded, r.TLS.Installed
	if r.Config.Socket != "" {
		a.Running = galera.NewEncryption(r.Config.Socket, r.Config.Suites)
	}
	a.DynamicSockets, a.TLSProblem = hasDynamicSockets(r.Image.ProviderVersion), tlsProblem(r.TLS)
	a.LinksVerified = !slices.ContainsFunc(members,
		func(m galera.Member) bool { return !verified(r.TLS.Peers[m.Name], now) })
	if r.Failure != nil {
		a.LacksGarbd = r.Failure.Reason == agentapi.FailureNoArbitrator
		a.Failure = &galera.Failure{Reason: r.Failure.Reason, Message: r.Failure.Message}
	}
}

// arbitratorUse is what the arbitrator does with the published pair; ok is false when there is none that
// could run.
func arbitratorUse(f Facts, seen map[string]Seen) (u galera.CertificateUse, ok bool) {
	d := f.Arbitrator
	if f.ArbitratorPod == nil && (d == nil || d.Spec.Replicas != nil && *d.Spec.Replicas == 0) {
		return u, false
	}
	u.Name = resources.ArbitratorName(f.Cluster)
	s, id := seen[u.Name], Publication(f.Published)
	if !s.Live {
		return u, true
	}
	r := s.Report
	u.Loaded = r.TLS.Installed == id && r.TLS.Problem == "" && (r.TLS.Loaded == id || r.TLS.Loaded == "")
	fact, checked := r.TLS.Channels[agentapi.ChannelReplication]
	u.Serves = u.Loaded && (r.TLS.Loaded == "" || checked && fact.Serial == r.TLS.LoadedSerial)
	return u, true
}

func revision(annotations map[string]string) string {
	return annotations[v1alpha1.AnnotationArbitratorRevision]
}

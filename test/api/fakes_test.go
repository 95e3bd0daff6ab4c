package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
	"github.com/galera-operator/galera-operator/internal/resources"
)

const history = "6b4c1a52-0000-11f0-a000-000000000001"

// fakeAgents answer for pods that do not run.
type fakeAgents struct {
	mu      sync.Mutex
	reports map[string]*agentapi.Report
	orders  []string
	evicted []string
	silent  map[string]bool
	news    chan struct{}
	passes  []time.Time // of the operator
}

func newFakeAgents() *fakeAgents {
	return &fakeAgents{reports: map[string]*agentapi.Report{}, silent: map[string]bool{}, news: make(chan struct{})}
}

// change edits a report and wakes every client that waits for news.
func (f *fakeAgents) change(pod string, edit func(*agentapi.Report)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.reports[pod]
	if r == nil {
		r = &agentapi.Report{Name: pod, Boot: "1", Phase: galera.PhaseWaiting, Data: galera.DataEmpty}
		f.reports[pod] = r
	}
	edit(r)
	r.Generation++
	close(f.news)
	f.news = make(chan struct{})
}

func (f *fakeAgents) Status(ctx context.Context, t observe.Target, since int64, wait time.Duration) (agentapi.Report,
	error) {
	deadline := time.After(wait)
	for {
		f.mu.Lock()
		r, news := f.reports[t.Pod], f.news
		if r == nil || f.silent[t.Pod] {
			f.mu.Unlock()
			return agentapi.Report{}, fmt.Errorf("%s does not answer", t.Pod)
		}
		copied := *r
		f.mu.Unlock()
		if since < 0 || copied.Generation != since {
			return copied, nil
		}
		select {
		case <-news:
		case <-deadline:
			return copied, nil
		case <-ctx.Done():
			return agentapi.Report{}, ctx.Err()
		}
	}
}

// Order does at once what a real agent takes seconds for.
func (f *fakeAgents) Order(_ context.Context, t observe.Target, o agentapi.Order) (agentapi.OrderResult, error) {
	f.change(t.Pod, func(r *agentapi.Report) {
		f.orders = append(f.orders, string(o.Kind)+" "+t.Pod)
		r.Order = &agentapi.OrderRecord{Order: o, State: agentapi.OrderDone}
		switch o.Kind {
		case agentapi.OrderInitialise, agentapi.OrderBootstrap:
			serve(r)
		case agentapi.OrderRestart:
			r.Config.RestartNeeded = false
			if r.Server != nil {
				again := *r.Server
				again.StartedAt, r.Server = time.Now(), &again
			}
			r.TLS.TrustedCAs = r.TLS.PublishedCAs
		}
	})
	return agentapi.OrderResult{State: agentapi.OrderDone}, nil
}

// ReportPrimary implements observe.Client.
func (f *fakeAgents) ReportPrimary(_ context.Context, t observe.Target, p agentapi.Primary) error {
	f.change(t.Pod, func(r *agentapi.Report) { r.Primary, r.Proxied = p.Name, p.Proxied })
	return nil
}

// ChangeEvents implements observe.Client.
func (f *fakeAgents) ChangeEvents(_ context.Context, t observe.Target, changes []agentapi.EventChange) error {
	f.change(t.Pod, func(r *agentapi.Report) {
		s := *r.Scheduled
		s.Events = slices.Clone(s.Events)
		for _, c := range changes {
			for i, e := range s.Events {
				if e.Database == c.Database && e.Event == c.Event && e.Modified == c.Modified {
					s.Events[i].Status = c.Status
				}
			}
		}
		r.Scheduled = &s
	})
	return nil
}

// Replace implements observe.Client.
func (f *fakeAgents) Replace(_ context.Context, t observe.Target, p *agentapi.Program) error {
	f.change(t.Pod, func(r *agentapi.Report) { r.AgentDigest, r.AgentVersion = p.Digest, p.Version })
	return nil
}

// Evict implements observe.Client.
func (f *fakeAgents) Evict(_ context.Context, t observe.Target, e agentapi.Eviction) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.evicted = append(f.evicted, t.Pod+" "+e.NodeUUID)
	return nil
}

func (f *fakeAgents) evictions() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.evicted)
}

func (f *fakeAgents) Forget(observe.Target) {}

func (f *fakeAgents) given() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.orders...)
}

// bootstraps are the orders that make a component.
func (f *fakeAgents) bootstraps() []string {
	return slices.DeleteFunc(f.given(), func(o string) bool {
		return !strings.HasPrefix(o, "Initialise") && !strings.HasPrefix(o, "Bootstrap")
	})
}

// now is the operator's clock, which it checks once in each pass.
func (f *fakeAgents) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.passes = append(f.passes, time.Now())
	return time.Now()
}

// longestPause is the longest time without a pass since a time.
func (f *fakeAgents) longestPause(since time.Time) (limit time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, at := range append(slices.Clone(f.passes), time.Now()) {
		if at.After(since) {
			limit, since = max(limit, at.Sub(since)), at
		}
	}
	return limit
}

// serve makes a report that of a Synced member.
func serve(r *agentapi.Report) {
	r.Phase, r.Data = galera.PhaseRunning, galera.DataPresent
	r.Position = galera.Position{UUID: history, Seqno: 7}
	started := time.Now()
	if r.Server != nil {
		started = r.Server.StartedAt
	}
	r.Server = &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, ClusterUUID: history,
		Size: 3, Ready: true, StartedAt: started}
}

// proved adds the evidence a healthy encrypted member gives.
func proved(r *agentapi.Report, serial string, peers ...string) {
	fact := agentapi.ChannelFact{Observed: agentapi.ObservedTLS, Protocol: "TLSv1.3", Cipher: "TLS_AES_256_GCM_SHA384",
		Serial: serial, Verified: true, PlaintextRefused: true, CheckedAt: time.Now()}
	r.TLS.LoadedSerial, r.TLS.PublishedSerial = serial, serial
	r.TLS.Channels = map[string]agentapi.ChannelFact{
		agentapi.ChannelReplication: fact, agentapi.ChannelStateTransfer: fact, agentapi.ChannelClients: fact,
	}
	r.TLS.Peers = map[string]agentapi.ChannelFact{}
	for _, p := range peers {
		r.TLS.Peers[p] = fact
	}
}

// issue does cert-manager's part: it writes the Secret of the nodes' certificate.
func issue(t *testing.T, c *v1alpha1.GaleraCluster, ca pkitest.CA) {
	t.Helper()
	issueLeaf(t, c, ca, pkitest.Leaf{})
}

// issueLeaf issues one with the names it needs.
func issueLeaf(t *testing.T, c *v1alpha1.GaleraCluster, ca pkitest.CA, leaf pkitest.Leaf) {
	t.Helper()
	leaf.Names = []string{resources.ServiceName(c), fmt.Sprintf("*.%s.%s.svc", resources.NodesServiceName(c), c.Namespace)}
	cert, key := ca.Issue(leaf)
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: resources.IssuedSecretName(c),
			Labels: map[string]string{v1alpha1.LabelCluster: c.Name}},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": ca.PEM},
	}
	old := &corev1.Secret{}
	if err := kube.Get(context.Background(), client.ObjectKeyFromObject(s), old); err == nil {
		s.ResourceVersion = old.ResourceVersion
		must(t, kube.Update(context.Background(), s))
		return
	}
	must(t, kube.Create(context.Background(), s))
}

// runPods does the part of the StatefulSet controller and of kubelet.
func runPods(t *testing.T, sts *appsv1.StatefulSet) {
	t.Helper()
	ctx := context.Background()
	for i := range int(*sts.Spec.Replicas) {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: sts.Namespace, Name: fmt.Sprintf("%s-%d", sts.Name, i), Labels: map[string]string{},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(sts,
				appsv1.SchemeGroupVersion.WithKind("StatefulSet"))},
		}}
		for k, v := range sts.Spec.Template.Labels {
			p.Labels[k] = v
		}
		p.Labels[appsv1.ControllerRevisionHashLabelKey] = "r1"
		p.Spec.Containers = []corev1.Container{{Name: "mariadb", Image: "x"}}
		must(t, kube.Create(ctx, p))
		created := p.DeepCopy()
		p.Status.PodIP = fmt.Sprintf("10.0.0.%d", i+1)
		p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		must(t, kube.Status().Patch(ctx, p, client.MergeFrom(created))) // the operator may have labelled it meanwhile
	}
	sts.Status.ObservedGeneration, sts.Status.UpdateRevision = sts.Generation, "r1"
	must(t, kube.Status().Update(ctx, sts))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits for something to become true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatal("it never happened: " + what)
}

// gone reports whether an object is no more.
func gone(o client.Object) bool {
	return apierrors.IsNotFound(kube.Get(context.Background(), client.ObjectKeyFromObject(o), o))
}

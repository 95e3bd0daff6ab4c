package api

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/galeracluster"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// world is one operator, one cluster in a namespace of its own, and the fakes around them. Tests with one run in
// parallel, unless they are about seconds, or about what all share: CRDs, and Secrets everywhere.
type world struct {
	*WithT
	t       *testing.T
	agents  *fakeAgents
	cluster *v1alpha1.GaleraCluster
	ca      pkitest.CA
	stop    func() // the operator
}

func newWorld(t *testing.T, name string, spec v1alpha1.GaleraClusterSpec,
	changes ...func(*v1alpha1.GaleraCluster)) *world {
	t.Helper()
	ctx := context.Background()
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	w := &world{WithT: NewWithT(t), t: t, agents: newFakeAgents(), ca: pkitest.NewCA("private")}
	w.SetDefaultEventuallyTimeout(time.Minute)
	w.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	w.cluster = &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "shop"}, Spec: spec}
	for _, change := range changes {
		change(w.cluster)
	}
	w.stop = startOperator(t, name, w.agents)
	must(t, kube.Create(ctx, w.cluster))
	return w
}

// startOperator starts one that knows only the API server's answers.
func startOperator(t *testing.T, namespace string, fake *fakeAgents) (stop func()) {
	t.Helper()
	mgr, err := ctrl.NewManager(asOperator(config), ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cacheOf(namespace),
		Controller: crconfig.Controller{SkipNameValidation: new(true)},
	})
	must(t, err)
	agents := &observe.Agents{Client: fake}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "ca.crt"), pkitest.NewCA("control").PEM, 0o600))
	r := &galeracluster.Reconciler{
		Client:  mgr.GetClient(),
		Readers: observe.Readers{Cached: mgr.GetClient(), Live: mgr.GetAPIReader()},
		Agents:  agents,
		Objects: &apply.Objects{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},
		Actor:   apply.Actor{Client: mgr.GetClient(), Agents: agents},
		Events:  mgr.GetEventRecorder("galera-operator"),
		Options: resources.Options{OperatorImage: "operator:test", DefaultImage: "mariadb:test",
			OperatorNamespace: "operators"},
		ControlCA: func() ([]byte, error) {
			return os.ReadFile(filepath.Join(dir, "ca.crt"))
		},
		Now: fake.now,
	}
	must(t, r.SetupWithManager(mgr))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the operator ended with %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func (w *world) get(o client.Object, name string) error {
	return kube.Get(context.Background(), client.ObjectKey{Namespace: w.cluster.Namespace, Name: name}, o)
}

func (w *world) status() v1alpha1.GaleraClusterStatus {
	c := &v1alpha1.GaleraCluster{}
	w.Expect(w.get(c, "shop")).To(Succeed())
	return c.Status
}

// condition returns "status reason" of a condition.
func (w *world) condition(kind string) func() string {
	return func() string {
		c := meta.FindStatusCondition(w.status().Conditions, kind)
		if c == nil {
			return ""
		}
		return string(c.Status) + " " + c.Reason
	}
}

func (w *world) message(kind string) string {
	if c := meta.FindStatusCondition(w.status().Conditions, kind); c != nil {
		return c.Message
	}
	return ""
}

func (w *world) statefulSet() *appsv1.StatefulSet {
	sts := &appsv1.StatefulSet{}
	w.Eventually(func() error { return w.get(sts, "shop") }).Should(Succeed())
	return sts
}

// bringUp plays a first start to the end.
func (w *world) bringUp() {
	w.t.Helper()
	w.Eventually(func() error { return w.get(&certmanagerv1.Certificate{}, "shop-issued") }).Should(Succeed())
	issue(w.t, w.cluster, w.ca)
	runPods(w.t, w.statefulSet())
	for _, p := range []string{"shop-0", "shop-1", "shop-2"} {
		w.agents.change(p, func(*agentapi.Report) {})
	}
	w.Eventually(w.agents.given).Should(ContainElement("Initialise shop-0"))
	w.Eventually(func() string { return w.status().ClusterUUID }).Should(Equal(history))
	w.settle()
	w.Eventually(w.condition("Ready")).Should(Equal("True Ready"))
}

// settle makes all members Synced with what is published now.
func (w *world) settle() {
	w.t.Helper()
	var serial string
	w.Eventually(func() string {
		if s := w.status().TLS; s != nil {
			serial = s.Serial
		}
		return serial
	}).ShouldNot(BeEmpty())
	revision := w.revision()
	for _, p := range []string{"shop-0", "shop-1", "shop-2"} {
		w.agents.change(p, func(r *agentapi.Report) {
			serve(r)
			r.Config.Loaded = revision
			proved(r, serial, "shop-0", "shop-1", "shop-2")
		})
	}
}

func (w *world) revision() string {
	cm := &corev1.ConfigMap{}
	w.Expect(w.get(cm, "shop-config")).To(Succeed())
	_, rest, _ := strings.Cut(cm.Data[agentapi.ConfigKey], `"revision":"`)
	if rest == "" {
		_, rest, _ = strings.Cut(cm.Data[agentapi.ConfigKey], `"revision": "`)
	}
	revision, _, _ := strings.Cut(rest, `"`)
	return revision
}

func (w *world) role(pod string) string {
	p := &corev1.Pod{}
	w.Expect(w.get(p, pod)).To(Succeed())
	return p.Labels[v1alpha1.LabelRole]
}

func (w *world) edit(change func(*v1alpha1.GaleraCluster)) {
	w.t.Helper()
	c := &v1alpha1.GaleraCluster{}
	w.Expect(w.get(c, "shop")).To(Succeed())
	before := c.DeepCopy()
	change(c)
	must(w.t, kube.Patch(context.Background(), c, client.MergeFrom(before)))
}

func spec() v1alpha1.GaleraClusterSpec {
	return v1alpha1.GaleraClusterSpec{Replicas: 3, Storage: v1alpha1.StorageSpec{Size: quantity("1Gi")}}
}

func TestFirstStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "first-start", spec())
	w.Eventually(w.condition("Ready")).Should(Equal("False CertificatePending"))
	w.bringUp()

	s := w.status()
	w.Expect(w.agents.given()).To(Equal([]string{"Initialise shop-0"}), "one bootstrap, once")
	w.Expect([]int32{s.ReadyReplicas, s.Replicas}).To(Equal([]int32{3, 3}))
	w.Expect(s.Operation).To(BeNil())
	w.Expect(s.Epoch).To(BeEquivalentTo(1))
	w.Expect(w.condition("Encrypted")()).To(Equal("True Proved"))
	w.Expect(w.condition("Stalled")()).To(HavePrefix("False"))
	w.Expect(w.condition("Reconciling")()).To(HavePrefix("False"))
	w.Eventually(func() string { return w.role(w.status().Primary) }).Should(Equal("primary"))
	for _, o := range []struct {
		name string
		kind client.Object
	}{{"shop", &corev1.Service{}}, {"shop-primary", &corev1.Service{}}, {"shop-nodes", &corev1.Service{}},
		{"shop-root", &corev1.Secret{}}, {"shop-ca", &corev1.ConfigMap{}}} {
		w.Expect(w.get(o.kind, o.name)).To(Succeed(), o.name)
	}
}

func TestPrimaryMoves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "primary-moves", spec())
	w.bringUp()
	old := w.status().Primary
	w.agents.change(old, func(r *agentapi.Report) { r.Server, r.Phase = nil, galera.PhaseWaiting })
	w.Eventually(func() string { return w.status().Primary }).ShouldNot(Equal(old))
	w.Eventually(func() []string { return []string{w.role(w.status().Primary), w.role(old)} }).
		Should(Equal([]string{"primary", "replica"}), "labels and status are written one after the other")
	w.Eventually(w.condition("Ready")).Should(HavePrefix("False"))
	w.Expect(w.condition("QuorumHealthy")()).To(HavePrefix("True"))
}

func TestRecovery(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "recovery", spec())
	w.bringUp()
	down := func(pod string, seqno int64) {
		w.agents.change(pod, func(r *agentapi.Report) {
			r.Server, r.Phase = nil, galera.PhaseWaiting
			r.Position = galera.Position{UUID: history, Seqno: seqno}
		})
	}
	w.agents.mu.Lock()
	w.agents.silent["shop-2"] = true
	w.agents.mu.Unlock()
	down("shop-0", 10)
	down("shop-1", 12)
	w.agents.change("shop-2", func(*agentapi.Report) {})
	w.Eventually(w.condition("QuorumHealthy")).Should(Equal("False WaitingForMembers"))
	w.Expect(w.status().NoPrimarySince).NotTo(BeNil())
	w.Expect(w.message("QuorumHealthy")).To(ContainSubstring("known positions: shop-0 " + history + ":10, shop-1 " +
		"" + history + ":12, shop-2 silent. Waiting for the agent of shop-2"))
	w.Expect(w.status().RequiredActions).To(BeEmpty(), "a silent agent has its time before a person is asked")
	w.Consistently(w.agents.bootstraps, time.Second).Should(HaveLen(1),
		"nothing is bootstrapped while a member is unknown")

	w.agents.mu.Lock()
	w.agents.silent["shop-2"] = false
	w.agents.mu.Unlock()
	down("shop-2", 11)
	w.Eventually(w.agents.bootstraps).Should(Equal([]string{"Initialise shop-0", "Bootstrap shop-1"}))
	w.Expect(w.agents.given()).To(ContainElements("Start shop-0", "Start shop-2"), "the others know the epoch first")
	w.settle()
	w.Eventually(w.condition("Ready")).Should(Equal("True Ready"))
	w.Expect(w.status().Epoch).To(BeEquivalentTo(2))
	w.Expect(w.status().NoPrimarySince).To(BeNil())
}

// TestEviction: a server that its agent saw end is reported to a member that still counts it, until the group
// has gone on.
func TestEviction(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "eviction", spec())
	w.bringUp()
	view := func(id int64) func(*agentapi.Report) {
		return func(r *agentapi.Report) {
			server := *r.Server
			server.ViewID, r.Server = id, &server
		}
	}
	for _, pod := range []string{"shop-0", "shop-1", "shop-2"} {
		w.agents.change(pod, view(7))
	}
	w.Consistently(w.agents.evictions, time.Second).Should(BeEmpty(), "all of them run")
	w.agents.change("shop-1", func(r *agentapi.Report) {
		r.Server, r.Phase, r.Ended = nil, galera.PhaseWaiting, &agentapi.Ended{NodeUUID: "gone", ViewID: 7}
	})
	w.Eventually(w.agents.evictions).Should(ContainElement("shop-0 gone"))
	w.Expect(w.agents.evictions()).To(HaveEach("shop-0 gone"))
	w.Eventually(func() ([]corev1.Event, error) {
		var events corev1.EventList
		err := kube.List(context.Background(), &events)
		return events.Items, err
	}).Should(ContainElement(And(HaveField("Reason", "Evicted"),
		HaveField("Message", ContainSubstring("mariadbd of shop-1 has ended")))))
}

func TestRollingConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "rolling", spec())
	w.bringUp()
	primary := w.status().Primary
	w.edit(func(c *v1alpha1.GaleraCluster) {
		c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{"max_connections": {Text: "99", Number: true}}
	})
	w.Eventually(w.condition("Ready")).Should(Equal("False ConfigurationStale"))
	revision := w.revision()
	for _, p := range []string{"shop-0", "shop-1", "shop-2"} {
		w.agents.change(p, func(r *agentapi.Report) { r.Config.Loaded, r.Config.RestartNeeded = revision, true })
	}
	w.Eventually(w.agents.given).Should(HaveLen(4))
	w.Expect(w.agents.given()[3]).To(Equal("Restart "+primary), "the primary last")
	w.Eventually(w.condition("Ready")).Should(Equal("True Ready"))
	w.Expect(w.status().Primary).NotTo(Equal(primary), "the writer moves before its node is restarted")
}

func TestForbiddenSetting(t *testing.T) {
	t.Parallel()
	s := spec()
	s.MariaDB.Config = map[string]v1alpha1.Setting{"wsrep-cluster-address": {Text: "gcomm://"}}
	w := newWorld(t, "forbidden", s)
	w.Eventually(w.condition("Stalled")).Should(Equal("True ForbiddenSetting"))
	w.Expect(w.message("Stalled")).To(ContainSubstring("wsrep-cluster-address"))
	w.Expect(w.get(&appsv1.StatefulSet{}, "shop")).NotTo(Succeed(), "nothing is started with it")
	w.edit(func(c *v1alpha1.GaleraCluster) { c.Spec.MariaDB.Config = nil })
	w.bringUp()
}

func TestNameTaken(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "taken"}}))
	theirs := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "taken", Name: "shop-primary"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	must(t, kube.Create(ctx, theirs))
	w := &world{WithT: NewWithT(t), t: t, agents: newFakeAgents()}
	w.SetDefaultEventuallyTimeout(time.Minute)
	w.cluster = &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "taken", Name: "shop"}, Spec: spec()}
	startOperator(t, "taken", w.agents)
	must(t, kube.Create(ctx, w.cluster))
	w.Eventually(w.condition("Stalled")).Should(Equal("True NameConflict"), func() string { return w.message("Stalled") })
	w.Expect(w.get(theirs, "shop-primary")).To(Succeed())
	w.Expect(theirs.Spec.Ports[0].Port).To(BeEquivalentTo(80), "another owner's Service is left alone")
	must(t, kube.Delete(ctx, theirs))
	w.Eventually(w.condition("Stalled")).Should(HavePrefix("False"))
}

func TestMissingIssuer(t *testing.T) {
	t.Parallel()
	s := spec()
	s.TLS.IssuerRef = &v1alpha1.IssuerReference{Name: "corporate"}
	w := newWorld(t, "issuer", s)
	w.Eventually(w.condition("Stalled")).Should(Equal("True IssuerNotFound"))
	w.Expect(w.condition("CertificatesValid")()).To(Equal("False IssuerNotFound"))
}

func TestBadPairIsNotPublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "bad-pair", spec())
	w.bringUp()
	before := &corev1.Secret{}
	must(t, w.get(before, "shop-tls"))
	issued := &corev1.Secret{}
	must(t, w.get(issued, "shop-issued"))
	_, otherKey := pkitest.NewCA("other").Issue(pkitest.Leaf{})
	issued.Data["tls.key"] = otherKey
	must(t, kube.Update(context.Background(), issued))
	w.Eventually(w.condition("CertificatesValid")).Should(Equal("False CertificateRefused"))
	w.Expect(w.condition("Stalled")()).To(Equal("True CertificateRefused"))
	w.Expect(w.condition("Ready")()).To(Equal("True Ready"), "the old pair still serves")
	after := &corev1.Secret{}
	must(t, w.get(after, "shop-tls"))
	w.Expect(after.Data).To(Equal(before.Data), "the nodes keep what they have")

	serial := w.status().TLS.Serial
	issue(t, w.cluster, w.ca)
	w.Eventually(func() string { return w.status().TLS.Serial }).ShouldNot(Equal(serial))
	w.Eventually(w.condition("CertificatesValid")).Should(Equal("False CertificateNotLoaded"))
	w.Expect(w.condition("Encrypted")()).To(Equal("True Proved"), "the old certificate encrypts as well")
	w.settle()
	w.Eventually(w.condition("CertificatesValid")).Should(HavePrefix("True"))
}

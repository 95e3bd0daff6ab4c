package api

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/galeraproxy"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
	"github.com/galera-operator/galera-operator/internal/resources"
)

func aProxy(t *testing.T, namespace, name, spec string) *v1alpha1.GaleraProxy {
	t.Helper()
	p := &v1alpha1.GaleraProxy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	must(t, yaml.UnmarshalStrict([]byte(spec), &p.Spec))
	return p
}

// TestProxyAdmission: what cannot be is refused when it is created, and what is left out gets its default.
func TestProxyAdmission(t *testing.T) {
	ctx := context.Background()
	for name, tc := range map[string]struct{ name, spec, want string }{
		"the name of the cluster": {"shop", "clusterRef: {name: shop}", "choose another name"},
		"a long name":             {strings.Repeat("x", 41), "clusterRef: {name: shop}", "at most 40"},
		"no cluster":              {"pool", "clusterRef: {name: ''}", "clusterRef.name"},
		"another mode":            {"pool", "{clusterRef: {name: shop}, mode: Both}", "Unsupported value"},
		"too many pods":           {"pool", "{clusterRef: {name: shop}, replicas: 17}", "less than or equal to 16"},
		"no connections": {"pool", "{clusterRef: {name: shop}, pool: {maxConnections: -1}}",
			"greater than or equal to 1"},
		"no time to wait": {"pool", "{clusterRef: {name: shop}, pool: {waitTimeout: 500ms}}", "from 1s to 1h"},
		"holding for too long": {"pool", "{clusterRef: {name: shop}, pool: {holdAfterInsert: 101}}",
			"less than or equal to 100"},
		"waiting too long":    {"pool", "{clusterRef: {name: shop}, pool: {waitTimeout: 61m}}", "from 1s to 1h"},
		"no name of a server": {"pool", "{clusterRef: {name: shop}, tls: {dnsNames: ['a b']}}", "spec.tls.dnsNames"},
		"a label of the operator": {"pool",
			"{clusterRef: {name: shop}, service: {labels: {galera-operator.io/cluster: x}}}", "reserved"},
	} {
		t.Run(name, func(t *testing.T) {
			mustSay(t, kube.Create(ctx, aProxy(t, "default", tc.name, tc.spec), client.DryRunAll), tc.want)
		})
	}
	p := aProxy(t, "default", "pool", "clusterRef: {name: shop}")
	must(t, kube.Create(ctx, p))
	t.Cleanup(func() { _ = kube.Delete(ctx, p) })
	if p.Spec.Mode != v1alpha1.ProxyPrimary || p.Spec.Pool.MaxConnections != 50 || !*p.Spec.Pool.Multiplexing ||
		p.Spec.Pool.WaitTimeout.Duration != agentapi.DefaultProxyWait ||
		*p.Spec.Pool.HoldAfterInsert != agentapi.DefaultHoldAfterInsert ||
		p.Spec.Image == "" {
		t.Errorf("%+v", p.Spec)
	}
	p.Spec.ClusterRef.Name = "other"
	mustSay(t, kube.Update(ctx, p), "cannot be changed")
	strict := client.WithFieldValidation(kube, metav1.FieldValidationStrict)
	u := fromYAML(t, "default", "clusterRef: {name: shop, namespace: kube-system}")
	u.SetKind("GaleraProxy")
	mustSay(t, strict.Create(ctx, u, client.DryRunAll), "unknown field")
}

// proxies is a controller of proxies whose pods answer as a test sets them.
type proxies struct {
	*WithT
	*galeraproxy.Reconciler
	key   client.ObjectKey
	asked map[string]*agentapi.ProxyState
	// clients is how many every pod reports, newest the revision that it knows, seen what it has found at the ports.
	clients, newest int64
	seen            agentapi.ChannelFact
}

func newProxies(t *testing.T, namespace string) *proxies {
	t.Helper()
	p := &proxies{WithT: NewWithT(t), key: client.ObjectKey{Namespace: namespace, Name: "pool"},
		asked: map[string]*agentapi.ProxyState{}}
	p.Reconciler = &galeraproxy.Reconciler{Client: kube, Live: kube, Objects: &apply.Objects{Client: kube, Live: kube},
		Options:   resources.Options{OperatorImage: "operator:test", OperatorNamespace: "operators"},
		ControlCA: func() ([]byte, error) { return []byte("control"), nil }, Forget: func(observe.Target) {}, Now: time.Now,
		Calls: &calls.Calls[observe.Target, *agentapi.ProxyState, agentapi.ProxyReport]{Do: calls.One(func(_ context.Context,
			to observe.Target, s *agentapi.ProxyState) (agentapi.ProxyReport, error) {
			p.asked[to.Pod] = s
			report := agentapi.ProxyReport{Revision: s.Revision, Clients: p.clients, Known: max(p.newest, s.Revision),
				Frontend: p.seen}
			report.Frontend.CheckedAt = p.Now()
			for _, n := range s.Nodes {
				report.Nodes = append(report.Nodes, agentapi.ProxyPool{Name: n.Name, Backend: report.Frontend})
			}
			return report, nil
		})}}
	return p
}

func (p *proxies) pass() v1alpha1.GaleraProxyStatus {
	_, err := p.Reconcile(context.Background(), ctrl.Request{NamespacedName: p.key})
	p.Expect(err).NotTo(HaveOccurred())
	have := &v1alpha1.GaleraProxy{}
	p.Expect(kube.Get(context.Background(), p.key, have)).To(Succeed())
	return have.Status
}

func (p *proxies) reason() string {
	status := p.pass()
	return meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady).Reason
}

func (p *proxies) state() (s agentapi.ProxyState) {
	secret := &corev1.Secret{}
	p.Expect(kube.Get(context.Background(), client.ObjectKey{Namespace: p.key.Namespace, Name: "pool-proxy"}, secret)).
		To(Succeed())
	p.Expect(json.Unmarshal(secret.Data[agentapi.ProxyStateKey], &s)).To(Succeed())
	return s
}

func (p *proxies) exists(o client.Object, name string) bool {
	return kube.Get(context.Background(), client.ObjectKey{Namespace: p.key.Namespace, Name: name}, o) == nil
}

// issued is the Secret that cert-manager writes.
func (p *proxies) issued(namespace string) *corev1.Secret {
	s := &corev1.Secret{}
	at := client.ObjectKey{Namespace: namespace, Name: "pool-proxy-issued"}
	p.Expect(kube.Get(context.Background(), at, s)).To(Succeed())
	return s
}

// TestProxy: a proxy waits for what it needs, makes nothing while an object of another owner is in the way, follows the
// primary, and sends nothing to pods that are not its own.
func TestProxy(t *testing.T) {
	t.Parallel()
	ctx, namespace := context.Background(), "proxies"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	p := newProxies(t, namespace)
	must(t, kube.Create(ctx, aProxy(t, namespace, "pool", "{clusterRef: {name: shop}, replicas: 1}")))
	p.Expect(p.reason()).To(Equal(v1alpha1.ReasonClusterNotFound))

	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}, Spec: spec()}
	c.Spec.TLS.Clients = v1alpha1.TLSDisabled
	must(t, kube.Create(ctx, c))
	p.Expect(p.reason()).To(Equal(v1alpha1.ReasonTLSUnavailable))
	c.Spec.TLS.Clients = v1alpha1.TLSRequired
	must(t, kube.Update(ctx, c))
	p.Expect(p.reason()).To(Equal(v1alpha1.ReasonCertificatePending))
	p.Expect(p.exists(&corev1.Secret{}, "pool-proxy")).To(BeFalse())

	ca := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
		Name: resources.CAConfigMapName(c)}, Data: map[string]string{resources.CAKey: "ca"}}
	must(t, kube.Create(ctx, ca))
	foreign := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pool"}}
	must(t, kube.Create(ctx, foreign))
	p.Expect(p.reason()).To(Equal(v1alpha1.ReasonNameTaken))
	for _, o := range []client.Object{&corev1.Service{}, &appsv1.Deployment{}, &networkingv1.NetworkPolicy{}} {
		p.Expect(p.exists(o, "pool")).To(BeFalse(), "nothing is made while a name is taken")
	}
	must(t, kube.Delete(ctx, foreign))

	address := func(name, ip string, labels map[string]string, owner ...metav1.OwnerReference) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels,
			OwnerReferences: owner}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}}
		must(t, kube.Create(ctx, pod))
		pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, ip, []corev1.PodIP{{IP: ip}}
		must(t, kube.Status().Update(ctx, pod))
	}
	for i, name := range []string{"shop-0", "shop-1"} {
		address(name, []string{"10.0.0.1", "10.0.0.2"}[i], resources.Selector(c))
		c.Status.Members = append(c.Status.Members, v1alpha1.MemberStatus{Name: name, NodeState: "Synced",
			ComponentState: "Primary", Version: "11.8.6-MariaDB"})
	}
	c.Status.Primary = "shop-0"
	must(t, kube.Status().Update(ctx, c))
	p.Expect(p.reason()).To(Equal(v1alpha1.ReasonProxyStarting))
	first := p.state()
	p.Expect(first.Check()).To(Succeed())
	p.Expect(first.Nodes).To(HaveExactElements(
		agentapi.ProxyNode{Name: "shop-0", Address: "10.0.0.1", ServerName: resources.ServerName(c, "shop-0"), Writer: true},
		agentapi.ProxyNode{Name: "shop-1", Address: "10.0.0.2", ServerName: resources.ServerName(c, "shop-1"), Reader: true}))
	p.Expect(p.exists(&appsv1.Deployment{}, "pool")).To(BeTrue())

	owned := resources.ProxySelector(aProxy(t, namespace, "pool", "clusterRef: {name: shop}"))
	address("pool-stranger", "10.0.0.8", owned)
	owned[appsv1.DefaultDeploymentUniqueLabelKey] = "7d4"
	address("pool-7d4-x", "10.0.0.9", owned, metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet",
		Name: "pool-7d4", UID: "set", Controller: new(true)})
	p.pass()
	p.Expect(p.asked).To(And(HaveKey("pool-7d4-x"), Not(HaveKey("pool-stranger"))),
		"the hashes go to the proxy's own pods")
	p.pass()
	p.Expect(p.state()).To(Equal(first), "what does not change is not published again")

	c.Status.Primary = "shop-1"
	must(t, kube.Status().Update(ctx, c))
	p.Expect(p.pass().Primary).To(Equal("shop-1"))
	moved := p.state()
	p.Expect(moved.Revision).To(BeNumerically(">", first.Revision))
	p.Expect(moved.Nodes[1].Writer).To(BeTrue())
	p.Expect(p.asked["pool-7d4-x"].Revision).To(Equal(moved.Revision))

	c.Status.Operation = &v1alpha1.OperationStatus{ID: "restart-1", Type: "Restart", Target: "shop-0",
		StartedAt: metav1.Now()}
	must(t, kube.Status().Update(ctx, c))
	p.Expect(p.pass().Pools[0].Role).To(Equal("Drained"), "no pod uses a node that is to be restarted")
	c.Status.Operation = nil
	must(t, kube.Status().Update(ctx, c))
	p.Expect(p.pass().Pools[0].Role).To(Equal("Reader"))

	must(t, kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
		Name: "pool-proxy-issued"}}))
	p.clients = 7
	p.Expect(p.pass().Clients).To(BeZero(), "a status is not written for every client")
	later := time.Now().Add(2 * time.Minute)
	p.Now = func() time.Time { return later }
	p.Expect(p.pass().Clients).To(BeEquivalentTo(7))

	p.Expect(p.issued(namespace).OwnerReferences).To(BeEmpty(), "a key that is not this proxy's stays as it is")
	key := p.issued(namespace)
	key.Labels = map[string]string{v1alpha1.LabelProxy: "pool", v1alpha1.LabelCluster: "shop"}
	must(t, kube.Update(ctx, key))
	p.pass()
	p.Expect(p.issued(namespace).OwnerReferences).To(HaveExactElements(HaveField("Kind", "GaleraProxy")),
		"the key goes with the proxy")

	p.newest = moved.Revision + 1000
	p.pass()
	p.pass()
	moved = p.state()
	p.Expect(moved.Revision).To(BeNumerically(">", p.newest), "pods take no state that is older than one they know")
	p.newest = 0

	p.Expect(p.exists(&networkingv1.NetworkPolicy{}, "pool")).To(BeTrue())
	c.Spec.NetworkPolicy.Enabled = new(false)
	must(t, kube.Update(ctx, c))
	p.pass()
	p.Expect(p.exists(&networkingv1.NetworkPolicy{}, "pool")).To(BeFalse(),
		"the cluster wants no NetworkPolicies any more")

	trusts := func(cas ...pkitest.CA) (out string) {
		ca.Data[resources.CAKey] = ""
		for _, c := range cas {
			ca.Data[resources.CAKey] += string(c.PEM)
		}
		must(t, kube.Update(ctx, ca))
		p.pass()
		d := &appsv1.Deployment{}
		p.Expect(kube.Get(ctx, p.key, d)).To(Succeed())
		return d.Spec.Template.Annotations[v1alpha1.AnnotationTrusts]
	}
	old, next := pkitest.NewCA("old"), pkitest.NewCA("next")
	one := trusts(old)
	p.Expect(trusts(old, next)).To(Equal(one), "pods take another CA while they run")
	two := trusts(old)
	p.Expect(two).NotTo(Or(Equal(one), BeEmpty()), "pods that have taken a CA which is gone again are made anew")
	p.Expect(trusts(old, next)).To(Equal(two), "pods take it again")
	p.Expect(trusts(next)).NotTo(Or(Equal(two), BeEmpty()), "pods that trust a CA which is gone are made anew")
	moved = p.state()

	must(t, kube.Delete(ctx, c))
	p.Expect(p.reason()).To(Equal(v1alpha1.ReasonClusterNotFound))
	p.Expect(meta.IsStatusConditionTrue(p.pass().Conditions, v1alpha1.ConditionEncrypted)).To(BeFalse())
	p.Expect(meta.FindStatusCondition(p.pass().Conditions, v1alpha1.ConditionEncrypted).Reason).
		To(Equal(v1alpha1.ReasonNotYetProved))
	p.Expect(p.state()).To(Equal(moved), "pods keep what they know")
}

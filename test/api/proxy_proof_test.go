package api

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestTheProofOfAProxyIsOfItsPolicyAndItsTime: it is renewed once a minute, is taken back before the pods get another
// policy, and does not outlast passes that cannot renew it.
func TestTheProofOfAProxyIsOfItsPolicyAndItsTime(t *testing.T) {
	t.Parallel()
	ctx, namespace := context.Background(), "proxyproofs"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	p := newProxies(t, namespace)
	p.seen = agentapi.ChannelFact{Observed: agentapi.ObservedTLS, Verified: true, PlaintextRefused: true}
	now := time.Now()
	p.Now = func() time.Time { return now }
	must(t, kube.Create(ctx, aProxy(t, namespace, "pool", "{clusterRef: {name: shop}, replicas: 1}")))
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}, Spec: spec()}
	c.Spec.TLS.Clients = v1alpha1.TLSRequired
	must(t, kube.Create(ctx, c))
	ca := func() *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: resources.CAConfigMapName(c)},
			Data: map[string]string{resources.CAKey: "ca"}}
	}
	must(t, kube.Create(ctx, ca()))
	c.Status.Primary = "shop-0"
	c.Status.Members = []v1alpha1.MemberStatus{{Name: "shop-0", NodeState: "Synced", ComponentState: "Primary"}}
	must(t, kube.Status().Update(ctx, c))
	owned := resources.ProxySelector(aProxy(t, namespace, "pool", "clusterRef: {name: shop}"))
	owned[appsv1.DefaultDeploymentUniqueLabelKey] = "7d4"
	for _, pod := range []*corev1.Pod{
		{ObjectMeta: metav1.ObjectMeta{Name: "shop-0", Labels: resources.Selector(c)}},
		{ObjectMeta: metav1.ObjectMeta{Name: "pool-7d4-x", Labels: owned, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "pool-7d4", UID: "set", Controller: new(true)}}}},
	} {
		pod.Namespace, pod.Spec.Containers = namespace, []corev1.Container{{Name: "x", Image: "x"}}
		must(t, kube.Create(ctx, pod))
		pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "10.0.0.1"
		pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
		must(t, kube.Status().Update(ctx, pod))
	}
	policy := func(clients v1alpha1.ClientTLS) {
		c.Spec.TLS.Clients = clients
		must(t, kube.Update(ctx, c))
	}
	encrypted := func(s v1alpha1.GaleraProxyStatus) string {
		e := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionEncrypted)
		return string(e.Status) + " " + e.Reason
	}
	proves := func(clients v1alpha1.ClientTLS) {
		t.Helper()
		s := p.pass()
		p.Expect(encrypted(s)).To(Equal("True Proved"))
		p.Expect(s.Proof).To(And(HaveField("Clients", clients),
			HaveField("ProvedAt.Time", BeTemporally("~", now, time.Second))))
	}
	const takenBack = "False NotYetProved"

	proves(v1alpha1.TLSRequired)
	first := p.pass().Proof
	now = now.Add(30 * time.Second)
	p.Expect(p.pass().Proof).To(Equal(first), "it is written once a minute")
	now = now.Add(time.Minute)
	proves(v1alpha1.TLSRequired)

	policy(v1alpha1.TLSPreferred)
	s := p.pass()
	p.Expect(encrypted(s)).To(Equal(takenBack))
	p.Expect(s.Proof).To(BeNil())
	p.Expect(p.state().RequireTLS).To(BeTrue(), "the pods take plaintext once the proof is taken back")
	proves(v1alpha1.TLSPreferred)
	p.Expect(p.state().RequireTLS).To(BeFalse())

	policy(v1alpha1.TLSRequired)
	p.seen.PlaintextRefused = false
	p.Expect(encrypted(p.pass())).To(Equal(takenBack))
	p.Expect(encrypted(p.pass())).To(Equal("False PlaintextAccepted"))
	p.seen.PlaintextRefused = true
	proves(v1alpha1.TLSRequired)

	ready := p.ControlCA
	for _, err := range []error{errors.New("no such file"),
		apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "pool", errors.New("no"))} {
		p.ControlCA = func() ([]byte, error) { return nil, err }
		fails := func() v1alpha1.GaleraProxyStatus {
			_, failed := p.Reconcile(ctx, ctrl.Request{NamespacedName: p.key})
			p.Expect(failed == nil).To(Equal(apierrors.IsForbidden(err)), "a refused change is reported, and tried again")
			have := &v1alpha1.GaleraProxy{}
			p.Expect(kube.Get(ctx, p.key, have)).To(Succeed())
			return have.Status
		}
		p.Expect(encrypted(fails())).To(Equal("True Proved"), "one pass that fails takes nothing back")
		now = now.Add(4 * time.Minute)
		s = fails()
		p.Expect(encrypted(s)).To(Equal(takenBack), "%v", err)
		p.Expect(s.Proof).To(BeNil())
		p.Expect(encrypted(fails())).To(Equal(takenBack))
		p.ControlCA = ready
		p.pass()
		proves(v1alpha1.TLSRequired)
	}

	must(t, kube.Delete(ctx, ca()))
	s = p.pass()
	p.Expect(meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady).Reason).
		To(Equal(v1alpha1.ReasonCertificatePending))
	p.Expect(encrypted(s)).To(Equal(takenBack))
	p.Expect(s.Proof).To(BeNil())
	must(t, kube.Create(ctx, ca()))
	proves(v1alpha1.TLSRequired)
	p.Expect(client.IgnoreNotFound(kube.Delete(ctx, c))).To(Succeed())
	p.Expect(encrypted(p.pass())).To(Equal(takenBack))
}

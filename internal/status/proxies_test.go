package status

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestWhichProofOfAProxyCounts: one that was made lately, and under the policy that plaintext is refused. A proxy that
// may have pods without the operator's having seen them is not proved.
func TestWhichProofOfAProxyCounts(t *testing.T) {
	ready := func(p *v1alpha1.GaleraProxy, reason string) {
		meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady,
			Status: metav1.ConditionFalse, Reason: reason})
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.GaleraProxy)
		want   metav1.ConditionStatus
		says   string
	}{
		"it was proved": {func(*v1alpha1.GaleraProxy) {}, metav1.ConditionTrue, "and a proxy"},
		"it was, two minutes ago": {func(p *v1alpha1.GaleraProxy) { age(p, 2*time.Minute) }, metav1.ConditionTrue,
			"and a proxy"},
		"the proof is old": {func(p *v1alpha1.GaleraProxy) { age(p, 4*time.Minute) }, metav1.ConditionUnknown,
			"it was proved last at 2026-01-02T11:56:00Z"},
		"by a clock that was ahead": {func(p *v1alpha1.GaleraProxy) { age(p, -time.Hour) }, metav1.ConditionUnknown,
			"it was proved last at 2026-01-02T13:00:00Z"},
		"it was proved while plaintext was taken": {func(p *v1alpha1.GaleraProxy) {
			p.Status.Proof.Clients = v1alpha1.TLSPreferred
		}, metav1.ConditionUnknown, "not proved since spec.tls.clients is Required"},
		"there is no record": {func(p *v1alpha1.GaleraProxy) { p.Status.Proof = nil }, metav1.ConditionUnknown,
			"not proved since spec.tls.clients is Required"},
		"there are no pods": {func(p *v1alpha1.GaleraProxy) {
			p.Status.Proof, p.Status.Replicas = nil, 0
		}, metav1.ConditionTrue, "observed on all 3 nodes:"},
		"there are none yet": {func(p *v1alpha1.GaleraProxy) {
			p.Status.Proof, p.Status.Replicas, p.Spec.Replicas = nil, 0, 2
		}, metav1.ConditionUnknown, "waiting for evidence from the GaleraProxy pool"},
		"there may be some since": {func(p *v1alpha1.GaleraProxy) {
			p.Status.Proof, p.Status.Replicas, p.Generation = nil, 0, 2
		}, metav1.ConditionUnknown, "waiting for evidence from the GaleraProxy pool"},
		"it is new": {func(p *v1alpha1.GaleraProxy) {
			p.Status = v1alpha1.GaleraProxyStatus{ObservedGeneration: -1}
		}, metav1.ConditionUnknown, "waiting for evidence from the GaleraProxy pool"},
		"its name is taken": {func(p *v1alpha1.GaleraProxy) {
			p.Status.Replicas, p.Spec.Replicas = 0, 2
			ready(p, v1alpha1.ReasonNameTaken)
		}, metav1.ConditionTrue, "observed on all 3 nodes:"},
		"its name is taken, and it has pods": {func(p *v1alpha1.GaleraProxy) {
			p.Status.Proof = nil
			ready(p, v1alpha1.ReasonNameTaken)
		}, metav1.ConditionUnknown, "waiting for evidence from the GaleraProxy pool"},
		"its changes are refused": {func(p *v1alpha1.GaleraProxy) {
			p.Status.Replicas, p.Spec.Replicas = 0, 2
			p.Status.Proof = nil
			ready(p, v1alpha1.ReasonAdmissionRefused)
		}, metav1.ConditionUnknown, "waiting for evidence from the GaleraProxy pool"},
	} {
		in := healthy()
		proxied(metav1.ConditionTrue, v1alpha1.ReasonProved)(&in)
		tc.change(&in.Facts.Proxies[0])
		got := proved(in)
		if got.status != tc.want || !strings.Contains(got.message, tc.says) {
			t.Errorf("%s: %+v", name, got)
		}
		in.Config.TLS.Clients = galera.PolicyPreferred
		if got := proved(in); got.status != metav1.ConditionTrue || strings.Contains(got.message, "proxy") {
			t.Errorf("%s, where clients may connect without TLS: %+v", name, got)
		}
	}
}

// age makes the proof of a proxy as old.
func age(p *v1alpha1.GaleraProxy, d time.Duration) {
	p.Status.Proof.ProvedAt = metav1.NewTime(noon.Add(-d))
}

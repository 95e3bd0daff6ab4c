package galeracluster

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kinds "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/retry"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/status"
	"github.com/galera-operator/galera-operator/internal/validate"
)

var (
	errWebhook = fmt.Errorf("applying x: %w", apierrors.NewInternalError(errors.New("failed calling webhook")))
	errNoKind  = fmt.Errorf("reading x: %w", &meta.NoKindMatchError{GroupKind: kinds.GroupKind{Kind: "Certificate"}})
	gone       = apierrors.NewNotFound(kinds.GroupResource{}, "")
	conflict   = apierrors.NewConflict(corev1.Resource("pods"), "x", nil)
)

func TestAsking(t *testing.T) {
	key, start := types.NamespacedName{Name: "shop"}, time.Now()
	type step struct {
		after time.Duration
		err   error
		news  bool
		want  string
	}
	for name, steps := range map[string][]step{
		"what passes is not reported": {{0, errWebhook, false, ""}, {5 * time.Second, nil, false, ""},
			{reportDelay, errWebhook, false, ""}},
		"what stays is": {{0, errWebhook, false, ""}, {reportDelay, errWebhook, true, v1alpha1.ReasonCertManagerUnavailable},
			{2 * reportDelay, errWebhook, false, v1alpha1.ReasonCertManagerUnavailable}, {3 * reportDelay, nil, true, ""}},
		"no kind": {{0, errNoKind, true, v1alpha1.ReasonCertManagerMissing},
			{1, errNoKind, false, v1alpha1.ReasonCertManagerMissing}, {2, nil, true, ""}},
		"kinds are gone": {{0, gone, true, v1alpha1.ReasonCertManagerMissing}},
		"known missing":  {{0, observe.ErrNoCertManager{Why: "it is not"}, true, v1alpha1.ReasonCertManagerMissing}},
		"a lost race":    {{0, conflict, false, ""}, {reportDelay, conflict, false, ""}},
	} {
		var a asking
		for i, s := range steps {
			now := start.Add(s.after)
			news := a.note(key, nil, s.err, now)
			_, p := a.get(key, now)
			got := ""
			if p != nil {
				got = p.Reason
			}
			if news != s.news || got != s.want {
				t.Errorf("%s, step %d: %q, news %t", name, i, got, news)
			}
		}
	}
}

// TestNextReconcile: a lost race of one part is tried again at once, an error at the latest when the plan wants to
// look.
func TestNextReconcile(t *testing.T) {
	problem := &validate.Problem{}
	decided := func(d plan.Decision) status.Input {
		return status.Input{Decision: d, Published: &status.PublishedPair{},
			Facts: observe.Facts{Cluster: &v1alpha1.GaleraCluster{}}}
	}
	limited := decided(plan.Decision{Reason: plan.ReasonHealthy})
	limited.Facts.Cluster.Spec.ReplicaOf = &v1alpha1.ReplicaOf{}
	limited.Facts.Cluster.Spec.ReadOnlyService.MaxLag = &metav1.Duration{Duration: time.Minute}
	healthy, busy := decided(plan.Decision{Reason: plan.ReasonHealthy}), decided(plan.Decision{Reason: "x"})
	refused, without, blocked := busy, healthy, decided(plan.Decision{Reason: "x", Blocked: true})
	refused.Refused, without.CertManager = problem, problem
	for name, tc := range map[string]struct {
		in    status.Input
		parts []error
		want  time.Duration // 0: an error
	}{
		"healthy":                       {healthy, nil, whileHealthy},
		"data may become too old":       {limited, nil, whileLimited},
		"busy":                          {busy, nil, whileWaiting},
		"busy, and a pair is refused":   {refused, nil, whileWaiting},
		"blocked":                       {blocked, nil, whileBlocked},
		"without cert-manager":          {without, nil, whileBlocked},
		"an error":                      {healthy, []error{nil, errWebhook}, 0},
		"a lost race":                   {healthy, []error{nil, conflict}, whileConflict},
		"a lost race and an error":      {busy, []error{errWebhook, conflict}, whileConflict},
		"a lost race inside an error":   {busy, []error{errors.Join(errors.Join(conflict, errWebhook))}, 0},
		"lost races, joined and joined": {busy, []error{errors.Join(errors.Join(conflict, conflict))}, whileConflict},
	} {
		got, err := (&Reconciler{}).result(t.Context(), tc.in, tc.parts...)
		if got.RequeueAfter != tc.want || (err != nil) != (tc.want == 0) {
			t.Errorf("%s: %s, %v", name, got.RequeueAfter, err)
		}
	}
	if retry.MaxDelay > whileWaiting || retry.MaxDelay > whileBlocked || retry.MaxDelay > whileHealthy {
		t.Error("an error delays the next check")
	}
}

package retry

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestRefusals: a refused change is a condition with the API server's words until a pass succeeds, and other errors are
// left alone.
func TestRefusals(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	u := &v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-x", Name: "app", UID: "1"}}
	key := client.ObjectKeyFromObject(u)
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(u).WithStatusSubresource(u).Build()
	r := &Refusals{}
	report := func(err error) (*v1alpha1.GaleraUser, reconcile.Result, error) {
		t.Helper()
		now := &v1alpha1.GaleraUser{}
		if err := kube.Get(t.Context(), key, now); err != nil {
			t.Fatal(err)
		}
		result, err := r.Report(t.Context(), kube, key, now, &now.Status.Conditions,
			reconcile.Result{RequeueAfter: time.Hour}, err, v1alpha1.ConditionReady)
		if err := kube.Get(t.Context(), key, now); err != nil {
			t.Fatal(err)
		}
		return now, result, err
	}
	group := schema.GroupResource{Resource: "secrets"}
	for name, other := range map[string]error{"none": nil, "another one": errors.New("x"),
		"a lost race": apierrors.NewConflict(group, "x", nil), "load": apierrors.NewTooManyRequests("x", 1)} {
		now, result, err := report(other)
		if len(now.Status.Conditions) > 0 || !errors.Is(err, other) || result.RequeueAfter != time.Hour {
			t.Errorf("%s: %v, %v, %v", name, now.Status.Conditions, result, err)
		}
	}
	refused := fmt.Errorf("making a Secret: %w", apierrors.NewForbidden(group, "x", errors.New("use another namespace")))
	now, result, err := report(errors.Join(errors.New("x"), refused))
	for kind, want := range map[string]metav1.ConditionStatus{v1alpha1.ConditionStalled: metav1.ConditionTrue,
		v1alpha1.ConditionReady: metav1.ConditionFalse} {
		c := meta.FindStatusCondition(now.Status.Conditions, kind)
		if c == nil || c.Status != want || c.Reason != v1alpha1.ReasonAdmissionRefused ||
			!strings.Contains(c.Message, "use another namespace") {
			t.Errorf("%s: %+v", kind, c)
		}
	}
	if err != nil || result.RequeueAfter != refusedInterval {
		t.Errorf("%v, %v", result, err)
	}
	now, _, _ = report(refused)
	version := now.ResourceVersion
	if now, _, _ = report(refused); now.ResourceVersion != version {
		t.Error("the same refusal is written again and again")
	}
	for i := range 3 { // a webhook that numbers its answers
		now, _, _ = report(apierrors.NewForbidden(group, "x", fmt.Errorf("request %d", i)))
	}
	if now.ResourceVersion != version {
		t.Error("a message that differs each time is written each time, and wakes its own pass")
	}
	// What a pass is about to write keeps the refusal, and loses it after a pass that succeeded.
	r.Apply(now, &now.Status.Conditions)
	if !meta.IsStatusConditionTrue(now.Status.Conditions, v1alpha1.ConditionStalled) {
		t.Error("a pass reports progress although its change is refused")
	}
	if _, _, err := report(nil); err != nil {
		t.Error(err)
	}
	r.Apply(now, &now.Status.Conditions)
	if meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionStalled) != nil || len(r.of) > 0 {
		t.Errorf("it stays refused: %v", now.Status.Conditions)
	}
	long := refusal(apierrors.NewForbidden(group, "x", errors.New(strings.Repeat("a", 1<<20))))
	if len(long) > 2*maxRefusal || !utf8.ValidString(refusal(apierrors.NewForbidden(group, "xx",
		errors.New(strings.Repeat("ö", maxRefusal))))) || !utf8.ValidString(refusal(apierrors.NewForbidden(group, "x",
		errors.New(strings.Repeat("ö", maxRefusal))))) {
		t.Errorf("a message of %d bytes", len(long))
	}
}

// TestRefusedPassesChangeNothing: a pass that decides on progress each time, as that of a benchmark, writes the same
// conditions while its change is refused, and so does not wake itself. What it wrote goes when the change is accepted.
func TestRefusedPassesChangeNothing(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	b := &v1alpha1.GaleraBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "b", UID: "1"}}
	key := client.ObjectKeyFromObject(b)
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(b).WithStatusSubresource(b).Build()
	r, writes, forbidden := &Refusals{}, 0, error(apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "x",
		errors.New("exceeded quota")))
	pass := func() (result reconcile.Result, err error) {
		now := &v1alpha1.GaleraBenchmark{}
		if err := kube.Get(t.Context(), key, now); err != nil {
			t.Fatal(err)
		}
		defer func() {
			o := now.DeepCopy()
			result, err = r.Report(t.Context(), kube, key, o, &o.Status.Conditions, result, err)
		}()
		next := now.DeepCopy()
		for kind, status := range map[string]metav1.ConditionStatus{v1alpha1.ConditionReconciling: metav1.ConditionTrue,
			v1alpha1.ConditionStalled: metav1.ConditionFalse} {
			meta.SetStatusCondition(&next.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: "Running"})
		}
		r.Apply(next, &next.Status.Conditions)
		if !equality.Semantic.DeepEqual(now.Status, next.Status) {
			writes++
			return reconcile.Result{}, kube.Status().Update(t.Context(), next)
		}
		return reconcile.Result{RequeueAfter: time.Hour}, forbidden
	}
	for range 3 {
		_, _ = pass()
	}
	time.Sleep(1100 * time.Millisecond) // the API server keeps seconds
	writes = 0
	for range 5 {
		if result, err := pass(); err != nil || result.RequeueAfter != refusedInterval {
			t.Errorf("%v, %v", result, err)
		}
	}
	if writes > 0 {
		t.Errorf("%d writes while nothing changes", writes)
	}
	forbidden = nil
	if result, err := pass(); err != nil || result.RequeueAfter >= time.Second {
		t.Errorf("the conditions stay until something else happens: %v, %v", result, err)
	}
	_, _ = pass()
	now := &v1alpha1.GaleraBenchmark{}
	if err := kube.Get(t.Context(), key, now); err != nil {
		t.Fatal(err)
	}
	for _, c := range now.Status.Conditions {
		if c.Reason == v1alpha1.ReasonAdmissionRefused {
			t.Errorf("it stays refused: %+v", c)
		}
	}
}

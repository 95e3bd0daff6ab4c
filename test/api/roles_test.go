package api

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestOldCacheNeverMovesTheWriter assigns the writer from caches in which the Service, or the pods, look as they did
// before.
func TestOldCacheNeverMovesTheWriter(t *testing.T) {
	ctx := context.Background()
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "roles"}}))
	actor := apply.Actor{Client: kube}
	cluster := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "roles", Name: "shop"}, Spec: spec()}
	must(t, kube.Create(ctx, cluster))
	objects := &apply.Objects{Client: kube, Live: kube}
	must(t, objects.Apply(ctx, cluster.UID, resources.PrimaryService(cluster, "shop-0")))
	fresh := func() observe.Facts {
		f := observe.Facts{Cluster: cluster, Pods: map[string]*corev1.Pod{}, PrimaryService: &corev1.Service{}}
		must(t, kube.Get(ctx, client.ObjectKey{Namespace: "roles", Name: "shop-primary"}, f.PrimaryService))
		for _, name := range []string{"shop-0", "shop-1"} { // shop-2 does not exist
			p := &corev1.Pod{}
			must(t, kube.Get(ctx, client.ObjectKey{Namespace: "roles", Name: name}, p))
			f.Pods[name] = p
		}
		return f
	}
	for _, name := range []string{"shop-0", "shop-1"} {
		must(t, kube.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "roles", Name: name},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}}))
	}
	expect := func(primary, replica string) {
		t.Helper()
		f := fresh()
		if got := f.PrimaryService.Spec.Selector[appsv1.StatefulSetPodNameLabel]; got != primary {
			t.Errorf("the Service leads to %s, want %s", got, primary)
		}
		if a, b := f.Pods[primary].Labels[v1alpha1.LabelRole],
			f.Pods[replica].Labels[v1alpha1.LabelRole]; a != v1alpha1.RolePrimary || b != v1alpha1.RoleReplica {
			t.Errorf("%s is labelled %s, %s %s", primary, a, replica, b)
		}
	}
	old := fresh()
	must(t, actor.Do(ctx, old, plan.AssignRoles{Primary: "shop-1"}))
	expect("shop-1", "shop-0")
	if err := actor.Do(ctx, old, plan.AssignRoles{Primary: "shop-0"}); !apierrors.IsConflict(err) {
		t.Errorf("the old cache was believed: %v", err)
	}
	must(t, actor.Do(ctx, fresh(), plan.AssignRoles{Primary: "shop-2"})) // it has no pod
	expect("shop-1", "shop-0")

	// What a pass renders from an old cache does not lead back, either.
	rendered := resources.PrimaryService(cluster, observe.PrimaryPod(old))
	rendered.ResourceVersion = old.PrimaryService.ResourceVersion
	if err := (&apply.Objects{Client: kube, Live: kube}).Apply(ctx, cluster.UID, rendered); !apierrors.IsConflict(err) {
		t.Errorf("the old cache was rendered: %v", err)
	}
	expect("shop-1", "shop-0")

	// The primary's pod is made anew: it has its clients at once, and its label when an operator looks.
	must(t, kube.Delete(ctx, fresh().Pods["shop-1"], client.GracePeriodSeconds(0)))
	must(t, kube.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "roles", Name: "shop-1"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}}))
	if f := fresh(); observe.PrimaryPod(f) != "shop-1" {
		t.Errorf("the primary is %s", observe.PrimaryPod(f))
	}
	must(t, actor.LabelRoles(ctx, fresh()))
	expect("shop-1", "shop-0")
}

// TestServiceOfAnEarlierOperator selects by label; it is turned over to where that leads, and nothing moves.
func TestServiceOfAnEarlierOperator(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "earlier", spec())
	selector := func() map[string]string {
		s := &corev1.Service{}
		if err := w.get(s, "shop-primary"); err != nil {
			return nil
		}
		return s.Spec.Selector
	}
	w.Eventually(selector).Should(HaveKeyWithValue(appsv1.StatefulSetPodNameLabel, "shop-0"),
		"any node is better than none")
	w.bringUp()
	primary := w.status().Primary
	want := resources.PrimaryService(w.cluster, primary).Spec.Selector
	w.Eventually(selector).Should(Equal(want))
	byLabel := resources.Selector(w.cluster)
	byLabel[v1alpha1.LabelRole] = v1alpha1.RolePrimary
	s := &corev1.Service{}
	must(t, w.get(s, "shop-primary"))
	s.Spec.Selector = byLabel
	must(t, kube.Update(t.Context(), s))
	w.Eventually(selector).Should(Equal(want))
	w.Consistently(func() string { return w.status().Primary }, time.Second).Should(Equal(primary))

	must(t, kube.Delete(t.Context(), s))
	w.Eventually(selector).Should(Equal(want), "it is made again as it was")

	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "earlier", Name: "shop-2"}}
	must(t, kube.Patch(t.Context(), p, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"`+v1alpha1.LabelRole+`":null}}}`))))
	w.Eventually(func() string { return w.role("shop-2") }).Should(Equal(v1alpha1.RoleReplica))
}

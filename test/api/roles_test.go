package api

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// TestOldCacheNeverMakesTwoWriters assigns the writer from a cache in which the old writer's label
// looks as it should be already.
func TestOldCacheNeverMakesTwoWriters(t *testing.T) {
	ctx := context.Background()
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "roles"}}))
	actor := apply.Actor{Client: kube}
	cluster := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "roles", Name: "shop"}, Spec: v1alpha1.GaleraClusterSpec{Replicas: 3}}
	cached := observe.Facts{Cluster: cluster, Pods: map[string]*corev1.Pod{}}
	for _, name := range []string{"shop-0", "shop-1"} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "roles", Name: name, Labels: map[string]string{v1alpha1.LabelRole: v1alpha1.RoleReplica}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}}
		must(t, kube.Create(ctx, p))
		cached.Pods[name] = p.DeepCopy()
	}
	role := func(name string) string {
		var p corev1.Pod
		must(t, kube.Get(ctx, client.ObjectKey{Namespace: "roles", Name: name}, &p))
		return p.Labels[v1alpha1.LabelRole]
	}
	// shop-2 does not exist, and this cache has never heard of shop-1.
	fresh := observe.Facts{Cluster: cached.Cluster, Pods: map[string]*corev1.Pod{"shop-0": cached.Pods["shop-0"].DeepCopy()}}
	must(t, actor.Do(ctx, fresh, plan.AssignRoles{Primary: "shop-0"}))

	// This cache has not seen that shop-0 became the writer.
	must(t, actor.Do(ctx, cached, plan.AssignRoles{Primary: "shop-1"}))
	if role("shop-0") != v1alpha1.RoleReplica || role("shop-1") != v1alpha1.RolePrimary {
		t.Errorf("the old writer kept its label: shop-0 is %s, shop-1 is %s", role("shop-0"), role("shop-1"))
	}
	// Nor that its own choice has changed meanwhile: such a choice is made anew.
	if err := actor.Do(ctx, fresh, plan.AssignRoles{Primary: "shop-0"}); !apierrors.IsConflict(err) {
		t.Errorf("the old cache was believed: %v", err)
	}
	if role("shop-0") != v1alpha1.RoleReplica || role("shop-1") != v1alpha1.RolePrimary {
		t.Errorf("shop-0 is %s, shop-1 is %s", role("shop-0"), role("shop-1"))
	}
	for _, p := range cached.Pods {
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(p), p))
	}
	must(t, actor.Do(ctx, cached, plan.AssignRoles{Primary: "shop-0"}))
	without := observe.Facts{Cluster: cluster, Pods: map[string]*corev1.Pod{"shop-1": cached.Pods["shop-1"]}}
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(cached.Pods["shop-1"]), cached.Pods["shop-1"]))
	must(t, actor.Do(ctx, without, plan.AssignRoles{Primary: "shop-1"}))
	if role("shop-0") != v1alpha1.RoleReplica || role("shop-1") != v1alpha1.RolePrimary {
		t.Errorf("the unseen writer kept its label: shop-0 is %s, shop-1 is %s", role("shop-0"), role("shop-1"))
	}
	for _, p := range cached.Pods {
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(p), p))
	}
	must(t, actor.Do(ctx, cached, plan.AssignRoles{Primary: "shop-0"}))
	if role("shop-0") != v1alpha1.RolePrimary || role("shop-1") != v1alpha1.RoleReplica {
		t.Errorf("shop-0 is %s, shop-1 is %s", role("shop-0"), role("shop-1"))
	}

	// The new one is gone in the moment it is chosen: the old one stays what it is.
	must(t, kube.Delete(ctx, cached.Pods["shop-1"].DeepCopy(), client.GracePeriodSeconds(0)))
	if err := actor.Do(ctx, cached, plan.AssignRoles{Primary: "shop-1"}); err == nil || role("shop-0") != v1alpha1.RolePrimary {
		t.Errorf("nobody is the writer: %v, shop-0 is %s", err, role("shop-0"))
	}
}

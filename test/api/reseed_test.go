package api

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/galeracluster/restoring"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestReseed: the annotation has a follower's source checked, and nothing removed before nothing is found, nor when the
// annotation is removed in time. Then its StatefulSet is removed once its claims end with it, and the source copied
// again when they are gone, into another history. This API server has no garbage collector: the test is.
func TestReseed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := &moved{T: t, ns: "reseed"}
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}))
	startOperator(t, w.ns, newFakeAgents())
	w.restores = restoring.Reconciler{Client: kube, Live: kube, Late: time.Now,
		Jobs:    job.Options{Image: "operator"},
		Options: resources.Options{DefaultImage: "mariadb:11.8", OperatorImage: "operator"},
		Calls:   &calls.Calls[string, string, task.Copied]{},
		Now:     func() time.Time { return time.Now().Add(w.later) }}
	w.cluster = &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "shop"}, Spec: spec()}
	w.cluster.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db.example.com",
		CredentialsSecretRef: v1alpha1.LocalName{Name: "old"}, Insecure: true, Follow: true}}
	must(t, kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "old"}}))
	must(t, kube.Create(ctx, w.cluster))
	first := w.copied()
	w.eventually("a follower with pods", func(c *v1alpha1.GaleraCluster) bool {
		_, sets := w.have()
		return sets == 1 && c.Status.Replication != nil && c.Status.Replication.Role == v1alpha1.RoleFollower
	})
	for _, ordinal := range []int{1, 2, 7} {
		must(t, kube.Create(ctx, resources.Claim(w.cluster, ordinal)))
	}

	w.annotate(v1alpha1.ReseedPurged)
	w.phase(v1alpha1.ReseedRefused)
	w.annotate(v1alpha1.ReseedAlways)
	w.ends("shop-reseed-", task.Result{Source: &task.Source{Findings: []task.Finding{{Name: "PrivilegeMissing",
		Message: "grant it"}}}})
	w.eventually("a finding", func(c *v1alpha1.GaleraCluster) bool {
		return c.Status.Reseed.Phase == v1alpha1.ReseedChecking && strings.Contains(c.Status.Reseed.Message, "grant it")
	})
	w.withdraw()
	w.phase(v1alpha1.ReseedCancelled)
	set := &appsv1.StatefulSet{}
	claimsAre := func(want appsv1.PersistentVolumeClaimRetentionPolicyType) {
		w.eventually("claims and their StatefulSet: "+string(want), func(c *v1alpha1.GaleraCluster) bool {
			must(t, kube.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: resources.StatefulSetName(c)}, set))
			return set.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted == want
		})
	}
	passed := task.Result{Source: &task.Source{Version: "11.8.6-MariaDB"}}
	w.annotate(v1alpha1.ReseedAlways)
	w.ends("shop-reseed-", passed)
	w.phase(v1alpha1.ReseedEmptying)
	claimsAre(appsv1.DeletePersistentVolumeClaimRetentionPolicyType)
	w.withdraw()
	w.phase(v1alpha1.ReseedCancelled)
	claimsAre(appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	w.annotate(v1alpha1.ReseedAlways)
	w.ends("shop-reseed-", passed)
	w.phase(v1alpha1.ReseedEmptying)
	claimsAre(appsv1.DeletePersistentVolumeClaimRetentionPolicyType)
	w.own(set, 0, 1)
	w.passes("one claim does not end with it yet", func() bool { _, sets := w.have(); return sets == 1 })
	w.own(set, 2)
	w.eventually("no StatefulSet", func(*v1alpha1.GaleraCluster) bool { _, sets := w.have(); return sets == 0 })
	w.passes("claims are left", func() bool {
		claims, sets := w.have()
		return claims == 4 && sets == 0 && w.get().Status.ClusterUUID == first
	})
	kept := w.claim(7).UID
	for _, ordinal := range []int{0, 1, 2} {
		w.collect(ordinal)
	}
	w.phase(v1alpha1.ReseedCopying)
	if second := w.copied(); second == first {
		t.Errorf("both copies have the history %s", first)
	}
	w.phase(v1alpha1.ReseedCompleted)
	w.eventually("pods again", func(*v1alpha1.GaleraCluster) bool { _, sets := w.have(); return sets == 1 })
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(set), set))
	if p := set.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted; p !=
		appsv1.RetainPersistentVolumeClaimRetentionPolicyType {
		t.Errorf("claims end with the new StatefulSet: %s", p)
	}
	if w.claim(7).UID != kept || w.claim(7).DeletionTimestamp != nil {
		t.Error("a claim that is none of the nodes' is gone")
	}
	w.passes("the value took effect", func() bool {
		_, sets := w.have()
		return sets == 1 && w.get().Status.Reseed.Phase == v1alpha1.ReseedCompleted
	})
}

func (w *moved) get() *v1alpha1.GaleraCluster {
	w.Helper()
	c := &v1alpha1.GaleraCluster{}
	must(w.T, kube.Get(context.Background(), client.ObjectKeyFromObject(w.cluster), c))
	return c
}

// copied ends the check and the copy of the source, and returns the history that the cluster has then.
func (w *moved) copied() string {
	w.Helper()
	w.ends("shop-find-", task.Result{Source: &task.Source{Version: "11.8.6-MariaDB"}})
	w.eventually("a copy", func(c *v1alpha1.GaleraCluster) bool {
		return c.Status.Restore != nil && c.Status.Restore.Phase == v1alpha1.RestoreRestoring
	})
	r := w.get().Status.Restore
	w.ends("shop-0-restore-", task.Result{Restored: &task.Restored{ID: r.ID, Position: r.History + ":1"},
		Source: &task.Source{Tables: 3, Rows: 30}})
	w.eventually("a history", func(c *v1alpha1.GaleraCluster) bool { return c.Status.ClusterUUID == r.History })
	return r.History
}

// annotate asks now, by the clock of the operator.
func (w *moved) annotate(kind string) {
	w.Helper()
	value := fmt.Sprintf("%s@%d", kind, w.restores.Now().Unix())
	must(w.T, kube.Patch(context.Background(), w.get(), client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationReseed+`":"`+value+`"}}}`))))
}

// withdraw removes the annotation.
func (w *moved) withdraw() {
	w.Helper()
	must(w.T, kube.Patch(context.Background(), w.get(), client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationReseed+`":null}}}`))))
}

func (w *moved) phase(want string) {
	w.Helper()
	w.eventually(want, func(c *v1alpha1.GaleraCluster) bool {
		return c.Status.Reseed != nil && c.Status.Reseed.Phase == want
	})
}

// passes makes several passes, during all of which something holds.
func (w *moved) passes(what string, holds func() bool) {
	w.Helper()
	n := 0
	w.eventually(what, func(*v1alpha1.GaleraCluster) bool {
		if !holds() {
			w.Fatalf("%s, and it goes on: %+v", what, w.get().Status.Reseed)
		}
		n++
		return n > 20
	})
}

func (w *moved) claim(ordinal int) *corev1.PersistentVolumeClaim {
	w.Helper()
	p := resources.Claim(w.cluster, ordinal)
	must(w.T, kube.Get(context.Background(), client.ObjectKeyFromObject(p), p))
	return p
}

// own is what the controller of StatefulSets does for a policy.
func (w *moved) own(set *appsv1.StatefulSet, ordinals ...int) {
	w.Helper()
	for _, ordinal := range ordinals {
		p := w.claim(ordinal)
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name,
			UID: set.UID}}
		must(w.T, kube.Update(context.Background(), p))
	}
}

// collect is what the garbage collector does with the claim of a StatefulSet that is gone.
func (w *moved) collect(ordinal int) {
	w.Helper()
	p := w.claim(ordinal)
	if len(p.OwnerReferences) != 1 {
		w.Fatalf("%s is not collected: %+v", p.Name, p.OwnerReferences)
	}
	must(w.T, kube.Patch(context.Background(), p, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`))))
	must(w.T, kube.Delete(context.Background(), p, client.Preconditions{UID: &p.UID}))
	w.eventually("no claim", func(*v1alpha1.GaleraCluster) bool {
		have := &corev1.PersistentVolumeClaim{}
		err := kube.Get(context.Background(), client.ObjectKeyFromObject(p), have)
		return apierrors.IsNotFound(err) || err == nil && have.UID != p.UID
	})
}

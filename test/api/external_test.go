package api

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/galeracluster/restoring"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// moved is a cluster that begins with a copy of another server, and its controllers.
type moved struct {
	*testing.T
	ns       string
	cluster  *v1alpha1.GaleraCluster
	restores restoring.Reconciler
	later    time.Duration
}

// eventually makes passes, with pauses that take no time, until something holds.
func (w *moved) eventually(what string, holds func(c *v1alpha1.GaleraCluster) bool) {
	w.Helper()
	ctx, c := context.Background(), &v1alpha1.GaleraCluster{}
	for start := time.Now(); ; w.later += time.Minute {
		must(w.T, kube.Get(ctx, client.ObjectKeyFromObject(w.cluster), c))
		if holds(c) {
			return
		}
		if time.Since(start) > time.Minute {
			w.Fatalf("%s: %+v, %+v", what, c.Status.Restore, c.Status.Conditions)
		}
		_, err := w.restores.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.cluster)})
		if foreign := (ownership.ErrForeign{}); !apierrors.IsConflict(err) && !errors.As(err, &foreign) {
			must(w.T, err)
		}
	}
}

// stalled waits until the operator reports a reason.
func (w *moved) stalled(reason, contains string) {
	w.Helper()
	w.eventually("Stalled "+reason, func(c *v1alpha1.GaleraCluster) bool {
		s := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionStalled)
		return s != nil && s.Status == metav1.ConditionTrue && s.Reason == reason && strings.Contains(s.Message, contains)
	})
}

// claims and sets are what there is of the cluster's.
func (w *moved) have() (claims, sets int) {
	w.Helper()
	var c corev1.PersistentVolumeClaimList
	var s appsv1.StatefulSetList
	must(w.T, kube.List(context.Background(), &c, client.InNamespace(w.ns)))
	must(w.T, kube.List(context.Background(), &s, client.InNamespace(w.ns)))
	return len(c.Items), len(s.Items)
}

// atWork waits for the only Job that has not ended.
func (w *moved) atWork(prefix string) (found *batchv1.Job) {
	w.Helper()
	ctx := context.Background()
	w.eventually("a Job "+prefix, func(*v1alpha1.GaleraCluster) bool {
		var all batchv1.JobList
		must(w.T, kube.List(ctx, &all, client.InNamespace(w.ns)))
		for i := range all.Items {
			if j := &all.Items[i]; strings.HasPrefix(j.Name, prefix) && len(j.Status.Conditions) == 0 {
				found = j
			}
		}
		return found != nil
	})
	return found
}

// podOf makes a pod of a Job.
func (w *moved) podOf(j *batchv1.Job, name string) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name,
		Labels: map[string]string{batchv1.JobNameLabel: j.Name},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j,
			batchv1.SchemeGroupVersion.WithKind("Job"))}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: job.Container, Image: "mariadb"}}}}
	must(w.T, kube.Create(context.Background(), pod))
	return pod
}

// runs has the pod of the only Job at work run.
func (w *moved) runs(prefix string) {
	w.Helper()
	found := w.atWork(prefix)
	pod := w.podOf(found, found.Name+"-x")
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "10.0.0.9"
	pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
	must(w.T, kube.Status().Update(context.Background(), pod))
}

// ends ends the only Job at work with a result.
func (w *moved) ends(prefix string, r task.Result) {
	w.Helper()
	ctx := context.Background()
	found := w.atWork(prefix)
	text, err := json.Marshal(r)
	must(w.T, err)
	pod := w.podOf(found, found.Name)
	pod.Status.Phase = corev1.PodSucceeded
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: job.Container,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: string(text)}}}}
	must(w.T, kube.Status().Update(ctx, pod))
	now := metav1.Now()
	found.Status.StartTime, found.Status.CompletionTime, found.Status.Succeeded = &now, &now, 1
	found.Status.Conditions = []batchv1.JobCondition{
		{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now},
		{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now}}
	must(w.T, kube.Status().Update(ctx, found))
}

// TestExternal: a source is checked before there is a volume, what it lacks is reported by name until it is corrected,
// and the cluster has pods only when the copy is complete.
func TestExternal(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := &moved{T: t, ns: "external"}
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}))
	startOperator(t, w.ns, newFakeAgents())
	w.restores = restoring.Reconciler{Client: kube, Live: kube, Late: time.Now,
		Jobs:    job.Options{Image: "operator"},
		Options: resources.Options{DefaultImage: "mariadb:11.8", OperatorImage: "operator"},
		Calls: &calls.Calls[string, string, task.Copied]{Do: calls.One(func(_ context.Context, address, leaf string) (
			task.Copied, error) {
			if address != "10.0.0.9" || !strings.Contains(leaf, "BEGIN CERTIFICATE") {
				return task.Copied{}, errors.New("it asks " + address)
			}
			return task.Copied{Rows: 25, Expected: 100, Tables: 3, RestSeconds: 60}, nil
		})},
		Now: func() time.Time { return time.Now().Add(w.later) }}
	w.cluster = &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "shop"}, Spec: spec()}
	w.cluster.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db.example.com",
		CredentialsSecretRef: v1alpha1.LocalName{Name: "old"},
		TLS:                  &v1alpha1.ExternalTLS{CASecretRef: v1alpha1.LocalName{Name: "ca"}}}}
	must(t, kube.Create(ctx, w.cluster))

	w.stalled(v1alpha1.ReasonCredentialsMissing, `Secret "old"`)
	own := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "old",
		Labels: map[string]string{v1alpha1.LabelCluster: "other"}}}
	must(t, kube.Create(ctx, own))
	w.stalled(v1alpha1.ReasonCredentialsMissing, `belongs to the cluster "other"`)
	own.Labels = nil
	must(t, kube.Update(ctx, own))
	w.stalled(v1alpha1.ReasonCredentialsMissing, `Secret "ca"`)
	must(t, kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "ca"}}))

	w.ends("shop-find-", task.Result{Source: &task.Source{Version: "10.11.18-MariaDB",
		Findings: []task.Finding{{Name: "PrimaryKeyMissing", Objects: []string{"shop.t"}, Count: 1, Message: "add one"}}}})
	w.stalled(v1alpha1.ReasonSourceUnsuitable, "PrimaryKeyMissing: shop.t: add one")
	w.ends("shop-find-", task.Result{Error: "no route to host", Reason: task.ReasonSourceUnreachable})
	w.stalled(v1alpha1.ReasonSourceUnreachable, "route to host")
	if claims, sets := w.have(); claims+sets > 0 {
		t.Errorf("%d claims and %d StatefulSets before the source is known to be good", claims, sets)
	}
	w.ends("shop-find-", task.Result{Source: &task.Source{Version: "10.11.18-MariaDB"}})
	// It copies, too, while a Secret of another owner keeps its progress from being shown.
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: job.CopiedName(w.cluster)}}
	must(t, kube.Create(ctx, foreign))
	w.runs("shop-0-restore-")
	must(t, kube.Delete(ctx, foreign))
	w.eventually("its progress", func(c *v1alpha1.GaleraCluster) bool {
		p := c.Status.Restore.Progress
		return p != nil && p.Summary == "25%" && p.ETA != nil
	})
	w.ends("shop-0-restore-", task.Result{Error: "it was killed", Reason: task.ReasonToolFailed})
	if claims, sets := w.have(); claims != 1 || sets > 0 {
		t.Errorf("%d claims and %d StatefulSets while it is copied", claims, sets)
	}
	c := &v1alpha1.GaleraCluster{}
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(w.cluster), c))
	history := c.Status.Restore.History
	w.ends("shop-0-restore-", task.Result{Restored: &task.Restored{ID: c.Status.Restore.ID, Position: history + ":1"},
		Source: &task.Source{Tables: 3, Rows: 30}})
	w.eventually("a history and pods", func(c *v1alpha1.GaleraCluster) bool {
		_, sets := w.have()
		return c.Status.ClusterUUID == history && c.Status.Restore.Phase == v1alpha1.RestoreCompleted &&
			c.Status.Restore.External.Rows == 30 && c.Status.Restore.Progress == nil && sets == 1
	})
	w.eventually("no pair any more", func(*v1alpha1.GaleraCluster) bool {
		return apierrors.IsNotFound(kube.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: job.CopiedName(w.cluster)},
			&corev1.Secret{}))
	})
}

// TestExternalEncryption: a copy lies on the volume in clear, so that encryption at rest is refused with it.
func TestExternalEncryption(t *testing.T) {
	const with = `{storage: {size: 1Gi}, encryption: {atRest: {}}, bootstrapFrom: {external: {host: db, credentialsSecretRef: {name: s}, insecure: true}}}`
	u := fromYAML(t, "encrypted-copy", with)
	mustSay(t, kube.Create(context.Background(), u, client.DryRunAll),
		"bootstrapFrom.external does not go with encryption")
}

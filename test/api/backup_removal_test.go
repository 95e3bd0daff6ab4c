package api

import (
	"context"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/galerabackup"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/policy/taking"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/status"
)

// TestBackupRemoval: deletionPolicy Delete holds the object until a Job has removed the data; the deletion of its
// namespace does not wait for that, and the data stay.
func TestBackupRemoval(t *testing.T) {
	ctx := context.Background()
	for name, goes := range map[string]bool{"removal": false, "removal-of-all": true} {
		t.Run(name, func(t *testing.T) {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			must(t, kube.Create(ctx, ns))
			store := backupKind(t, "GaleraBackupStore", "offsite", `{s3: {bucket: bbb}, encryption: {recipients: [KEY]}}`)
			store.SetNamespace(name)
			must(t, kube.Create(ctx, store))
			b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "one"},
				Spec: v1alpha1.GaleraBackupSpec{
					ClusterRef: v1alpha1.BackupClusterRef{Name: "shop"}, StoreRef: v1alpha1.LocalName{Name: "offsite"},
					DeletionPolicy: v1alpha1.BackupDelete}}
			must(t, kube.Create(ctx, b))
			r := galerabackup.Reconciler{Client: kube, Live: kube, Jobs: job.Options{Image: "operator"}}
			r.Now, r.Today = time.Now, time.Now
			r.Events, r.Calls = events.NewFakeRecorder(9), admitsAll()
			pass := func() {
				t.Helper()
				_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b)})
				must(t, err)
			}
			pass()
			must(t, kube.Get(ctx, client.ObjectKeyFromObject(b), b))
			if !controllerutil.ContainsFinalizer(b, galerabackup.Finalizer) {
				t.Fatal("no finalizer")
			}
			b.Status.Phase, b.Status.ID, b.Status.Directory = v1alpha1.BackupCompleted, taking.ID(b), "removal/shop/1"
			must(t, kube.Status().Update(ctx, b))
			must(t, kube.Delete(ctx, b))
			pass()
			var early batchv1.JobList
			if must(t, kube.List(ctx, &early, client.InNamespace(name))); len(early.Items) != 0 {
				t.Error("a Job gets the credentials of a store that was not checked as it is now")
			}
			reachable := &v1alpha1.GaleraBackupStore{}
			must(t, kube.Get(ctx, client.ObjectKeyFromObject(store), reachable))
			status.SetCondition(&reachable.Status.Conditions, reachable.Generation, v1alpha1.ConditionReachable, true,
				v1alpha1.ReasonReachable, "")
			must(t, kube.Status().Update(ctx, reachable))
			increment := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "two"}, Spec: b.Spec}
			must(t, kube.Create(ctx, increment))
			increment.Status.Phase, increment.Status.Incremental = v1alpha1.BackupRunning,
				&v1alpha1.BackupChain{Base: b.Status.ID, Depth: 1}
			must(t, kube.Status().Update(ctx, increment))
			pass()
			must(t, kube.Get(ctx, client.ObjectKeyFromObject(b), b))
			why := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled)
			must(t, kube.List(ctx, &early, client.InNamespace(name)))
			if len(early.Items) != 0 || why == nil || !strings.Contains(why.Message, "the backup two adds to it") {
				t.Errorf("the base of an increment is removed: %+v", why)
			}
			must(t, kube.Delete(ctx, increment))
			if goes {
				must(t, kube.Delete(ctx, ns))
			}
			pass()
			err := kube.Get(ctx, client.ObjectKeyFromObject(b), b)
			var jobs batchv1.JobList
			must(t, kube.List(ctx, &jobs, client.InNamespace(name)))
			switch {
			case goes && (!apierrors.IsNotFound(err) || len(jobs.Items) != 0):
				t.Errorf("it holds its namespace: %v, %d Jobs", err, len(jobs.Items))
			case !goes && (err != nil || len(jobs.Items) != 1):
				t.Errorf("it is gone, or no Job removes its data: %v, %d Jobs", err, len(jobs.Items))
			}
		})
	}
}

// TestRemovalElsewhere: data are removed where they lie, and nothing is removed where the store leads since. The object
// goes when the store leads back, or without its data.
func TestRemovalElsewhere(t *testing.T) {
	ctx := context.Background()
	const ns = "removal-elsewhere"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	store := backupKind(t, "GaleraBackupStore", "offsite",
		`{s3: {bucket: bbb, endpoint: "https://there"}, encryption: {recipients: [KEY]}}`)
	store.SetNamespace(ns)
	must(t, kube.Create(ctx, store))
	leads := func(endpoint string) {
		t.Helper()
		s := &v1alpha1.GaleraBackupStore{}
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(store), s))
		s.Spec.S3.Endpoint = endpoint
		must(t, kube.Update(ctx, s))
		status.SetCondition(&s.Status.Conditions, s.Generation, v1alpha1.ConditionReachable, true,
			v1alpha1.ReasonReachable, "")
		must(t, kube.Status().Update(ctx, s))
	}
	for name, ends := range map[string]func(*v1alpha1.GaleraBackup){
		"back": func(*v1alpha1.GaleraBackup) { leads("https://HERE:443/") },
		"retained": func(b *v1alpha1.GaleraBackup) {
			b.Spec.DeletionPolicy = v1alpha1.BackupRetain
			must(t, kube.Update(ctx, b))
		},
	} {
		leads("https://there")
		b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
		b.Finalizers = []string{galerabackup.Finalizer}
		b.Spec.ClusterRef.Name, b.Spec.StoreRef.Name, b.Spec.DeletionPolicy = "shop", "offsite", v1alpha1.BackupDelete
		must(t, kube.Create(ctx, b))
		b.Status.Phase, b.Status.ID, b.Status.Directory = v1alpha1.BackupCompleted, taking.ID(b), ns+"/shop/1"
		b.Status.Store = &v1alpha1.StoreLocation{Kind: v1alpha1.StoreS3, Bucket: "bbb", Endpoint: "https://here"}
		must(t, kube.Status().Update(ctx, b))
		must(t, kube.Delete(ctx, b))
		r := galerabackup.Reconciler{Client: kube, Live: kube, Jobs: job.Options{Image: "operator"}, Now: time.Now,
			Today: time.Now, Events: events.NewFakeRecorder(9), Calls: admitsAll()}
		pass := func() (jobs batchv1.JobList) {
			t.Helper()
			_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b)})
			must(t, err)
			must(t, kube.List(ctx, &jobs, client.InNamespace(ns), client.MatchingLabels{v1alpha1.LabelBackup: name}))
			return jobs
		}
		jobs := pass()
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(b), b))
		c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled)
		if len(jobs.Items) != 0 || c == nil || c.Status != metav1.ConditionTrue || c.Reason != v1alpha1.ReasonStoreChanged ||
			!strings.Contains(c.Message, "https://here") || !strings.Contains(c.Message, "point the store back") ||
			!strings.Contains(c.Message, "set deletionPolicy to Retain") {
			t.Fatalf("%s: %d Jobs, %+v", name, len(jobs.Items), c)
		}
		ends(b)
		jobs = pass()
		err := kube.Get(ctx, client.ObjectKeyFromObject(b), b)
		if back := name == "back"; back != (err == nil) || back != (len(jobs.Items) == 1) {
			t.Errorf("%s: %v, %d Jobs", name, err, len(jobs.Items))
		}
	}
}

// TestCopiedBackup: an object that was brought back with the status of another one, as by a restore of Kubernetes'
// objects, removes no data: they are those of the original.
func TestCopiedBackup(t *testing.T) {
	ctx := context.Background()
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "copied-backup"}}))
	store := backupKind(t, "GaleraBackupStore", "offsite", `{s3: {bucket: bbb}, encryption: {recipients: [KEY]}}`)
	store.SetNamespace("copied-backup")
	must(t, kube.Create(ctx, store))
	reachable := &v1alpha1.GaleraBackupStore{}
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(store), reachable))
	status.SetCondition(&reachable.Status.Conditions, reachable.Generation, v1alpha1.ConditionReachable, true,
		v1alpha1.ReasonReachable, "")
	must(t, kube.Status().Update(ctx, reachable))
	b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "copied-backup", Name: "one"}}
	b.Finalizers = []string{galerabackup.Finalizer}
	b.Spec.ClusterRef.Name, b.Spec.StoreRef.Name, b.Spec.DeletionPolicy = "shop", "offsite", v1alpha1.BackupDelete
	must(t, kube.Create(ctx, b))
	b.Status.Phase, b.Status.ID, b.Status.Directory = v1alpha1.BackupCompleted, "20261101-000000-0123abcd",
		"copied-backup/shop/1"
	must(t, kube.Status().Update(ctx, b))
	must(t, kube.Delete(ctx, b))
	reported := events.NewFakeRecorder(9)
	r := galerabackup.Reconciler{Client: kube, Live: kube, Jobs: job.Options{Image: "operator"}, Events: reported,
		Now: time.Now, Today: time.Now, Calls: admitsAll()}
	_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b)})
	must(t, err)
	var jobs batchv1.JobList
	must(t, kube.List(ctx, &jobs, client.InNamespace("copied-backup")))
	if err := kube.Get(ctx, client.ObjectKeyFromObject(b), b); !apierrors.IsNotFound(err) || len(jobs.Items) != 0 ||
		len(reported.Events) != 1 {
		t.Errorf("%v, %d Jobs, %d events", err, len(jobs.Items), len(reported.Events))
	}
}

// admitsAll are agents that admit every backup.
func admitsAll() *calls.Calls[observe.Target, agentapi.BackupAdmission, struct{}] {
	return &calls.Calls[observe.Target, agentapi.BackupAdmission, struct{}]{Do: calls.One(
		func(context.Context, observe.Target, agentapi.BackupAdmission) (none struct{}, err error) {
			return none, nil
		})}
}

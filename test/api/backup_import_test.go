package api

import (
	"context"
	"encoding/json"
	"reflect"
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

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/galerabackup"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/status"
)

// TestImportAdmission: an import names one backup of a store, for ever, and is created as one that removes nothing.
func TestImportAdmission(t *testing.T) {
	const backup, sched = "GaleraBackup", "GaleraBackupSchedule"
	for name, tc := range map[string]struct{ kind, spec, want string }{
		"an import": {backup,
			`{clusterRef: {name: shop}, storeRef: {name: offsite}, import: {directory: demo/shop/a54080f9, id: 20261124-a}}`,
			""},
		"an import that removes": {backup,
			`{clusterRef: {name: shop}, storeRef: {name: offsite}, deletionPolicy: Delete, import: {directory: demo/shop/a54080f9, id: a}}`,
			"deletionPolicy: Retain until it is Completed"},
		"an import of a cluster elsewhere": {backup,
			`{clusterRef: {name: shop, namespace: prod}, storeRef: {name: offsite}, import: {directory: demo/shop/a54080f9, id: a}}`,
			"no clusterRef.namespace"},
		"an import that climbs": {backup,
			`{clusterRef: {name: shop}, storeRef: {name: offsite}, import: {directory: demo/../a54080f9, id: a}}`,
			"directory in body should match"},
		"an import of an increment, as one": {backup,
			`{clusterRef: {name: shop}, storeRef: {name: offsite}, incremental: {}, import: {directory: demo/shop/a54080f9, id: a}}`,
			"incremental is for a backup that is made"},
		"an increment of a cluster elsewhere": {backup,
			`{clusterRef: {name: shop, namespace: prod}, storeRef: {name: offsite}, incremental: {}}`,
			"incremental is for a backup that is made"},
		"increments without a bound": {backup,
			`{clusterRef: {name: shop}, storeRef: {name: offsite}, incremental: {maxIncrements: 31}}`, "less than or equal to 30"},
		"increments": {sched,
			`{schedule: "@daily", template: {clusterRef: {name: shop}, storeRef: {name: offsite}, incremental: {}}}`, ""},
		"a schedule of imports": {sched,
			`{schedule: "@daily", template: {clusterRef: {name: shop}, storeRef: {name: offsite}, import: {directory: demo/shop/a54080f9, id: a}}}`,
			"a schedule makes backups: remove import"},
	} {
		t.Run(name, func(t *testing.T) {
			mustSay(t, kube.Create(context.Background(), backupKind(t, tc.kind, "valid", tc.spec), client.DryRunAll), tc.want)
		})
	}
	for name, tc := range map[string]struct{ kind, before, after, want string }{
		"another import": {backup,
			`{clusterRef: {name: a}, storeRef: {name: s}, import: {directory: demo/shop/a54080f9, id: a}}`,
			`{clusterRef: {name: a}, storeRef: {name: s}, import: {directory: demo/shop/a54080f9, id: b}}`,
			"import cannot be changed"},
		"an import later": {backup, `{clusterRef: {name: a}, storeRef: {name: s}}`,
			`{clusterRef: {name: a}, storeRef: {name: s}, import: {directory: demo/shop/a54080f9, id: b}}`,
			"import cannot be changed"},
		"an import that is to remove": {backup,
			`{clusterRef: {name: a}, storeRef: {name: s}, import: {directory: demo/shop/a54080f9, id: a}}`,
			`{clusterRef: {name: a}, storeRef: {name: s}, deletionPolicy: Delete, import: {directory: demo/shop/a54080f9, id: a}}`,
			"deletionPolicy: Retain until it is Completed"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			u := backupKind(t, tc.kind, "imported", tc.before)
			must(t, kube.Create(ctx, u))
			t.Cleanup(func() { _ = kube.Delete(ctx, u) })
			after := backupKind(t, tc.kind, "imported", tc.after)
			after.SetResourceVersion(u.GetResourceVersion())
			mustSay(t, kube.Update(ctx, after, client.DryRunAll), tc.want)
		})
	}
}

// TestImport: a Job reads the manifest, though there is no cluster, and the object goes without the data.
func TestImport(t *testing.T) {
	ctx := context.Background()
	const ns, dir, id = "imported-backup", "demo/shop/a54080f9", "20261124-002934-1aef9dcf"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	store := backupKind(t, "GaleraBackupStore", "offsite", `{s3: {bucket: bbb}, encryption: {recipients: [KEY]}}`)
	store.SetNamespace(ns)
	must(t, kube.Create(ctx, store))
	b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "one"}}
	b.Spec.ClusterRef.Name, b.Spec.StoreRef.Name = "shop", "offsite"
	b.Spec.Import = &v1alpha1.BackupImport{Directory: dir, ID: id}
	must(t, kube.Create(ctx, b))
	r := galerabackup.Reconciler{Client: kube, Live: kube, Jobs: job.Options{Image: "operator"},
		Events: events.NewFakeRecorder(9), Now: time.Now, Today: time.Now, Calls: admitsAll()}
	pass := func() []batchv1.Job {
		t.Helper()
		_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b)})
		must(t, err)
		var jobs batchv1.JobList
		must(t, kube.List(ctx, &jobs, client.InNamespace(ns)))
		return jobs.Items
	}
	for range 3 {
		if jobs := pass(); len(jobs) != 0 {
			t.Fatal("a Job gets the credentials of a store that was not checked")
		}
	}
	reachable := &v1alpha1.GaleraBackupStore{}
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(store), reachable))
	status.SetCondition(&reachable.Status.Conditions, reachable.Generation, v1alpha1.ConditionReachable, true,
		v1alpha1.ReasonReachable, "")
	must(t, kube.Status().Update(ctx, reachable))
	pass()
	jobs := pass()
	if len(jobs) != 1 {
		t.Fatalf("%d Jobs", len(jobs))
	}
	var sent task.Task
	must(t, json.Unmarshal([]byte(jobs[0].Spec.Template.Spec.Containers[0].Env[0].Value), &sent))
	if sent.Describe == nil || *sent.Describe != (task.Describe{Dir: dir, ID: id}) || sent.Remove != nil {
		t.Errorf("%+v", sent)
	}
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(b), b))
	b.Status.Phase, b.Status.ID, b.Status.Directory = v1alpha1.BackupCompleted, id, dir
	must(t, kube.Status().Update(ctx, b))
	must(t, kube.Delete(ctx, b))
	jobs = pass()
	if err := kube.Get(ctx, client.ObjectKeyFromObject(b), b); !apierrors.IsNotFound(err) || len(jobs) != 1 {
		t.Errorf("it waits for a removal: %v, %d Jobs", err, len(jobs))
	}
}

// TestImportRemoval: Delete can be set once an import is complete. A Job removes the data then, if they are still what
// was imported, and nothing else is about them.
func TestImportRemoval(t *testing.T) {
	ctx := context.Background()
	const ns, dir, id = "imported-removal", "imported-removal/shop/a54080f9", "20261124-002934-1aef9dcf"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	spec := backupKind(t, "GaleraBackupStore", "offsite", `{s3: {bucket: bbb}, encryption: {recipients: [KEY]}}`)
	spec.SetNamespace(ns)
	must(t, kube.Create(ctx, spec))
	store := &v1alpha1.GaleraBackupStore{}
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(spec), store))
	status.SetCondition(&store.Status.Conditions, store.Generation, v1alpha1.ConditionReachable, true,
		v1alpha1.ReasonReachable, "")
	must(t, kube.Status().Update(ctx, store))
	imported := func(name string) *v1alpha1.GaleraBackup {
		b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
		b.Spec.ClusterRef.Name, b.Spec.StoreRef.Name = "shop", "offsite"
		b.Spec.Import = &v1alpha1.BackupImport{Directory: dir, ID: id}
		must(t, kube.Create(ctx, b))
		return b
	}
	complete := func(b *v1alpha1.GaleraBackup, id string) {
		t.Helper()
		b.Status = v1alpha1.GaleraBackupStatus{Phase: v1alpha1.BackupCompleted, ID: id, Directory: dir, Checksum: "c1",
			Store: new(location.Of(store))}
		must(t, kube.Status().Update(ctx, b))
	}
	removes := func(b *v1alpha1.GaleraBackup) error {
		b.Spec.DeletionPolicy = v1alpha1.BackupDelete
		return kube.Update(ctx, b)
	}
	b, other := imported("one"), imported("two")
	mustSay(t, removes(b), "deletionPolicy: Retain until it is Completed")
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(b), b))
	complete(b, "another")
	mustSay(t, removes(b), "deletionPolicy: Retain until it is Completed")
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(b), b))
	complete(b, id)
	must(t, removes(b))
	r := galerabackup.Reconciler{Client: kube, Live: kube, Jobs: job.Options{Image: "operator"},
		Events: events.NewFakeRecorder(9), Now: time.Now, Today: time.Now, Calls: admitsAll()}
	pass := func() []batchv1.Job {
		t.Helper()
		_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b)})
		must(t, err)
		var jobs batchv1.JobList
		must(t, kube.List(ctx, &jobs, client.InNamespace(ns)))
		return jobs.Items
	}
	pass()
	must(t, kube.Delete(ctx, b))
	jobs := pass()
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(b), b))
	why := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled)
	if len(jobs) != 0 || why == nil || !strings.Contains(why.Message, ns+"/two is about it, too") {
		t.Fatalf("%d Jobs, %+v", len(jobs), why)
	}
	must(t, kube.Delete(ctx, other))
	if jobs = pass(); len(jobs) != 1 {
		t.Fatalf("%d Jobs", len(jobs))
	}
	var sent task.Task
	must(t, json.Unmarshal([]byte(jobs[0].Spec.Template.Spec.Containers[0].Env[0].Value), &sent))
	if sent.Remove == nil || !reflect.DeepEqual(*sent.Remove, task.Remove{Dir: dir, ID: id, Checksum: "c1"}) {
		t.Errorf("%+v", sent)
	}
}

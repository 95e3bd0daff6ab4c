package api

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/galeracluster/restoring"
	"github.com/galera-operator/galera-operator/controllers/galerarestore"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/status"
)

// TestRestoreAdmission: a restore of a table names one source, one thing, and a new name that is a user's own.
func TestRestoreAdmission(t *testing.T) {
	const from, table = `clusterRef: {name: shop}, from: {store: {name: offsite}, identitySecretRef: {name: key}}`,
		`table: {database: shop, name: orders, as: orders_before}`
	for name, tc := range map[string]struct{ spec, want string }{
		"a table":                {`{` + from + `, ` + table + `}`, ""},
		"into another database":  {`{` + from + `, table: {database: shop, name: orders, into: old, as: orders}}`, ""},
		"a database":             {`{` + from + `, database: {name: shop, as: shop_before}}`, ""},
		"both":                   {`{` + from + `, ` + table + `, database: {name: shop, as: x}}`, "exactly one of table and database"},
		"neither":                {`{` + from + `}`, "exactly one of table and database"},
		"the same table":         {`{` + from + `, table: {database: shop, name: orders, as: orders}}`, "never overwritten"},
		"the same database":      {`{` + from + `, database: {name: shop, as: shop}}`, "never overwritten"},
		"a system database":      {`{` + from + `, database: {name: mysql, as: x}}`, "the server's or the operator's own"},
		"into a system database": {`{` + from + `, table: {database: shop, name: t, into: MySQL, as: x}}`, "operator's own"},
		"the operator's own":     {`{` + from + `, table: {database: galera_operator_restore_1, name: t, as: x}}`, "operator's own"},
		"into every database":    {`{` + from + `, table: {database: shop, name: t, into: "*", as: x}}`, "operator's own"},
		"a space at the end":     {`{` + from + `, table: {database: shop, name: t, as: "x "}}`, "cannot end with a space"},
		"no new name":            {`{` + from + `, table: {database: shop, name: t}}`, "as: Required value"},
		"no source": {`{clusterRef: {name: shop}, from: {identitySecretRef: {name: key}}, ` + table + `}`,
			"exactly one of backup, store and external"},
		"no key": {`{clusterRef: {name: shop}, from: {backup: {name: b}}, ` + table + `}`, "identitySecretRef is required"},
		"two points": {`{clusterRef: {name: shop}, from: {backup: {name: b}, identitySecretRef: {name: key}, ` +
			`pointInTime: {gtid: 0-1-1, latest: true}}, ` + table + `}`, "exactly one of time, gtid and latest"},
	} {
		t.Run(name, func(t *testing.T) {
			mustSay(t, kube.Create(context.Background(), backupKind(t, "GaleraRestore", "valid", tc.spec), client.DryRunAll),
				tc.want)
		})
	}
	t.Run("another table later", func(t *testing.T) {
		u := backupKind(t, "GaleraRestore", "kept", `{`+from+`, `+table+`}`)
		must(t, kube.Create(context.Background(), u))
		t.Cleanup(func() { _ = kube.Delete(context.Background(), u) })
		after := backupKind(t, "GaleraRestore", "kept", `{`+from+`, table: {database: shop, name: other, as: x}}`)
		after.SetResourceVersion(u.GetResourceVersion())
		mustSay(t, kube.Update(context.Background(), after, client.DryRunAll), "a restore cannot be changed")
	})
}

// TestRestoreOfATable: no Job and no account before what they need is there, an account that can do little, and nothing
// left at the end.
func TestRestoreOfATable(t *testing.T) {
	ctx := context.Background()
	const ns = "table-restore"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	o := backupKind(t, "GaleraRestore", "lost", `{clusterRef: {name: shop}, from: {store: {name: offsite},
		identitySecretRef: {name: key}}, table: {database: shop, name: orders, into: old, as: orders_before}}`)
	o.SetNamespace(ns)
	must(t, kube.Create(ctx, o))
	r := galerarestore.Reconciler{Client: kube, Live: kube, Jobs: job.Options{Image: "operator"},
		Options: resources.Options{DefaultImage: "mariadb:11.8"}, Calls: &restoring.Progress{}, Agents: volumes{},
		Events: events.NewFakeRecorder(9), Now: time.Now}
	restore := &v1alpha1.GaleraRestore{}
	pass := func() (jobs batchv1.JobList, users v1alpha1.GaleraUserList, databases v1alpha1.GaleraDatabaseList) {
		t.Helper()
		for range 4 {
			_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(o)})
			must(t, err)
		}
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(o), restore))
		for _, l := range []client.ObjectList{&jobs, &users, &databases} {
			must(t, kube.List(ctx, l, client.InNamespace(ns)))
		}
		jobs.Items = slices.DeleteFunc(jobs.Items, func(j batchv1.Job) bool { return j.DeletionTimestamp != nil })
		return jobs, users, databases
	}
	waits := func(reason string) {
		t.Helper()
		jobs, users, _ := pass()
		if c := restore.Status.Conditions; len(jobs.Items)+len(users.Items) > 0 || len(c) == 0 || c[0].Reason != reason {
			t.Fatalf("%d Jobs, %d accounts, %+v", len(jobs.Items), len(users.Items), c)
		}
	}
	waits(v1alpha1.ReasonClusterNotFound)
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}}
	c.Spec.Storage.Size, c.Spec.Replicas = resource.MustParse("1Gi"), 3
	must(t, kube.Create(ctx, c))
	waits(v1alpha1.ReasonClusterNotReady)
	status.SetCondition(&c.Status.Conditions, c.Generation, v1alpha1.ConditionReady, true, "Ready", "")
	must(t, kube.Status().Update(ctx, c))
	waits(v1alpha1.ReasonStoreNotFound)
	store := backupKind(t, "GaleraBackupStore", "offsite", `{s3: {bucket: bbb}, encryption: {recipients: [KEY]}}`)
	store.SetNamespace(ns)
	must(t, kube.Create(ctx, store))
	reachable := &v1alpha1.GaleraBackupStore{}
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(store), reachable))
	status.SetCondition(&reachable.Status.Conditions, reachable.Generation, v1alpha1.ConditionReachable, true,
		v1alpha1.ReasonReachable, "")
	must(t, kube.Status().Update(ctx, reachable))
	key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "key",
		Labels: map[string]string{v1alpha1.LabelCluster: "shop"}}}
	must(t, kube.Create(ctx, key))
	waits(v1alpha1.ReasonWrongKey)
	key.Labels = nil
	must(t, kube.Update(ctx, key))

	jobs, users, _ := pass()
	if len(jobs.Items) != 1 || len(users.Items) != 0 || jobs.Items[0].Name != "lost-load-1" ||
		restore.Status.Phase != v1alpha1.RestoreFinding {
		t.Fatalf("%d Jobs, %d accounts, %+v", len(jobs.Items), len(users.Items), restore.Status)
	}
	restore.Status.Phase, restore.Status.ID, restore.Status.Attempts = v1alpha1.RestoreLoading, "b1", 2
	must(t, kube.Status().Update(ctx, restore))
	theirs := &v1alpha1.GaleraDatabase{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "lost-restore"},
		Spec: v1alpha1.GaleraDatabaseSpec{ClusterRef: v1alpha1.ClusterReference{Name: "shop"}}}
	must(t, kube.Create(ctx, theirs))
	pass()
	if c := restore.Status.Conditions; c[0].Reason != v1alpha1.ReasonAccessPreparing ||
		!strings.Contains(c[0].Message, "GaleraDatabase lost-restore belongs to another owner") ||
		!meta.IsStatusConditionTrue(c, v1alpha1.ConditionStalled) {
		t.Errorf("with another's database: %+v", c)
	}
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(theirs), theirs)) // neither taken over nor deleted
	must(t, kube.Delete(ctx, theirs))
	jobs, users, databases := pass()
	// the Job of the attempt before is gone
	if len(jobs.Items) != 0 || len(users.Items) != 1 || len(databases.Items) != 1 {
		t.Fatalf("%d Jobs, %d accounts, %d databases", len(jobs.Items), len(users.Items), len(databases.Items))
	}
	through := databases.Items[0].Spec.Name
	for _, g := range users.Items[0].Spec.Grants {
		if g.Database != through && (g.Database != "old" || !slices.Equal(g.Privileges, []string{"CREATE", "INSERT"})) {
			t.Errorf("the account may %v on %s", g.Privileges, g.Database)
		}
	}
	status.SetCondition(&users.Items[0].Status.Conditions, 1, v1alpha1.ConditionReady, true, "Applied", "")
	status.SetCondition(&databases.Items[0].Status.Conditions, 1, v1alpha1.ConditionReady, true, "Applied", "")
	must(t, kube.Status().Update(ctx, &users.Items[0]))
	must(t, kube.Status().Update(ctx, &databases.Items[0]))
	jobs, _, _ = pass()
	i := slices.IndexFunc(jobs.Items, func(j batchv1.Job) bool { return j.Name == "lost-load-2" })
	if i < 0 {
		t.Fatalf("%d Jobs, %+v", len(jobs.Items), restore.Status)
	}
	var sent task.Task
	must(t, json.Unmarshal([]byte(jobs.Items[i].Spec.Template.Spec.Containers[0].Env[0].Value), &sent))
	if l := sent.Load; l == nil || l.Database != "shop" || l.Table != "orders" || l.Into != "old" ||
		l.As != "orders_before" || l.Through != through || l.ID != "b1" || l.Attempt != 2 || l.VolumeBytes != 1<<30 {
		t.Errorf("%+v", sent.Load)
	}
	restore.Status.Phase = v1alpha1.RestoreCompleted
	must(t, kube.Status().Update(ctx, restore))
	jobs, users, databases = pass()
	if len(jobs.Items)+len(users.Items)+len(databases.Items) > 0 {
		t.Errorf("%d Jobs, %d accounts, %d databases are left", len(jobs.Items), len(users.Items), len(databases.Items))
	}
}

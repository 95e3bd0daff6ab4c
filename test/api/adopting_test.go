package api

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/galeracluster/restoring"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestBackupOfAServerIsAdmitted: what a backup of another server does not go with is refused with a reason.
func TestBackupOfAServerIsAdmitted(t *testing.T) {
	t.Parallel()
	const backup, server = "backup: {storeRef: {name: s}, path: old/full.xb}", "host: db, credentialsSecretRef: {name: c}"
	for name, tc := range map[string]struct{ external, says string }{
		"a backup":         {"method: Backup, " + backup, ""},
		"with accounts":    {"method: Backup, users: true, " + backup, ""},
		"that is followed": {"method: Backup, follow: true, insecure: true, " + server + ", " + backup, ""},
		"by TLS": {"method: Backup, follow: true, tls: {caSecretRef: {name: ca}}, " + server + ", " + backup,
			""},
		"a dump":               {"method: Dump, insecure: true, " + server, ""},
		"no backup":            {"method: Backup", "backup and method: Backup belong together"},
		"a backup of a dump":   {"insecure: true, " + server + ", " + backup, "backup and method: Backup belong together"},
		"another method":       {"method: Copy, " + server, "supported values: \"Dump\", \"Backup\""},
		"databases":            {"method: Backup, databases: [a], " + backup, "a physical backup has all databases"},
		"no accounts":          {"method: Backup, users: false, " + backup, "a physical backup has all accounts"},
		"a server for nothing": {"method: Backup, insecure: true, " + server + ", " + backup, "no server is connected to"},
		"a CA for nothing":     {"method: Backup, tls: {caSecretRef: {name: ca}}, " + backup, "no server is connected to"},
		"no server to follow":  {"method: Backup, follow: true, " + backup, "name the server to follow in host"},
		"no account to follow": {"method: Backup, follow: true, host: db, insecure: true, " + backup,
			"with an account of it"},
		"no TLS to follow":       {"method: Backup, follow: true, " + server + ", " + backup, "name the CA of the source's"},
		"no host of a dump":      {"credentialsSecretRef: {name: c}, insecure: true", "name the server to copy in host"},
		"no account of a dump":   {"host: db, insecure: true", "name the server to copy in host"},
		"a path from the root":   {"method: Backup, backup: {storeRef: {name: s}, path: /old}", "without a leading slash"},
		"a path to another part": {"method: Backup, backup: {storeRef: {name: s}, path: a/../b}", "without a leading slash"},
		"no path":                {"method: Backup, backup: {storeRef: {name: s}}", "path: Required value"},
	} {
		err := kube.Create(context.Background(), fromYAML(t, "adopting", "{storage: {size: 1Gi}, bootstrapFrom: {external: {"+
			tc.external+"}}}"), client.DryRunAll)
		if t.Log(name); tc.says == "" {
			must(t, err)
			continue
		}
		mustSay(t, err, tc.says)
	}
}

// TestBackupOfAServer: a backup of another server is looked for through its store, and the cluster has pods only when
// the first volume is filled with it. One that is refused stalls the cluster until its spec changes.
func TestBackupOfAServer(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := &moved{T: t, ns: "adopting"}
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}))
	startOperator(t, w.ns, newFakeAgents())
	w.restores = restoring.Reconciler{Client: kube, Live: kube, Late: time.Now,
		Jobs:    job.Options{Image: "operator"},
		Options: resources.Options{DefaultImage: "mariadb:11.8", OperatorImage: "operator"},
		Calls: &calls.Calls[string, string, task.Copied]{Do: calls.One(func(context.Context, string, string) (
			task.Copied, error) {
			return task.Copied{}, errors.New("no Job is asked how far it is")
		})},
		Now: func() time.Time { return time.Now().Add(w.later) }}
	w.cluster = &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "shop"}, Spec: spec()}
	w.cluster.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{
		Method: v1alpha1.MethodBackup,
		Backup: &v1alpha1.ExternalBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"}, Path: "old/full.xb"}}}
	must(t, kube.Create(ctx, w.cluster))

	w.stalled(v1alpha1.ReasonStoreNotFound, `There is no GaleraBackupStore "offsite"`)
	store := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "offsite"},
		Spec: v1alpha1.GaleraBackupStoreSpec{S3: &v1alpha1.S3Store{Bucket: "backups"},
			Encryption: v1alpha1.BackupEncryption{Recipients: []string{
				"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"}}}}
	must(t, kube.Create(ctx, store))
	meta.SetStatusCondition(&store.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReachable,
		Status: metav1.ConditionTrue, Reason: "Reachable", ObservedGeneration: store.Generation})
	must(t, kube.Status().Update(ctx, store))

	w.ends("shop-find-", task.Result{Error: "the store has no object", Reason: task.ReasonBackupNotFound})
	w.stalled(v1alpha1.ReasonBackupNotFound, "The store has no object")
	if claims, sets := w.have(); claims+sets > 0 {
		t.Errorf("%d claims and %d StatefulSets before there is a backup", claims, sets)
	}
	w.ends("shop-find-", task.Result{Source: &task.Source{Bytes: 4096}})
	w.ends("shop-0-restore-", task.Result{Error: "shop-0 was killed", Reason: task.ReasonToolFailed})
	w.ends("shop-0-restore-", task.Result{Error: "the backup is of MariaDB 10.11", Reason: task.ReasonVersionRefused,
		Fatal: true})
	w.stalled(v1alpha1.ReasonVersionRefused, "the backup is of MariaDB 10.11; the cluster is not started")
	if claims, sets := w.have(); claims != 1 || sets > 0 {
		t.Errorf("%d claims and %d StatefulSets while nothing is restored", claims, sets)
	}
	c := &v1alpha1.GaleraCluster{}
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(w.cluster), c))
	c.Spec.BootstrapFrom.External.Backup.Path = "old/later.xb"
	must(t, kube.Update(ctx, c))
	w.ends("shop-find-", task.Result{Source: &task.Source{Bytes: 4096}})
	w.atWork("shop-0-restore-")
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(w.cluster), c))
	history := c.Status.Restore.History
	w.ends("shop-0-restore-", task.Result{Restored: &task.Restored{ID: c.Status.Restore.ID, Position: history + ":1"},
		Source: &task.Source{Version: "11.8.3-MariaDB", Tables: 3, GTID: "0-1-7"}})
	w.eventually("a history and pods", func(c *v1alpha1.GaleraCluster) bool {
		_, sets := w.have()
		x := c.Status.Restore.External
		return c.Status.ClusterUUID == history && c.Status.Restore.Phase == v1alpha1.RestoreCompleted && sets == 1 &&
			x.Tables == 3 && x.GTID == "0-1-7" && !x.Plaintext
	})
	var backups v1alpha1.GaleraBackupList
	must(t, kube.List(ctx, &backups, client.InNamespace(w.ns)))
	if len(backups.Items) > 0 {
		t.Errorf("it counts as a backup of the cluster: %+v", backups.Items)
	}
}

package api

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/deployed"
	"github.com/galera-operator/galera-operator/controllers/galeracluster/restoring"
	"github.com/galera-operator/galera-operator/controllers/galeracluster/serving"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/status"
)

// replica is a cluster's replicaOf.
func replica() *v1alpha1.ReplicaOf {
	return &v1alpha1.ReplicaOf{StoreRef: v1alpha1.LocalName{Name: "offsite"},
		Cluster:           v1alpha1.ReplicatedCluster{Namespace: "prod", Name: "shop", UID: "b65191a0"},
		IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"}}
}

// TestReplicaOfIsAdmitted: what does not go with an archive that is followed is refused with a reason. What is followed
// cannot be changed, and stays in the spec until the cluster is independent of it.
func TestReplicaOfIsAdmitted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const of = "replicaOf: {storeRef: {name: s}, cluster: {name: shop}, identitySecretRef: {name: k}}"
	const streamed = "replicaOf: {storeRef: {name: s}, cluster: {name: shop}, identitySecretRef: {name: k}, endpoints: " +
		"['db.test:3306', '[fd00::1]:3306'], credentialsSecretRef: {name: a}, tls: {caSecretRef: {name: c}}}"
	for name, tc := range map[string]struct{ with, says string }{
		"an archive":    {"storage: {size: 1Gi}, " + of, ""},
		"nothing of it": {"storage: {size: 1Gi}, replicaOf: {storeRef: {name: s}, cluster: {}}", "identitySecretRef"},
		"a backup, too": {"storage: {size: 1Gi}, " + of +
			", bootstrapFrom: {backup: {name: b}, identitySecretRef: {name: k}}", "remove bootstrapFrom"},
		"a stream": {"storage: {size: 1Gi}, " + streamed, ""},
		"a limit":  {"storage: {size: 1Gi}, readOnlyService: {maxLag: 5s}, " + streamed, ""},
		"a limit that cannot be seen": {"storage: {size: 1Gi}, readOnlyService: {maxLag: 4s}, " + streamed,
			"maxLag is 5s to 24h"},
		"a limit of days":  {"storage: {size: 1Gi}, readOnlyService: {maxLag: 25h}, " + of, "maxLag is 5s to 24h"},
		"a limit in words": {"storage: {size: 1Gi}, readOnlyService: {maxLag: soon}, " + of, "maxLag"},
		"a policy of a Service without a limit": {"storage: {size: 1Gi}, readOnlyService: {externalTrafficPolicy: Local}, " +
			of, "externalTrafficPolicy needs type"},
		"a stream without an account": {"storage: {size: 1Gi}, " + strings.Replace(streamed,
			"credentialsSecretRef: {name: a}, ", "", 1), "set all three, or none"},
		"a stream without a CA": {"storage: {size: 1Gi}, " + strings.Replace(streamed,
			", tls: {caSecretRef: {name: c}}", "", 1), "set all three, or none"},
		"an account for nothing": {"storage: {size: 1Gi}, " + strings.Replace(streamed,
			"endpoints: ['db.test:3306', '[fd00::1]:3306'], ", "", 1), "set all three, or none"},
		"an endpoint without a port": {"storage: {size: 1Gi}, " + strings.Replace(streamed, "db.test:3306", "db.test", 1),
			"endpoints"},
		"an archive of its own": {"storage: {size: 1Gi}, " + of + ", backup: {storeRef: {name: s}, pointInTime: {enabled: " +
			"true}}", "set pointInTime with spec.cutover"},
		"an archive of its own, cut over": {"storage: {size: 1Gi}, " + of + ", cutover: {gtid: 0-1-7}, backup: {storeRef: " +
			"{name: s}, pointInTime: {enabled: true}}", ""},
		"an archive of its own, without the source": {"storage: {size: 1Gi}, cutover: {gtid: 0-1-7}, backup: {storeRef: " +
			"{name: s}, pointInTime: {enabled: true}}", ""},
	} {
		err := kube.Create(ctx, fromYAML(t, "replica", "{"+tc.with+"}"), client.DryRunAll)
		t.Log(name)
		if tc.says == "" {
			must(t, err)
			continue
		}
		mustSay(t, err, tc.says)
	}
	const ns = "replica-admission"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}, Spec: spec()}
	c.Spec.ReplicaOf = replica()
	must(t, kube.Create(ctx, c))
	update := func(edit func(*v1alpha1.GaleraCluster)) error {
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
		edit(c)
		return kube.Update(ctx, c)
	}
	other := func(c *v1alpha1.GaleraCluster) { c.Spec.ReplicaOf.Cluster.Name = "crm" }
	none := func(c *v1alpha1.GaleraCluster) { c.Spec.ReplicaOf = nil }
	must(t, update(other))
	mustSay(t, update(none), "run kubectl galera cutover")
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
	c.Status.Restore = &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreRestoring}
	must(t, kube.Status().Update(ctx, c))
	mustSay(t, update(func(c *v1alpha1.GaleraCluster) { c.Spec.ReplicaOf.Cluster.Name = "shop" }), "create a new cluster")
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
	must(t, update(func(c *v1alpha1.GaleraCluster) { // that can be changed at any time
		c.Spec.ReplicaOf.Endpoints = []string{"db.test:3306"}
		c.Spec.ReplicaOf.CredentialsSecretRef = &v1alpha1.LocalName{Name: "a"}
		c.Spec.ReplicaOf.TLS = &v1alpha1.EndpointTLS{CASecretRef: v1alpha1.LocalName{Name: "c"}}
	}))
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
	c.Status.ClusterUUID = "6f1a1d7e-9d5e-5a39-8ab2-11f2a6b0d1c2"
	c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleIndependent}
	must(t, kube.Status().Update(ctx, c))
	must(t, update(none))
	mustSay(t, update(func(c *v1alpha1.GaleraCluster) { c.Spec.ReplicaOf = replica() }), "create a new cluster")
	cut := func(c *v1alpha1.GaleraCluster) { c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-7"} }
	mustSay(t, update(cut), "follows nothing that it could be cut over from")
}

// TestCutoverNamesItsCluster: who has a cluster take over from an archive names that very cluster. A manifest that is
// applied to a new cluster is admitted, and nothing comes of it.
func TestCutoverNamesItsCluster(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const ns = "cutover-uid"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}, Spec: spec()}
	c.Spec.ReplicaOf = replica()
	must(t, kube.Create(ctx, c))
	cut := func(uid string) error {
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
		c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-7", UID: uid}
		return kube.Update(ctx, c)
	}
	mustSay(t, cut(""), "set spec.cutover.uid to the metadata.uid of this cluster")
	must(t, cut(string(c.UID)))
	again := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "again"}, Spec: spec()}
	again.Spec.ReplicaOf, again.Spec.Cutover = replica(), &v1alpha1.CutoverSpec{GTID: "0-1-7"}
	must(t, kube.Create(ctx, again))
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(again), again))
	again.Spec.Cutover.UID = string(again.UID)
	must(t, kube.Update(ctx, again))
}

// TestWithoutRecord: a person may go on without a record at any time, which cannot be taken back.
func TestWithoutRecord(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const ns = "without-record"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}, Spec: spec()}
	c.Spec.ReplicaOf, c.Spec.Cutover = replica(), &v1alpha1.CutoverSpec{GTID: "0-1-9"}
	must(t, kube.Create(ctx, c))
	set := func(without bool) error {
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
		c.Spec.Cutover.WithoutRecord = without
		return kube.Update(ctx, c)
	}
	must(t, set(true))
	mustSay(t, set(false), "withoutRecord cannot be taken back")
}

// TestOverruling: a person names the very promotion that does not count. A cluster that is applied anew may name one.
func TestOverruling(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const ns = "overruling"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}, Spec: spec()}
	must(t, kube.Create(ctx, c))
	overrule := func(id string) error {
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
		c.Spec.OverrulesPromotion = id
		return kube.Update(ctx, c)
	}
	const wrong = "can only be set to status.superseded.id"
	mustSay(t, overrule("1-bbbbbbbb"), wrong)
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
	c.Status.Superseded = &v1alpha1.SupersededStatus{ID: "1-bbbbbbbb", Namespace: "site", Name: "standby",
		UID: "bbbbbbbb-1", GTID: "0-1-7"}
	must(t, kube.Status().Update(ctx, c))
	mustSay(t, overrule("1-cccccccc"), wrong)
	must(t, overrule("1-bbbbbbbb"))
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
	c.Status.Superseded = nil
	must(t, kube.Status().Update(ctx, c))
	c.Spec.Replicas = 1
	must(t, kube.Update(ctx, c))
	must(t, overrule(""))
	again := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "again"}, Spec: spec()}
	again.Spec.OverrulesPromotion = "1-bbbbbbbb"
	must(t, kube.Create(ctx, again))
}

// TestNeitherStoreNorSuccessor: the commands of docs/sites.md are admitted, by which a cluster goes on whose store, and
// the cluster that has taken over from it, are lost; and so is a new store afterwards, and not before.
func TestNeitherStoreNorSuccessor(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const ns = "neither"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}, Spec: spec()}
	c.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"},
		PointInTime: &v1alpha1.PointInTime{Enabled: true, WriteLease: true}}
	must(t, kube.Create(ctx, c))
	c.Status.Superseded = &v1alpha1.SupersededStatus{ID: "1-bbbbbbbb", Namespace: "site", Name: "standby",
		UID: "bbbbbbbb-1", GTID: "0-1-7"}
	c.Status.WriteLease = v1alpha1.WriteLeaseEnded
	must(t, kube.Status().Update(ctx, c))
	merge := func(text string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(text)) }
	another := merge(`{"spec":{"backup":{"storeRef":{"name":"another"}}}}`)
	must(t, kube.Patch(ctx, c, merge(`{"spec":{"overrulesPromotion":"1-bbbbbbbb"}}`)))
	must(t, kube.Patch(ctx, c, merge(`{"spec":{"backup":{"pointInTime":{"writeLease":false}}}}`)))
	if kube.Patch(ctx, c.DeepCopy(), another) == nil {
		t.Error("the store is changed while nodes may need the lease")
	}
	must(t, kube.Status().Patch(ctx, c, merge(`{"status":{"writeLease":null}}`)))
	must(t, kube.Patch(ctx, c, another))
	if c.Superseded() || c.NeedsWriteLease() || c.Spec.Backup.StoreRef.Name != "another" {
		t.Errorf("%+v, %+v", c.Spec.Backup, c.Status)
	}
}

// TestReplicaOf: a cluster that follows an archive begins with the newest backup and all of the archive, names its
// position on each volume, is offered the archive, and has nodes that refuse writes from their first start.
func TestReplicaOf(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := &moved{T: t, ns: "replica"}
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}))
	startOperator(t, w.ns, newFakeAgents())
	jobs := job.Options{Image: "operator"}
	w.restores = restoring.Reconciler{Client: kube, Live: kube, Late: time.Now,
		Jobs:    jobs,
		Options: resources.Options{DefaultImage: "mariadb:11.8", OperatorImage: "operator"},
		Calls:   &calls.Calls[string, string, task.Copied]{},
		Now:     func() time.Time { return time.Now().Add(w.later) }}
	w.cluster = &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "shop"}, Spec: spec()}
	w.cluster.Spec.Replicas, w.cluster.Spec.ReplicaOf = 1, replica()
	must(t, kube.Create(ctx, w.cluster))

	w.stalled(v1alpha1.ReasonStoreNotFound, "spec.replicaOf")
	store := backupKind(t, "GaleraBackupStore", "offsite", `{s3: {bucket: bbb}, encryption: {recipients: [KEY]}}`)
	store.SetNamespace(w.ns)
	must(t, kube.Create(ctx, store))
	reachable := &v1alpha1.GaleraBackupStore{}
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(store), reachable))
	status.SetCondition(&reachable.Status.Conditions, reachable.Generation, v1alpha1.ConditionReachable, true,
		v1alpha1.ReasonReachable, "")
	must(t, kube.Status().Update(ctx, reachable))
	w.stalled(v1alpha1.ReasonWrongKey, "spec.replicaOf.identitySecretRef")
	must(t, kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "identity"}}))

	const dir = "prod/shop/b65191a0"
	w.ends("shop-find-", task.Result{Backup: &task.Stored{ID: "b1", Dir: dir, Position: "u:5"},
		Replay: &task.Replay{Target: binlog.Target{Latest: true}, From: 8, To: 9, Chain: 7}})
	asked := func(prefix string) (text string) {
		t.Helper()
		w.eventually(prefix, func(*v1alpha1.GaleraCluster) bool {
			var all batchv1.JobList
			must(t, kube.List(ctx, &all, client.InNamespace(w.ns)))
			for _, j := range all.Items {
				for _, e := range j.Spec.Template.Spec.Containers[0].Env {
					if strings.HasPrefix(j.Name, prefix) && e.Name == task.EnvTask {
						text = e.Value
					}
				}
			}
			return text != ""
		})
		return text
	}
	if text := asked("shop-0-restore-"); !strings.Contains(text, `"follow":true`) || !strings.Contains(text,
		`"chain":7`) || !strings.Contains(text, `"latest":true`) {
		t.Error(text)
	}
	offers := serving.Reconciler{Client: kube, Live: kube, Objects: &apply.Objects{Client: kube, Live: kube}, Jobs: jobs,
		Now: time.Now, Calls: &calls.Calls[string, deployed.Question, task.Served]{}}
	key := client.ObjectKey{Namespace: w.ns, Name: "shop-source"}
	w.eventually("the archive is offered", func(*v1alpha1.GaleraCluster) bool {
		_, err := offers.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.cluster)})
		return err == nil && kube.Get(ctx, key, &appsv1.Deployment{}) == nil
	})
	secret := &corev1.Secret{}
	for _, o := range []client.Object{&corev1.Service{}, &networkingv1.NetworkPolicy{}, secret} {
		must(t, kube.Get(ctx, key, o))
	}
	if _, sets := w.have(); sets > 0 {
		t.Error("there are pods while volumes are filled")
	}
	c := &v1alpha1.GaleraCluster{}
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(w.cluster), c))
	w.ends("shop-0-restore-", task.Result{Restored: &task.Restored{ID: "b1", Position: c.Status.Restore.History + ":1",
		Source: "u:9", GTID: "0-1-9"}})
	set := &appsv1.StatefulSet{}
	w.eventually("pods", func(c *v1alpha1.GaleraCluster) bool {
		return kube.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "shop"}, set) == nil && c.Status.Replication != nil
	})
	mounts := 0
	for _, v := range set.Spec.Template.Spec.Volumes {
		if v.Secret != nil && v.Secret.SecretName == "shop-source" {
			mounts++
			for _, item := range v.Secret.Items {
				if item.Key == corev1.TLSPrivateKeyKey {
					t.Error("database pods mount the source's private key")
				}
			}
		}
	}
	config := &corev1.ConfigMap{}
	must(t, kube.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "shop-config"}, config))
	if text := config.Data[agentapi.ConfigKey]; mounts != 2 || !strings.Contains(text, `"shop-source.replica.svc"`) {
		t.Errorf("%d mounts, %s", mounts, text)
	}
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(w.cluster), c))
	if r := c.Status.Replication; r.Role != v1alpha1.RoleFollower || r.Store != "offsite" ||
		c.Status.Restore.Replay.Chain != 7 {
		t.Errorf("%+v, %+v", r, c.Status.Restore.Replay)
	}
	w.losesStatus(config)
}

// losesStatus has the cluster take over, and lose its status then: its nodes go on accepting writes.
func (w *moved) losesStatus(config *corev1.ConfigMap) {
	w.Helper()
	ctx, c := context.Background(), &v1alpha1.GaleraCluster{}
	key := client.ObjectKeyFromObject(w.cluster)
	change := func(edit func(), write func() error) {
		w.Helper()
		w.eventually("it is written", func(*v1alpha1.GaleraCluster) bool {
			must(w.T, kube.Get(ctx, key, c))
			edit()
			return write() == nil
		})
	}
	follow := func() string {
		w.Helper()
		must(w.T, kube.Get(ctx, client.ObjectKeyFromObject(config), config))
		return config.Data[agentapi.ConfigKey]
	}
	change(func() { c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: string(c.UID)} },
		func() error { return kube.Update(ctx, c) })
	w.eventually("it is held", func(*v1alpha1.GaleraCluster) bool {
		return strings.Contains(follow(), `"hold":"0-1-9"`)
	})
	change(func() { c.Status.Replication.Promotion = &v1alpha1.PromotionRecord{ID: "1-a", GTID: "0-1-9"} },
		func() error { return kube.Status().Update(ctx, c) })
	w.eventually("it accepts writes", func(c *v1alpha1.GaleraCluster) bool {
		return c.Status.Replication.AcceptsAfter == "0-1-9" && strings.Contains(follow(), `"until":"0-1-9"`)
	})
	change(func() { c.Status = v1alpha1.GaleraClusterStatus{} }, func() error { return kube.Status().Update(ctx, c) })
	w.eventually("it is known again", func(c *v1alpha1.GaleraCluster) bool {
		if text := follow(); !strings.Contains(text, `"until":"0-1-9"`) {
			w.Fatalf("nodes refuse writes since the status is lost: %s", text)
		}
		return c.Status.Replication != nil && c.Status.Replication.AcceptsAfter == "0-1-9"
	})
}

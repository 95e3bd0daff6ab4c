package api

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/galeracluster/restoring"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/status"
)

// TestRejoinIsAdmitted: a running cluster is to follow another one only if that has taken over by a planned change of
// sites, and lacks nothing. That can be taken back, or corrected, until it is emptied; and nothing else is decided of
// it meanwhile.
func TestRejoinIsAdmitted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const ns, uid = "rejoin-admission", "bbbbbbbb-1111-2222-3333-444455556666"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}, Spec: spec()}
	c.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"},
		PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	must(t, kube.Create(ctx, c))
	try := func(edit func(), opts ...client.UpdateOption) error {
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
		edit()
		return kube.Update(ctx, c, opts...)
	}
	refuses := func(want string, edit func()) {
		t.Helper()
		mustSay(t, try(edit, client.DryRunAll), want)
	}
	change := func(edit func()) { t.Helper(); must(t, try(edit)) }
	state := func(edit func(*v1alpha1.GaleraClusterStatus)) {
		t.Helper()
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
		c.Status.ClusterUUID = "6f1a1d7e-9d5e-5a39-8ab2-11f2a6b0d1c2"
		c.Status.Superseded = &v1alpha1.SupersededStatus{ID: "4-bbbbbbbb", Namespace: "site", Name: "standby", UID: uid,
			GTID: "0-1-7", Surplus: new(int64(0)), CountedBy: v1alpha1.CountedByContent}
		c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Number: 1, Phase: v1alpha1.SwitchTaken}
		c.Status.Reseed, c.Status.Replication, c.Status.Identity = nil, nil, string(c.UID)
		edit(&c.Status)
		must(t, kube.Status().Update(ctx, c))
	}
	asIs := func(*v1alpha1.GaleraClusterStatus) {}
	follow := func() {
		c.Spec.ReplicaOf = replica()
		c.Spec.ReplicaOf.Replaces, c.Spec.ReplicaOf.Cluster.UID = "4-bbbbbbbb", uid
	}
	none := func() { c.Spec.ReplicaOf = nil }
	elsewhere := func() { c.Spec.ReplicaOf.StoreRef.Name = "elsewhere" }
	const refused, follows, kept = "set replaces to status.superseded.id", "run kubectl galera cutover",
		"cannot be taken back"
	for name, edit := range map[string]func(*v1alpha1.GaleraClusterStatus){
		"nothing has":           func(s *v1alpha1.GaleraClusterStatus) { s.Superseded = nil },
		"another record":        func(s *v1alpha1.GaleraClusterStatus) { s.Superseded.ID = "5-bbbbbbbb" },
		"another cluster":       func(s *v1alpha1.GaleraClusterStatus) { s.Superseded.UID = "cccccccc" },
		"it lacks one":          func(s *v1alpha1.GaleraClusterStatus) { s.Superseded.Surplus = new(int64(1)) },
		"what it lacks":         func(s *v1alpha1.GaleraClusterStatus) { s.Superseded.Surplus = nil },
		"it was not planned":    func(s *v1alpha1.GaleraClusterStatus) { s.SwitchSite = nil },
		"that was taken back":   func(s *v1alpha1.GaleraClusterStatus) { s.SwitchSite.Phase = v1alpha1.SwitchTakenBack },
		"it is emptied, anyhow": func(s *v1alpha1.GaleraClusterStatus) { s.Reseed = rejoiningIn(v1alpha1.ReseedEmptying) },
		"it is copied, anyhow":  func(s *v1alpha1.GaleraClusterStatus) { s.Reseed = rejoiningIn(v1alpha1.ReseedCopying) },
	} {
		t.Log(name)
		state(edit)
		refuses(refused, follow)
	}
	state(func(s *v1alpha1.GaleraClusterStatus) { s.Superseded.ID = "3-cccccccc" })
	change(func() { c.Spec.OverrulesPromotion = "3-cccccccc" })
	state(asIs)
	for name, edit := range map[string]func(){
		"which record": func() { c.Spec.ReplicaOf.Replaces = "" },
		"which one":    func() { c.Spec.ReplicaOf.Cluster.UID = "" },
		"it is to have another one take over": func() {
			c.Spec.SwitchSite = &v1alpha1.SwitchSiteSpec{UID: "aaaaaaaa-1", To: v1alpha1.SiteCluster{Namespace: "site",
				Name: "standby", UID: uid}}
		},
	} {
		t.Log(name)
		refuses(refused, func() { follow(); edit() })
	}
	refuses("remove one of both", func() { follow(); c.Spec.OverrulesPromotion = "4-bbbbbbbb" })
	change(follow)
	change(elsewhere)
	change(none)
	change(follow)
	state(func(s *v1alpha1.GaleraClusterStatus) { // another cluster has taken over since
		s.Superseded.ID, s.Reseed = "5-cccccccc", rejoiningIn(v1alpha1.ReseedChecking)
	})
	must(t, try(none, client.DryRunAll))
	refuses(refused, elsewhere)
	for _, phase := range []string{v1alpha1.ReseedEmptying, v1alpha1.ReseedCopying} {
		state(func(s *v1alpha1.GaleraClusterStatus) { s.Reseed = rejoiningIn(phase) })
		refuses(follows, none)
		refuses(refused, elsewhere)
	}
	state(func(s *v1alpha1.GaleraClusterStatus) {
		s.Superseded.ID, s.Replication = "9-bbbbbbbb", &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower}
	})
	refuses(follows, none)
	follower := func(s *v1alpha1.GaleraClusterStatus) {
		s.Superseded, s.Replication = nil, &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower}
	}
	state(follower)
	refuses(follows, none)
	change(func() {
		c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: c.Status.Identity, WithoutRecord: true,
			Token: &v1alpha1.SwitchToken{Number: 4, GTID: "0-1-9", Segment: 7, Checksum: "checksum-7", From: uid, To: uid}}
	})
	state(func(s *v1alpha1.GaleraClusterStatus) { // the other one has taken over again, somehow, while it follows
		follower(s)
		s.Superseded = &v1alpha1.SupersededStatus{ID: "9-bbbbbbbb", Namespace: "site", Name: "standby", UID: uid}
	})
	refuses("withoutRecord cannot be taken back", func() { c.Spec.Cutover = nil })
	independent := func(s *v1alpha1.GaleraClusterStatus) {
		s.Superseded.ID, s.Replication = "9-bbbbbbbb", &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleIndependent}
	}
	state(func(s *v1alpha1.GaleraClusterStatus) { independent(s); s.Superseded = nil })
	refuses(kept, func() { c.Spec.Cutover = nil })
	state(independent)
	refuses(kept, func() { c.Spec.Cutover = nil })
	refuses(refused, func() { c.Spec.ReplicaOf.Replaces = "9-bbbbbbbb" })
	change(func() { c.Spec.Cutover, c.Spec.ReplicaOf.Replaces = nil, "9-bbbbbbbb" })
}

// TestCutoverOfBeforeARejoin: an older manifest that puts spec.cutover back while the cluster is emptied to follow the
// one that has taken over, or later, is refused: nodes would accept writes while those of the other cluster do.
func TestCutoverOfBeforeARejoin(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const ns, uid = "rejoin-cutover", "bbbbbbbb-1111-2222-3333-444455556666"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}, Spec: spec()}
	must(t, kube.Create(ctx, c))
	by := &v1alpha1.SupersededStatus{ID: "4-bbbbbbbb", Namespace: "site", Name: "standby", UID: uid, GTID: "0-1-7",
		Surplus: new(int64(0)), CountedBy: v1alpha1.CountedByContent}
	state := func(edit func(*v1alpha1.GaleraClusterStatus)) {
		t.Helper()
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
		c.Status = v1alpha1.GaleraClusterStatus{Identity: "ffffffff-5", ClusterUUID: "6f1a1d7e-9d5e-5a39-8ab2-11f2a6b0d1c2",
			SwitchSite: &v1alpha1.SwitchSiteStatus{Number: 1, Phase: v1alpha1.SwitchTaken}}
		edit(&c.Status)
		must(t, kube.Status().Update(ctx, c))
	}
	old := func(identity string, edits ...func()) error {
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
		if c.Spec.Cutover = (&v1alpha1.CutoverSpec{GTID: "0-1-9", UID: identity, WithoutRecord: true}); identity == "" {
			c.Spec.Cutover.UID = string(c.UID)
		}
		for _, edit := range edits {
			edit()
		}
		return kube.Update(ctx, c, client.DryRunAll)
	}
	const refused = "a cutover of the time before does not count"
	state(func(s *v1alpha1.GaleraClusterStatus) { s.Superseded = by })
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
	c.Spec.ReplicaOf = replica()
	c.Spec.ReplicaOf.Replaces, c.Spec.ReplicaOf.Cluster.UID = by.ID, uid
	must(t, kube.Update(ctx, c))
	superseded := func(s *v1alpha1.GaleraClusterStatus) { s.Superseded = by }
	nothing := func(*v1alpha1.GaleraClusterStatus) {}
	for name, tc := range map[string]struct {
		phase string
		edit  func(*v1alpha1.GaleraClusterStatus)
		own   bool
	}{
		"it has not begun":     {"", superseded, false},
		"it is checked":        {v1alpha1.ReseedChecking, superseded, false},
		"that one has left":    {v1alpha1.ReseedChecking, nothing, false},
		"it is emptied":        {v1alpha1.ReseedEmptying, nothing, false},
		"it is filled":         {v1alpha1.ReseedCopying, nothing, true},
		"it follows":           {v1alpha1.ReseedCompleted, nothing, true},
		"the status is lost":   {"", func(s *v1alpha1.GaleraClusterStatus) { *s = v1alpha1.GaleraClusterStatus{} }, false},
		"its identity is back": {"", nothing, true},
	} {
		t.Log(name)
		state(func(s *v1alpha1.GaleraClusterStatus) {
			if tc.phase != "" {
				s.Reseed = &v1alpha1.ReseedStatus{Request: by.ID, Phase: tc.phase}
			}
			tc.edit(s)
		})
		mustSay(t, old(""), refused)
		if tc.own {
			must(t, old("ffffffff-5"))
		} else {
			mustSay(t, old("ffffffff-5"), refused)
		}
	}
	without := func() { c.Spec.ReplicaOf.Replaces = "" }
	state(func(s *v1alpha1.GaleraClusterStatus) { // it may come to follow another one
		s.ClusterUUID, s.Restore = "", &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreFinding}
		s.Reseed = &v1alpha1.ReseedStatus{Request: by.ID, Phase: v1alpha1.ReseedCopying}
	})
	mustSay(t, old("", without), refused)
	must(t, old("ffffffff-5", without))
	state(func(s *v1alpha1.GaleraClusterStatus) { // a copy of a server, for the annotation
		s.ClusterUUID, s.Restore = "", &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreFinding}
		s.Reseed = &v1alpha1.ReseedStatus{Request: "always@1764345600", Phase: v1alpha1.ReseedCopying}
	})
	must(t, old("", without))
}

func rejoiningIn(phase string) *v1alpha1.ReseedStatus {
	return &v1alpha1.ReseedStatus{Request: "4-bbbbbbbb", Phase: phase}
}

// TestRejoin: a cluster that another one has taken over from keeps its nodes until a backup of that one is found. Then
// they go with their volumes, and new ones are filled, of nodes that follow.
func TestRejoin(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const uid = "bbbbbbbb-1111-2222-3333-444455556666"
	w := &moved{T: t, ns: "rejoin"}
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}))
	startOperator(t, w.ns, newFakeAgents())
	w.restores = restoring.Reconciler{Client: kube, Live: kube, Late: time.Now,
		Jobs:    job.Options{Image: "operator"},
		Options: resources.Options{DefaultImage: "mariadb:11.8", OperatorImage: "operator"},
		Calls:   &calls.Calls[string, string, task.Copied]{},
		Now:     func() time.Time { return time.Now().Add(w.later) }}
	store := reachableStore(t, w.ns)
	must(t, kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "identity"}}))
	w.cluster = &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "shop"}, Spec: spec()}
	w.cluster.Spec.Replicas = 1
	w.cluster.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"},
		PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	must(t, kube.Create(ctx, w.cluster))
	w.eventually("pods", func(*v1alpha1.GaleraCluster) bool { _, sets := w.have(); return sets == 1 })
	must(t, kube.Create(ctx, resources.Claim(w.cluster, 0)))
	w.change(func(c *v1alpha1.GaleraCluster) error {
		c.Status.ClusterUUID = "6f1a1d7e-9d5e-5a39-8ab2-11f2a6b0d1c2"
		c.Status.Superseded = &v1alpha1.SupersededStatus{ID: "4-bbbbbbbb", Namespace: "site", Name: "standby", UID: uid,
			GTID: "0-1-7", Surplus: new(int64(0)), CountedBy: v1alpha1.CountedByContent}
		c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Number: 1, Phase: v1alpha1.SwitchTaken, Ends: "0-1-7",
			Location: new(location.Of(store)), Token: &v1alpha1.SwitchToken{Number: 4, GTID: "0-1-7", Segment: 7,
				Checksum: "checksum-7", From: string(c.UID), To: uid}}
		return kube.Status().Update(ctx, c)
	})
	w.change(func(c *v1alpha1.GaleraCluster) error {
		c.Spec.ReplicaOf = replica()
		c.Spec.ReplicaOf.Replaces = "4-bbbbbbbb"
		c.Spec.ReplicaOf.Cluster = v1alpha1.ReplicatedCluster{Namespace: "site", Name: "standby", UID: uid}
		return kube.Update(ctx, c)
	})
	w.change(func(c *v1alpha1.GaleraCluster) error {
		c.Status.SwitchSite.EndsGeneration = c.Generation
		return kube.Status().Update(ctx, c)
	})
	identity := w.get().Status.Identity
	w.ends("shop-reseed-", task.Result{Error: "there is no backup yet"})
	w.eventually("it is reported", func(c *v1alpha1.GaleraCluster) bool {
		return c.Status.Reseed.Phase == v1alpha1.ReseedChecking && strings.Contains(c.Status.Reseed.Message, "no backup yet")
	})
	found := task.Result{Backup: &task.Stored{ID: "b1", Dir: "site/standby/bbbbbbbb", Position: "u:5"},
		Replay: &task.Replay{Target: binlog.Target{Latest: true}, From: 8, To: 9, Chain: 7}}
	w.ends("shop-reseed-", found)
	set := &appsv1.StatefulSet{}
	w.eventually("the claim is to go", func(c *v1alpha1.GaleraCluster) bool {
		must(t, kube.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "shop"}, set))
		return set.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted ==
			appsv1.DeletePersistentVolumeClaimRetentionPolicyType && c.Status.Superseded != nil
	})
	w.own(set, 0)
	w.eventually("no StatefulSet", func(*v1alpha1.GaleraCluster) bool { _, sets := w.have(); return sets == 0 })
	w.collect(0)
	w.ends("shop-find-", found)
	w.eventually("it is filled", func(c *v1alpha1.GaleraCluster) bool {
		return c.Status.Restore != nil && c.Status.Restore.History != ""
	})
	w.ends("shop-0-restore-", task.Result{Restored: &task.Restored{ID: "b1", Source: "u:9", GTID: "900-900-9",
		Position: w.get().Status.Restore.History + ":1"}})
	w.phase(v1alpha1.ReseedCompleted)
	w.eventually("it follows", func(c *v1alpha1.GaleraCluster) bool {
		_, sets := w.have()
		return sets == 1 && c.Status.Replication != nil && c.Status.Replication.Role == v1alpha1.RoleFollower
	})
	c, config := w.get(), &corev1.ConfigMap{}
	must(t, kube.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "shop-config"}, config))
	if text := config.Data[agentapi.ConfigKey]; !strings.Contains(text, `"shop-source.rejoin.svc"`) ||
		strings.Contains(text, `"refuse":true`) || !strings.Contains(text, c.Status.Identity) {
		t.Error(text)
	}
	if c.Status.Superseded != nil || c.Status.Identity == identity || c.Status.Restore.Directory !=
		"site/standby/bbbbbbbb" {
		t.Errorf("%+v", c.Status)
	}
}

// change edits the cluster until that is stored.
func (w *moved) change(edit func(*v1alpha1.GaleraCluster) error) {
	w.Helper()
	w.eventually("it is written", func(c *v1alpha1.GaleraCluster) bool {
		err := edit(c)
		if !apierrors.IsConflict(err) {
			must(w.T, err)
		}
		return err == nil
	})
}

// reachableStore is one that was checked.
func reachableStore(t *testing.T, ns string) *v1alpha1.GaleraBackupStore {
	t.Helper()
	o := backupKind(t, "GaleraBackupStore", "offsite", `{s3: {bucket: bbb}, encryption: {recipients: [KEY]}}`)
	o.SetNamespace(ns)
	must(t, kube.Create(context.Background(), o))
	s := &v1alpha1.GaleraBackupStore{}
	must(t, kube.Get(context.Background(), client.ObjectKeyFromObject(o), s))
	status.SetCondition(&s.Status.Conditions, s.Generation, v1alpha1.ConditionReachable, true,
		v1alpha1.ReasonReachable, "")
	must(t, kube.Status().Update(context.Background(), s))
	return s
}

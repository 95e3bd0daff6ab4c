package restoration

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const successor = "bbbbbbbb-1111-2222-3333-444455556666"

// rejoins is a cluster that another one has taken over from, and that is to follow that one: its backup is found.
func rejoins() ReseedFacts {
	store := &v1alpha1.GaleraBackupStore{}
	store.Spec.S3 = &v1alpha1.S3Store{Bucket: "backups"}
	c := &v1alpha1.GaleraCluster{}
	c.Namespace, c.Name, c.UID, c.Generation, c.Spec.Replicas = "prod", "shop", "aaaaaaaa-1", 4, 1
	c.Annotations = map[string]string{v1alpha1.AnnotationReseed: "always@1600000000"}
	c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Replaces: "4-bbbbbbbb", StoreRef: v1alpha1.LocalName{Name: "offsite"},
		Cluster: v1alpha1.ReplicatedCluster{Namespace: "site", Name: "standby", UID: successor}}
	c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	c.Status.ClusterUUID, c.Status.Identity = "old", "aaaaaaaa-1"
	c.Status.Backup = &v1alpha1.ArchiveStatus{Session: "s"}
	c.Status.Superseded = &v1alpha1.SupersededStatus{ID: "4-bbbbbbbb", Namespace: "site", Name: "standby",
		UID: successor, GTID: "0-1-30", Surplus: new(int64(0)),
		CountedBy: v1alpha1.CountedByContent}
	c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Phase: v1alpha1.SwitchTaken, Ends: "0-1-30",
		EndsGeneration: 4, Location: new(location.Of(store)),
		Token: &v1alpha1.SwitchToken{Number: 4, GTID: "0-1-30", From: "aaaaaaaa-1", To: successor}}
	f := ReseedFacts{Cluster: c, Now: time.Unix(1700000000, 0), Set: &appsv1.StatefulSet{}, Source: Source{Store: store}}
	f.Set.UID = "set"
	f.Claims = []corev1.PersistentVolumeClaim{{}}
	f.Claims[0].Name, f.Claims[0].UID = "data-shop-0", "claim"
	f.Check = outcome.Outcome{Exists: true, Done: true, Result: task.Result{Backup: &task.Stored{ID: "b1",
		Dir: "site/standby/bbbbbbbb"}, Replay: &task.Replay{Chain: 1}}}
	return f
}

// countedBy has it counted by something what the other one lacks, below 0 where it is not.
func countedBy(by string, surplus int64) func(*v1alpha1.GaleraCluster) {
	return func(c *v1alpha1.GaleraCluster) {
		c.Status.Superseded.CountedBy, c.Status.Superseded.Surplus = by, new(surplus)
		if surplus < 0 {
			c.Status.Superseded.Surplus = nil
		}
	}
}

// pass makes one, and returns what is done.
func (f *ReseedFacts) pass() (ReseedAct, *v1alpha1.ReseedStatus) {
	to := f.Cluster.Status.DeepCopy()
	act := Reseed(to, *f)
	f.Cluster.Status = *to
	return act, to.Reseed
}

// TestRejoins: a cluster is emptied to follow the one that has taken over only while that is certain to have all of its
// transactions, and once there is a backup of it. Until then it stays as it is.
func TestRejoins(t *testing.T) {
	type edit = func(*v1alpha1.GaleraCluster)
	facts := func(edit func(*ReseedFacts)) func(*ReseedFacts) { return edit }
	of := func(e edit) func(*ReseedFacts) { return func(f *ReseedFacts) { e(f.Cluster) } }
	for name, tc := range map[string]struct {
		edit func(*ReseedFacts)
		says string
	}{
		"it can be": {facts(func(*ReseedFacts) {}), ""},
		"the other one lacks some": {of(func(c *v1alpha1.GaleraCluster) { c.Status.Superseded.Surplus = new(int64(2)) }),
			"lacks 2 transactions"},
		"what it lacks is not known": {of(func(c *v1alpha1.GaleraCluster) { c.Status.Superseded.Surplus = nil }),
			"not known yet"},
		"it was counted by lines": {of(countedBy(v1alpha1.CountedByLines, 0)), ""},
		"an earlier release has recorded it": {of(countedBy(v1alpha1.CountedByNothing, -1)),
			"an earlier release of the operator has recorded that"},
		"the archive does not have its line": {of(countedBy(v1alpha1.CountedByLines, -1)),
			"create it anew without spec.replicaOf.replaces"},
		"the archive was not read": {of(func(c *v1alpha1.GaleraCluster) {
			countedBy(v1alpha1.CountedByLines, -1)(c)
			c.Status.SwitchSite.Ends, c.Status.SwitchSite.Message = "", "the archiver does not answer"
		}), "the archiver does not answer"},
		"an earlier release has counted": {of(countedBy("", 0)), "not known yet"},
		"it was counted by numbers":      {of(countedBy(v1alpha1.CountedByNumbers, 0)), "not known yet"},
		"the spec was changed since": {of(func(c *v1alpha1.GaleraCluster) { c.Generation++ }),
			"with which transaction all nodes end is not known yet"},
		"a node has more": {of(func(c *v1alpha1.GaleraCluster) { c.Status.SwitchSite.Ends = "0-1-31" }),
			"all nodes end at 0-1-31"},
		"a node does not answer": {of(func(c *v1alpha1.GaleraCluster) {
			c.Status.SwitchSite.Ends, c.Status.SwitchSite.Message = "", "waiting for shop-0"
		}), "waiting for shop-0"},
		"it was no planned change": {of(func(c *v1alpha1.GaleraCluster) { c.Status.SwitchSite = nil }),
			"may lack transactions"},
		"that was taken back": {of(func(c *v1alpha1.GaleraCluster) {
			c.Status.SwitchSite.Phase = v1alpha1.SwitchTakenBack
		}), "may lack transactions"},
		"the token was for another one": {of(func(c *v1alpha1.GaleraCluster) { c.Status.SwitchSite.Token.To = "cccccccc" }),
			"may lack transactions"},
		"the token was for one with such a uid": {of(func(c *v1alpha1.GaleraCluster) {
			c.Status.SwitchSite.Token.To = successor[:8] + "-9999"
		}), "may lack transactions"},
		"it took over with less": {of(func(c *v1alpha1.GaleraCluster) { c.Status.Superseded.GTID = "0-1-29" }),
			"may lack transactions"},
		"with another record": {of(func(c *v1alpha1.GaleraCluster) { c.Status.SwitchSite.Token.Number = 3 }),
			"may lack transactions"},
		"yet another one has taken over": {of(func(c *v1alpha1.GaleraCluster) { c.Status.Superseded.ID = "5-bbbbbbbb" }),
			"status.superseded is 5-bbbbbbbb, of site/standby, and not spec.replicaOf.replaces, 4-bbbbbbbb"},
		"another one is named": {of(func(c *v1alpha1.GaleraCluster) { c.Spec.ReplicaOf.Cluster.Name = "crm" }),
			"has to name the cluster that has taken over: site/standby"},
		"in another store": {facts(func(f *ReseedFacts) { f.Source.Store.Spec.S3.Bucket = "b" }), "another store"},
		"the store is gone": {facts(func(f *ReseedFacts) {
			f.Source.Store, f.Blocker = &v1alpha1.GaleraBackupStore{}, Problem{"StoreNotFound", "create the store"}
		}), "create the store"},
		"it is to take over": {of(func(c *v1alpha1.GaleraCluster) { c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "7-2-9"} }),
			"remove it"},
		"it is not archived": {of(func(c *v1alpha1.GaleraCluster) { c.Spec.Backup = nil }), "enable spec.backup.pointInTime"},
		"it is hibernated":   {of(func(c *v1alpha1.GaleraCluster) { c.Spec.Hibernate = true }), "hibernated"},
		"there are no pods":  {facts(func(f *ReseedFacts) { f.Set = nil }), "no StatefulSet"},
		"there is no backup": {facts(func(f *ReseedFacts) { f.Check.Result = task.Result{Error: "no backup yet"} }),
			"no backup yet; it is looked for again"},
		"no archive leads on": {facts(func(f *ReseedFacts) { f.Check.Result.Replay = nil }), "the archive leads on"},
		"the store has changed": {facts(func(f *ReseedFacts) {
			f.Check.Location = &v1alpha1.StoreLocation{Kind: v1alpha1.StoreVolume, Claim: "c"}
		}), "was changed"},
		"it was found damaged": {facts(func(f *ReseedFacts) {
			f.Source.Known = []v1alpha1.GaleraBackup{foundDamaged(record("n1", "site/standby/bbbbbbbb", "b1", ""))}
		}), "damaged (GaleraBackup n1); it is looked for again"},
		"it is looked for": {facts(func(f *ReseedFacts) { f.Check.Done = false }), "looking for the backup"},
	} {
		f := rejoins()
		if _, r := f.pass(); r == nil || r.Phase != v1alpha1.ReseedChecking || r.Request != "4-bbbbbbbb" {
			t.Fatalf("%s: %+v", name, r)
		}
		tc.edit(&f)
		act, r := f.pass()
		want := v1alpha1.ReseedChecking
		if tc.says == "" {
			want = v1alpha1.ReseedEmptying
		}
		if act != ReseedWait || r.Phase != want || !strings.Contains(r.Message, tc.says) ||
			(len(r.Claims) > 0) != (tc.says == "") || f.Cluster.Status.Superseded == nil {
			t.Errorf("%s: %d %+v", name, act, r)
		}
	}
	f := rejoins()
	f.pass()
	if have := After(f.Cluster); have != "0-1-30" {
		t.Errorf("an archive of before is taken: %q", have)
	}
	if f.Check = (outcome.Outcome{}); !Reseeds(f.Cluster) {
		t.Error("it is not asked for")
	}
	if act, r := f.pass(); act != ReseedCheck {
		t.Errorf("no backup is looked for: %+v", r)
	}
}

// TestRejoinsUntilItIsEmptied: what becomes known before a node is removed counts, and what was taken back is begun
// again.
func TestRejoinsUntilItIsEmptied(t *testing.T) {
	f := rejoins()
	f.pass()
	if _, r := f.pass(); r.Phase != v1alpha1.ReseedEmptying {
		t.Fatalf("%+v", r)
	}
	f.Cluster.Status.Reseed.Acknowledged = true
	f.Cluster.Status.Superseded.Surplus = new(int64(1))
	if act, r := f.pass(); act != ReseedWait || r.Phase != v1alpha1.ReseedChecking || r.Acknowledged || len(r.Claims) > 0 {
		t.Errorf("it is emptied, although the other one lacks a transaction: %d %+v", act, r)
	}
	f.Cluster.Status.Superseded.Surplus = new(int64(0))
	if _, r := f.pass(); r.Phase != v1alpha1.ReseedEmptying {
		t.Fatalf("%+v", r)
	}
	f.Cluster.Status.Superseded.ID = "5-bbbbbbbb"
	if act, r := f.pass(); act != ReseedWait || r.Phase != v1alpha1.ReseedChecking || r.Request != "4-bbbbbbbb" ||
		f.Cluster.Follows() || !Reseeds(f.Cluster) {
		t.Errorf("yet another one has taken over: %d %+v", act, r)
	}
	f.Cluster.Spec.ReplicaOf.Replaces = "5-bbbbbbbb" // a person names that one
	if _, r := f.pass(); r.Phase != v1alpha1.ReseedCancelled {
		t.Errorf("%+v", r)
	}
	if _, r := f.pass(); r.Phase != v1alpha1.ReseedChecking || r.Request != "5-bbbbbbbb" {
		t.Errorf("that is not begun: %+v", r)
	}
	replica := f.Cluster.Spec.ReplicaOf
	f.Cluster.Spec.ReplicaOf, f.Cluster.Annotations = nil, nil
	if _, r := f.pass(); r.Phase != v1alpha1.ReseedCancelled {
		t.Errorf("%+v", r)
	}
	f.Cluster.Spec.ReplicaOf = replica
	if _, r := f.pass(); !Reseeds(f.Cluster) || r.Phase != v1alpha1.ReseedChecking {
		t.Errorf("it cannot be asked for again: %+v", r)
	}
}

// TestRejoined: the cluster begins as a new one, in a GTID domain that none of its data are in; its archive begins
// anew, and an older annotation asks for nothing.
func TestRejoined(t *testing.T) {
	f := rejoins()
	f.Cluster.Status.Reseed = &v1alpha1.ReseedStatus{Request: "4-bbbbbbbb", Phase: v1alpha1.ReseedEmptying,
		StartedAt: metav1.NewTime(f.Now), Acknowledged: true}
	f.Set, f.Pods, f.Claims = nil, nil, nil
	f.Cluster.Status.Backup.Window, f.Cluster.Status.Backup.Needed = &metav1.Duration{Duration: 900 * time.Hour},
		[]string{"a"}
	f.Cluster.Status.EndedArchive = &v1alpha1.EndedArchive{Until: metav1.NewTime(f.Now.Add(-time.Hour)), // it may be ahead
		Needed: []v1alpha1.NeededBackup{{ID: "b", Until: metav1.NewTime(f.Now.Add(-time.Hour))}}}
	f.Late = f.Now.Add(time.Hour) // by the API server's clock
	f.pass()
	s := f.Cluster.Status
	if e := s.EndedArchive; e == nil || len(e.Needed) != 2 || e.Needed[0].ID != "a" || e.Needed[1].ID != "b" ||
		!e.Needed[0].Until.Time.Equal(f.Late.Add(900*time.Hour)) {
		t.Errorf("what points in time from before need is forgotten: %+v", e)
	}
	if s.Reseed.Phase != v1alpha1.ReseedCopying || s.ClusterUUID != "" || s.Superseded != nil || s.Backup != nil ||
		s.Restore == nil || s.Restore.Phase != v1alpha1.RestoreFinding {
		t.Errorf("%+v, %+v", s.Reseed, s)
	}
	if s.Identity != v1alpha1.IdentityAfter(f.Cluster, "4-bbbbbbbb") || s.Identity == "aaaaaaaa-1" {
		t.Errorf("it would write in the GTID domain of before: %q", s.Identity)
	}
	if !f.Cluster.Follows() || v1alpha1.Rejoins(f.Cluster) || f.Cluster.Status.Reseed.Replaced() != "4-bbbbbbbb" {
		t.Error("it does not follow")
	}
	if have := After(f.Cluster); have != "0-1-30" {
		t.Errorf("an archive of before is taken: %q", have)
	}
	f.Cluster.Status.Restore.Phase = v1alpha1.RestoreCompleted
	if _, r := f.pass(); r.Phase != v1alpha1.ReseedCompleted || Reseeds(f.Cluster) {
		t.Errorf("%+v", r)
	}
	// It has taken over since, and the status of that is lost: the record of before has not been overruled.
	f.Cluster.Status = v1alpha1.GaleraClusterStatus{Identity: f.Cluster.Status.Identity,
		Superseded: &v1alpha1.SupersededStatus{ID: "4-bbbbbbbb", UID: "bbbbbbbb-1"}}
	if v1alpha1.Rejoins(f.Cluster) || Reseeds(f.Cluster) {
		t.Error("it is to be emptied once more, for a promotion of before")
	}
	f.Cluster.Status.Superseded.ID, f.Cluster.Spec.ReplicaOf.Replaces = "5-bbbbbbbb", "5-bbbbbbbb"
	if !v1alpha1.Rejoins(f.Cluster) {
		t.Error("it cannot follow again")
	}
}

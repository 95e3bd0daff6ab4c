package restoration

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/clone"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// asking is a cluster in dev that is to be a clone of prod/shop, which admits it and serves.
func asking() (*v1alpha1.GaleraCluster, CopyFacts) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "copy", UID: "u1", Generation: 1}}
	c.Spec.Replicas = 3
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{Cluster: &v1alpha1.BootstrapCluster{Name: "shop", Namespace: "prod",
		StoreRef: v1alpha1.LocalName{Name: "own"}}}
	s := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop", UID: "u0"}}
	s.Spec.AllowedCloneNamespaces = []string{"dev"}
	s.Status.Members = []v1alpha1.MemberStatus{{Name: "shop-0", Version: "11.8.9-MariaDB"},
		{Name: "shop-1", Version: "11.4.2-MariaDB"}}
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionAvailable,
		Status: metav1.ConditionTrue})
	return c, CopyFacts{Source: s, Watched: true, Image: "mariadb:11.8"}
}

// made is the copy in a phase, with what it reports.
func made(c *v1alpha1.GaleraCluster, phase string, stalled bool, reason, message string) *v1alpha1.GaleraBackup {
	b := clone.Backup(c)
	b.CreationTimestamp = metav1.NewTime(noon)
	b.Status.Phase, b.Status.ID, b.Status.Directory, b.Status.Checksum = phase, "b1", "dev/copy/u1", "c1"
	reported := metav1.Condition{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionFalse, Reason: reason,
		Message: message}
	meta.SetStatusCondition(&b.Status.Conditions, reported)
	if reported.Type = v1alpha1.ConditionStalled; stalled {
		reported.Status = metav1.ConditionTrue
		meta.SetStatusCondition(&b.Status.Conditions, reported)
	}
	return b
}

func TestCloning(t *testing.T) {
	const none = ""
	for name, tc := range map[string]struct {
		change       func(*v1alpha1.GaleraCluster, *CopyFacts)
		reason, says string
		make, drop   bool
		found        bool
	}{
		"all is well": {func(*v1alpha1.GaleraCluster, *CopyFacts) {}, none, "copy the cluster prod/shop", true, false, false},
		"no consent": {func(_ *v1alpha1.GaleraCluster, k *CopyFacts) { k.Source.Spec.AllowedCloneNamespaces = nil },
			v1alpha1.ReasonNamespaceNotAllowed, `add "dev" to its spec.allowedCloneNamespaces`, false, false, false},
		"no such cluster elsewhere": {func(_ *v1alpha1.GaleraCluster, k *CopyFacts) { k.Source = nil },
			v1alpha1.ReasonNamespaceNotAllowed, `add "dev" to its spec.allowedCloneNamespaces`, false, false, false},
		"no such cluster here": {func(c *v1alpha1.GaleraCluster, k *CopyFacts) {
			k.Source, c.Spec.BootstrapFrom.Cluster.Namespace = nil, ""
		}, v1alpha1.ReasonClusterNotFound, `no GaleraCluster "shop" in this namespace`, false, false, false},
		"here, which needs no consent": {func(c *v1alpha1.GaleraCluster, k *CopyFacts) {
			k.Source.Namespace, k.Source.Spec.AllowedCloneNamespaces, c.Spec.BootstrapFrom.Cluster.Namespace = "dev", nil, "dev"
		}, none, "copy the cluster dev/shop", true, false, false},
		"itself": {func(c *v1alpha1.GaleraCluster, k *CopyFacts) {
			k.Source, c.Spec.BootstrapFrom.Cluster.Namespace, c.Spec.BootstrapFrom.Cluster.Name = c, "", c.Name
		}, v1alpha1.ReasonClusterNotFound, "this cluster itself", false, false, false},
		"a namespace that is not watched": {func(_ *v1alpha1.GaleraCluster, k *CopyFacts) {
			k.Source, k.Watched = nil,
				false
		},
			v1alpha1.ReasonNamespaceNotAllowed, "does not watch the namespace prod", false, false, false},
		"a later MariaDB": {func(_ *v1alpha1.GaleraCluster, k *CopyFacts) { k.Image = "mariadb:11.4@sha256:00" },
			v1alpha1.ReasonVersionRefused, "set spec.image", false, false, false},
		"an image without a series in its tag": {func(_ *v1alpha1.GaleraCluster, k *CopyFacts) { k.Image = "mariadb:stable" },
			none, "copy the cluster", true, false, false},
		"a source that does not serve": {func(_ *v1alpha1.GaleraCluster, k *CopyFacts) { k.Source.Status.Conditions = nil },
			v1alpha1.ReasonWaitingForCluster, "does not accept writes", false, false, false},
		"a source that sleeps": {func(_ *v1alpha1.GaleraCluster, k *CopyFacts) { k.Source.Spec.Hibernate = true },
			v1alpha1.ReasonWaitingForCluster, "hibernates", false, false, false},
		"a source that is paused": {func(_ *v1alpha1.GaleraCluster, k *CopyFacts) {
			k.Source.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
		}, v1alpha1.ReasonClusterPaused, "paused", false, false, false},
		"a source that goes": {func(_ *v1alpha1.GaleraCluster,
			k *CopyFacts) {
			k.Source.DeletionTimestamp = new(metav1.NewTime(noon))
		},
			v1alpha1.ReasonClusterNotFound, "being deleted", false, false, false},
		"begun": {func(c *v1alpha1.GaleraCluster, k *CopyFacts) {
			k.Backup = made(c, v1alpha1.BackupPending, false, v1alpha1.ReasonWaitingForCluster, "2 of 3 are Synced")
		}, none, "2 of 3 are Synced", false, false, false},
		"begun, and the consent is gone": {func(c *v1alpha1.GaleraCluster, k *CopyFacts) {
			k.Source.Spec.AllowedCloneNamespaces, k.Backup = nil,
				made(c, v1alpha1.BackupPending, true, v1alpha1.ReasonNamespaceNotAllowed, "no")
		}, v1alpha1.ReasonNamespaceNotAllowed, "allowedCloneNamespaces", false, false, false},
		"begun, and stalled": {func(c *v1alpha1.GaleraCluster, k *CopyFacts) {
			k.Backup = made(c, v1alpha1.BackupPending, true, v1alpha1.ReasonStoreNotFound, "no store")
		}, v1alpha1.ReasonStoreNotFound, "no store", false, false, false},
		"in progress": {func(c *v1alpha1.GaleraCluster, k *CopyFacts) {
			k.Source.Status.Conditions, k.Backup = nil, made(c, v1alpha1.BackupRunning, false, v1alpha1.ReasonBackupRunning,
				"the data of shop-1")
		}, none, "the data of shop-1", false, false, false},
		"complete, whatever became of the source": {func(c *v1alpha1.GaleraCluster, k *CopyFacts) {
			k.Source, k.Watched, k.Backup = nil, false, made(c, v1alpha1.BackupCompleted, false, v1alpha1.ReasonBackupCompleted,
				"")
		}, none, "", false, false, true},
		"failed": {func(c *v1alpha1.GaleraCluster, k *CopyFacts) {
			k.Backup = made(c, v1alpha1.BackupFailed, true, v1alpha1.ReasonStoreRefused, "AccessDenied")
		}, v1alpha1.ReasonStoreRefused, "AccessDenied", false, true, false},
		"of a cluster that was named before": {func(c *v1alpha1.GaleraCluster, k *CopyFacts) {
			k.Backup = made(c, v1alpha1.BackupCompleted, false, v1alpha1.ReasonBackupCompleted, "")
			k.Backup.Spec.ClusterRef.Name = "bar"
		}, none, "removing", false, true, false},
		"terminating": {func(c *v1alpha1.GaleraCluster, k *CopyFacts) {
			k.Backup = made(c, v1alpha1.BackupCompleted, false, v1alpha1.ReasonBackupCompleted, "")
			k.Backup.DeletionTimestamp = new(metav1.NewTime(noon))
		}, none, "to go", false, false, false},
		"terminating, and held": {func(c *v1alpha1.GaleraCluster, k *CopyFacts) {
			k.Backup = made(c, v1alpha1.BackupFailed, true, v1alpha1.ReasonRemovingBackup, "object lock")
			k.Backup.DeletionTimestamp = new(metav1.NewTime(noon))
		}, v1alpha1.ReasonRemovingBackup, "object lock", false, false, false},
		"a user's backup of that name": {func(c *v1alpha1.GaleraCluster, k *CopyFacts) {
			k.Backup = made(c, v1alpha1.BackupCompleted, false, v1alpha1.ReasonBackupCompleted, "")
			k.Backup.OwnerReferences = nil
		}, v1alpha1.ReasonNameConflict, "was not made for this cluster", false, false, false},
	} {
		c, k := asking()
		tc.change(c, &k)
		s := Cloning(c, k)
		if s.Problem.Reason != tc.reason || !strings.Contains(s.Problem.Message+s.message, tc.says) || s.make != tc.make ||
			s.drop != tc.drop || (s.Find != nil) != tc.found {
			t.Errorf("%s: %+v", name, s)
		}
		if s.Find != nil && !reflect.DeepEqual(*s.Find, task.Find{Dir: "dev/copy/u1", ID: "b1", Checksum: "c1"}) {
			t.Errorf("%s: %+v", name, s.Find)
		}
		if s.Find == nil && s.Problem.Reason == "" && s.message == "" {
			t.Errorf("%s: it waits without a word, and would look for a backup of no name", name)
		}
	}
}

// TestRefusalsDiscloseNothing: a namespace without consent does not learn whether there is such a cluster, nor how it
// is.
func TestRefusalsDiscloseNothing(t *testing.T) {
	c, k := asking()
	k.Source = nil
	want := Cloning(c, k)
	for name, change := range map[string]func(*v1alpha1.GaleraCluster){
		"it serves":   func(*v1alpha1.GaleraCluster) {},
		"it does not": func(s *v1alpha1.GaleraCluster) { s.Status.Conditions = nil },
		"it is paused": func(
			s *v1alpha1.GaleraCluster) {
			s.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
		},
		"it is later": func(s *v1alpha1.GaleraCluster) { s.Status.Members[0].Version = "99.1" },
	} {
		c, k := asking()
		k.Source.Spec.AllowedCloneNamespaces = []string{"others"}
		change(k.Source)
		if got := Cloning(c, k); got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestLost: a copy that is gone while volumes are filled with it is not replaced by another one.
func TestLost(t *testing.T) {
	c, _ := asking()
	s := &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreRestoring, ID: "b1"}
	b := made(c, v1alpha1.BackupCompleted, false, "", "")
	if p := LostCopy(s, b); p.Reason != "" {
		t.Errorf("%+v", p)
	}
	other := b.DeepCopy()
	other.Status.ID = "b2"
	for _, b := range []*v1alpha1.GaleraBackup{nil, other} {
		if p := LostCopy(s, b); p.Reason != v1alpha1.ReasonBackupNotFound {
			t.Errorf("%+v", p)
		}
	}
}

func TestNeeded(t *testing.T) {
	c, _ := asking()
	if !Needed(c) {
		t.Error("while it is made")
	}
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady,
		Status: metav1.ConditionTrue})
	if Needed(c) {
		t.Error("once the clone is Ready")
	}
	c.Status.Conditions, c.Spec.BootstrapFrom = nil, nil
	if Needed(c) {
		t.Error("once it is asked for no more")
	}
}

// cloned is a clone in a world that withdraws consent, fails copies, and deletes what it likes.
type cloned struct {
	*simulated
	source  *v1alpha1.GaleraCluster
	backup  *v1alpha1.GaleraBackup
	made    int
	taken   map[string]bool // the ids of copies that were completed with consent
	unasked bool            // a copy was begun without consent
}

func beginClone() *cloned {
	s := &cloned{simulated: begin(3), taken: map[string]bool{}}
	c, k := asking()
	c.UID = types.UID("u1")
	s.cluster, s.source = c, k.Source
	return s
}

// pass is what Reconcile does.
func (s *cloned) pass() {
	if r := s.cluster.Status.Restore; r != nil && r.Phase == v1alpha1.RestoreCompleted {
		return
	}
	f := Facts{Cluster: s.cluster, Now: s.now, Source: Source{Store: &v1alpha1.GaleraBackupStore{}}}
	f.Source.Store.Name = "own"
	if s.cluster.Status.Restore != nil {
		s.observe(&f)
	}
	next := s.cluster.Status.DeepCopy()
	d := Decide(next, f)
	if !equality.Semantic.DeepEqual(next.Restore, s.cluster.Status.Restore) {
		s.cluster.Status = *next
		return
	}
	switch {
	case d.Find:
		s.make(fmt.Sprint("find-", s.cluster.Status.Restore.Attempts), &jobRun{member: -1, id: f.Source.Find.ID})
	case d.Copy && s.backup == nil:
		s.made++
		s.backup = made(s.cluster, v1alpha1.BackupPending, false, "", "")
		s.backup.CreationTimestamp, s.backup.Status.ID = metav1.NewTime(s.now), fmt.Sprint("b", s.made)
		s.unasked = s.unasked || !clone.Admits(s.source, s.cluster.Namespace)
	case d.Drop:
		s.backup = nil
	}
	for _, i := range d.Restore {
		r := s.cluster.Status.Restore
		s.make(fmt.Sprint("restore-", i, "-", r.ObservedGeneration, "-", r.Attempts),
			&jobRun{member: i, id: r.ID, history: r.History})
	}
}

func (s *cloned) observe(f *Facts) {
	r := s.cluster.Status.Restore
	if r.Phase == v1alpha1.RestoreRestoring {
		f.Blocker = LostCopy(r, s.backup)
	} else {
		f.Clone = Cloning(s.cluster, CopyFacts{Source: s.source, Watched: true, Backup: s.backup})
		if f.Blocker = f.Clone.Problem; f.Clone.Find != nil {
			f.Source.Find = *f.Clone.Find
		}
	}
	f.Find = s.outcome(fmt.Sprint("find-", r.Attempts))
	for i := range s.volumes {
		f.Members = append(f.Members, s.outcome(fmt.Sprint("restore-", i, "-", r.ObservedGeneration, "-", r.Attempts)))
	}
}

// copying brings the copy a step further, as the controller of backups does.
func (s *cloned) copying(how string) {
	b := s.backup
	if b == nil || b.Status.Phase == v1alpha1.BackupCompleted || b.Status.Phase == v1alpha1.BackupFailed {
		return
	}
	switch {
	case !clone.Admits(s.source, s.cluster.Namespace) && b.Status.Phase == v1alpha1.BackupRunning, how == "fails":
		b.Status.Phase = v1alpha1.BackupFailed
	case !clone.Admits(s.source, s.cluster.Namespace):
	case b.Status.Phase == v1alpha1.BackupPending:
		b.Status.Phase = v1alpha1.BackupRunning
	default:
		b.Status.Phase, s.latest = v1alpha1.BackupCompleted, b.Status.ID
		s.taken[b.Status.ID] = true
	}
}

// calm lets everything go on.
func (s *cloned) calm() {
	s.source.Spec.AllowedCloneNamespaces = []string{s.cluster.Namespace}
	for range 400 {
		s.pass()
		s.copying("well")
		s.now = s.now.Add(time.Minute)
		for _, name := range s.open() {
			s.end(name, "well")
		}
	}
}

// TestClonePromises: whatever is withdrawn, deleted or killed, a clone is complete only with one copy, taken with
// consent, on all volumes; and once nothing happens any more it comes to an end, or reports that what it was filled
// with is gone.
func TestClonePromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := beginClone()
		t.Repeat(map[string]func(*rapid.T){
			"pass":                 func(*rapid.T) { s.pass() },
			"time":                 func(*rapid.T) { s.now = s.now.Add(7 * time.Second) },
			"the copy goes on":     func(*rapid.T) { s.copying("well") },
			"the copy fails":       func(*rapid.T) { s.copying("fails") },
			"the copy is deleted":  func(*rapid.T) { s.backup = nil },
			"consent is withdrawn": func(*rapid.T) { s.source.Spec.AllowedCloneNamespaces = nil },
			"consent is given":     func(*rapid.T) { s.source.Spec.AllowedCloneNamespaces = []string{"dev"} },
			"the status is lost":   func(*rapid.T) { s.cluster.Status.Restore = nil },
			"the spec is changed":  func(*rapid.T) { s.cluster.Generation++ },
			"the source goes away": func(*rapid.T) { s.source.Status.Conditions = nil },
			"the source serves":    func(*rapid.T) { _, k := asking(); s.source.Status = k.Source.Status },
			"a Job ends": func(t *rapid.T) {
				if open := s.open(); len(open) > 0 {
					s.end(rapid.SampledFrom(open).Draw(t, "job"), rapid.SampledFrom([]string{"well", "killed before", "killed after"}).
						Draw(t, "how"))
				}
			},
			"": func(t *rapid.T) {
				if s.unasked {
					t.Fatal("a copy was begun without consent")
				}
				r := s.cluster.Status.Restore
				if r == nil || r.Phase != v1alpha1.RestoreCompleted {
					return
				}
				for i, v := range s.volumes {
					if v.id != r.ID || v.history != r.History || !s.taken[v.id] {
						t.Fatalf("complete, and the volume of %d holds %+v instead of %s in %s", i, v, r.ID, r.History)
					}
				}
			},
		})
		_, k := asking()
		s.source.Status = k.Source.Status
		s.calm()
		if r := s.cluster.Status.Restore; r.Phase == v1alpha1.RestoreFailed || r.Reason == v1alpha1.ReasonBackupNotFound {
			// A user deletes the cluster and the claims, and creates it anew. The Jobs go with the cluster.
			clear(s.volumes)
			clear(s.jobs)
			s.cluster.Status.Restore, s.backup = nil, nil
			s.cluster.Generation++
			s.cluster.UID += "+"
			s.calm()
		}
		if r := s.cluster.Status.Restore; r.Phase != v1alpha1.RestoreCompleted {
			t.Fatalf("it has no end: %+v", r)
		}
	})
}

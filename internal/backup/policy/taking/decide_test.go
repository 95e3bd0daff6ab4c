package taking

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/clone"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func synced() observe.Seen {
	return observe.Seen{Live: true, Report: agentapi.Report{Server: &agentapi.Server{State: galera.NodeSynced,
		Ready: true}, DataBytes: 1000}}
}

// pending are the facts of a backup of a healthy cluster that has just been made.
func pending(changes ...func(*Facts)) Facts {
	f := Facts{Now: noon, Backup: &v1alpha1.GaleraBackup{}, Cluster: &v1alpha1.GaleraCluster{},
		Store:  &v1alpha1.GaleraBackupStore{},
		Agents: map[string]observe.Seen{"shop-0": synced(), "shop-1": synced(), "shop-2": synced()}}
	f.Backup.Name, f.Backup.Namespace, f.Backup.UID, f.Backup.CreationTimestamp = "b", "demo", "0123-45",
		metav1.NewTime(noon.Add(-time.Minute))
	f.Cluster.Name, f.Cluster.UID = "shop", "abcd-ef"
	f.Cluster.Status.Primary, f.Cluster.Status.Replicas = "shop-0", 3
	meta.SetStatusCondition(&f.Cluster.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionAvailable,
		Status: metav1.ConditionTrue})
	meta.SetStatusCondition(&f.Store.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReachable,
		Status: metav1.ConditionTrue})
	f.Store.Spec.Encryption.Recipients = []string{"age1x"}
	for _, c := range changes {
		c(&f)
	}
	return f
}

func inProgress(changes ...func(*Facts)) Facts {
	return pending(append([]func(*Facts){func(f *Facts) {
		s := &f.Backup.Status
		s.Phase, s.Node, s.Attempts, s.AttemptedAt, s.ID = v1alpha1.BackupRunning, "shop-1", 1,
			new(metav1.NewTime(noon.Add(-time.Minute))), "b1"
		f.Job.Exists = true
	}}, changes...)...)
}

// elsewhere makes it the backup of a clone, dev/copy of demo/shop.
func elsewhere(f *Facts) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "copy", UID: "fedc-ba"}}
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{Cluster: &v1alpha1.BootstrapCluster{Name: "shop", Namespace: "demo",
		StoreRef: v1alpha1.LocalName{Name: "own"}}}
	b := clone.Backup(c)
	f.Backup.ObjectMeta.Namespace, f.Backup.ObjectMeta.Name, f.Backup.OwnerReferences, f.Backup.Spec = b.Namespace, b.Name,
		b.OwnerReferences, b.Spec
	f.Cluster.Namespace, f.Cluster.Spec.AllowedCloneNamespaces, f.Clone = "demo", []string{"dev"}, c
}

// TestDirectory: what is short-lived lies next to neither the backups of its source, nor the archive that goes on from
// them.
func TestDirectory(t *testing.T) {
	f := pending()
	f.Cluster.Namespace = "demo"
	if got := directory(f); got != "demo/shop/abcd" {
		t.Error(got)
	}
	if got := directory(pending(elsewhere)); got != "dev/copy/fedc" {
		t.Error(got)
	}
}

func failedOnce(f *Facts) {
	s := &f.Backup.Status
	s.Phase, s.Node, s.Attempts, s.AttemptedAt, s.ID = v1alpha1.BackupPending, "shop-1", 1,
		new(metav1.NewTime(noon.Add(-time.Minute))), "b1"
}

func ended(r task.Result) func(*Facts) {
	return func(f *Facts) { f.Job = outcome.Outcome{Exists: true, Done: true, Result: r} }
}

const completed = v1alpha1.BackupCompleted

func withdrawn(f *Facts) { f.Cluster.Spec.AllowedCloneNamespaces = nil }

// storedAs is a Job that has stored a backup of this ID.
func storedAs(id string) func(*Facts) {
	return ended(task.Result{Backup: &task.Stored{ID: id, Node: "shop-1", Position: "u:5"}})
}

// TestAnother: a Job that has stored another backup than this one has not made it.
func TestAnother(t *testing.T) {
	f := inProgress(storedAs("b0"))
	next := f.Backup.Status.DeepCopy()
	Decide(next, f)
	c := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionComplete)
	if next.Phase != v1alpha1.BackupPending || next.Position != "" || !strings.Contains(c.Message, `"b0"`) {
		t.Errorf("%+v", next)
	}
}

// TestEncryptionKeysAreRecorded: who would remove a key from its Secret can see which backups need it.
func TestEncryptionKeysAreRecorded(t *testing.T) {
	f := inProgress(ended(task.Result{Backup: &task.Stored{ID: "b1", Position: "u:5",
		Keys: map[string]string{"2": "bb", "1": "aa"}}}))
	next := f.Backup.Status.DeepCopy()
	Decide(next, f)
	want := []v1alpha1.EncryptionKeyStatus{{ID: "1", Fingerprint: "aa"}, {ID: "2", Fingerprint: "bb"}}
	if next.Phase != completed || !slices.Equal(next.EncryptionKeys, want) {
		t.Errorf("%s: %+v, want %+v", next.Phase, next.EncryptionKeys, want)
	}
}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		f           Facts
		phase, node string
		reason      string
		says        string
		run         bool
	}{
		"begins with the first that is not the primary": {pending(), v1alpha1.BackupRunning, "shop-1",
			v1alpha1.ReasonBackupRunning, "Copying the data of shop-1", false},
		"the primary, where it is the only node": {pending(func(f *Facts) {
			f.Cluster.Status.Replicas = 1
			f.Agents = map[string]observe.Seen{"shop-0": synced()}
		}), v1alpha1.BackupRunning, "shop-0", v1alpha1.ReasonBackupRunning, "", false},
		"no cluster": {pending(func(f *Facts) { f.Cluster = nil }), v1alpha1.BackupPending, "",
			v1alpha1.ReasonClusterNotFound, "create it", false},
		"of a cluster elsewhere, for no clone": {pending(elsewhere, func(f *Facts) { f.Clone = nil }), v1alpha1.BackupPending,
			"", v1alpha1.ReasonNamespaceNotAllowed, "spec.bootstrapFrom.cluster", false},
		"for a clone that asks no more": {pending(elsewhere,
			func(f *Facts) { f.Clone, f.Backup.Spec.ClusterRef.Namespace = nil, "" }), v1alpha1.BackupPending, "",
			v1alpha1.ReasonNamespaceNotAllowed, "delete it", false},
		"for a clone elsewhere": {pending(elsewhere), v1alpha1.BackupRunning, "shop-1",
			v1alpha1.ReasonBackupRunning, "", false},
		"for a clone elsewhere, without consent": {pending(elsewhere,
			func(f *Facts) { f.Cluster.Spec.AllowedCloneNamespaces = nil }), v1alpha1.BackupPending, "",
			v1alpha1.ReasonNamespaceNotAllowed,
			"allowedCloneNamespaces", false},
		"for a clone elsewhere, of no cluster": {pending(elsewhere, func(f *Facts) { f.Cluster = nil }),
			v1alpha1.BackupPending, "", v1alpha1.ReasonNamespaceNotAllowed, "allowedCloneNamespaces", false},
		"consent is withdrawn in the middle": {inProgress(elsewhere,
			func(f *Facts) { f.Cluster.Spec.AllowedCloneNamespaces = nil }), v1alpha1.BackupFailed, "shop-1",
			v1alpha1.ReasonNamespaceNotAllowed,
			"allowedCloneNamespaces", false},
		"consent is withdrawn too late": {inProgress(elsewhere, withdrawn, storedAs("b1")), completed, "shop-1",
			v1alpha1.ReasonBackupCompleted, "", false},
		"the clone is made something else": {inProgress(elsewhere, func(f *Facts) { f.Clone = nil }), v1alpha1.BackupFailed,
			"shop-1", v1alpha1.ReasonNamespaceNotAllowed, "", false},
		"no store": {pending(func(f *Facts) { f.Store = nil }), v1alpha1.BackupPending, "",
			v1alpha1.ReasonStoreNotFound, "create it", false},
		"a store that cannot be used": {pending(func(f *Facts) {
			meta.SetStatusCondition(&f.Store.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReachable,
				Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonStoreRefused, Message: "AccessDenied"})
		}), v1alpha1.BackupPending, "", v1alpha1.ReasonStoreRefused, "AccessDenied", false},
		"a store that was changed since its check": {pending(func(f *Facts) { f.Store.Generation = 2 }),
			v1alpha1.BackupPending, "", v1alpha1.ReasonChecking, "check of the store", false},
		"changed before there is a Job": {inProgress(func(f *Facts) { f.Store.Generation, f.Job.Exists = 2, false }),
			v1alpha1.BackupRunning, "shop-1", v1alpha1.ReasonBackupRunning, "check of the store", false},
		"another backup": {pending(func(f *Facts) { f.Other = "a" }), v1alpha1.BackupPending, "",
			v1alpha1.ReasonWaitingForCluster, "The backup a", false},
		"an operation": {pending(
			func(f *Facts) { f.Cluster.Status.Operation = &v1alpha1.OperationStatus{Type: "Recover"} }), v1alpha1.BackupPending,
			"", v1alpha1.ReasonWaitingForCluster, "Recover", false},
		"a node that is away": {pending(func(f *Facts) { delete(f.Agents, "shop-1") }),
			v1alpha1.BackupPending, "", v1alpha1.ReasonWaitingForCluster, "2 of 3", false},
		"a node that is away for long": {pending(func(f *Facts) {
			delete(f.Agents, "shop-1")
			f.Backup.CreationTimestamp = metav1.NewTime(noon.Add(-healthyWait))
		}), v1alpha1.BackupRunning, "shop-2", v1alpha1.ReasonBackupRunning, "", false},
		"only the primary is left, for long": {pending(func(f *Facts) {
			f.Agents = map[string]observe.Seen{"shop-0": synced()}
			f.Backup.CreationTimestamp = metav1.NewTime(noon.Add(-healthyWait))
		}), v1alpha1.BackupPending, "", v1alpha1.ReasonWaitingForCluster, "not the primary", false},
		"only the primary is left, for longer": {pending(func(f *Facts) {
			f.Agents = map[string]observe.Seen{"shop-0": synced()}
			f.Backup.CreationTimestamp = metav1.NewTime(noon.Add(-primaryWait))
		}), v1alpha1.BackupRunning, "shop-0", v1alpha1.ReasonBackupRunning, "", false},
		"another node after a failure": {pending(failedOnce), v1alpha1.BackupRunning, "shop-2", v1alpha1.ReasonBackupRunning,
			"", false},
		"its node becomes the primary": {inProgress(func(f *Facts) { f.Cluster.Status.Primary = "shop-1" }),
			v1alpha1.BackupRunning, "shop-1", "", "", true},
		"runs": {inProgress(), v1alpha1.BackupRunning, "shop-1", "", "", true},
		"is complete": {inProgress(storedAs("b1")), completed, "shop-1", v1alpha1.ReasonBackupCompleted, "u:5",
			false},
		"fails, and is tried again": {inProgress(ended(task.Result{Error: "gone", Reason: task.ReasonNodeFailed})),
			v1alpha1.BackupPending, "shop-1", v1alpha1.ReasonNodeFailed, "Attempt 1 has failed", false},
		"fails for good": {inProgress(ended(task.Result{Error: "no bucket", Reason: task.ReasonStoreRefused,
			Fatal: true})), v1alpha1.BackupFailed, "shop-1", v1alpha1.ReasonStoreRefused, "No bucket (attempt 1); ", false},
		"fails for the last time": {inProgress(ended(task.Result{Error: "gone"}),
			func(f *Facts) { f.Backup.Status.Attempts = maxAttempts }), v1alpha1.BackupFailed, "shop-1",
			v1alpha1.ReasonBackupFailed, "attempt 5", false},
		"waits for a store that is away": {inProgress(ended(task.Result{Error: "timeout",
			Reason: task.ReasonStoreUnreachable}),
			func(f *Facts) { f.Backup.Status.Attempts = 4 * maxAttempts }),
			v1alpha1.BackupPending, "shop-1", v1alpha1.ReasonStoreUnreachable, "made again", false},
		"but not for ever": {inProgress(ended(task.Result{Error: "quota", Reason: task.ReasonStoreFull}), func(f *Facts) {
			f.Backup.CreationTimestamp = metav1.NewTime(noon.Add(-maxUnavailable))
			f.Backup.Status.Attempts = maxAttempts
		}), v1alpha1.BackupFailed, "shop-1", v1alpha1.ReasonStoreFull, "Quota (attempt", false},
		"a store that is away at its first attempt": {inProgress(ended(task.Result{Error: "quota",
			Reason: task.ReasonStoreUnreachable}), func(f *Facts) {
			f.Backup.CreationTimestamp = metav1.NewTime(noon.Add(-maxUnavailable))
			f.Backup.Status.Attempts = maxAttempts - 1
		}), v1alpha1.BackupPending, "shop-1", v1alpha1.ReasonStoreUnreachable, "made again", false},
		"ended without a word of it": {inProgress(ended(task.Result{})), v1alpha1.BackupPending, "shop-1",
			v1alpha1.ReasonBackupFailed, "", false},
		"the cluster is deleted": {inProgress(func(f *Facts) { f.Cluster = nil }), v1alpha1.BackupFailed, "shop-1",
			v1alpha1.ReasonClusterNotFound, "", false},
		"the store is deleted": {inProgress(func(f *Facts) { f.Store = nil }), v1alpha1.BackupFailed, "shop-1",
			v1alpha1.ReasonStoreNotFound, "nothing is stored that counts", false},
		"the pod of the Job is kept off": {inProgress(func(f *Facts) { f.Job.Waits = "no such Secret" }),
			v1alpha1.BackupRunning, "shop-1", v1alpha1.ReasonBackupRunning, "No such Secret.", true},
	} {
		next := c.f.Backup.Status.DeepCopy()
		d := Decide(next, c.f)
		complete := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionComplete)
		if complete == nil {
			complete = &metav1.Condition{}
		}
		if next.Phase != c.phase || next.Node != c.node || d.Run != c.run || complete.Reason != c.reason ||
			!strings.Contains(complete.Message, c.says) {
			t.Errorf("%s: %s on %q, run %v, %s: %s", name, next.Phase, next.Node, d.Run, complete.Reason, complete.Message)
		}
		if next.Phase == v1alpha1.BackupRunning && next.ID == "" {
			t.Errorf("%s: begins without an ID", name)
		}
	}
}

// TestPause: attempts are made after growing pauses, and the reason of the last failure stays reported.
func TestPause(t *testing.T) {
	f := pending(failedOnce, func(f *Facts) { f.Now = f.Backup.Status.AttemptedAt.Add(attemptFirst - time.Second) })
	next := f.Backup.Status.DeepCopy()
	setConditions(next, f, v1alpha1.ReasonNodeFailed, "gone", false)
	if Decide(next, f); next.Phase != v1alpha1.BackupPending || meta.FindStatusCondition(next.Conditions,
		v1alpha1.ConditionComplete).Reason != v1alpha1.ReasonNodeFailed {
		t.Errorf("%+v", next)
	}
}

func TestProgress(t *testing.T) {
	f := inProgress(func(f *Facts) {
		s := f.Agents["shop-1"]
		s.Report.Backup = &agentapi.BackupReport{ID: "b1", Since: noon.Add(-10 * time.Second), Bytes: 400, Running: true}
		f.Agents["shop-1"] = s
	})
	next := f.Backup.Status.DeepCopy()
	Decide(next, f)
	if p := next.Progress; p == nil || p.Summary != "40%" || p.Rate.Value() != 40 ||
		!p.ETA.Time.Equal(noon.Add(15*time.Second)) {
		t.Errorf("%+v", p)
	}
	f.Agents["shop-1"].Report.Backup.Since = noon
	next = f.Backup.Status.DeepCopy()
	Decide(next, f)
	if p := next.Progress; p == nil || p.Summary != "40%" || p.Rate != nil || p.ETA != nil {
		t.Errorf("in the first second: %+v", p)
	}
	f.Agents["shop-1"].Report.Backup.Since = noon.Add(-10 * time.Second)
	f.Backup.Status.Incremental = &v1alpha1.BackupChain{Base: "b0", Depth: 1}
	next = f.Backup.Status.DeepCopy()
	Decide(next, f)
	if p := next.Progress; p == nil || p.BytesDone.Value() != 400 || p.Rate.Value() != 40 || p.BytesTotal != nil ||
		p.Summary != "" || p.ETA != nil {
		t.Errorf("of an increment: %+v", p)
	}
	f.Backup.Status.Incremental = &v1alpha1.BackupChain{FullBecause: "none"}
	next = f.Backup.Status.DeepCopy()
	if Decide(next, f); next.Progress.Summary != "40%" {
		t.Errorf("of a full one instead: %+v", next.Progress)
	}
}

// TestReplacedCluster: a backup lies where the cluster that it is of has its backups.
func TestReplacedCluster(t *testing.T) {
	f := pending(failedOnce, func(f *Facts) {
		f.Cluster.UID, f.Backup.Status.Directory, f.Backup.Status.ClusterUID = "22222222-x", "demo/shop/11111111",
			"11111111-x"
	})
	next := f.Backup.Status.DeepCopy()
	if Decide(next, f); next.ClusterUID != "22222222-x" || !strings.HasSuffix(next.Directory, "/22222222") {
		t.Errorf("%+v", next)
	}
}

package galerabackupschedule

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

func nightly(changes ...func(*v1alpha1.GaleraBackupSchedule)) *v1alpha1.GaleraBackupSchedule {
	s := &v1alpha1.GaleraBackupSchedule{}
	s.Name, s.CreationTimestamp = "nightly", metav1.NewTime(at("2026-11-20T12:00:00Z"))
	s.Spec.Schedule, s.Spec.TimeZone = "30 2 * * *", "UTC"
	for _, c := range changes {
		c(s)
	}
	return s
}

func made(phase string, completed string) v1alpha1.GaleraBackup {
	b := v1alpha1.GaleraBackup{}
	b.Name, b.Labels, b.Status.Phase = "one", map[string]string{v1alpha1.LabelSchedule: "nightly"}, phase
	if completed != "" {
		b.Status.CompletedAt = new(metav1.NewTime(at(completed)))
	}
	return b
}

func TestDecide(t *testing.T) {
	allow := func(s *v1alpha1.GaleraBackupSchedule) { s.Spec.ConcurrencyPolicy = v1alpha1.ConcurrencyAllow }
	last := func(s *v1alpha1.GaleraBackupSchedule) {
		s.Status.LastScheduleTime = new(metav1.NewTime(at("2026-11-22T02:30:00Z")))
	}
	for name, c := range map[string]struct {
		s       *v1alpha1.GaleraBackupSchedule
		backups []v1alpha1.GaleraBackup
		now     string
		make    string
		next    string // "" for none
		stalled bool
	}{
		"not yet":                           {nightly(), nil, "2026-11-20T23:00:00Z", "", "2026-11-21T02:30:00Z", false},
		"due":                               {nightly(), nil, "2026-11-21T02:30:01Z", "nightly-20261121-0230", "2026-11-22T02:30:00Z", false},
		"several were missed":               {nightly(), nil, "2026-11-23T09:00:00Z", "nightly-20261123-0230", "2026-11-24T02:30:00Z", false},
		"made already":                      {nightly(last), nil, "2026-11-22T09:00:00Z", "", "2026-11-23T02:30:00Z", false},
		"the one before still runs":         {nightly(last), []v1alpha1.GaleraBackup{made(v1alpha1.BackupRunning, "")}, "2026-11-23T02:31:00Z", "", "2026-11-24T02:30:00Z", false},
		"it runs, and both are wanted":      {nightly(last, allow), []v1alpha1.GaleraBackup{made(v1alpha1.BackupRunning, "")}, "2026-11-23T02:31:00Z", "nightly-20261123-0230", "2026-11-24T02:30:00Z", false},
		"the one before failed":             {nightly(last), []v1alpha1.GaleraBackup{made(v1alpha1.BackupFailed, "")}, "2026-11-23T02:31:00Z", "nightly-20261123-0230", "2026-11-24T02:30:00Z", false},
		"suspended":                         {nightly(func(s *v1alpha1.GaleraBackupSchedule) { s.Spec.Suspend = true }), nil, "2026-11-23T02:31:00Z", "", "", false},
		"no schedule":                       {nightly(func(s *v1alpha1.GaleraBackupSchedule) { s.Spec.Schedule = "61 2 * * *" }), nil, "2026-11-23T02:31:00Z", "", "", true},
		"no time zone":                      {nightly(func(s *v1alpha1.GaleraBackupSchedule) { s.Spec.TimeZone = "Europe/Atlantis" }), nil, "2026-11-23T02:31:00Z", "", "", true},
		"in another time zone, an hour off": {nightly(func(s *v1alpha1.GaleraBackupSchedule) { s.Spec.TimeZone = "Europe/Vienna" }), nil, "2026-11-21T01:30:00Z", "nightly-20261121-0130", "2026-11-22T01:30:00Z", false},
	} {
		next := c.s.Status.DeepCopy()
		d := decide(next, c.s, c.backups, at(c.now))
		told := ""
		if next.NextTime != nil {
			told = next.NextTime.UTC().Format(time.RFC3339)
		}
		if d.make != c.make || told != c.next || meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionStalled) != c.stalled {
			t.Errorf("%s: makes %q, next %s, %+v", name, d.make, told, next.Conditions)
		}
	}
}

// TestExpired: retention asks only what may be deleted, of this cluster and store, and complete.
func TestExpired(t *testing.T) {
	s := nightly()
	s.Spec.Template.ClusterRef.Name, s.Spec.Template.StoreRef.Name = "shop", "offsite"
	one := func(name, completed, policy, cluster string) v1alpha1.GaleraBackup {
		b := made(v1alpha1.BackupCompleted, completed)
		b.Name, b.Spec.DeletionPolicy, b.Spec.ClusterRef.Name, b.Spec.StoreRef.Name = name, policy, cluster, "offsite"
		return b
	}
	all := []v1alpha1.GaleraBackup{
		one("old", "2026-11-01T00:00:00Z", v1alpha1.BackupDelete, "shop"), one("kept", "2026-11-02T00:00:00Z", v1alpha1.BackupRetain, "shop"),
		one("other", "2026-11-01T00:00:00Z", v1alpha1.BackupDelete, "bar"), one("last", "2026-11-20T00:00:00Z", v1alpha1.BackupDelete, "shop"),
		made(v1alpha1.BackupRunning, ""),
	}
	// One that has not passed its test keeps nothing from being kept.
	damaged := one("damaged", "2026-11-20T12:00:00Z", v1alpha1.BackupDelete, "shop")
	damaged.Spec.Verify = v1alpha1.VerifyChecksum
	// That of a clone goes soon, whatever the store keeps.
	temporary := one("temporary", "2026-11-20T18:00:00Z", v1alpha1.BackupDelete, "shop")
	temporary.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GaleraCluster", Name: "copy", Controller: new(true)}}
	all = append(all, damaged, temporary)
	got := expired(s, all, v1alpha1.BackupRetention{KeepLast: 1}, false, at("2026-11-21T00:00:00Z"))
	if len(got) != 1 || got[0].Name != "old" {
		t.Errorf("%+v", got)
	}
}

// TestFailures: the latest of the failed are left for people.
func TestFailures(t *testing.T) {
	var all []v1alpha1.GaleraBackup
	for i, day := range []string{"05", "01", "04", "02", "03"} {
		b := made(v1alpha1.BackupFailed, "")
		b.Name, b.CreationTimestamp, b.Spec.DeletionPolicy = day, metav1.NewTime(at("2026-11-"+day+"T00:00:00Z")), v1alpha1.BackupDelete
		if i == 0 {
			b.Spec.DeletionPolicy = v1alpha1.BackupRetain
		}
		all = append(all, b)
	}
	if got := failures(nightly(), all); len(got) != 1 || got[0].Name != "01" {
		t.Errorf("%+v", got)
	}
}

package taking

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// here and there are two places.
var here, there = volumeStore("here"), volumeStore("there")

func volumeStore(claim string) v1alpha1.GaleraBackupStoreSpec {
	return v1alpha1.GaleraBackupStoreSpec{Volume: &v1alpha1.VolumeStore{ClaimName: claim}}
}

func locationOf(spec v1alpha1.GaleraBackupStoreSpec) *v1alpha1.StoreLocation {
	return new(location.Of(&v1alpha1.GaleraBackupStore{Spec: spec}))
}

// names has the store lead to a place, and the last Job to another, which it was made for; nil for not known.
func names(now v1alpha1.GaleraBackupStoreSpec, used *v1alpha1.StoreLocation) func(*Facts) {
	return func(f *Facts) { f.Store.Spec, f.Job.Location = now, used }
}

// TestLocation: what is recorded is the place that the Job has used, which the store may not lead to any more.
func TestLocation(t *testing.T) {
	const id, dir = "b1", "demo/shop/a54080f9"
	complete := task.Result{Backup: &task.Stored{ID: id, Dir: dir}}
	for name, f := range map[string]Facts{
		"a backup":           inProgress(withResult(complete), names(there, locationOf(here))),
		"one at work":        inProgress(names(there, locationOf(here))),
		"one that has begun": inProgress(withResult(task.Result{Error: "no answer"}), names(there, locationOf(here))),
	} {
		to := f.Backup.Status.DeepCopy()
		if Decide(to, f); to.Store == nil || *to.Store != *locationOf(here) {
			t.Errorf("%s: %+v", name, to.Store)
		}
	}
	f := inProgress(withResult(complete), names(there, locationOf(here)))
	f.Backup.Spec.Import = &v1alpha1.BackupImport{ID: id, Directory: dir}
	to := f.Backup.Status.DeepCopy()
	if DecideImport(to, f); to.Phase != v1alpha1.BackupCompleted || to.Store == nil || *to.Store != *locationOf(here) {
		t.Errorf("an import: %+v", to)
	}
	f = inProgress(withResult(complete), names(there, nil), func(f *Facts) { f.Backup.Status.Store = locationOf(here) })
	to = f.Backup.Status.DeepCopy()
	if Decide(to, f); to.Store == nil || *to.Store != *locationOf(here) {
		t.Errorf("a Job of an earlier release: %+v", to)
	}
}

// TestVerifyElsewhere: a backup is not tested where it does not lie. One of an earlier release is, and its place is
// known once it has passed.
func TestVerifyElsewhere(t *testing.T) {
	const method = v1alpha1.VerifyChecksum
	lies := func(at *v1alpha1.StoreLocation) func(*Facts) { return func(f *Facts) { f.Backup.Status.Store = at } }
	for name, c := range map[string]struct {
		f      Facts
		run    bool
		reason string
		at     *v1alpha1.StoreLocation
	}{
		"where it lies": {tested(method, testing1(method), lies(locationOf(here)), names(here, nil)), true, "",
			locationOf(here)},
		"elsewhere": {tested(method, testing1(method), lies(locationOf(here)), names(there, nil)), false,
			v1alpha1.ReasonStoreChanged, locationOf(here)},
		"it is not known": {tested(method, testing1(method), names(there, nil)), true, "", nil},
		"it was not known": {tested(method, testing1(method), withResult(wasRead), names(there, locationOf(here))), false,
			v1alpha1.ReasonVerified, locationOf(here)},
		"it is known": {tested(method, testing1(method), lies(locationOf(here)), withResult(wasRead),
			names(here, locationOf(there))), false, v1alpha1.ReasonVerified, locationOf(here)},
		"it is not known, and damaged": {tested(method, testing1(method), names(here, locationOf(here)),
			func(f *Facts) {
				withResult(task.Result{Error: "a part", Reason: task.ReasonBackupDamaged, Fatal: true})(f)
				f.Job.Location = locationOf(here)
			}), false, v1alpha1.ReasonBackupDamaged, nil},
	} {
		to := c.f.Backup.Status.DeepCopy()
		d := DecideVerification(to, c.f)
		got := meta.FindStatusCondition(to.Conditions, v1alpha1.ConditionVerified)
		if d.Run != c.run || (got == nil) != (c.reason == "") || got != nil && got.Reason != c.reason ||
			(to.Store == nil) != (c.at == nil) || to.Store != nil && *to.Store != *c.at {
			t.Errorf("%s: %+v, %+v, %+v", name, d, got, to.Store)
		}
		if c.reason == v1alpha1.ReasonStoreChanged && !strings.Contains(got.Message, "Point the store back") &&
			!strings.Contains(got.Message, "point the store back") {
			t.Errorf("%s: %s", name, got.Message)
		}
	}
}

// TestLocate: a backup of an earlier release lies where it is listed, if what is listed is what the store names now.
func TestLocate(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.GaleraBackupStatus, *v1alpha1.GaleraBackupStore)
		want   *v1alpha1.StoreLocation
	}{
		"it is listed": {func(*v1alpha1.GaleraBackupStatus, *v1alpha1.GaleraBackupStore) {}, locationOf(here)},
		"it is not listed": {func(_ *v1alpha1.GaleraBackupStatus, s *v1alpha1.GaleraBackupStore) {
			s.Status.Latest[0].ID = "b2"
		}, nil},
		"one of another cluster is listed": {func(_ *v1alpha1.GaleraBackupStatus, s *v1alpha1.GaleraBackupStore) {
			s.Status.Latest[0].Directory = "demo/shop/2"
		}, nil},
		"the store was not checked since": {func(_ *v1alpha1.GaleraBackupStatus, s *v1alpha1.GaleraBackupStore) {
			s.Generation = 2
		}, nil},
		"it is known": {func(to *v1alpha1.GaleraBackupStatus, _ *v1alpha1.GaleraBackupStore) {
			to.Store = locationOf(there)
		}, locationOf(there)},
		"it has failed": {func(to *v1alpha1.GaleraBackupStatus, _ *v1alpha1.GaleraBackupStore) {
			to.Phase = v1alpha1.BackupFailed
		}, nil},
	} {
		s := pending().Store
		s.Spec = here
		s.Status.Latest = []v1alpha1.StoredBackup{{ID: "b1", Directory: "demo/shop/1"}}
		to := &v1alpha1.GaleraBackupStatus{Phase: v1alpha1.BackupCompleted, ID: "b1", Directory: "demo/shop/1"}
		c.change(to, s)
		if Locate(to, s); (to.Store == nil) != (c.want == nil) || c.want != nil && *to.Store != *c.want {
			t.Errorf("%s: %+v", name, to.Store)
		}
	}
	Locate(&v1alpha1.GaleraBackupStatus{Phase: v1alpha1.BackupCompleted}, nil)
}

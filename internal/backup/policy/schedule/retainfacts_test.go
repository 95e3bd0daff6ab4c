package schedule

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
)

// kept are the facts of a schedule whose store keeps the last backup, on 21 November.
func kept(changes ...func(*Facts)) Facts {
	f := Facts{Schedule: nightly(), Now: at("2026-11-21T00:00:00Z")}
	f.Store, f.Cluster = &v1alpha1.GaleraBackupStore{}, &v1alpha1.GaleraCluster{}
	f.Store.Name = "offsite"
	f.Schedule.Spec.Template.ClusterRef.Name, f.Schedule.Spec.Template.StoreRef.Name = "shop", "offsite"
	f.Store.Spec.Retention = &v1alpha1.BackupRetention{KeepLast: 1}
	f.Cluster.Name, f.Cluster.UID = "shop", "new"
	for _, c := range changes {
		c(&f)
	}
	return f
}

// has adds a complete backup of a day of November.
func has(name, day string, changes ...func(*v1alpha1.GaleraBackup)) func(*Facts) {
	return func(f *Facts) {
		b := made(v1alpha1.BackupCompleted, "2026-11-"+day+"T00:00:00Z")
		b.Name, b.UID, b.Spec.DeletionPolicy = name, types.UID("uid-"+name), v1alpha1.BackupDelete
		b.Spec.ClusterRef.Name, b.Spec.StoreRef.Name, b.Status.ClusterUID = "shop", "offsite", "new"
		for _, c := range changes {
			c(&b)
		}
		f.Backups = append(f.Backups, b)
	}
}

func policy(p string) func(*v1alpha1.GaleraBackup) {
	return func(b *v1alpha1.GaleraBackup) { b.Spec.DeletionPolicy = p }
}

func ofCluster(name, uid string) func(*v1alpha1.GaleraBackup) {
	return func(b *v1alpha1.GaleraBackup) { b.Spec.ClusterRef.Name, b.Status.ClusterUID = name, uid }
}

func withGTID(b *v1alpha1.GaleraBackup) { b.Status.GTID = "0-1-5" }

// failing is one whose test has ended for a reason.
func failing(reason string) func(*v1alpha1.GaleraBackup) {
	return func(b *v1alpha1.GaleraBackup) {
		b.Spec.Verify = v1alpha1.VerifyChecksum
		b.Status.Verification = &v1alpha1.BackupVerification{Method: v1alpha1.VerifyChecksum, Phase: v1alpha1.VerifyFailed}
		b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionVerified, Status: metav1.ConditionFalse,
			Reason: reason}}
	}
}

// temporary is that of a clone, which goes when the clone is Ready.
func temporary(b *v1alpha1.GaleraBackup) {
	owner := metav1.OwnerReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GaleraCluster", Name: "copy",
		Controller: new(true)}
	b.OwnerReferences = []metav1.OwnerReference{owner}
}

// imported is one whose data are another object's, or no object's.
func imported(b *v1alpha1.GaleraBackup) {
	b.Spec.DeletionPolicy, b.Spec.Import = v1alpha1.BackupRetain, &v1alpha1.BackupImport{}
}

// elsewhere is one that lies where the store does not lead any more.
func elsewhere(b *v1alpha1.GaleraBackup) {
	b.Status.Store = &v1alpha1.StoreLocation{Kind: v1alpha1.StoreVolume, Claim: "before"}
}

func window(d time.Duration) func(*Facts) {
	return func(f *Facts) {
		f.Store.Spec.Retention = &v1alpha1.BackupRetention{KeepWithin: &metav1.Duration{Duration: d}}
	}
}

// leadsFrom has the cluster's archive in a store lead from a backup to its end, and need that, or others.
func leadsFrom(store, id string, needed ...string) func(*Facts) {
	return func(f *Facts) {
		f.Cluster.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: store}}
		if needed == nil { // it has looked
			needed = []string{cmp.Or(id, "none")}
		}
		f.Cluster.Status.Backup = &v1alpha1.ArchiveStatus{Base: id, Needed: needed}
		f.Store.Name = "offsite"
	}
}

func keep(r v1alpha1.BackupRetention) func(*Facts) {
	return func(f *Facts) { f.Store.Spec.Retention = &r }
}

func phase(p string) func(*v1alpha1.GaleraBackup) {
	return func(b *v1alpha1.GaleraBackup) { b.Status.Phase = p }
}

// verify has it be tested, with what came out of that, if anything.
func verify(how string, passed metav1.ConditionStatus) func(*v1alpha1.GaleraBackup) {
	return func(b *v1alpha1.GaleraBackup) {
		if b.Spec.Verify = how; passed != "" {
			b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionVerified, Status: passed}}
		}
	}
}

// unseen has the operator see that it is not complete.
func unseen(b *v1alpha1.GaleraBackup) { b.Status.Conditions[0].Status = metav1.ConditionFalse }

// through has the archive come to a day.
func through(day string) func(*Facts) {
	return func(f *Facts) {
		f.Cluster.Spec.Backup.PointInTime = &v1alpha1.PointInTime{Enabled: true}
		f.Cluster.Status.Backup.ArchivedThrough = new(metav1.NewTime(at("2026-11-" + day + "T00:00:00Z")))
	}
}

// empty has the store be seen at a time to have no segment.
func empty(when string) func(*Facts) {
	return func(f *Facts) {
		place := location.Of(f.Store)
		f.Cluster.Status.Backup.EmptyAt, f.Cluster.Status.Backup.Store = new(metav1.NewTime(at(when))), &place
		for i := range f.Backups {
			f.Backups[i].Status.Store = &place
		}
	}
}

// lies has the store lead to a bucket, and the status of the archive be about one.
func lies(bucket string) func(*Facts) {
	return func(f *Facts) {
		f.Store.Spec.S3 = &v1alpha1.S3Store{Bucket: "bucket"}
		of := location.Of(f.Store)
		of.Bucket = bucket
		f.Cluster.Status.Backup.Store = &of
	}
}

// created has a backup's object be created on a day, and seen has the operator see on it that it is complete.
func created(day string) func(*v1alpha1.GaleraBackup) {
	return func(b *v1alpha1.GaleraBackup) {
		b.CreationTimestamp = metav1.NewTime(at("2026-11-" + day + "T00:00:00Z"))
	}
}

func seen(day string) func(*v1alpha1.GaleraBackup) {
	return func(b *v1alpha1.GaleraBackup) {
		b.Status.Conditions = append(b.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionComplete,
			Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(at("2026-11-" + day + "T00:00:00Z"))})
	}
}

func withID(id string) func(*v1alpha1.GaleraBackup) {
	return func(b *v1alpha1.GaleraBackup) { b.Status.ID = id }
}

// adds makes it an increment.
func adds(base string) func(*v1alpha1.GaleraBackup) {
	return func(b *v1alpha1.GaleraBackup) { b.Status.Incremental = &v1alpha1.BackupChain{Base: base, Depth: 1} }
}

// ended has an archive be turned off, the window of which passes on a day, and which needs backups.
func ended(day string, needed ...string) func(*Facts) {
	return func(f *Facts) {
		until := metav1.NewTime(at("2026-11-" + day + "T00:00:00Z"))
		f.Cluster.Status.EndedArchive = &v1alpha1.EndedArchive{Until: until, Window: metav1.Duration{Duration: f.Window}}
		for _, id := range needed {
			f.Cluster.Status.EndedArchive.Needed = append(f.Cluster.Status.EndedArchive.Needed,
				v1alpha1.NeededBackup{ID: id, Until: until})
		}
	}
}

// unnamed has archives that were turned off need others that are not named, until a day.
func unnamed(day string) func(*Facts) {
	return func(f *Facts) {
		f.Cluster.Status.EndedArchive.UnnamedUntil = new(metav1.NewTime(at("2026-11-" + day + "T00:00:00Z")))
	}
}

// spans has an archive keep points in time for 30 days.
func spans(f *Facts) { f.Window = 30 * 24 * time.Hour }

// steps are three bases, the first of which is of an earlier span of 30 days.
func steps(f *Facts) {
	for _, c := range []func(*Facts){has("a", "01", withGTID), has("b", "10", withGTID), has("c", "20", withGTID)} {
		c(f)
	}
}

// archives has the cluster archive in a store for 30 days.
func archives(store string) func(*Facts) {
	return func(f *Facts) {
		leadsFrom(store, "x")(f)
		through("20")(f)
		f.Window = 30 * 24 * time.Hour
	}
}

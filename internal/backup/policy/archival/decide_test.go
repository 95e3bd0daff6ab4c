package archival

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// with are the facts of an archive that is well, with changes.
func with(changes ...func(*Facts)) Facts {
	f := Facts{Now: noon, Cluster: &v1alpha1.GaleraCluster{}, Store: &v1alpha1.GaleraBackupStore{},
		Archived: &task.Archived{Node: "shop-1", Through: noon.Add(-5 * time.Second), GTID: "0-1-30", Segment: 9,
			Chain: 1, Surveyed: true, Base: "b1", From: noon.Add(-time.Hour)}}
	f.Cluster.Name, f.Cluster.UID = "shop", "a54080f9-1111"
	f.Store.Name, f.Store.UID = "minio", "c54080f9-1111"
	f.Cluster.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "minio"},
		PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	f.Cluster.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	for _, change := range changes {
		change(&f)
	}
	return f
}

func TestDecide(t *testing.T) {
	first, second := baseName(with().Cluster, with().Store, 1, 1), baseName(with().Cluster, with().Store, 5, 1)
	silent := func(f *Facts) { f.Archived, f.Silent = nil, "the pod does not answer" }
	gap := func(f *Facts) { f.Archived.Chain, f.Archived.Gap, f.Archived.Base = 5, "purged", "" }
	for name, c := range map[string]struct {
		f                   Facts
		before              v1alpha1.ArchiveStatus
		reason, says, asked string
	}{
		"all is well": {with(), v1alpha1.ArchiveStatus{}, v1alpha1.ReasonArchiving,
			"from 2026-11-24T11:00:00Z on", ""},
		"the archive ends before the backup": {with(func(f *Facts) { f.Archived.From = time.Time{} }),
			v1alpha1.ArchiveStatus{}, v1alpha1.ReasonBaseMissing, "ends at 0-1-30, before the backup b1", ""},
		"it is behind, and ends before the backup": {with(func(f *Facts) {
			f.Archived.From, f.Archived.Through = time.Time{}, noon.Add(-time.Hour)
		}), v1alpha1.ArchiveStatus{}, v1alpha1.ReasonArchiveLags, "is behind", ""},
		"a backup is not given out": {with(func(f *Facts) {
			f.Archived.Surveyed, f.Archived.Kept = false, "AccessDenied"
		}), v1alpha1.ArchiveStatus{}, v1alpha1.ReasonArchiverStarting, "where the archive ends: AccessDenied", ""},
		"it starts": {with(silent), v1alpha1.ArchiveStatus{}, v1alpha1.ReasonArchiverStarting,
			"does not answer", ""},
		"it is silent": {with(silent),
			v1alpha1.ArchiveStatus{ArchivedThrough: timeOf(noon.Add(-3 * time.Minute))}, v1alpha1.ReasonArchiverFailing,
			"does not answer", ""},
		"the store is gone": {with(silent,
			func(f *Facts) { f.Problem = Problem{v1alpha1.ReasonStoreNotFound, "there is none"} }), v1alpha1.ArchiveStatus{},
			v1alpha1.ReasonStoreNotFound, "there is none", ""},
		"it needs a base": {with(func(f *Facts) { f.Archived.Base = "" }), v1alpha1.ArchiveStatus{},
			v1alpha1.ReasonBaseMissing, first, first},
		"the cluster is not ready for one": {with(func(f *Facts) { f.Archived.Base, f.Cluster.Status.Conditions = "", nil }),
			v1alpha1.ArchiveStatus{}, v1alpha1.ReasonBaseMissing, "when the cluster is Ready", ""},
		"it surveys the archive": {with(func(f *Facts) { f.Archived.Surveyed = false }), v1alpha1.ArchiveStatus{},
			v1alpha1.ReasonArchiverStarting, "determines", ""},
		"a gap": {with(gap), v1alpha1.ArchiveStatus{}, v1alpha1.ReasonArchiveGap, "purged",
			second},
		"the base is being made": {with(gap,
			func(f *Facts) { f.Backups = []v1alpha1.GaleraBackup{{ObjectMeta: metav1.ObjectMeta{Name: second}}} }),
			v1alpha1.ArchiveStatus{},
			v1alpha1.ReasonArchiveGap, "is being made", ""},
		"nothing is pruned": {with(func(f *Facts) { f.Archived.Kept = "more than 100 backups were found damaged" }),
			v1alpha1.ArchiveStatus{}, v1alpha1.ReasonPruningPaused, "more than 100", ""},
		"it is late": {with(func(f *Facts) { f.Archived.Through = noon.Add(-2 * time.Minute) }), v1alpha1.ArchiveStatus{},
			v1alpha1.ReasonArchiveLags, "11:58", ""},
		"the store is away": {with(func(f *Facts) {
			f.Archived.Through, f.Archived.Problem, f.Archived.Reason = noon.Add(-2*time.Minute), "no answer",
				task.ReasonStoreUnreachable
		}), v1alpha1.ArchiveStatus{}, v1alpha1.ReasonStoreUnreachable, "no answer", ""},
		"the store is away when the archiver starts": {with(func(f *Facts) {
			f.Archived.Surveyed, f.Archived.Problem, f.Archived.Reason = false, "no answer", task.ReasonStoreUnreachable
		}), v1alpha1.ArchiveStatus{}, v1alpha1.ReasonStoreUnreachable, "no answer", ""},
		"nothing was written yet": {with(func(f *Facts) { f.Archived = &task.Archived{Problem: "nothing was written"} }),
			v1alpha1.ArchiveStatus{}, v1alpha1.ReasonArchiverStarting, "nothing was written", ""},
	} {
		to := c.before
		ask := Decide(&to, c.f)
		if to.Reason != c.reason || !strings.Contains(to.Message, c.says) || ask.Name != c.asked {
			t.Errorf("%s: %s %q, base %q", name, to.Reason, to.Message, ask.Name)
		}
	}
}

// TestGapIsKeptUntilTheArchiverHasLooked: an archiver that was started again reports no gap until it has looked;
// meanwhile it stays.
func TestGapIsKeptUntilTheArchiverHasLooked(t *testing.T) {
	to := v1alpha1.ArchiveStatus{Gap: "purged", Chain: 5}
	Decide(&to, with(func(f *Facts) {
		f.Archived.Surveyed, f.Archived.Chain, f.Archived.Base, f.Archived.Gap = false, 0, "", ""
	}))
	if to.Gap != "purged" || to.Chain != 5 || to.Reason == v1alpha1.ReasonArchiving {
		t.Errorf("%+v", to)
	}
}

// TestNeeded: what the window needs stays until the archiver knows it again. It may be nothing.
func TestNeeded(t *testing.T) {
	to := v1alpha1.ArchiveStatus{Needed: []string{"b0"}}
	for _, c := range []struct{ reports, want []string }{
		{nil, []string{"b0"}}, {[]string{"b2", "b1"}, []string{"b2", "b1"}}, {nil, []string{"b2", "b1"}}, {[]string{}, nil},
	} {
		Decide(&to, with(func(f *Facts) { f.Archived.Needed = c.reports }))
		if !slices.Equal(to.Needed, c.want) {
			t.Errorf("%v is reported: %v", c.reports, to.Needed)
		}
	}
}

// TestRecoverableFrom: a restore can end at every whole second from the one that is named on. The second in which the
// backup was complete is before it.
func TestRecoverableFrom(t *testing.T) {
	for after, want := range map[time.Duration]time.Duration{0: 0, time.Nanosecond: time.Second,
		700 * time.Millisecond: time.Second,
		time.Second:            time.Second} {
		var to v1alpha1.ArchiveStatus
		Decide(&to, with(func(f *Facts) { f.Archived.From = noon.Add(after - time.Hour) }))
		if have := to.RecoverableFrom; have == nil || !have.Time.Equal(noon.Add(want-time.Hour)) {
			t.Errorf("a backup of %s after the hour: from %s", after, have)
		}
	}
	var to v1alpha1.ArchiveStatus
	Decide(&to, with(func(f *Facts) { f.Archived.From = time.Time{} }))
	if to.RecoverableFrom != nil {
		t.Errorf("there is no backup: from %s", to.RecoverableFrom)
	}
}

// TestUnchangedStatusIsNotWritten: a status that changes with every check wakes every watcher.
func TestUnchangedStatusIsNotWritten(t *testing.T) {
	var to v1alpha1.ArchiveStatus
	Decide(&to, with())
	before := *to.DeepCopy()
	Decide(&to, with(func(f *Facts) { f.Now, f.Archived.Through = noon.Add(4*time.Second), noon.Add(-time.Second) }))
	if !before.ArchivedThrough.Equal(to.ArchivedThrough) || *before.Lag != *to.Lag {
		t.Errorf("%+v, then %+v", before, to)
	}
}

// TestLastTransaction: the transaction that was archived last is reported early, though no later time is stored for a
// while. The time does not go back.
func TestLastTransaction(t *testing.T) {
	var to v1alpha1.ArchiveStatus
	Decide(&to, with())
	before := *to.DeepCopy()
	step := func(after, through time.Duration) {
		Decide(&to, with(func(f *Facts) {
			f.Now, f.Archived.GTID, f.Archived.Through = noon.Add(after), "0-1-1000", before.ArchivedThrough.Add(through)
		}))
	}
	if step(time.Second, time.Second); to.ArchivedGTID != before.ArchivedGTID {
		t.Errorf("every second: %+v", to)
	}
	if step(30*time.Second, -time.Hour); to.ArchivedGTID != "0-1-1000" ||
		!to.ArchivedThrough.Equal(before.ArchivedThrough) {
		t.Errorf("of a time before: %+v", to)
	}
	to = *before.DeepCopy()
	if step(30*time.Second, 2*time.Second); to.ArchivedGTID != "0-1-1000" ||
		!to.ArchivedThrough.Time.Equal(before.ArchivedThrough.Add(2*time.Second)) {
		t.Errorf("%+v", to)
	}
}

// asked are bases of a store that were asked for, so many hours ago.
func asked(store string, hours ...float64) func(*Facts) {
	return func(f *Facts) {
		for i, h := range hours {
			b := v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(store, i),
				Labels:            map[string]string{v1alpha1.LabelArchiveOf: string(f.Cluster.UID)},
				CreationTimestamp: metav1.NewTime(noon.Add(-time.Duration(h * float64(time.Hour))))}}
			b.Spec.StoreRef.Name = store
			f.Backups = append(f.Backups, b)
		}
	}
}

// TestManyGaps: a cluster of one node whose statements fail again and again is not copied in full each time.
func TestManyGaps(t *testing.T) {
	gap := func(f *Facts) { f.Archived.Chain, f.Archived.Gap, f.Archived.Base = 5, "a number is missing", "" }
	for name, c := range map[string]struct {
		f     Facts
		asks  bool
		until string
	}{
		"the second gap":               {with(gap, asked("minio", 1, 0.1)), true, ""},
		"the third gap":                {with(gap, asked("minio", 2, 1, 0.5)), false, "2026-11-24T12:30:00Z"},
		"the third gap, an hour later": {with(gap, asked("minio", 3, 2, 1)), true, ""},
		"those of another store":       {with(gap, asked("minio", 1), asked("other", 1, 0.5, 0.1)), true, ""},
		"those of an earlier cluster": {with(gap, asked("minio", 1, 0.5, 0.1),
			func(f *Facts) { f.Cluster.UID = "d54080f9-1111" }), true, ""},
		"a backup that was made by a person": {with(gap, asked("minio", 1, 0.5, 0.1),
			func(f *Facts) { delete(f.Backups[0].Labels, v1alpha1.LabelArchiveOf) }), true, ""},
	} {
		var to v1alpha1.ArchiveStatus
		ask := Decide(&to, c.f)
		if (ask.Name != "") != c.asks || !strings.Contains(to.Message, c.until) || to.Reason != v1alpha1.ReasonArchiveGap {
			t.Errorf("%s: %q %q", name, ask.Name, to.Message)
		}
	}
}

// TestBaseIsMadeAgain: a backup that the archive needs, and that has failed, is damaged, or leads nowhere, is made
// again by itself, at growing intervals.
func TestBaseIsMadeAgain(t *testing.T) {
	name := func(try int) string { return baseName(with().Cluster, with().Store, 5, try) }
	gap := func(f *Facts) { f.Archived.Chain, f.Archived.Gap, f.Archived.Base = 5, "purged", "" }
	made := func(try int, phase string, hours float64, changes ...func(*v1alpha1.GaleraBackup)) func(*Facts) {
		return func(f *Facts) {
			b := v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Name: name(try),
				Labels:            map[string]string{v1alpha1.LabelArchiveOf: string(f.Cluster.UID)},
				CreationTimestamp: metav1.NewTime(noon.Add(-time.Duration(hours * float64(time.Hour))))}}
			b.Spec.StoreRef.Name, b.Status.Phase = f.Store.Name, phase
			b.Status.CompletedAt = timeOf(b.CreationTimestamp.Add(time.Minute))
			for _, change := range changes {
				change(&b)
			}
			f.Backups = append(f.Backups, b)
		}
	}
	says := func(kind, reason, message string) func(*v1alpha1.GaleraBackup) {
		return func(b *v1alpha1.GaleraBackup) {
			b.Status.Conditions = append(b.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionFalse,
				Reason: reason, Message: message})
		}
	}
	damaged := says(v1alpha1.ConditionVerified, v1alpha1.ReasonBackupDamaged, "a part is missing")
	failed := says(v1alpha1.ConditionComplete, v1alpha1.ReasonBackupFailed, "no agent answers")
	seen := func(at, says time.Duration) func(*v1alpha1.GaleraBackup) {
		return func(b *v1alpha1.GaleraBackup) {
			b.Status.CompletedAt = timeOf(noon.Add(says))
			b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue,
				LastTransitionTime: metav1.NewTime(noon.Add(at))}}
		}
	}
	const complete, failing = v1alpha1.BackupCompleted, v1alpha1.BackupFailed
	for text, c := range map[string]struct {
		f          Facts
		asks, says string
		again      bool
	}{
		"it has just failed": {with(gap, made(1, failing, 0.5, failed)), "", "no agent answers; the backup " + name(1) +
			" is asked for at 2026-11-24T12:30:00Z", false},
		"it has failed": {with(gap, made(1, failing, 1, failed)), name(1), "no agent answers", true},
		"a person's of its name": {with(gap, made(1, failing, 1, func(b *v1alpha1.GaleraBackup) { b.Labels = nil })), "",
			"delete it", false},
		"it is damaged": {with(gap, made(1, complete, 1, damaged)), name(2), "is damaged", false},
		"it lies elsewhere": {with(gap, made(1, complete, 0.1, func(b *v1alpha1.GaleraBackup) {
			b.Status.Store = &v1alpha1.StoreLocation{Kind: v1alpha1.StoreVolume, Claim: "before"}
		}), func(f *Facts) { f.Archived.Segment = 5 }), name(2), "lies elsewhere: the GaleraBackupStore", false},
		"it is found damaged at once": {with(gap, made(1, complete, 0.5, damaged)), "", "at 2026-11-24T12:30:00Z", false},
		"the second is damaged, too": {with(gap, made(1, complete, 9, damaged), made(2, complete, 1, damaged)), "",
			"at 2026-11-24T13:00:00Z", false},
		"the second has failed": {with(gap, made(1, complete, 9, damaged), made(2, failing, 1, failed)), name(2),
			"no agent", true},
		"the second is good": {with(gap, made(1, complete, 9, damaged), made(2, complete, 0.02)), "",
			"is being checked", false},
		"the archive cannot use it": {with(gap, made(1, complete, 1)), name(2), "none that the archive can continue from",
			false},
		"the archive has the reason": {with(gap, made(1, complete, 1), func(f *Facts) {
			f.Backups[0].Status.ID, f.Archived.Unfit, f.Archived.UnfitWhy = "i", "i", "it ends before"
		}), name(2), "can continue from: it ends before; ", false},
		"and only that of another one": {with(gap, made(1, complete, 1), func(f *Facts) {
			f.Backups[0].Status.ID, f.Archived.Unfit, f.Archived.UnfitWhy = "i", "other", "it ends before"
		}), name(2), "can continue from; ", false},
		"something was written since": {with(gap, made(1, complete, 0.1)), name(2),
			"none that the archive can continue from", false},
		"its node's clock was ahead": {with(gap, made(1, complete, 1, seen(-time.Hour, 30*time.Hour))), name(2),
			"none that the archive can continue from", false},
		"its Job's clock was behind": {with(gap, made(1, complete, 1, seen(-time.Second, -30*time.Hour))), "",
			"is being checked", false},
		"nothing was written since": {with(gap, made(1, complete, 0.1), func(f *Facts) { f.Archived.Segment = 5 }), "",
			"at 2026-11-24T12:54:00Z", false},
		"something was written, and the second is of no use either": {with(gap, made(1, complete, 0.5),
			made(2, complete, 0.1)),
			"", "at 2026-11-24T13:54:00Z", false},
		"the archiver reads no backup": {with(gap, made(1, complete, 1), func(f *Facts) { f.Archived.Unread = true }), "",
			"is being checked", false},
		"the archiver reads all but one of the backups": {with(gap, made(1, complete, 1),
			func(f *Facts) { f.Archived.Kept = "x" }), name(2), "none that the archive can continue from", false},
		"it has failed, and the archiver reads no backup": {with(gap, made(1, failing, 1, failed),
			func(f *Facts) { f.Archived.Kept, f.Archived.Unread = "no answer", true }), "", "can be read: no answer", false},
		"of the tenth there is a day": {with(gap, made(1, complete, 99, damaged), made(2, complete, 99, damaged),
			made(3, complete, 99, damaged), made(4, complete, 99, damaged), made(5, complete, 99, damaged),
			made(6, complete, 23, damaged)), "", "at 2026-11-24T13:00:00Z", false},
	} {
		var to v1alpha1.ArchiveStatus
		ask := Decide(&to, c.f)
		if ask.Name != c.asks || (ask.Failed != nil) != c.again || !strings.Contains(to.Message, c.says) ||
			to.Reason != v1alpha1.ReasonArchiveGap {
			t.Errorf("%s: asks for %q, again %v: %s", text, ask.Name, ask.Failed != nil, to.Message)
		}
	}
}

// TestDamaged: the archiver is named the cluster's backups that were found damaged, and whether these are all.
func TestDamaged(t *testing.T) {
	bad := func(id, uid, reason string) v1alpha1.GaleraBackup {
		return v1alpha1.GaleraBackup{Status: v1alpha1.GaleraBackupStatus{ID: id, ClusterUID: uid,
			Conditions: []metav1.Condition{
				{Type: v1alpha1.ConditionVerified, Status: metav1.ConditionFalse, Reason: reason}}}}
	}
	f := with()
	uid := string(f.Cluster.UID)
	f.Backups = []v1alpha1.GaleraBackup{bad("b2", uid, v1alpha1.ReasonBackupDamaged),
		bad("b1", uid, v1alpha1.ReasonBackupDamaged),
		bad("other", "other", v1alpha1.ReasonBackupDamaged), bad("unknown", uid, v1alpha1.ReasonWrongKey), {}}
	if ids, more := f.Damaged(); strings.Join(ids, " ") != "b1 b2" || more {
		t.Errorf("%v %v", ids, more)
	}
	of := bad("i1", uid, v1alpha1.ReasonVerifying)
	of.Status.Incremental = &v1alpha1.BackupChain{Base: "b1", Depth: 1}
	f.Backups = append(f.Backups, of)
	if ids, _ := f.Damaged(); strings.Join(ids, " ") != "b1 b2 i1" {
		t.Errorf("with an increment of a damaged one: %v", ids)
	}
	for i := range maxDamaged {
		f.Backups = append(f.Backups, bad(fmt.Sprint("c", i), uid, v1alpha1.ReasonBackupDamaged))
	}
	if ids, more := f.Damaged(); len(ids) != maxDamaged || !more {
		t.Errorf("%d %v", len(ids), more)
	}
}

// TestBaseName: the backup that is asked for has a name that is taken, of its own for each cluster, store and chain,
// whatever the cluster's name.
func TestBaseName(t *testing.T) {
	seen := map[string]bool{}
	for _, length := range []int{1, 36, 37, 40} {
		for _, uid := range []types.UID{"a54080f9-1111", "b54080f9-1111"} {
			for _, of := range []types.UID{"s1", "s2"} {
				for i, chain := range []int64{1, 99999, 100000, 1000000000, 1, 1, 99999} {
					try := max(1, i-2)
					c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("x", length-1) + "y", UID: uid}}
					s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{UID: of}}
					name := baseName(c, s, chain, try)
					if seen[name] || len(name) > 52 || name != baseName(c, s, chain, try) {
						t.Errorf("%d, %s, %s, %d: %q", length, uid, of, chain, name)
					}
					seen[name] = true
				}
			}
		}
	}
}

package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

func TestRetain(t *testing.T) {
	const day = 24 * time.Hour
	old, last := has("old", "01"), has("last", "20")
	earlier := func(name, day string) func(*Facts) { return has(name, day, ofCluster("shop", "old")) }
	bad := func(name, day string) func(*Facts) { return has(name, day, failing(v1alpha1.ReasonBackupDamaged)) }
	untested := func(name, day string) func(*Facts) { return has(name, day, failing(v1alpha1.ReasonWrongKey)) }
	for name, c := range map[string]struct {
		f        Facts
		expiring string
		says     string
	}{
		"of this cluster and store, to be deleted": {
			kept(old, has("mine", "02", policy(v1alpha1.BackupRetain)), has("other", "01", ofCluster("bar", "new")), last),
			"old", ""},
		"of an earlier cluster of its name": {
			kept(earlier("a", "01"), earlier("b", "02"), has("c", "03"), has("d", "04")), "c", "2 backups"},
		"all of them are of an earlier one": {kept(earlier("a", "01"), earlier("b", "02")), "", "2 backups"},

		"an imported one does not count": {kept(old, has("import", "20", imported)), "", ""},
		"nor where it is the latest":     {kept(old, last, has("import", "21", imported)), "old", ""},
		"an imported one of an earlier cluster": {kept(old, last, has("import", "21", ofCluster("shop", "old"), imported)),
			"old", "1 backup of an earlier cluster"},

		"one lies elsewhere": {kept(has("old", "01", elsewhere), has("mine", "19"), last), "mine",
			"1 backup where the store \"offsite\" does not lead any more"},
		"the latest lies elsewhere": {kept(old, has("moved", "21", elsewhere)), "", "1 backup where"},
		"of both kinds": {kept(earlier("a", "01"), has("moved", "21", elsewhere)), "",
			"\"shop\"; 1 backup where"},
		"no cluster": {kept(old, last, func(f *Facts) { f.Cluster = nil }), "", "paused"},
		"no rules":   {kept(old, last, func(f *Facts) { f.Store.Spec.Retention = nil }), "", ""},
		"a cluster that is being deleted": {
			kept(old, last, func(f *Facts) { f.Cluster.DeletionTimestamp = new(metav1.Now()) }), "", "paused"},

		"a damaged one does not count": {kept(has("good", "19"), bad("bad", "20")), "", ""},
		"a damaged one does not count when it is not tested any more": {
			kept(has("good", "19"), has("bad", "20", failing(v1alpha1.ReasonBackupDamaged), func(b *v1alpha1.GaleraBackup) {
				b.Spec.Verify, b.Status.Verification.Method = v1alpha1.VerifyNone, v1alpha1.VerifyNone
			})), "", ""},
		"damaged ones, of which some are left": {
			kept(bad("a", "01"), bad("b", "02"), bad("c", "03"), bad("d", "04"), last), "a", ""},
		"damaged ones, and none has replaced them": {
			kept(old, bad("a", "02"), bad("b", "03"), bad("c", "04"), bad("d", "05")), "", ""},
		"ones that could not be tested stay": {
			kept(untested("a", "01"), untested("b", "02"), untested("c", "03"), untested("d", "04"), last), "", ""},
		"one whose archive is damaged counts, and goes": {
			kept(has("a", "01", failing(v1alpha1.ReasonArchiveDamaged)), has("b", "02", failing(v1alpha1.ReasonArchiveDamaged))),
			"a", ""},
		"a chain stays with what adds to it": {
			kept(has("full", "01", withID("full")), has("i1", "02", withID("i1"), adds("full")),
				has("i2", "20", withID("i2"), adds("i1"))), "", ""},
		"a chain goes with its last increment": {
			kept(has("full", "01", withID("full")), has("i1", "02", withID("i1"), adds("full")), last), "full i1", ""},
		"an increment that another schedule keeps": {
			kept(has("full", "01", withID("full")), last, has("i1", "20", withID("i1"), adds("full"), ofCluster("shop", "old"))),
			"", "1 backup of an earlier"},
		"increments of a damaged one do not count": {
			kept(has("good", "02"), has("full", "03", withID("full"), failing(v1alpha1.ReasonBackupDamaged)),
				has("i1", "20", withID("i1"), adds("full"))), "", ""},
		"that of a clone": {kept(has("mine", "19"), has("clone", "20", temporary)), "", ""},

		"the base of the window": {kept(window(5*day), has("a", "01"), has("b", "02", withGTID), has("c", "20")), "a", ""},
		"the base of the window was made in a line of history that was lost": {
			kept(window(5*day), has("a", "01", withGTID, withID("a")), has("b", "02", withGTID), has("c", "20"),
				leadsFrom("offsite", "a")), "", ""},
		"the archive of another store": {kept(window(5*day), has("a", "01", withGTID, withID("a")),
			has("b", "02", withGTID), has("c", "20"), leadsFrom("other", "x")), "a", ""},
		"its store is to be another one, and what is known is of before": {kept(window(5*day), has("a", "01", withGTID,
			withID("a")), has("b", "02", withGTID), has("c", "20"), leadsFrom("other", "a")), "", ""},
		"the operator's clock is ahead of the archive": {kept(window(5*day), has("a", "01", withGTID, withID("a")),
			has("b", "02", withGTID), has("c", "14", withGTID), has("d", "20"), leadsFrom("offsite", "a"), through("15")), "",
			""},
		"and no backup leads to its end": {kept(window(5*day), has("a", "01", withGTID), has("b", "14", withGTID),
			has("c", "20"), leadsFrom("offsite", ""), through("15")), "", ""},
		"it is not, of another store": {kept(window(5*day), has("a", "01", withGTID, withID("a")),
			has("b", "02", withGTID), has("c", "14", withGTID), has("d", "20"), leadsFrom("other", "x"), through("15")), "a b",
			""},
		"it is not, without a window": {kept(has("a", "16"), has("b", "20"), leadsFrom("offsite", "x"), through("15")), "a",
			""},
		"a Job's clock was behind": {kept(window(5*day), has("a", "01", withGTID), has("b", "02", withGTID, created("18")),
			has("c", "20")), "", ""},
		"a Job's clock was behind for hours": {kept(window(5*day), has("a", "01", withGTID),
			has("b", "02", withGTID, seen("18")), has("c", "20")), "", ""},
		"the last two": {kept(old, last, has("b", "10"), keep(v1alpha1.BackupRetention{KeepLast: 2})), "old", ""},
		"one of each day": {kept(last, has("b", "19"), has("c", "18"), keep(v1alpha1.BackupRetention{KeepDaily: 2})), "c",
			""},
		"one of each week": {kept(last, has("b", "10"), has("c", "01"), keep(v1alpha1.BackupRetention{KeepWeekly: 2})), "c",
			""},
		"the last one is being deleted": {kept(has("old", "01"), has("last", "20", func(b *v1alpha1.GaleraBackup) {
			b.DeletionTimestamp = new(metav1.Now())
		})), "", ""},
		"the last one lies in another store": {kept(has("old", "01"), has("last", "20", func(b *v1alpha1.GaleraBackup) {
			b.Spec.StoreRef.Name = "other"
		})), "", ""},
		"one that has passed its test counts": {kept(old, has("last", "20", verify(v1alpha1.VerifyChecksum,
			metav1.ConditionTrue))), "old", ""},
		"one that is not tested yet does not": {kept(old, has("last", "20", verify(v1alpha1.VerifyChecksum, ""))), "", ""},
		"one that is not to be tested counts": {kept(old, has("last", "20", verify(v1alpha1.VerifyNone, ""))), "old", ""},
		"one is not complete":                 {kept(old, last, has("runs", "21", phase(v1alpha1.BackupRunning))), "old", ""},
		"one names no time": {kept(old, last, has("timeless", "21", func(b *v1alpha1.GaleraBackup) {
			b.Status.CompletedAt = nil
		})), "old", ""},
		"all of them are damaged": {kept(bad("a", "01"), bad("b", "02"), bad("c", "03"), bad("d", "04")), "", ""},
		"the last one is not the first of the list": {kept(last, bad("a", "05"), bad("b", "06"), bad("c", "07"),
			bad("d", "08"), has("old", "01")), "old a", ""},
		"of two before the window the archive leads from another": {kept(window(5*day), has("a", "01", withGTID, withID("a")),
			has("b", "02", withGTID, withID("b")), has("c", "03", withGTID, withID("c")), has("d", "20"),
			leadsFrom("offsite", "a")), "b", ""},
		"an earlier chain leads from another": {kept(window(5*day), has("a", "01", withGTID, withID("a")),
			has("b", "02", withGTID, withID("b")), has("c", "03", withGTID, withID("c")), has("d", "20"),
			leadsFrom("offsite", "d", "a")), "b", ""},
		"none does": {kept(window(5*day), has("a", "01", withGTID), has("b", "02", withGTID), has("d", "20"),
			leadsFrom("offsite", "")), "a", ""},
		"in another store": {kept(window(5*day), has("a", "01", withGTID, withID("a")), has("c", "03", withGTID),
			has("d", "20"), leadsFrom("other", "x", "y")), "a", ""},
		"a base that the archive is to go back to": {kept(steps, archives("offsite")), "b", ""},
		"of an archive elsewhere":                  {kept(steps, archives("other")), "a b", ""},
		"it is to end, and the status has it yet": {kept(steps, archives("offsite"), func(f *Facts) {
			f.Cluster.Spec.Backup.PointInTime.Enabled = false
		}), "b", ""},
		"it is not asked for, and the status has it yet": {kept(steps, archives("offsite"), func(f *Facts) {
			f.Cluster.Spec.Backup = nil
		}), "b", ""},
		"and all of it is older than its window": {kept(steps, archives("offsite"), func(f *Facts) {
			f.Cluster.Spec.Backup, f.Cluster.Status.Backup.Needed = nil, []string{"a"}
			f.Backups[0].Status.ID, f.Window = "a", 20*time.Hour
		}), "a b", ""},
		"the status does not have it yet": {kept(steps, archives("offsite"), func(f *Facts) {
			f.Cluster.Status.Backup = nil
		}), "", "1 backup kept, which no rule keeps: which backups"},
		"nor will it, of one that follows": {kept(steps, archives("offsite"), func(f *Facts) {
			f.Cluster.Status.Backup, f.Cluster.Spec.ReplicaOf = nil, &v1alpha1.ReplicaOf{}
		}), "b", ""},
		"nor of an archive elsewhere": {kept(steps, archives("other"), func(f *Facts) {
			f.Cluster.Status.Backup = nil
		}), "a b", ""},
		"it needs one, and is to end": {kept(has("a", "01", withGTID, withID("a")), has("b", "02", withGTID), last,
			leadsFrom("offsite", "x", "a"), through("20"), func(f *Facts) {
				f.Window, f.Cluster.Spec.Backup = 30*day, nil
			}), "", ""},
		"it was turned off": {kept(window(5*day), has("a", "01", withGTID, withID("a")), has("b", "02", withGTID),
			has("c", "20"), ended("22", "a")), "", ""},
		"it was turned off, without a window of the store": {kept(steps, spans, ended("22")), "b", ""},
		"its window was longer": {kept(steps, spans, ended("22"), func(f *Facts) {
			f.Window = time.Hour
		}), "b", ""},
		"the last ones, and it was turned off": {kept(has("a", "19", withGTID, withID("a")), has("b", "20", withGTID),
			has("c", "20"), spans, ended("22", "a")), "", ""},
		"it was turned off, and its window has passed": {kept(window(5*day), has("a", "01", withGTID, withID("a")),
			has("b", "02", withGTID), has("c", "20"), ended("21", "a")), "a", ""},
		"it was turned off, and on again": {kept(window(5*day), has("a", "01", withGTID, withID("a")),
			has("b", "02", withGTID), has("c", "20"), leadsFrom("offsite", ""), through("20"), ended("22", "a")), "", ""},
		"it needs as many as are named": {kept(window(5*day), has("a", "01"), has("b", "02", withGTID),
			has("c", "03", withGTID), has("d", "20"), leadsFrom("offsite", "x", make([]string, v1alpha1.MaxNeeded)...)), "a",
			"may need more backups than the 100"},
		"it was turned off, and needs as many": {kept(window(5*day), has("a", "01"), has("b", "02", withGTID),
			has("c", "03", withGTID), has("d", "20"), ended("22"), unnamed("22")), "a", ""},
		"and those that are not named are not needed any more": {kept(window(5*day), has("a", "01"), has("b", "02", withGTID),
			has("c", "03", withGTID), has("d", "20"), ended("22"), unnamed("21")), "a b", ""},
		"it needs one less": {kept(window(5*day), has("b", "02", withGTID), has("c", "03", withGTID), has("d", "20"),
			leadsFrom("offsite", "x", make([]string, v1alpha1.MaxNeeded-1)...)), "b", ""},
		"what it needs is not known yet": {kept(window(5*day), has("a", "01"), has("b", "02", withGTID),
			has("c", "03", withGTID), has("d", "20"), leadsFrom("offsite", "x", []string{}...), through("20")), "a",
			"1 backup kept, which no rule keeps: which backups points in time"},
		"and the cluster is paused": {kept(window(5*day), has("b", "02", withGTID), has("n", "03", withGTID), has("c", "20"),
			leadsFrom("offsite", "x", []string{}...), func(f *Facts) {
				f.Cluster.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
			}), "", "remove its annotation galera-operator.io/pause"},
		"and one is kept for it that would stay all the same": {kept(window(5*day), has("b", "02", withGTID),
			has("c", "20", withGTID), leadsFrom("offsite", "x", []string{}...)), "", ""},
		"and backups of an earlier cluster stay": {kept(window(5*day), has("a", "01"), has("b", "02", withGTID),
			has("c", "03", withGTID), has("d", "20"), has("o", "01", ofCluster("shop", "old")),
			leadsFrom("offsite", "x", []string{}...), through("20")), "a", `of an earlier cluster "shop". Also 1 backup kept`},
		"the store has no segment": {kept(window(5*day), has("b", "02", withGTID), has("n", "03", withGTID), has("c", "20"),
			leadsFrom("offsite", "", []string{}...), empty("2026-11-20T23:50:00Z")), "b", ""},
		"it had none a while ago": {kept(window(5*day), has("b", "02", withGTID), has("n", "03", withGTID), has("c", "20"),
			leadsFrom("offsite", "", []string{}...), empty("2026-11-20T23:45:00Z")), "", "which no rule keeps"},
		"the archive lies there, and is to go elsewhere": {kept(window(5*day), has("b", "02", withGTID),
			has("n", "03", withGTID), has("c", "20"), leadsFrom("other", "", []string{}...), lies("bucket")), "",
			"which no rule keeps"},
		"the archive lies elsewhere": {kept(window(5*day), has("b", "02", withGTID), has("n", "03", withGTID), has("c", "20"),
			leadsFrom("other", "", []string{}...), lies("another")), "b", ""},
		"it lies elsewhere, and is to come": {kept(window(5*day), has("b", "02", withGTID), has("n", "03", withGTID),
			has("c", "20"), leadsFrom("offsite", "", []string{}...), lies("another")), "", "which no rule keeps"},
		"that is no base":    {kept(steps, archives("offsite"), func(f *Facts) { f.Backups[0].Status.GTID = "" }), "a b", ""},
		"it was seen before": {kept(window(5*day), has("a", "01"), has("b", "17", seen("02")), has("c", "20")), "a", ""},
		"what is seen is that it is not": {kept(window(5*day), has("a", "01"), has("b", "02", seen("18"), unseen),
			has("c", "20")), "a b", ""},
		"an archive that is ahead of the operator's clock": {kept(window(5*day), has("a", "17"), has("b", "20"),
			leadsFrom("offsite", "x"), through("24")), "", ""},
		"an archive that has no time": {kept(window(5*day), has("a", "01"), has("b", "20"), leadsFrom("offsite", "x"),
			through("24"), func(f *Facts) { f.Cluster.Status.Backup.ArchivedThrough = nil }), "a", ""},
		"an archive that has ended": {kept(window(5*day), has("a", "14"), has("b", "20"), leadsFrom("offsite", "x"),
			through("15"), func(f *Facts) { f.Cluster.Spec.Backup.PointInTime = nil }), "a", ""},
		"no archive is known yet": {kept(old, last, leadsFrom("offsite", "x"), func(f *Facts) {
			f.Cluster.Status.Backup = nil
		}), "old", ""},
		"no archive is asked for any more": {kept(old, last, leadsFrom("offsite", "x"), func(f *Facts) {
			f.Cluster.Spec.Backup = nil
		}), "old", ""},
		"the base of no archive": {kept(window(5*day), has("a", "01", withGTID), has("b", "02"), has("c", "20")), "a b", ""},
	} {
		var to v1alpha1.GaleraBackupScheduleStatus
		if remove := Retain(&to, c.f); len(remove) > 0 {
			t.Errorf("%s: removes without notice: %v", name, remove)
		}
		var names []string
		said := v1alpha1.ScheduleRetention{}
		if to.Retention != nil {
			said = *to.Retention
		}
		for _, e := range said.Expiring {
			names = append(names, e.Name)
			if !e.RemoveAt.Time.Equal(c.f.Now.Add(day)) {
				t.Errorf("%s: %s is removed at %s", name, e.Name, e.RemoveAt)
			}
		}
		got := strings.Join(names, " ")
		if got != c.expiring || !strings.Contains(said.Message, c.says) || (said.Message == "") != (c.says == "") {
			t.Errorf("%s: %q, %q", name, got, said.Message)
		}
	}
}

// TestNotice: what no rule keeps is removed after it has been announced for the schedule's interval, if no rule keeps
// it then.
func TestNotice(t *testing.T) {
	f := kept(has("old", "01"), has("last", "20"))
	step := func(after time.Duration) []string {
		t.Helper()
		f.Now = f.Now.Add(after)
		var names []string
		for _, b := range Retain(&f.Schedule.Status, f) {
			names = append(names, b.Name)
		}
		return names
	}
	if got := step(0); got != nil {
		t.Errorf("at once: %v", got)
	}
	if got := step(23 * time.Hour); got != nil {
		t.Errorf("too early: %v", got)
	}
	if got := step(time.Hour); !slices.Equal(got, []string{"old"}) {
		t.Errorf("after the notice: %v", got)
	}
	f.Backups[0].UID = "another"
	if got := step(0); got != nil {
		t.Errorf("another one of its name: %v", got)
	}
	f.Backups[0].Spec.DeletionPolicy = v1alpha1.BackupRetain
	if got := step(48 * time.Hour); got != nil || len(f.Schedule.Status.Retention.Expiring) != 0 {
		t.Errorf("kept meanwhile: %v", got)
	}
	f.Schedule.Spec.Schedule = "*/10 * * * *"
	if d := notice(f.Schedule, f.Now); d != 10*time.Minute {
		t.Errorf("the notice of a schedule of ten minutes: %s", d)
	}
	for _, never := range []string{"0 0 30 2 *", "no schedule"} {
		f.Schedule.Spec.Schedule = never
		if d := notice(f.Schedule, f.Now); d != maxAnnouncement {
			t.Errorf("the notice of a schedule that never comes, %q: %s", never, d)
		}
	}
}

// TestFailures: the latest of the failed are left for users.
func TestFailures(t *testing.T) {
	var all []v1alpha1.GaleraBackup
	for i, day := range []string{"05", "04", "01", "02", "03", "another", "manual", "goes"} {
		b := made(v1alpha1.BackupFailed, "")
		b.Name, b.Spec.DeletionPolicy = day, v1alpha1.BackupDelete
		switch day {
		case "another":
			b.Labels = map[string]string{v1alpha1.LabelSchedule: "weekly"}
		case "manual":
			b.Labels = nil
		case "goes":
			b.DeletionTimestamp = new(metav1.Now())
		default:
			b.CreationTimestamp = metav1.NewTime(at("2026-11-" + day + "T00:00:00Z"))
		}
		if i == 0 {
			b.Spec.DeletionPolicy = v1alpha1.BackupRetain
		}
		all = append(all, b)
	}
	f := Facts{Schedule: nightly(), Cluster: &v1alpha1.GaleraCluster{}, Backups: all}
	if got := f.failures(); len(got) != 1 || got[0].Name != "01" {
		t.Errorf("%+v", got)
	}
	for i := range all { // it may be complete in the store, and the archive go on from it
		all[i].Status.ID = "of-" + all[i].Name
	}
	f.Cluster.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	f.Cluster.Status.Backup = &v1alpha1.ArchiveStatus{Needed: []string{"of-01"}}
	if got := f.failures(); len(got) != 0 {
		t.Errorf("the archive needs it: %+v", got)
	}
}

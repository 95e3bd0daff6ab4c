package schedule

import (
	"fmt"
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestRetainInOrder: which backup is the latest is not decided by a clock that was ahead, where their IDs and their
// places in the history show it.
func TestRetainInOrder(t *testing.T) {
	begun := func(day string, seqno int) func(*v1alpha1.GaleraBackup) {
		return func(b *v1alpha1.GaleraBackup) {
			b.Status.ID = "202611" + day + "-000000-" + b.Name
			b.Status.Position = fmt.Sprintf("18cbf30b-e79e-11f1-acc2-86401dfd9420:%d", seqno)
		}
	}
	for name, c := range map[string]struct {
		f        Facts
		expiring string
	}{
		"a clock was ahead at the first": {kept(has("a", "20", begun("01", 5)), has("b", "17", begun("17", 10)),
			has("c", "18", begun("18", 10))), "a b"},
		"at the second": {kept(has("a", "01", begun("01", 5)), has("b", "20", begun("17", 10)),
			has("c", "18", begun("18", 12))), "a b"},
		"the operator's": {kept(has("a", "01", begun("01", 5), seen("20")), has("b", "19", begun("19", 10))), "a"},
		"a line of history was lost": {kept(has("a", "01", begun("01", 1000)), has("b", "19", begun("19", 600)),
			has("c", "18", begun("20", 700))), "a b"},
		"ahead before a line was lost": {kept(has("a", "20", begun("01", 1000)), has("b", "19", begun("19", 600))), "b"},
		"one that took longer":         {kept(has("a", "20", begun("01", 12)), has("b", "02", begun("02", 8))), "b"},
		"of unknown places": {kept(has("a", "20", begun("01", 1)), has("b", "19", begun("19", 2),
			func(b *v1alpha1.GaleraBackup) { b.Status.Position = "" })), "b"},
		"nothing was written between": {kept(has("a", "20", begun("01", 5)), has("b", "18", begun("18", 5))), "a"},
		"of another history": {kept(has("a", "20", begun("01", 5)), has("b", "18", begun("18", 10),
			func(b *v1alpha1.GaleraBackup) { b.Status.Position = "2" + b.Status.Position[1:] })), "b"},
		"the operator's clock is ahead of the API server's": {kept(window(5*24*time.Hour), has("a", "14"), has("b", "20"),
			func(f *Facts) { f.Today = at("2026-11-19T00:00:00Z") }), ""},
		"and that of the API server is not": {kept(window(5*24*time.Hour), has("a", "14"), has("b", "20"),
			func(f *Facts) { f.Today = f.Now }), "a"},
		"a damaged one is replaced by what is later": {kept(
			has("x", "28", begun("01", 1), failing(v1alpha1.ReasonBackupDamaged)),
			has("y", "28", begun("02", 2), failing(v1alpha1.ReasonBackupDamaged)),
			has("z", "28", begun("03", 3), failing(v1alpha1.ReasonBackupDamaged)),
			has("w", "28", begun("04", 4), failing(v1alpha1.ReasonBackupDamaged)), has("good", "20", begun("20", 9))), "x"},
		"as old as a clock shows that is not known to be wrong": {kept(window(24*time.Hour), has("a", "20", begun("01", 1)),
			has("b", "10", begun("10", 2)), has("c", "20", begun("20", 3))), "b"},
		"one of each day": {kept(keep(v1alpha1.BackupRetention{KeepDaily: 2}), has("a", "28", begun("19", 1)),
			has("b", "20", begun("20", 2)), has("c", "18", begun("18", 0))), ""},
	} {
		var to v1alpha1.GaleraBackupScheduleStatus
		Retain(&to, c.f)
		names := ""
		for i, e := range to.Retention.Expiring {
			if names += e.Name; i+1 < len(to.Retention.Expiring) {
				names += " "
			}
		}
		if names != c.expiring {
			t.Errorf("%s: %q, want %q", name, names, c.expiring)
		}
	}
}

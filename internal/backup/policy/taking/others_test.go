package taking

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestOthers: only what is known of a complete backup shows that it does not add to one that is to be removed. Its ID
// does not: it may be an increment of one that was asked for later.
func TestOthers(t *testing.T) {
	made := func(uid string, day int, changes ...func(*v1alpha1.GaleraBackup)) v1alpha1.GaleraBackup {
		b := v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid),
			CreationTimestamp: metav1.NewTime(time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC))}}
		b.Status = v1alpha1.GaleraBackupStatus{Phase: v1alpha1.BackupCompleted, Directory: "demo/shop/1", ID: ID(&b),
			Store: &v1alpha1.StoreLocation{Kind: "Volume", Claim: "here"}}
		for _, change := range changes {
			change(&b)
		}
		return b
	}
	b := made("b", 20)
	addsTo := func(id string) func(*v1alpha1.GaleraBackup) {
		return func(o *v1alpha1.GaleraBackup) { o.Status.Incremental = &v1alpha1.BackupChain{Base: id} }
	}
	in := func(dir string) func(*v1alpha1.GaleraBackup) {
		return func(o *v1alpha1.GaleraBackup) { o.Status.Directory = dir }
	}
	about := func(id string) func(*v1alpha1.GaleraBackup) {
		return func(o *v1alpha1.GaleraBackup) { o.Status.ID = id }
	}
	lsn := func(o *v1alpha1.GaleraBackup) { o.Status.LSN = 7 }
	wanted := func(o *v1alpha1.GaleraBackup) { o.Spec.Incremental = &v1alpha1.BackupIncremental{} }
	at := func(claim string) func(*v1alpha1.GaleraBackup) {
		return func(o *v1alpha1.GaleraBackup) {
			if o.Status.Store = nil; claim != "" {
				o.Status.Store = &v1alpha1.StoreLocation{Kind: "Volume", Claim: claim}
			}
		}
	}
	phase := func(phase string) func(*v1alpha1.GaleraBackup) {
		return func(o *v1alpha1.GaleraBackup) { o.Status.Phase = phase }
	}
	imported := func(o *v1alpha1.GaleraBackup) {
		o.Spec.Import = &v1alpha1.BackupImport{ID: "20261101-000000-i", Directory: o.Status.Directory}
		o.Status.ID = o.Spec.Import.ID
	}
	for name, c := range map[string]struct {
		other v1alpha1.GaleraBackup
		known bool
	}{
		"a full one, before":                {made("o", 1), true},
		"a full one, after":                 {made("o", 30), true},
		"one that was imported":             {made("o", 1, imported, lsn), true},
		"one that was imported long ago":    {made("o", 1, imported), false},
		"what may have been an increment":   {made("o", 1, wanted), false},
		"of another store":                  {made("o", 1, at("there")), false},
		"of a store that is not known":      {made("o", 1, at("")), false},
		"a full one instead":                {made("o", 1, addsTo("")), true},
		"an increment of another one":       {made("o", 1, addsTo("x")), true},
		"an increment of it":                {made("o", 30, addsTo(b.Status.ID)), false},
		"an increment with an earlier ID":   {made("o", 1, addsTo(b.Status.ID)), false},
		"an imported increment of it":       {made("o", 1, imported, addsTo(b.Status.ID)), false},
		"one that runs":                     {made("o", 1, phase(v1alpha1.BackupRunning)), false},
		"one that failed":                   {made("o", 1, phase(v1alpha1.BackupFailed)), false},
		"of another cluster":                {made("o", 1, in("demo/shop/2")), false},
		"a copy of the object of it":        {made("o", 1, about(b.Status.ID)), false},
		"a copy of the object of a third":   {made("o", 1, about("x")), false},
		"the very object that is removed":   {b, false},
		"one with no place in the store":    {made("o", 1, in("")), false},
		"one that is only about to be made": {made("o", 1, phase(v1alpha1.BackupPending)), false},
	} {
		got := Others([]v1alpha1.GaleraBackup{b, c.other}, &b)
		if c.known != slices.Equal(got, []string{c.other.Status.ID}) || !c.known && got != nil && len(got) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	var many []v1alpha1.GaleraBackup
	for i := range maxOthers + 10 {
		many = append(many, made("o", 1+i))
	}
	slices.Reverse(many)
	if got := Others(many, &b); len(got) != maxOthers || !slices.IsSorted(got) || got[0] != many[len(many)-1].Status.ID {
		t.Errorf("of many: %d, %v", len(got), got[:1])
	}
}

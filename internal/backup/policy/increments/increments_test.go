package increments

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// made is a complete backup of an hour, which adds to another one, "" for none.
func made(id, base string, hour, depth int, changes ...func(*v1alpha1.GaleraBackup)) v1alpha1.GaleraBackup {
	b := v1alpha1.GaleraBackup{}
	b.Name, b.UID, b.Spec.StoreRef.Name = id, types.UID("uid-"+id), "offsite"
	b.Status = v1alpha1.GaleraBackupStatus{Phase: v1alpha1.BackupCompleted, ID: id, Directory: "demo/shop/u1",
		Node: "shop-1", LSN: 5, Checksum: "c", Recipients: []string{"age1x", "age1y"},
		CompletedAt: new(metav1.NewTime(noon.Add(time.Duration(hour) * time.Hour)))}
	if base != "" {
		b.Status.Incremental = &v1alpha1.BackupChain{Base: base, Depth: int32(depth)}
	}
	for _, change := range changes {
		change(&b)
	}
	return b
}

func damaged(b *v1alpha1.GaleraBackup) {
	b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionVerified, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonBackupDamaged}}
}

func failed(b *v1alpha1.GaleraBackup) { b.Status.Phase = v1alpha1.BackupFailed }

func TestBase(t *testing.T) {
	node := func(name string) func(*v1alpha1.GaleraBackup) {
		return func(b *v1alpha1.GaleraBackup) { b.Status.Node = name }
	}
	at := func(begun string, seqno int, b v1alpha1.GaleraBackup) v1alpha1.GaleraBackup {
		b.Status.ID, b.Status.Position = begun, fmt.Sprintf("18cbf30b-e79e-11f1-acc2-86401dfd9420:%d", seqno)
		return b
	}
	full := made("full", "", 0, 0)
	for name, c := range map[string]struct {
		all  []v1alpha1.GaleraBackup
		want string
		says string
	}{
		"none":       {nil, "", "no backup of the cluster"},
		"a full one": {[]v1alpha1.GaleraBackup{full}, "full", ""},
		"the latest": {[]v1alpha1.GaleraBackup{made("i1", "full", 1, 1), full}, "i1", ""},
		"the latest, where a clock was ahead before": {[]v1alpha1.GaleraBackup{at("20261127-12", 5, made("f1", "", 48, 0)),
			at("20261127-13", 9, made("f2", "", 1, 0))}, "f2", ""},
		"of another line of history": {[]v1alpha1.GaleraBackup{at("20261127-12", 9, made("f1", "", 48, 0)),
			at("20261127-13", 5, made("f2", "", 1, 0))}, "f1", ""},
		"the last of a chain": {[]v1alpha1.GaleraBackup{full, made("i1", "full", 1, 1), made("i2", "i1", 2, 2)}, "",
			"2 increments"},
		"of another node, and before": {[]v1alpha1.GaleraBackup{full, made("other", "", 1, 0, node("shop-0"))}, "full",
			""},
		"of the primary": {[]v1alpha1.GaleraBackup{made("full", "", 0, 0, node("shop-0"))}, "",
			"was read from shop-0"},
		"that is being made": {[]v1alpha1.GaleraBackup{made("full", "", 0, 0,
			func(b *v1alpha1.GaleraBackup) { b.Status.Phase = v1alpha1.BackupRunning })}, "", "no backup"},
		"that is being deleted": {[]v1alpha1.GaleraBackup{made("full", "", 0, 0,
			func(b *v1alpha1.GaleraBackup) { b.DeletionTimestamp = new(metav1.Now()) })}, "", "no backup"},
		"in another directory": {[]v1alpha1.GaleraBackup{made("full", "", 0, 0,
			func(b *v1alpha1.GaleraBackup) { b.Status.Directory = "demo/shop/u0" })}, "", "no backup"},
		"in another store": {[]v1alpha1.GaleraBackup{made("full", "", 0, 0,
			func(b *v1alpha1.GaleraBackup) { b.Spec.StoreRef.Name = "x" })}, "", "no backup"},
		"where the store does not lead any more": {[]v1alpha1.GaleraBackup{made("full", "", 0, 0,
			func(b *v1alpha1.GaleraBackup) { b.Status.Store = &v1alpha1.StoreLocation{Kind: v1alpha1.StoreS3} })}, "",
			"no backup"},
		"an imported one": {[]v1alpha1.GaleraBackup{made("full", "", 0, 0,
			func(b *v1alpha1.GaleraBackup) { b.Spec.Import = &v1alpha1.BackupImport{} })}, "", "no backup"},
		"without an LSN": {[]v1alpha1.GaleraBackup{made("full", "", 0, 0,
			func(b *v1alpha1.GaleraBackup) { b.Status.LSN = 0 })}, "", "names no LSN"},
		"for other recipients": {[]v1alpha1.GaleraBackup{made("full", "", 0, 0,
			func(b *v1alpha1.GaleraBackup) { b.Status.Recipients = []string{"age1x"} })}, "", "recipients have changed"},
		"a damaged one": {[]v1alpha1.GaleraBackup{made("full", "", 0, 0, damaged)}, "", "no backup"},
		"one that adds to a damaged": {[]v1alpha1.GaleraBackup{made("full", "", 0, 0, damaged), made("i1", "full", 1, 1)}, "",
			"no backup"},
		"one that a damaged one adds to": {[]v1alpha1.GaleraBackup{full, made("i1", "full", 1, 1, damaged)}, "",
			"full is part of a chain that a test has found damaged"},
		"next to a damaged one": {[]v1alpha1.GaleraBackup{full, made("i1", "full", 1, 1, damaged),
			made("other", "full", 2, 1)}, "", "other is part of a chain"},
		"of another chain": {[]v1alpha1.GaleraBackup{made("f2", "", 2, 0), full, made("i1", "full", 1, 1, damaged)}, "f2",
			""},
		"itself, in an attempt before": {[]v1alpha1.GaleraBackup{made("new", "", 3, 0)}, "", "no backup"},
	} {
		b := made("new", "", 3, 0)
		b.Spec.Incremental = &v1alpha1.BackupIncremental{MaxIncrements: 2}
		base, why := Base(Wanted{Backup: &b, Directory: "demo/shop/u1", Recipients: []string{"age1y", "age1x"},
			Store: &v1alpha1.GaleraBackupStore{}, Nodes: []string{"shop-1", "shop-2"}}, c.all)
		got := ""
		if base != nil {
			got = base.Name
		}
		if got != c.want || !strings.Contains(why, c.says) || (why == "") != (base != nil) {
			t.Errorf("%s: %q, %q", name, got, why)
		}
	}
}

func TestNeededBy(t *testing.T) {
	full := made("full", "", 0, 0)
	for name, c := range map[string]struct {
		other v1alpha1.GaleraBackup
		want  string
	}{
		"an increment": {made("i1", "full", 1, 1), "i1"},
		"one that is being made": {made("i1", "full", 1, 1,
			func(b *v1alpha1.GaleraBackup) { b.Status.Phase = v1alpha1.BackupRunning }), "i1"},
		"one that has failed":     {made("i1", "full", 1, 1, failed), ""},
		"an increment of another": {made("i1", "x", 1, 1), ""},
		"another full one":        {made("f2", "", 1, 0), ""},
	} {
		if got := NeededBy([]v1alpha1.GaleraBackup{full, c.other}, &full); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := NeededBy([]v1alpha1.GaleraBackup{made("f2", "", 1, 0)}, &v1alpha1.GaleraBackup{}); got != "" {
		t.Errorf("one without an ID is needed by %q", got)
	}
}

// TestNeedless: a chain goes when nothing of it is kept.
func TestNeedless(t *testing.T) {
	all := []v1alpha1.GaleraBackup{made("full", "", 0, 0), made("i1", "full", 1, 1), made("i2", "i1", 2, 2),
		made("f2", "", 3, 0), made("i3", "f2", 4, 1, failed)}
	for expired, want := range map[string]string{
		"full": "", "full i1": "", "full i1 i2": "full i1 i2", "i2": "i2", "i1 i2": "i1 i2", "i1": "", "full i2": "i2",
		"full i1 f2": "f2",
	} {
		var of []*v1alpha1.GaleraBackup
		for i := range all {
			if strings.Contains(expired, all[i].Name) {
				of = append(of, &all[i])
			}
		}
		var got []string
		for _, b := range Needless(of, all) {
			got = append(got, b.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("of %s: %v", expired, got)
		}
	}
}

// TestBroken: what adds to a damaged backup is broken, in whatever order they are listed.
func TestBroken(t *testing.T) {
	all := []v1alpha1.GaleraBackup{made("i2", "i1", 2, 2), made("i1", "full", 1, 1), made("full", "", 0, 0, damaged),
		made("f2", "", 3, 0), made("i3", "f2", 4, 1), {}}
	if got := Broken(all); len(got) != 3 || !got["full"] || !got["i1"] || !got["i2"] {
		t.Errorf("%v", got)
	}
}

// TestAddsTo: those of its own chain, and no others.
func TestAddsTo(t *testing.T) {
	full, i1, i2 := made("full", "", 0, 0), made("i1", "full", 1, 1), made("i2", "i1", 2, 2)
	other := made("other", "", 3, 0)
	loop := made("full", "i2", 0, 0) // of no Job
	for name, c := range map[string]struct {
		all  []v1alpha1.GaleraBackup
		b    v1alpha1.GaleraBackup
		id   string
		want bool
	}{
		"a full one":                   {[]v1alpha1.GaleraBackup{full, i1, i2, other}, full, "other", false},
		"itself":                       {[]v1alpha1.GaleraBackup{full, i1, i2, other}, i2, "i2", false},
		"its base":                     {[]v1alpha1.GaleraBackup{full, i1, i2, other}, i2, "i1", true},
		"the full one":                 {[]v1alpha1.GaleraBackup{full, i1, i2, other}, i2, "full", true},
		"one of another chain":         {[]v1alpha1.GaleraBackup{full, i1, i2, other}, i2, "other", false},
		"one that adds to it":          {[]v1alpha1.GaleraBackup{full, i1, i2, other}, i1, "i2", false},
		"the one between them is gone": {[]v1alpha1.GaleraBackup{full, i2, other}, i2, "full", true},
		"none":                         {[]v1alpha1.GaleraBackup{full, i1, i2, other}, i2, "", false},
		"without an end":               {[]v1alpha1.GaleraBackup{loop, i1, i2, other}, i2, "other", false},
	} {
		if got := AddsTo(c.all, &c.b, c.id); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

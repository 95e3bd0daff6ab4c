package policy_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/policy/schedule"
)

// TestGrowth: with a backup a day, the archive does not go back for longer than twice its window.
func TestGrowth(t *testing.T) {
	const day, archiveWindow = 24 * time.Hour, 30 * 24 * time.Hour
	for name, rules := range map[string]v1alpha1.BackupRetention{
		"within a week":     {KeepWithin: &metav1.Duration{Duration: 7 * day}},
		"the last seven":    {KeepLast: 7},
		"one of each month": {KeepLast: 7, KeepWeekly: 8},
	} {
		o := newOperator()
		o.store.Spec.Retention = &rules
		o.schedule.Spec.Schedule = "0 0 * * *"
		l := binlog.Line{History: "11111111-2222-4333-8444-555555555555", ID: "a", Epoch: 1}
		heads, bases := map[uint64]binlog.Head{}, []policy.Base{}
		before, longest := binlog.Head{}, 0
		for n := uint64(1); n <= 200; n++ {
			now := start.Add(time.Duration(n) * day)
			h := binlog.Head{Format: binlog.FormatVersion, Lines: []binlog.Line{l}, Session: "s", Number: n, Chain: 1,
				Begins: n == 1, Before: before.Checksum, Last: binlog.GTID{Server: 1, Seq: n}, Seqno: int64(n), Seqnos: n > 1,
				Held: int64(n), From: 1, LastTime: now, Through: now}
			if n > 1 {
				h.First, h.Previous, h.PreviousSeqno, h.PreviousHeld = h.Last, before.Last, before.Seqno, before.Seqno
				h.FirstTime, h.Transactions = now, 1
				h.AddAnchor(n, int64(n))
			}
			if _, err := h.Encode(); err != nil {
				t.Fatal(err)
			}
			heads[n], before = h, h
			id := fmt.Sprintf("b%03d", n)
			bases = append(bases, policy.Base{ID: id, Session: "s", Line: l, Seqno: int64(n), GTID: h.Last,
				Time: now.Add(time.Minute)})
			b := v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Name: id, UID: types.UID("uid-" + id)}}
			b.Spec.ClusterRef.Name, b.Spec.StoreRef.Name, b.Spec.DeletionPolicy = "shop", "minio", v1alpha1.BackupDelete
			if n == 1 { // the operator's own
				b.Spec.DeletionPolicy = v1alpha1.BackupRetain
			}
			b.Status.ID, b.Status.ClusterUID, b.Status.Phase = id, "u1", v1alpha1.BackupCompleted
			b.Status.CompletedAt, b.Status.GTID = new(metav1.NewTime(now.Add(time.Minute))), h.Last.String()
			b.CreationTimestamp = metav1.NewTime(now)
			o.objects = append(o.objects, b)
			now = now.Add(time.Hour)
			a := policy.Archive{Head: func(n uint64) (binlog.Head, error) {
				h, ok := heads[n]
				if !ok {
					return h, fmt.Errorf("no %d", n)
				}
				return h, nil
			}}
			for k := uint64(1); k <= n; k++ {
				if _, ok := heads[k]; ok {
					a.Numbers = append(a.Numbers, k)
				}
			}
			r, err := policy.Survey(a, bases)
			if err != nil {
				t.Fatal(err)
			}
			needed, err := policy.Needed(a, bases, archiveWindow, now)
			if err != nil {
				t.Fatal(err)
			}
			o.reported.Base, o.reported.Needed = r.Base.ID, nil
			for _, b := range needed {
				o.reported.Needed = append(o.reported.Needed, b.ID)
			}
			o.reported.ArchivedThrough = new(metav1.NewTime(now))
			gone, _, err := policy.Prune(a, bases, archiveWindow, now)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range gone {
				delete(heads, k)
			}
			removed := map[string]bool{}
			for _, b := range schedule.Retain(&o.schedule.Status, schedule.Facts{Schedule: o.schedule, Backups: o.objects,
				Store: o.store, Cluster: o.cluster, Now: now, Window: archiveWindow}) {
				removed[b.Status.ID] = true
			}
			var left []v1alpha1.GaleraBackup
			var still []policy.Base
			for i, b := range o.objects {
				if !removed[b.Status.ID] {
					left, still = append(left, b), append(still, bases[i])
				}
			}
			o.objects, bases = left, still
			longest = max(longest, len(heads))
		}
		t.Logf("%s: %d segments at most, %d backups at the end", name, longest, len(bases))
		if longest > 65 {
			t.Errorf("%s: %d segments", name, longest)
		}
	}
}

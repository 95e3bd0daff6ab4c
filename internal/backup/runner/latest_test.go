package runner

import (
	"encoding/json"
	"path"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestLateListing: segments that a listing does not have yet are found by name.
func TestLateListing(t *testing.T) {
	of := archiveInStore(t)
	f := storetest.NewFake(t, nil)
	for _, key := range keys(t, of) {
		text, err := of.ReadAll(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		f.Put(key, text)
	}
	f.Late(segmentKey(5), segmentKey(6))
	bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	_, r, err := locate(t.Context(), bucket, task.Find{Dir: archiveOf, Target: &binlog.Target{Latest: true}})
	if err != nil || r.To != 6 {
		t.Errorf("the latest: %+v, %v", r, err)
	}
	if n, err := checkArchive(t.Context(), bucket, archiveOf, baseManifest("b1", "0-1-4")); n != 4 || err != nil {
		t.Errorf("%d segments are tested, %v", n, err)
	}
}

// TestLostEnd: an archive whose end was removed does not restore what is left as the latest, and is not good. What is
// left can be restored by name.
func TestLostEnd(t *testing.T) {
	bucket := archiveInStore(t)
	text, err := json.Marshal(binlog.Through{Segment: 6, Last: binlog.GTID{Server: 1, Seq: 8}})
	if err == nil {
		err = store.Write(t.Context(), bucket, path.Join(binlog.Dir(archiveOf), binlog.ThroughName), text)
	}
	if err != nil {
		t.Fatal(err)
	}
	numbered := func(seq uint64) binlog.Target {
		return binlog.Target{GTID: binlog.GTID{Server: 1, Seq: seq}}
	}
	for _, lost := range []bool{false, true} {
		if lost {
			removeSegment(t, bucket, 5, 6)
		}
		for name, c := range map[string]struct {
			target binlog.Target
			lost   bool // it needs what was lost
		}{"the latest": {binlog.Target{Latest: true}, true}, "one that was lost": {numbered(8), true},
			"one that is there": {numbered(6), false}} {
			_, _, err := locate(t.Context(), bucket, task.Find{Dir: archiveOf, Target: &c.target})
			reason, final := explain(err)
			if (err == nil) != (!lost || !c.lost) || err != nil && (reason != task.ReasonArchiveDamaged || final ||
				!strings.Contains(err.Error(), "name its last transaction: gtid 0-1-6")) {
				t.Errorf("%s, lost %t: %s, %t, %v", name, lost, reason, final, err)
			}
		}
		n, err := checkArchive(t.Context(), bucket, archiveOf, baseManifest("b1", "0-1-4"))
		if reason, final := explain(err); lost != (reason == task.ReasonArchiveDamaged && final && n == 0) {
			t.Errorf("tested, lost %t: %d, %v", lost, n, err)
		}
	}
}

package runner

import (
	"encoding/json"
	"errors"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestLongArchive: of a month's segments, those are read that are around the backup, and from there to the point in
// time.
func TestLongArchive(t *testing.T) {
	const segments, base, most = 50000, 100, 600
	f := storetest.NewFake(t, nil)
	before, sums := binlog.Head{}, map[uint64]string{}
	for n := uint64(1); n <= segments; n++ {
		at := now.Add(time.Duration(n) * time.Minute) //nolint:gosec // small
		h := binlog.Head{Format: binlog.FormatVersion, Number: n, Chain: 1, Session: "s", Before: before.Checksum,
			Lines: []binlog.Line{{History: oneHistory, ID: "a"}}, Previous: before.Last, PreviousSeqno: before.Seqno,
			Seqno: int64(n), First: binlog.GTID{Domain: 7, Server: 1, Seq: n}, Begins: n == 1, //nolint:gosec // small
			FirstTime: at, LastTime: at, Earliest: at, Transactions: 1, Bytes: 100}
		h.Last = h.First
		text, err := h.Encode()
		if err != nil {
			t.Fatal(err)
		}
		f.Put(segmentKey(n), text)
		before, sums[n] = h, h.Checksum
	}
	m := baseManifest("b1", "7-1-100")
	m.Line.ID, m.CompletedAt, m.Session = "a", now.Add(base*time.Minute), "s"
	m.Position = oneHistory + ":100"
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	f.Put(path.Join(archiveOf, "b1", manifest.Name), text)
	bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()
	for name, c := range map[string]struct {
		target   binlog.Target
		from, to uint64
	}{
		"a time":        {binlog.Target{Time: now.Add((base + 5) * time.Minute)}, base + 1, base + 5},
		"a transaction": {binlog.Target{GTID: binlog.GTID{Domain: 7, Server: 1, Seq: base + 5}}, base + 1, base + 6},
	} {
		f.Requests()
		_, r, err := locate(t.Context(), bucket, task.Find{Dir: archiveOf, Target: &c.target})
		n, of := f.Requests()
		if err != nil || r == nil || r.To != c.to || r.Sum != sums[c.to] || r.From > c.from || r.From == 0 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if n > most {
			t.Errorf("%s: %d requests: %s", name, n, of)
		}
	}
}

// TestHeadsPacked: heads are unpacked as they were, without what no restore reads of them.
func TestHeadsPacked(t *testing.T) {
	h := binlog.Head{Format: 2, Number: 7, Before: "b", Chain: 3, Session: "s", Seqno: 9, Seqnos: true, Held: 8,
		Lines:   []binlog.Line{{History: "h", ID: "a", Start: 1, After: binlog.GTID{Domain: 1, Server: 2, Seq: 3}}},
		Anchors: []binlog.Anchor{{Number: 5, Seqno: 6}}, Unnamed: []uint64{1}, Last: binlog.GTID{Server: 1, Seq: 4},
		Holes:     []binlog.Hole{{After: binlog.GTID{Seq: 1}, Next: binlog.GTID{Seq: 3}, Why: "w"}},
		Foreign:   []binlog.GTID{{Domain: 3, Server: 1, Seq: 1}},
		Times:     binlog.Between(now, now.Add(time.Second+7), now),
		FirstTime: now.Add(1), LastTime: now.UTC(), Through: now.UTC(), Checksum: "c"}
	h.FirstTime = h.FirstTime.UTC()
	h.Times = binlog.Between(now.UTC(), now.UTC().Add(time.Second+7), now.UTC())
	want := []binlog.Head{h, {}, {Number: 9, Unreadable: "x"}}
	text, err := packHeads(want)
	if err != nil {
		t.Fatal(err)
	}
	have, err := unpackHeads(text)
	if err != nil || !reflect.DeepEqual(have, want) {
		t.Errorf("%+v, want %+v, %v", have, want, err)
	}
}

// TestHeadsGone: a segment that was listed, and is missing, is none that is damaged: the archive is listed again. A
// store that is away has not answered that it is missing.
func TestHeadsGone(t *testing.T) {
	f := storetest.NewFake(t, nil)
	bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()
	numbers := make([]uint64, 9)
	for i := range numbers {
		numbers[i] = uint64(i + 1) //nolint:gosec // small
	}
	headsOf(t, bucket, 7, map[string][]uint64{"a": numbers}, "a")
	backupIn(t, bucket, "a", "b1", "7-1-3")
	w := walk{bucket: bucket, dir: binlog.Dir(archiveOf)}
	if w.numbers, err = w.list(t.Context()); err != nil {
		t.Fatal(err)
	}
	b, err := w.base(t.Context(), place{dir: archiveOf, id: "b1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := bucket.Delete(t.Context(), segmentKey(6)); err != nil {
		t.Fatal(err)
	}
	_, why, err := w.choose(t.Context(), b, binlog.Target{Latest: true})
	if reason, final := explain(err); why != nil || final || reason != task.ReasonArchiveDamaged ||
		!strings.Contains(err.Error(), "000000000006 is missing") {
		t.Errorf("%v, %v", why, err)
	}
	var missing missingSegment
	if !errors.As(err, &missing) || missing != 6 {
		t.Error(err)
	}
}

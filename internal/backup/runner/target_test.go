package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// headsOf stores heads of an archive, one transaction a minute, whose numbers are those of their last transactions: a
// line of history each, which begins a chain. It returns the checksum of the last.
func headsOf(t *testing.T, bucket *store.Bucket, domain uint32, lines map[string][]uint64, order ...string) string {
	t.Helper()
	before := binlog.Head{}
	for _, line := range order {
		for i, last := range lines[line] {
			at := now.Add(time.Duration(before.Number+1) * time.Minute)
			h := binlog.Head{Format: binlog.FormatVersion, Number: before.Number + 1, Chain: before.Chain, Session: "s",
				Lines: []binlog.Line{{History: oneHistory, ID: line}}, Before: before.Checksum, Previous: before.Last,
				PreviousSeqno: before.Seqno, Seqno: int64(last), //nolint:gosec // small
				Last:      binlog.GTID{Domain: domain, Server: 1, Seq: last},
				FirstTime: at, LastTime: at, Earliest: at, Transactions: 1, Bytes: 100}
			if i == 0 {
				h.Begins, h.Chain, h.Previous, h.PreviousSeqno = true, h.Number, binlog.GTID{}, 0
			}
			h.First = h.Last
			text, err := h.Encode()
			if err != nil {
				t.Fatal(err)
			}
			overwrite(t, bucket, h.Number, text)
			before = h
		}
	}
	return before.Checksum
}

func backupIn(t *testing.T, bucket *store.Bucket, line, id, gtid string) {
	t.Helper()
	m := baseManifest(id, gtid)
	m.Line.ID, m.CompletedAt, m.Session = line, now, "s"
	text, err := json.Marshal(m)
	if err == nil {
		err = store.Write(t.Context(), bucket, path.Join(archiveOf, id, manifest.Name), text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestTransactionOfTwoChains: where an earlier chain has a transaction of that GTID, too, the latest backup does not
// decide which one is meant, and neither does one before it.
func TestTransactionOfTwoChains(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	headsOf(t, bucket, 7, map[string][]uint64{"a": {3, 4, 5}, "b": {3, 4, 5, 6}}, "a", "b")
	backupIn(t, bucket, "b", "b2", "7-1-3")
	find := func(seq uint64, id string) (*task.Replay, error) {
		_, r, err := locate(t.Context(), bucket, task.Find{Dir: archiveOf, ID: id,
			Target: &binlog.Target{GTID: binlog.GTID{Domain: 7, Server: 1, Seq: seq}}})
		return r, err
	}
	refused := func(name string, err error) {
		var why failure
		if !errors.As(err, &why) || why.reason != task.ReasonPointInTimeUnavailable ||
			!strings.Contains(err.Error(), "earlier part of the archive, which ends at 7-1-5 in the line of history "+
				oneHistory+"/a. Name the backup") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := find(4, "")
	refused("of both", err)
	if r, err := find(4, "b2"); err != nil || r.From != 5 {
		t.Errorf("with the backup: %+v, %v", r, err)
	}
	if r, err := find(6, ""); err != nil || r.To != 7 {
		t.Errorf("of the later one alone: %+v, %v", r, err)
	}
	backupIn(t, bucket, "a", "b1", "7-1-3")
	_, err = find(3, "")
	refused("where the later one begins", err)
}

// TestFoundRange: what is replayed is what was chosen, to its checksum, in the archive's domain.
func TestFoundRange(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	sum := headsOf(t, bucket, 7, map[string][]uint64{"z": {1}, "a": {3, 4, 5}}, "z", "a")
	backupIn(t, bucket, "a", "b1", "0-1-99,7-1-3")
	target := binlog.Target{GTID: binlog.GTID{Domain: 7, Server: 1, Seq: 5}}
	base, have, err := locate(t.Context(), bucket, task.Find{Dir: archiveOf, Target: &target})
	want := task.Replay{Target: target, From: 3, To: 4, Bytes: 200, Sum: sum, Domain: 7, Chain: 2}
	if err != nil || have == nil || !reflect.DeepEqual(*have, want) || base != path.Join(archiveOf, "b1") {
		t.Errorf("%s: %+v, want %+v, %v", base, have, want, err)
	}
}

// TestFoundAfter: an archive is not followed that has begun before its cluster has taken over, whatever leads to its
// end.
func TestFoundAfter(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	before := binlog.Head{}
	begin := func(line string, after uint64) {
		chain := before.Number + 1
		for seq := uint64(3); seq < 5; seq++ {
			last := binlog.GTID{Domain: 7, Server: 1, Seq: seq}
			h := binlog.Head{Format: binlog.FormatVersion, Number: before.Number + 1, Chain: chain, Session: "s",
				Lines: []binlog.Line{{History: oneHistory, ID: line}}, Before: before.Checksum, Begins: seq == 3,
				Seqno: int64(seq), First: last, Last: last, FirstTime: now, LastTime: now, Earliest: now, //nolint:gosec // small
				Transactions: 1, Bytes: 100, Foreign: []binlog.GTID{{Domain: 3, Server: 1, Seq: after}}, From: 1}
			if seq > 3 {
				h.Previous, h.PreviousSeqno = before.Last, before.Seqno
			}
			text, err := h.Encode()
			if err != nil {
				t.Fatal(err)
			}
			overwrite(t, bucket, h.Number, text)
			before = h
		}
	}
	begin("a", 97)
	backupIn(t, bucket, "a", "b1", "7-1-3")
	find := func(after string) (string, error) {
		base, _, err := locate(t.Context(), bucket, task.Find{Dir: archiveOf, Target: &binlog.Target{Latest: true},
			After: after})
		return path.Base(base), err
	}
	for after, found := range map[string]bool{"": true, "3-1-97": true, "3-1-96": true, "3-1-98": false, "3-2-97": false,
		"4-1-1": false} {
		base, err := find(after)
		if found != (base == "b1") || !found && !strings.Contains(fmt.Sprint(err), "has not begun again") {
			t.Errorf("after %q: %s, %v", after, base, err)
		}
	}
	begin("b", 98)
	if base, err := find("3-1-98"); err == nil {
		t.Errorf("with the backup of before: %s", base)
	}
	backupIn(t, bucket, "b", "b2", "7-1-3")
	if base, err := find("3-1-98"); err != nil || base != "b2" {
		t.Errorf("it has begun again: %s, %v", base, err)
	}
}

// TestTargetInDoubt: where nothing shows what was committed before a time, that is reported, whatever keeps later
// backups from leading there. It is so with earlier ones, too.
func TestTargetInDoubt(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	headsOf(t, bucket, 7, map[string][]uint64{"a": {3, 4}}, "a")
	w := walk{bucket: bucket, dir: binlog.Dir(archiveOf)}
	h, err := w.readHead(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	h.Times = binlog.Doubtful(now, now.Add(3*time.Minute), now.Add(time.Hour), now)
	text, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, bucket, h.Number, text)
	for id, completed := range map[string]time.Time{"b1": now.Add(-time.Minute), "b2": now, "b3": now.Add(time.Hour)} {
		m := baseManifest(id, "7-1-3")
		m.Line.ID, m.CompletedAt, m.Session = "a", completed, "s"
		if text, err = json.Marshal(m); err == nil {
			err = store.Write(t.Context(), bucket, path.Join(archiveOf, id, manifest.Name), text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_, _, err = locate(t.Context(), bucket, task.Find{Dir: archiveOf,
		Target: &binlog.Target{Time: now.Add(10 * time.Minute)}})
	var why failure
	if !errors.As(err, &why) || !why.fatal || why.reason != task.ReasonPointInTimeUnavailable ||
		!strings.Contains(err.Error(), "two halves") {
		t.Error(err)
	}
}

// TestNoPointInTime: a point is refused where there is no archive, and where there is no backup.
func TestNoPointInTime(t *testing.T) {
	for name, c := range map[string]struct {
		gtid, id, says string
	}{
		"no archive":           {"0-1-3", "", "cannot be restored with the backup b1"},
		"and no binary log":    {"", "b1", "cannot be restored with the backup b1"},
		"no backup of that ID": {"0-1-3", "b2", "there is no complete backup b2"},
	} {
		bucket := memblob.OpenBucket(nil)
		backupIn(t, bucket, "a", "b1", c.gtid)
		_, r, err := locate(t.Context(), bucket, task.Find{Dir: archiveOf, ID: c.id, Target: &binlog.Target{Latest: true}})
		var why failure
		if !errors.As(err, &why) || !why.fatal || why.reason != task.ReasonPointInTimeUnavailable ||
			!strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		_ = bucket.Close()
	}
}

// TestWrongContent: a segment holds what its head names, and the head is the one that was read.
func TestWrongContent(t *testing.T) {
	s := newSegments(t, 3)
	good := s.add(t, 4, magic, logFormat, transaction(4, 14))
	h, another := s.head, s.head
	another.Checksum = "of another one"
	empty := binlog.Head{Format: binlog.FormatVersion, Number: 1, Lines: s.head.Lines, Begins: true}
	line, err := empty.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text []byte
		h    binlog.Head
		says string
	}{
		"it is the one":       {good, h, ""},
		"another head":        {good, another, "its head is another one"},
		"no head":             {[]byte("x"), h, "it has no head"},
		"a head of nonsense":  {[]byte("x\n"), h, "its head is another one"},
		"an empty one":        {line, empty, ""},
		"an empty one holds":  {append(bytes.Clone(line), 'x'), empty, "it holds data"},
		"one byte is missing": {good[:len(good)-1], h, "its content is not"},
	} {
		says := wrongContent(bytes.NewReader(c.text), c.h)
		if (says == "") != (c.says == "") || !strings.Contains(says, c.says) {
			t.Errorf("%s: %q", name, says)
		}
	}
}

// TestContentBreaksOff: a store that breaks off in a segment is asked again: that is no damage.
func TestContentBreaksOff(t *testing.T) {
	s := newSegments(t, 3)
	text := s.add(t, 4, magic, logFormat, transaction(4, 14))
	f := storetest.NewFake(t, nil)
	bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()
	f.Put(segmentKey(s.head.Number), text)
	f.BreakOff(segmentKey(s.head.Number), len(text)-3)
	w := walk{bucket: bucket, dir: binlog.Dir(archiveOf)}
	if err := w.content(t.Context(), s.head); err != nil {
		t.Error(err)
	}
}

// TestTransactionOfTwoLines: where another line of history has a transaction of that GTID, too, the backup decides
// which one is meant, and is to be named.
func TestTransactionOfTwoLines(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	headsOf(t, bucket, 7, map[string][]uint64{"a": {3, 4, 5, 6}, "b": {3, 4}}, "a", "b")
	backupIn(t, bucket, "a", "b1", "7-1-3")
	for name, c := range map[string]struct {
		seq  uint64
		id   string
		from uint64
	}{
		"of both":            {4, "", 0},
		"with the backup":    {4, "b1", 2},
		"of the first alone": {5, "", 2},
	} {
		_, r, err := locate(t.Context(), bucket, task.Find{Dir: archiveOf, ID: c.id,
			Target: &binlog.Target{GTID: binlog.GTID{Domain: 7, Server: 1, Seq: c.seq}}})
		var why failure
		switch {
		case c.from > 0 && (err != nil || r == nil || r.From != c.from):
			t.Errorf("%s: %+v, %v", name, r, err)
		case c.from == 0 && (!errors.As(err, &why) || why.reason != task.ReasonPointInTimeUnavailable ||
			!strings.Contains(err.Error(), "two transactions may have it: one that the backup b1 leads to, and one in a "+
				"later part of the archive") ||
			!strings.Contains(err.Error(), "Name the backup to begin with (backup, or store.id)")):
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

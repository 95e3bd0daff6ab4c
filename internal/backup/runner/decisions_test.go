package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestGoesBackInBatches: heads are read until the segment before the base's is among them, which shows what the base
// holds, also where that is in a batch before.
func TestGoesBackInBatches(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	const segments = 300
	numbers := make([]uint64, segments)
	for i := range numbers {
		numbers[i] = uint64(i + 1) //nolint:gosec // small
	}
	headsOf(t, bucket, 7, map[string][]uint64{"a": numbers}, "a")
	w := walk{bucket: bucket, dir: binlog.Dir(archiveOf)}
	var err error
	if w.numbers, err = w.list(t.Context()); err != nil || len(w.numbers) != segments {
		t.Fatalf("%d segments, %v", len(w.numbers), err)
	}
	base := func(n uint64) policy.Base {
		return policy.Base{ID: fmt.Sprint("b", n), GTID: binlog.GTID{Domain: 7, Server: 1, Seq: n}, Session: "s", Time: now,
			Line: binlog.Line{History: oneHistory, ID: "a"}, Seqno: int64(n)} //nolint:gosec // small
	}
	const first = segments - batch // is the last number before the last batch
	for n := uint64(first - 3); n <= first+3; n++ {
		made := now.Add(time.Duration(n) * time.Minute) //nolint:gosec // small
		r, why, err := w.choose(t.Context(), base(n), binlog.Target{Time: made.Add(90 * time.Second)})
		if why != nil || err != nil || r.From != n+1 || r.To != n+2 {
			t.Errorf("with the backup at %d: %+v, %v, %v", n, r, why, err)
		}
		if _, why, err = w.choose(t.Context(), base(n), binlog.Target{Time: made}); err != nil || why == nil ||
			!strings.Contains(why.Error(), "it holds transactions of that time") {
			t.Errorf("to its own time with the backup at %d: %v, %v", n, why, err)
		}
	}
	for name, c := range map[string]struct {
		bases []policy.Base
		want  int
	}{
		"in the last batch":      {[]policy.Base{base(250)}, batch},
		"right before it":        {[]policy.Base{base(first)}, batch},
		"in the one before":      {[]policy.Base{base(first - 1)}, 2 * batch},
		"long ago":               {[]policy.Base{base(10)}, segments},
		"the other one long ago": {[]policy.Base{base(250), base(10)}, segments},
		"the first one long ago": {[]policy.Base{base(10), base(250)}, segments},
	} {
		if heads, err := w.back(t.Context(), c.bases); err != nil || len(heads) != c.want {
			t.Errorf("%s: %d heads, %v", name, len(heads), err)
		}
	}
	// What is not needed is not read: it may be gone by then.
	for _, c := range []struct{ gone, base uint64 }{{segments - 2*batch, first - 3}, {segments - 2*batch, first},
		{first, first + 1}, {first, first + 3}} {
		for n := uint64(1); n <= c.gone; n++ {
			if err := bucket.Delete(t.Context(), segmentKey(n)); err != nil && !store.Missing(err) {
				t.Fatal(err)
			}
		}
		at := now.Add(time.Duration(c.base)*time.Minute + 90*time.Second) //nolint:gosec // small
		if r, why, err := w.choose(t.Context(), base(c.base), binlog.Target{Time: at}); why != nil || err != nil ||
			r.From != c.base+1 {
			t.Errorf("with the backup at %d, without what is before %d: %+v, %v, %v", c.base, c.gone, r, why, err)
		}
	}
}

// TestThroughUnknown: a store that does not answer until when nothing was written has not answered that it is not
// known.
func TestThroughUnknown(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	w := walk{bucket: bucket, dir: binlog.Dir(archiveOf)}
	if through, err := w.through(t.Context()); err != nil || through != (binlog.Through{}) {
		t.Errorf("none is stored: %+v, %v", through, err)
	}
	overwriteThrough := func(text string) {
		if err := store.Write(t.Context(), bucket, path.Join(w.dir, binlog.ThroughName), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"", "{", `{"segment":7,"time":"x"}`} {
		overwriteThrough(text)
		if through, err := w.through(t.Context()); err != nil || through != (binlog.Through{}) {
			t.Errorf("%q: %+v, %v", text, through, err)
		}
	}
	if err := bucket.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.through(t.Context()); err == nil {
		t.Error("the store is away, and nothing is said of it")
	}
}

// TestNotFound: what a store does not have is named, and which clusters' backups it has.
func TestNotFound(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	for id, says := range map[string]string{"": "does not have any complete backup below",
		"b1": "does not have a complete backup b1 below"} {
		_, _, err := locate(t.Context(), bucket, task.Find{Dir: archiveOf, ID: id})
		if reason, final := explain(err); reason != task.ReasonBackupNotFound || !final ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", id, err)
		}
	}
	_, err := pick([]place{{dir: "demo/shop/u1", id: "a", completed: now}, {dir: "demo/shop/u2", id: "b", completed: now},
		{dir: "demo/shop/u2", id: "c", completed: now}, {dir: "demo/shop/u3", id: "d", refused: true}},
		task.Find{Dir: "demo/shop"})
	if reason, _ := explain(err); reason != task.ReasonBackupAmbiguous ||
		!strings.Contains(err.Error(), "u1 (latest backup a, ") ||
		!strings.Contains(err.Error(), "u2 (latest backup b, ") ||
		!strings.Contains(err.Error(), "u3 (latest backup d, whose manifest cannot be read)") {
		t.Error(err)
	}
}

// TestBrokenChain: an increment is restored with all that it adds to. What is broken itself, and a chain that leads
// round in a circle, ends.
func TestBrokenChain(t *testing.T) {
	unread := errors.New("unread")
	long := []*place{{dir: "d", id: "0"}}
	for i := range manifest.MaxDepth + 2 {
		long = append(long, &place{dir: "d", id: fmt.Sprint(i + 1), base: fmt.Sprint(i)})
	}
	for name, c := range map[string]struct {
		all    []*place
		broken string // and orphans
	}{
		"whole": {[]*place{{dir: "d", id: "a"}, {dir: "d", id: "b", base: "a"}, {dir: "d", id: "c", base: "b"}},
			""},
		"without the base":        {[]*place{nil, {dir: "d", id: "b", base: "a"}, {dir: "d", id: "c", base: "b"}}, "b c"},
		"of another directory":    {[]*place{{dir: "e", id: "a"}, {dir: "d", id: "b", base: "a"}}, "b"},
		"the base cannot be read": {[]*place{{dir: "d", id: "a", broken: unread}, {dir: "d", id: "b", base: "a"}}, "b"},
		"what cannot be read":     {[]*place{{dir: "d", id: "b", base: "a", broken: unread}}, ""},
		"one between cannot": {[]*place{{dir: "d", id: "a"}, {dir: "d", id: "b", base: "a", broken: unread},
			{dir: "d", id: "c", base: "b"}}, ""},
		"a circle":    {[]*place{{dir: "d", id: "a", base: "b"}, {dir: "d", id: "b", base: "a"}}, "a b"},
		"the longest": {long[:manifest.MaxDepth+1], ""},
		"too long":    {long, fmt.Sprint(manifest.MaxDepth + 2)},
	} {
		brokenChains(c.all)
		var broken []string
		for _, p := range c.all {
			if p != nil && p.orphan {
				broken = append(broken, p.id)
			}
			if p != nil && !p.orphan && p.broken != nil && !errors.Is(p.broken, unread) {
				t.Errorf("%s: %+v", name, p)
			}
		}
		if have := strings.Join(broken, " "); have != c.broken {
			t.Errorf("%s: %q", name, have)
		}
	}
}

// TestIdle: a server that applies nothing is not waited for. One that reads from its relay log, or is at work on a
// statement, is.
func TestIdle(t *testing.T) {
	for name, c := range map[string]struct {
		running, state string
		want           bool
	}{
		"at work":                {"Yes", "Reading event from the relay log", false},
		"altering a table":       {"Yes", "copy to tmp table", false},
		"all is read":            {"Yes", "Slave has read all relay log; waiting for more updates", true},
		"its thread has ended":   {"No", "", true},
		"ended, says it reads":   {"No", "Reading event from the relay log", true},
		"nothing is known of it": {"", "", true},
	} {
		s := map[string]string{"Slave_SQL_Running": c.running, "Slave_SQL_Running_State": c.state}
		if idle(s) != c.want {
			t.Error(name)
		}
	}
}

// TestFailedReplay: another attempt helps against a full disk, or a lock, and against nothing else.
func TestFailedReplay(t *testing.T) {
	at := binlog.GTID{Server: 1, Seq: 5}
	for number, c := range map[string]struct {
		reason string
		final  bool
	}{
		"1021": {task.ReasonDiskFull, false}, "1114": {task.ReasonDiskFull, false},
		"1205": {task.ReasonReplayFailed, false}, "1213": {task.ReasonReplayFailed, false},
		"1062": {task.ReasonReplayFailed, true}, "": {task.ReasonReplayFailed, true},
	} {
		err := failedReplay(map[string]string{"Last_SQL_Errno": number, "Last_SQL_Error": "why"}, at)
		if reason, final := explain(err); reason != c.reason || final != c.final ||
			!strings.Contains(err.Error(), "after 0-1-5: why") {
			t.Errorf("%s: %s %v: %v", number, reason, final, err)
		}
	}
}

// TestBinlogInfo: the position that mariadb-backup has written, by either of its names, and whole.
func TestBinlogInfo(t *testing.T) {
	const here, before = "mariadb_backup_binlog_info", "xtrabackup_binlog_info"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"of 11.4":    {map[string]string{here: "binlog.000003\t385\t0-1-5\n"}, "0-1-5"},
		"of 10.11":   {map[string]string{before: "binlog.000003\t385\t0-1-5,5-2-7"}, "0-1-5,5-2-7"},
		"of both":    {map[string]string{here: "a\t1\t0-1-5", before: "a\t1\t0-1-4"}, "0-1-5"},
		"no GTID":    {map[string]string{here: "binlog.000003\t385\n"}, ""},
		"cut off":    {map[string]string{here: "binlog"}, ""},
		"the latter": {map[string]string{here: "binlog", before: "a\t1\t0-1-4"}, "0-1-4"},
		"none":       {nil, ""},
	} {
		dir := t.TempDir()
		for file, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, have := binlogInfo(dir); have != c.want {
			t.Errorf("%s: %q", name, have)
		}
	}
}

// TestNeeded: a backup is needed by the increments of its own directory.
func TestNeeded(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	all := chained(t, bucket, 2)
	for id, want := range map[string]string{all[0].ID: all[1].ID, all[1].ID: all[2].ID, all[2].ID: "", "none": ""} {
		if by, err := needed(t.Context(), bucket, chainDir, id); err != nil || by != want {
			t.Errorf("%s: %q, %v", id, by, err)
		}
	}
	if by, err := needed(t.Context(), bucket, path.Dir(chainDir), all[0].ID); err != nil || by != "" {
		t.Errorf("in another directory: %q, %v", by, err)
	}
	if err := bucket.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := needed(t.Context(), bucket, chainDir, all[0].ID); err == nil {
		t.Error("the store is away, and nothing is said of it")
	}
}

// TestPlace: a backup was complete when its manifest says so, and not before it was begun, and is at no place of a line
// of history that cannot be read.
func TestPlace(t *testing.T) {
	begun := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for id, c := range map[string]struct{ completed, want time.Time }{
		"20261127-120000-a": {begun.Add(time.Hour), begun.Add(time.Hour)},
		"20261127-120000-b": {begun.Add(-time.Hour), begun},
		"20261127-120000-c": {begun, begun},
		"d":                 {begun.Add(-time.Hour), begun.Add(-time.Hour)},
	} {
		if have := (place{id: id, completed: c.completed}).ended(); !have.Equal(c.want) {
			t.Errorf("%s: %s", id, have)
		}
	}
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	for id, c := range map[string]struct {
		position string
		seqno    int64
	}{"known": {oneHistory + ":7", 7}, "unread": {"x", 0}, "none": {"", 0}} {
		m := baseManifest(id, "0-1-3")
		m.Position = c.position
		text, err := json.Marshal(m)
		if err == nil {
			err = store.Write(t.Context(), bucket, path.Join(archiveOf, id, manifest.Name), text)
		}
		if err != nil {
			t.Fatal(err)
		}
		p, err := placeAt(t.Context(), bucket, path.Join(archiveOf, id))
		if err != nil || p.broken != nil || p.seqno != c.seqno || (p.line != "") != (c.seqno > 0) {
			t.Errorf("%s: %+v, %v", id, p, err)
		}
	}
}

// TestApplied: a replay has ended when the last transaction is applied, and not when the server has read all there is.
// A server that applies nothing for a while has failed, and one at work is waited for.
func TestApplied(t *testing.T) {
	last, before := binlog.GTID{Server: 1, Seq: 9}, binlog.GTID{Server: 1, Seq: 5}
	const read, work = "Slave has read all relay log; waiting for more updates", "copy to tmp table"
	for name, c := range map[string]struct {
		seq          uint64
		number       string
		state        string
		since        time.Duration
		done, on     bool
		fails, final bool
	}{
		"the last one":               {9, "0", read, 0, true, false, false, false},
		"the last one, for long":     {9, "0", read, time.Hour, true, false, false, false},
		"one more":                   {6, "0", work, time.Hour, false, true, false, false},
		"one more, and all is read":  {8, "0", read, time.Hour, false, true, false, false},
		"beyond the last one":        {10, "0", read, 0, false, true, false, false},
		"at work for long":           {5, "0", work, 3 * time.Hour, false, false, false, false},
		"all is read, a moment ago":  {5, "0", read, stuckTime, false, false, false, false},
		"all is read, for a while":   {5, "0", read, stuckTime + 1, false, false, true, false},
		"a statement fails":          {6, "1062", work, 0, false, false, true, true},
		"a lock":                     {5, "1205", read, 0, false, false, true, false},
		"an error, after the target": {9, "1062", read, 0, true, false, false, false},
	} {
		s := map[string]string{"Last_SQL_Errno": c.number, "Slave_SQL_Running": "Yes", "Slave_SQL_Running_State": c.state}
		done, on, err := applied(s, binlog.GTID{Server: 1, Seq: c.seq}, before, last, c.since)
		final := false
		if err != nil {
			_, final = explain(err)
		}
		if done != c.done || on != c.on || (err != nil) != c.fails || final != c.final {
			t.Errorf("%s: done %v, on %v, %v", name, done, on, err)
		}
	}
}

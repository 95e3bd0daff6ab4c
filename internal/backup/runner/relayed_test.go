package runner

import (
	"path"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestRelayed: what was relayed begins after what the copy holds, by its seqno as well as by its GTID, and its end, and
// what was left out as late, is reported.
func TestRelayed(t *testing.T) {
	r := newRestoring(t)
	s := newSegments(t, 2)
	s.key, s.head.Seqnos, s.head.Lines[0].History = r.key, true, oneHistory
	s.add(t, 5, magic, logFormat, transaction(3, 13), transaction(4, 14), transaction(5, 15))
	s.add(t, 8, magic, logFormat, transaction(6, 16), transaction(7, 17), transaction(8, 12))
	for i, text := range s.all {
		key := path.Join(binlog.Dir(r.dir), binlog.Key(uint64(i+2))) //nolint:gosec // small
		if err := store.Write(t.Context(), r.bucket, key, text); err != nil {
			t.Fatal(err)
		}
	}
	latest := binlog.Target{Latest: true}
	for name, c := range map[string]struct {
		position      string
		target        binlog.Target
		last, reached uint64
		count, late   int
	}{
		"all that follows":            {oneHistory + ":3", latest, 8, 8, 5, 0},
		"the copy holds one more":     {oneHistory + ":4", latest, 8, 8, 4, 0},
		"it holds all":                {oneHistory + ":9", latest, 3, 8, 0, 0},
		"it is of another history":    {"19cbf30b-e79e-11f1-acc2-86401dfd9420:4", latest, 8, 8, 5, 0},
		"one names an earlier time":   {oneHistory + ":3", binlog.Target{Time: time.Unix(17, 0)}, 6, 6, 3, 1},
		"its position is not known":   {"", latest, 8, 8, 5, 0},
		"up to one, after one it has": {oneHistory + ":4", binlog.Target{GTID: binlog.GTID{Server: 1, Seq: 5}}, 5, 5, 1, 0},
	} {
		r.replay = &task.Replay{Target: c.target, From: 2, To: 3, Sum: s.head.Checksum}
		have, err := r.fetcher.relay(t.Context(), manifest.Manifest{GTID: "0-1-3", Position: c.position,
			Line: s.head.Lines[0]}, binlog.GTID{Server: 1, Seq: 3}, &discard{})
		if err != nil || have.Last.Seq != c.last || have.Reached.Seq != c.reached || have.Count != c.count ||
			have.Late != c.late {
			t.Errorf("%s: %+v, %v", name, have, err)
		}
	}
}

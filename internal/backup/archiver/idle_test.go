package archiver

import (
	"path"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// TestIdle: a time until which nothing was written counts for the very end of the archive that it is about.
func TestIdle(t *testing.T) {
	a, end := newStore(t), place{binlog.Head{Number: 5, Last: gtid(50)}}
	idle := func() binlog.Through {
		t.Helper()
		through, err := a.idle(t.Context(), end)
		if err != nil {
			t.Fatal(err)
		}
		return through
	}
	if have := idle(); !have.Time.IsZero() {
		t.Errorf("nothing is stored, and it is %+v", have)
	}
	for name, c := range map[string]struct {
		segment, last uint64
		want          bool
	}{"of this end": {5, 50, true}, "of another segment": {4, 50, false}, "of another transaction": {5, 49, false}} {
		if err := a.writeThrough(t.Context(), binlog.Through{Time: noon, Segment: c.segment, Last: gtid(c.last),
			Held: 60}); err != nil {
			t.Fatal(err)
		}
		if have := idle(); have.Time.Equal(noon) != c.want || (have.Held == 60) != c.want {
			t.Errorf("%s: %+v", name, have)
		}
	}
	if err := a.bucket.WriteAll(t.Context(), path.Join(a.dir, binlog.ThroughName), []byte("{"), nil); err != nil {
		t.Fatal(err)
	}
	if have := idle(); have != (binlog.Through{}) {
		t.Errorf("it cannot be read, and it is %+v", have)
	}
}

package serving

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

func (b *board) answer(t *testing.T) (out task.Served) {
	t.Helper()
	w := httptest.NewRecorder()
	b.ServeHTTP(w, &http.Request{})
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSure: what was committed up to the time that a segment was stored, or a transaction names, is not all in it: a
// cutover waits until the archive has everything up to a time.
func TestSure(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	h := binlog.Head{Earliest: at(91), FirstTime: at(95), LastTime: at(104),
		Times: binlog.Times{Low: at(85), Floor: at(85), Ceiling: at(105), LateCeiling: at(3705)}}
	called := h
	called.Through = at(98)
	for name, c := range map[string]struct {
		of   binlog.Head
		want time.Time
	}{
		"a time was called archived":     {called, at(98)},
		"none was yet":                   {h, at(81)},
		"nor is there a transaction yet": {binlog.Head{Begins: true}, time.Time{}},
	} {
		if have := sure(c.of); !have.Equal(c.want) {
			t.Errorf("%s: %s instead of %s", name, have, c.want)
		}
	}
}

// TestBoard: the operator is answered how far the archive is, and until when. What cannot be read is no archive that
// has ended.
func TestBoard(t *testing.T) {
	t.Parallel()
	w, b := newWritten(t, gtid(3)), &board{}
	w.add(gtid(5), 2, transactions(4, 5)...)
	later := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	write := func(text []byte) {
		if err := store.Write(t.Context(), w.bucket, path.Join(w.dir, binlog.ThroughName), text); err != nil {
			t.Fatal(err)
		}
	}
	through := func(of binlog.Through) {
		text, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		write(text)
	}
	write([]byte("{"))
	b.poll(t.Context(), w.archived)
	if have := b.answer(t); have.GTID != "0-1-5" || have.Problem != "" || !have.Through.Equal(w.at.Through) {
		t.Errorf("damaged: %+v instead of %s", have, w.at.Through)
	}
	through(binlog.Through{Segment: 1, Last: gtid(3), Time: later})
	b.poll(t.Context(), w.archived)
	if have := b.answer(t); have.GTID != "0-1-5" || have.Segment != 2 || have.Chain != 1 || have.Problem != "" ||
		!have.Through.Equal(w.at.Through) {
		t.Errorf("%+v instead of %s", have, w.at.Through)
	}
	through(binlog.Through{Segment: 2, Last: gtid(5), Time: later})
	b.poll(t.Context(), w.archived)
	if have := b.answer(t); !have.Through.Equal(later) {
		t.Errorf("%+v", have)
	}
	away := *w.archived
	away.bucket = memblob.OpenBucket(nil)
	if err := away.bucket.Close(); err != nil {
		t.Fatal(err)
	}
	b.poll(t.Context(), &away)
	if have := b.answer(t); have.Problem == "" || have.GTID != "0-1-5" || !have.Through.Equal(later) {
		t.Errorf("%+v", have)
	}
	b.poll(t.Context(), w.archived)
	for since, hangs := range map[time.Time]bool{{}: false, time.Now(): false, time.Now().Add(-2 * hangTime): true} {
		b.since = since
		if have := b.answer(t); strings.Contains(have.Problem, "has not answered since") != hangs || have.GTID != "0-1-5" {
			t.Errorf("%s: %+v", since, have)
		}
	}
	empty := *w.archived
	empty.dir = "elsewhere"
	other := &board{}
	other.poll(t.Context(), &empty)
	if have := other.answer(t); have.GTID != "" || !have.Through.IsZero() ||
		!strings.Contains(have.Problem, "no archive") {
		t.Errorf("%+v", have)
	}
}

// TestFailure: a channel ends only for what could never pass.
func TestFailure(t *testing.T) {
	t.Parallel()
	if n, text := failure(refuse("there is a gap")); n != 1236 || text != Refused+"there is a gap" {
		t.Error(n, text)
	}
	if n, _ := failure(errors.New("the store does not answer")); n == 1236 {
		t.Error("a replica does not connect again after an error that may pass")
	}
}

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

// TestBoard: the operator is answered how far the archive is, and until when. What cannot be read is no archive that
// has ended.
func TestBoard(t *testing.T) {
	t.Parallel()
	w, b := newWritten(t, gtid(3)), &board{}
	w.add(gtid(5), 2, transactions(4, 5)...)
	later := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	through := func(of binlog.Through) {
		text, err := json.Marshal(of)
		if err == nil {
			err = store.Write(t.Context(), w.bucket, path.Join(w.dir, binlog.ThroughName), text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	through(binlog.Through{Segment: 1, Last: gtid(3), Time: later})
	b.poll(t.Context(), w.archived)
	if have := b.answer(t); have.GTID != "0-1-5" || have.Segment != 2 || have.Chain != 1 || have.Problem != "" ||
		!have.Through.Equal(w.at.End()) {
		t.Errorf("%+v instead of %s", have, w.at.End())
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

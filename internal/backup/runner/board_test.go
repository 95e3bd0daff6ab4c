package runner

import (
	"encoding/json"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/external"
)

// TestBoard: the operator gets the last progress, with how long the rest takes at the rate so far.
func TestBoard(t *testing.T) {
	b := newBoard(time.Now().Add(-time.Minute))
	b.set(external.Progress{Tables: 3, Rows: 10, ExpectedRows: 100, Bytes: 1000})
	b.set(external.Progress{Tables: 3, Rows: 25, ExpectedRows: 100, Bytes: 2500})
	ask := func() (got task.Copied) {
		w := httptest.NewRecorder()
		b.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", task.PathCopied, nil))
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := ask()
	if got.RestSeconds < 179 || got.RestSeconds > 190 {
		t.Errorf("the rest takes %d s", got.RestSeconds)
	}
	if got.RestSeconds = 0; got != (task.Copied{Rows: 25, Expected: 100, Bytes: 2500, Tables: 3}) {
		t.Errorf("%+v", got)
	}
	b.set(external.Progress{Tables: 3, Rows: 90, ExpectedRows: 100, Bytes: 9000, Compared: 1})
	if got := ask(); got != (task.Copied{Rows: 90, Expected: 100, Bytes: 9000, Tables: 3, Compared: 1}) {
		t.Errorf("%+v", got)
	}
	b.again(time.Now().Add(-10 * time.Second))
	if got := ask(); got != (task.Copied{}) {
		t.Errorf("of the copy before: %+v", got)
	}
	b.set(external.Progress{Tables: 3, Rows: 50, ExpectedRows: 100})
	if got := ask(); got.RestSeconds < 9 || got.RestSeconds > 40 {
		t.Errorf("the rest of another copy takes %d s", got.RestSeconds)
	}
}

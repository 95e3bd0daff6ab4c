package harness

import (
	"errors"
	"testing"
	"time"
)

func TestKnockerNote(t *testing.T) {
	refused := errors.New("1045")
	k := &Knocker{}
	k.note(t.Context(), "now", time.Now(), time.Now().Add(time.Minute), nil)
	k.note(t.Context(), "now", time.Now(), time.Now().Add(-time.Second), refused) // the password's time was over
	if k.Logins != 1 || len(k.Failures) != 0 {
		t.Errorf("%+v", k)
	}
	k.note(t.Context(), "now", time.Now(), time.Now().Add(time.Minute), refused)
	if len(k.Failures) != 1 {
		t.Errorf("%+v", k)
	}
}

package archival

import (
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestNumberOfAnAttempt: an attempt has a later number than the one that was refused before it, by which a status that
// is rolled back to that is known to be an earlier one. One that is refused again is the same.
func TestNumberOfAnAttempt(t *testing.T) {
	s := newSite(t)
	archived := s.f.Archived
	s.f.Archived = nil
	s.sees(v1alpha1.SwitchTakenBack, "does not answer")
	refused := s.c.Status.SwitchSite.Number
	s.f.Now = s.f.Now.Add(5 * time.Second)
	s.sees(v1alpha1.SwitchTakenBack, "does not answer")
	if n := s.c.Status.SwitchSite.Number; n != refused {
		t.Errorf("refused as %d, and as %d", refused, n)
	}
	s.f.Archived, s.f.Now = archived, s.f.Now.Add(-time.Hour) // by the clock of another operator
	s.sees(v1alpha1.SwitchStopping, "")
	if n := s.c.Status.SwitchSite.Number; n <= refused {
		t.Errorf("refused as %d, begun as %d", refused, n)
	}
}

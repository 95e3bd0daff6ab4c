package retry

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestBackOff: a quarter of an hour between two checks a recovery is an outage.
func TestBackOff(t *testing.T) {
	b, item := BackOff(), reconcile.Request{}
	var last time.Duration
	for range 100 {
		if last = b.When(item); last > MaxDelay {
			t.Fatalf("%s", last)
		}
	}
	if last < MaxDelay/2 {
		t.Errorf("an error that stays is tried every %s", last)
	}
	if b.Forget(item); b.When(item) > initialDelay {
		t.Error("what was cured is remembered")
	}
}

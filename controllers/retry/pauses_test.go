package retry

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestPausesGrow: an object that polls does so ever less often; another reason to wait begins anew, and other objects
// are not concerned.
func TestPausesGrow(t *testing.T) {
	var p Pauses
	var got []time.Duration
	a, b := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	for _, seconds := range []int{3, 3, 3, 0, 3, 3, 3, 10, 10, 300, 10} {
		got = append(got, p.Grow(a, time.Duration(seconds)*time.Second)/time.Second)
	}
	if want := []time.Duration{3, 6, 12, 0, 24, 48, 60, 10, 20, 300, 10}; !slices.Equal(got, want) {
		t.Errorf("%d, want %d", got, want)
	}
	if p.Grow(b, 3*time.Second) != 3*time.Second {
		t.Error("another object's pause has grown")
	}
	if p.End(a); p.Grow(a, 10*time.Second) != 10*time.Second || len(p.last) != 2 {
		t.Error("a forgotten object's pause has grown")
	}
}

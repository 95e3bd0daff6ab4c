package measure

import (
	"slices"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

func TestSeconds(t *testing.T) {
	var s seconds
	for _, c := range []struct {
		at     int // milliseconds
		ms     float64
		failed bool
	}{{100, 7, false}, {900, 3, false}, {2100, 1, true}, {2200, 5, false}, {3100, 9, false}} {
		s.add(time.Duration(c.at)*time.Millisecond, c.ms, c.failed)
	}
	want := []result.Point{{Second: 1, TPS: 2, P95: 7}, {Second: 2}, {Second: 3, TPS: 1, P95: 5, Errors: 1}}
	if got := s.whole(3500 * time.Millisecond); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	if got := (&seconds{}).whole(time.Minute); len(got) != 0 {
		t.Errorf("nothing was done: %+v", got)
	}
}

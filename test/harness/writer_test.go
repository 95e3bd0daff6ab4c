package harness

import (
	"strings"
	"testing"
	"time"
)

func newTestWriter(acknowledged, uncertain []int64) *Writer {
	w := &Writer{acknowledged: map[int64]struct{}{}, uncertain: map[int64]struct{}{}}
	for _, id := range acknowledged {
		w.acknowledged[id] = struct{}{}
	}
	for _, id := range uncertain {
		w.uncertain[id] = struct{}{}
	}
	return w
}

func TestWriterFindsWrongRows(t *testing.T) {
	for name, c := range map[string]struct {
		rows map[int64]int
		want string
	}{
		"all there":            {map[int64]int{1: 1, 2: 1}, ""},
		"lost answer, written": {map[int64]int{1: 1, 2: 1, 3: 1}, ""},
		"lost":                 {map[int64]int{1: 1}, "1 acknowledged rows are lost on shop-0, for instance [2]"},
		"twice":                {map[int64]int{1: 2, 2: 1}, "1 rows are there more than once on shop-0"},
		"from nowhere":         {map[int64]int{1: 1, 2: 1, 9: 1}, "1 rows that no client wrote are on shop-0"},
	} {
		err := newTestWriter([]int64{1, 2}, []int64{3}).compare("shop-0", c.rows)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: compare = %v, want %q", name, err, c.want)
		}
	}
}

func TestSameRows(t *testing.T) {
	a := map[int64]int{1: 1, 2: 1}
	if err := sameRows("a", a, "b", map[int64]int{1: 1, 2: 1}); err != nil {
		t.Error(err)
	}
	for _, b := range []map[int64]int{{1: 1}, {1: 1, 2: 1, 3: 1}, {1: 1, 2: 2}} {
		if sameRows("a", a, "b", b) == nil {
			t.Errorf("sameRows(%v, %v) finds no difference", a, b)
		}
	}
}

func TestGapMeter(t *testing.T) {
	start := time.Now()
	g := &gapMeter{last: start.Add(-5 * time.Second)}
	g.gaps = []Gap{{start.Add(-60 * time.Second), 9 * time.Second}, {start.Add(-20 * time.Second), 3 * time.Second}}
	if got := g.longest(start.Add(-30 * time.Second)); got.Length < 5*time.Second || got.Length > 6*time.Second {
		t.Errorf("longest must count the gap that still lasts: %v", got)
	}
	g.success()
	if got := g.longest(start.Add(-90 * time.Second)); got.Length != 9*time.Second {
		t.Errorf("longest = %v, want 9s", got.Length)
	}
	if got, ok := g.firstAfter(start.Add(-18 * time.Second)); !ok || !got.Equal(start.Add(-17*time.Second)) {
		t.Errorf("firstAfter = %v, %v; want the end of the gap the moment lies in", got, ok)
	}
	g.gaps = append([]Gap{{start.Add(-18 * time.Second), 300 * time.Millisecond}}, g.gaps...)
	if got, _ := g.firstAfter(start.Add(-18 * time.Second)); !got.Equal(start.Add(-17 * time.Second)) {
		t.Errorf("firstAfter = %v; a short stall before the interruption does not count", got)
	}
	if _, ok := g.firstAfter(time.Now().Add(time.Second)); ok {
		t.Error("firstAfter knows the future")
	}
}

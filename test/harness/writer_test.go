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
	g.gaps = []Gap{{Start: start.Add(-60 * time.Second), Length: 9 * time.Second},
		{Start: start.Add(-20 * time.Second), Length: 3 * time.Second}}
	if got := g.longest(start.Add(-30 * time.Second)); got.Length < 5*time.Second || got.Length > 6*time.Second {
		t.Errorf("longest must count the gap that still lasts: %v", got)
	}
	g.success()
	if got := g.longest(start.Add(-90 * time.Second)); got.Length != 9*time.Second {
		t.Errorf("longest = %v, want 9s", got.Length)
	}
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	g.gaps = []Gap{{at(-30000), 9 * time.Second, true}, {at(-18000), 300 * time.Millisecond, false},
		{at(-17000), 900 * time.Millisecond, true}, {at(-9000), 1100 * time.Millisecond, true}}
	if got, ok := g.firstAfter(at(-17900)); !ok || !got.Equal(at(-16100)) {
		t.Errorf("firstAfter = %v, %v; want the end of the interruption, not of a stall", got, ok)
	}
	if got, ok := g.firstAfter(at(-16500)); !ok || !got.Equal(at(-16100)) {
		t.Errorf("firstAfter = %v, %v; want the end of the gap that the moment lies in", got, ok)
	}
	g.last = start.Add(-time.Second)
	g.failure()
	g.success()
	if got, ok := g.firstAfter(at(-900)); !ok || !got.Equal(g.last) {
		t.Errorf("firstAfter = %v, %v; want the write after the failure", got, ok)
	}
	failed := g.last
	g.last = g.last.Add(-time.Second)
	g.success()
	if got, ok := g.firstAfter(failed); !ok || !got.Equal(failed) {
		t.Errorf("firstAfter = %v, %v; nothing failed after the last success", got, ok)
	}
	g.gaps = g.gaps[:1]
	if got, ok := g.firstAfter(at(-1000)); !ok || !got.Equal(at(-1000)) {
		t.Errorf("firstAfter = %v, %v; there was no interruption", got, ok)
	}
	if _, ok := g.firstAfter(time.Now().Add(time.Second)); ok {
		t.Error("firstAfter knows the future")
	}
}

package harness

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// recorded is a history with a loss: 0-1-3 is of two lines.
func recorded() *History {
	at := func(ms int) time.Time { return time.UnixMilli(1_000_000 + int64(ms)) }
	have := func(rows ...string) Contents {
		t := recordedTable{rows: map[int]string{}}
		for i, r := range rows {
			t.rows[i+1] = r
		}
		return Contents{"t1": t}
	}
	return &History{Moments: []Moment{
		{Begin: at(0), End: at(100), Contents: have()},
		{Begin: at(200), End: at(300), GTID: "0-1-2", Contents: have("a")},
		{Begin: at(900), End: at(1100), GTID: "0-1-3", Contents: have("a", "b")},
		{Begin: at(2000), End: at(2500), Contents: have("a")}, // recovered without 0-1-3
		{Begin: at(2600), End: at(2700), GTID: "0-2-3", Contents: have("a", "c")},
		{Begin: at(2800), End: at(2900), GTID: "0-2-4", Contents: have("a", "c", "d")},
	}}
}

// TestHistory: what a cluster held is wrong at another time, at another transaction, and in another line of history.
func TestHistory(t *testing.T) {
	h := recorded()
	for ms, want := range map[int][]int{-500: {0}, 0: {0}, 250: {0, 1}, 301: {1}, 1000: {1, 2}, 1500: {2}, 2300: {2, 3},
		2550: {3}, 2650: {3, 4}, 9000: {5}} {
		if have := h.At(time.UnixMilli(1_000_000 + int64(ms))); !slices.Equal(have, want) {
			t.Errorf("at %d ms: %v, want %v", ms, have, want)
		}
	}
	if have := h.Of("0-1-3"); !slices.Equal(have, []int{2}) {
		t.Errorf("0-1-3 is at %v", have)
	}
	for i, want := range []bool{true, true, true, true, false, true} {
		if i > 0 && h.Moments[i].GTID != "" && h.Advances(i) != want {
			t.Errorf("the moment %d advances: %v", i, !want)
		}
	}
	for i := range h.Moments {
		text := h.Moments[i].Contents.String()
		if err := h.Compare(text, []int{i}); err != nil {
			t.Errorf("the moment %d is itself: %v", i, err)
		}
		wrong := (i + 1) % len(h.Moments)
		if err := h.Compare(text, []int{wrong}); err == nil {
			t.Errorf("the moment %d passes for %d", i, wrong)
		}
		if err := h.Compare(text, nil); err == nil {
			t.Errorf("the moment %d passes for none", i)
		}
	}
	if err := h.Compare("t1(id,v)\n1|a\n", []int{2}); err == nil || !strings.Contains(err.Error(), "2|b") {
		t.Errorf("a row that is missing is not named: %v", err)
	}
}

// TestChooser: operations come from the seed alone, leave what they were made from as it is, and stay bounded.
func TestChooser(t *testing.T) {
	run := func(seed uint64) (all []string, last Contents) {
		r := chooser{Rand: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // a test
		c := Contents{}
		for range 600 {
			before := c.String()
			o := r.choose(c, false)
			if c.String() != before {
				t.Fatalf("%v has changed what it was made from", o.statements)
			}
			all, c = append(all, o.statements...), o.after
			for name := range maps.Keys(c) {
				if len(c) > maxTables || len(c[name].rows) > maxRows+5*5 {
					t.Fatalf("%d tables, %d rows", len(c), len(c[name].rows))
				}
			}
		}
		return all, c
	}
	one, a := run(1)
	again, b := run(1)
	other, _ := run(2)
	if !slices.Equal(one, again) || a.String() != b.String() || slices.Equal(one, other) {
		t.Error("the seed does not decide")
	}
	for _, kind := range []string{"CREATE", "RENAME", "TRUNCATE", "DROP TABLE", "ALTER", "INSERT", "UPDATE", "DELETE",
		"BEGIN",
		"ROLLBACK", "SET SESSION sql_log_bin"} {
		if !slices.ContainsFunc(one, func(s string) bool { return strings.Contains(s, kind) }) {
			t.Errorf("nothing is %s", kind)
		}
	}
}

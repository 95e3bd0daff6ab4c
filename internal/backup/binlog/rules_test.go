package binlog

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func second(n int) time.Time { return time.Unix(int64(1000+n), 0).UTC() }

// TestBetween: the clocks of a node and of the archiver may differ, and times do not go back in the order of commits.
func TestBetween(t *testing.T) {
	none := time.Time{}
	for name, c := range map[string]struct {
		after, before, latest time.Time
		want                  Times
	}{
		"the clocks differ": {second(20), second(40), none,
			Times{second(15), second(15), second(45), none}},
		"nothing is known before": {none, second(40), none,
			Times{none, none, second(45), none}},
		"the last one was later": {second(20), second(40), second(30),
			Times{second(15), second(30), second(45), none}},
		"the last one was even later": {second(20), second(40), second(90),
			Times{second(15), second(90), second(90), none}},
		"the last one was earlier": {second(20), second(40), second(10),
			Times{second(15), second(15), second(45), none}},
		"nothing before, but a last one": {none, second(40), second(30),
			Times{none, second(30), second(45), none}},
	} {
		if got := Between(c.after, c.before, c.latest); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestDoubtful: of two halves of the clocks, times go by the earlier one, and what is later by the other one is known.
func TestDoubtful(t *testing.T) {
	none := time.Time{}
	for name, c := range map[string]struct {
		after, early, late, latest time.Time
		want                       Times
		first, soonest             int
	}{
		"a clock is ahead": {second(20), second(40), second(90), none,
			Times{second(20), second(20), second(40), second(95)}, 90, 35},
		"and more was known before": {second(39), second(40), second(90), none,
			Times{second(39), second(39), second(40), second(95)}, 90, 39},
		"a clock is behind": {second(80), second(40), second(90), none,
			Times{second(80), second(80), second(80), second(95)}, 80, 80},
		"nothing is known before": {none, second(40), second(90), none,
			Times{none, none, second(40), second(95)}, 90, 35},
		"the last one was later": {second(20), second(40), second(90), second(99),
			Times{second(20), second(99), second(99), second(99)}, 99, 99},
	} {
		got := Doubtful(c.after, c.early, c.late, c.latest)
		if got != c.want || got.Soonest(second(c.first)) != second(c.soonest) {
			t.Errorf("%s: %+v, at the soonest %s", name, got, got.Soonest(second(c.first)))
		}
		if end := (Head{Times: got}).End(); !end.Equal(got.LateCeiling) {
			t.Errorf("%s: the segment ends at %s", name, end)
		}
	}
	if got := (Times{Ceiling: second(40)}).Soonest(second(30)); got != second(30) {
		t.Errorf("the clocks agree, and the first one is of %s", got)
	}
}

// TestTimeOfATransaction: what a client says of its time is bounded, and times do not go back.
func TestTimeOfATransaction(t *testing.T) {
	bounds := Times{Low: second(15), Floor: second(20), Ceiling: second(45)}
	for _, c := range []struct{ raw, bound, last, after int }{
		{30, 30, 0, 30}, {10, 15, 0, 20}, {90, 45, 0, 45}, {17, 17, 0, 20}, {30, 30, 33, 33}, {15, 15, 0, 20},
	} {
		if got := bounds.Bound(second(c.raw)); got != second(c.bound) {
			t.Errorf("%d is bound to %s", c.raw, got)
		}
		if got := bounds.After(second(c.last), second(c.raw)); got != second(c.after) {
			t.Errorf("%d after %d is %s", c.raw, c.last, got)
		}
	}
}

// TestPassed: a whole second names all of it, and a time that is known to the microsecond is compared exactly.
func TestPassed(t *testing.T) {
	half, more := second(30).Add(time.Second/2), second(30).Add(time.Second*3/4)
	for name, c := range map[string]struct {
		target time.Time
		at     time.Time
		exact  bool
		want   bool
	}{
		"before":                             {second(30), second(29), false, false},
		"at it":                              {second(30), second(30), false, true},
		"after it":                           {second(30), second(31), true, true},
		"in its second, before it":           {half, second(30), true, false},
		"in its second, not known how early": {half, second(30), false, true},
		"in its second, after it":            {half, more, true, true},
		"exactly at it":                      {half, half, true, true},
		"no time":                            {time.Time{}, second(30), true, false},
	} {
		if got := (Target{Time: c.target}).Passed(c.at, c.exact); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestEnds: what a segment begins and ends with.
func TestEnds(t *testing.T) {
	last, previous := GTID{Server: 1, Seq: 9}, GTID{Server: 1, Seq: 5}
	h := Head{Last: last, Seqno: 90, Previous: previous, PreviousSeqno: 50, LastTime: second(1), Through: second(2),
		Times: Times{Ceiling: second(3)}}
	if h.Start() != previous || h.StartSeqno() != 50 || h.Empty() || h.End() != second(3) {
		t.Errorf("%s %d %v %s", h.Start(), h.StartSeqno(), h.Empty(), h.End())
	}
	if h.Through = second(4); h.End() != second(4) {
		t.Errorf("it ends at %s", h.End())
	}
	if h.LastTime = second(5); h.End() != second(5) {
		t.Errorf("it ends at %s", h.End())
	}
	if h.Continues = true; h.Start() != previous || h.StartSeqno() != 50 || !h.Empty() {
		t.Errorf("where it continues: %s %d %v", h.Start(), h.StartSeqno(), h.Empty())
	}
	if h.Continues, h.Begins = false, true; h.Start() != last || h.StartSeqno() != 90 || !h.Empty() {
		t.Errorf("where it begins: %s %d %v", h.Start(), h.StartSeqno(), h.Empty())
	}
}

// TestAnchors: what a number's seqno may be at least.
func TestAnchors(t *testing.T) {
	h := Head{Seqnos: true, Holes: []Hole{{After: GTID{Seq: 11}, Next: GTID{Seq: 14}},
		{After: GTID{Seq: 22}, Next: GTID{Seq: 25}}}}
	for _, a := range []struct {
		number uint64
		seqno  int64
	}{{9, 0}, {10, 100}, {11, 101}, {14, 104}, {15, 107}, {20, 112}, {21, 120}, {22, 121}, {25, 130}} {
		h.AddAnchor(a.number, a.seqno)
	}
	if len(h.Anchors) != 5 || h.Anchors[0].Number != 10 || h.Anchors[1].Number != 14 || h.Anchors[3].Seqno != 120 {
		t.Errorf("%+v", h.Anchors)
	}
	for number, want := range map[uint64]int64{9: 0, 10: 100, 11: 101, 12: 101, 14: 104, 15: 107, 16: 108, 21: 120,
		24: 121, 26: 131} {
		if got := h.SeqnoAtLeast(number); got != want {
			t.Errorf("the number %d has at least the seqno %d instead of %d", number, got, want)
		}
	}
	if h.Seqnos = false; h.SeqnoAtLeast(10) != 0 {
		t.Error("the seqnos are not Galera's")
	}
	for n := range uint64(2 * maxAnchors) {
		h.AddAnchor(100+n, int64(1000+2*n)) //nolint:gosec // small
	}
	if len(h.Anchors) != maxAnchors {
		t.Errorf("%d anchors", len(h.Anchors))
	}
}

// TestNames: which transactions name the seqno that is returned for them. What is beyond the first ones is not known.
func TestNames(t *testing.T) {
	h := Head{Seqnos: true}
	for number, seqno := range map[uint64]int64{9: 0, 12: 0} {
		h.AddAnchor(number, seqno)
	}
	h.AddAnchor(10, 100)
	names := func(of Head, numbers ...uint64) (out []uint64) {
		for _, n := range numbers {
			if of.Names(n) {
				out = append(out, n)
			}
		}
		return out
	}
	if have := names(h, 8, 9, 10, 11, 12, 13); !slices.Equal(have, []uint64{10, 11, 13}) {
		t.Errorf("%v", have)
	}
	many := Head{Seqnos: true, Anchors: []Anchor{{Number: 5, Seqno: 5}}}
	for n := range uint64(2 * maxUnnamed) {
		many.AddAnchor(10+2*n, 0)
	}
	last := many.Unnamed[maxUnnamed-1]
	if have := names(many, last-1, last, last+1); len(many.Unnamed) != maxUnnamed ||
		!slices.Equal(have, []uint64{last - 1}) {
		t.Errorf("%v of %v", have, many.Unnamed)
	}
	full := Head{Seqnos: true}
	for n := range uint64(maxAnchors) {
		full.AddAnchor(10+n, int64(100+2*n)) //nolint:gosec // small
	}
	if have := names(full, 10, 9+maxAnchors, 10+maxAnchors); !slices.Equal(have, []uint64{10, 9 + maxAnchors}) {
		t.Errorf("%v", have)
	}
	if h.Seqnos = false; len(names(h, 10)) > 0 {
		t.Error("the seqnos are not Galera's")
	}
}

// TestDecodeFormat: a head of another format, or without a line of history, is not read, and a large one not written.
func TestDecodeFormat(t *testing.T) {
	known := []Line{{History: "11111111-2222-4333-8444-555555555555", ID: "x", Epoch: 1}}
	for name, c := range map[string]struct {
		head Head
		want string
	}{
		"this one":   {Head{Format: FormatVersion, Lines: known}, ""},
		"a later":    {Head{Format: FormatVersion + 1, Lines: known}, "use a later release"},
		"an earlier": {Head{Format: FormatVersion - 1, Lines: known}, "e"},
		"no line":    {Head{Format: FormatVersion}, "does not name its line"},
	} {
		text, err := c.head.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Decode(append(text, '\n')); (err == nil) != (c.want == "") || err != nil &&
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	large := Head{Format: FormatVersion, Lines: known, Recipients: []string{strings.Repeat("x", MaxHead)}}
	if _, err := large.Encode(); err == nil {
		t.Error("a head of any size is written")
	}
}

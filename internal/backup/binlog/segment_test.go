package binlog

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestLargestHead: whatever a segment has to report, its head can be written, and read.
func TestLargestHead(t *testing.T) {
	g := GTID{Domain: math.MaxUint32, Server: math.MaxUint32, Seq: math.MaxUint64}
	at := time.Date(2026, 11, 24, 12, 0, 0, 123456789, time.UTC)
	nodes := strings.Repeat("a-node-of-a-cluster-with-a-long-name-0.its-service.its-namespace.svc.cluster.local, ", 100)
	h := Head{Format: FormatVersion, Number: math.MaxUint64, Before: strings.Repeat("f", 64), Why: nodes,
		Chain: math.MaxUint64, Session: strings.Repeat("s", 12),
		Seqno: math.MaxInt64, PreviousSeqno: math.MaxInt64, PreviousHeld: math.MaxInt64, Previous: g, First: g, Last: g,
		BeforeLast: g, LastSum: strings.Repeat("f", 64),
		From: math.MaxInt64, FirstTime: at, LastTime: at,
		Earliest: at, Through: at, Times: Times{Floor: at, Ceiling: at}, Transactions: math.MaxInt, Bytes: math.MaxInt64,
		SHA256: strings.Repeat("f", 64), Size: math.MaxInt64,
		Lines: slices.Repeat([]Line{{History: strings.Repeat("h", 36), ID: strings.Repeat("i", 80), Epoch: math.MaxInt64,
			Start: math.MaxInt64, Copied: true, After: g}}, MaxLines),
		Holes:      slices.Repeat([]Hole{{After: g, Next: g, Why: nodes}}, MaxHoles),
		Anchors:    slices.Repeat([]Anchor{{Number: math.MaxUint64, Seqno: math.MaxInt64}}, maxAnchors),
		Unnamed:    slices.Repeat([]uint64{math.MaxUint64}, maxUnnamed),
		Foreign:    slices.Repeat([]GTID{g}, MaxForeign),
		Recipients: slices.Repeat([]string{strings.Repeat("r", 62)}, 16)}
	text, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, size, err := Decode(append(text, "content"...)); err != nil || size != len(text) ||
		got.Checksum != h.Checksum || len(got.Holes) != MaxHoles {
		t.Errorf("%v: %d of %d bytes", err, size, len(text))
	}
	if cut := cut("é"+strings.Repeat("x", 10), 1); !utf8.ValidString(cut) || cut != "" {
		t.Errorf("%q", cut)
	}
}

// TestLastAtLeast: each transaction takes a seqno, and what is known of those before counts.
func TestLastAtLeast(t *testing.T) {
	for name, c := range map[string]struct {
		h    Head
		want int64
	}{
		"nothing is known":             {Head{Last: GTID{Seq: 12}, Transactions: 2}, 0},
		"after what was there before":  {Head{Last: GTID{Seq: 12}, Transactions: 2, PreviousHeld: 100}, 102},
		"by its own":                   {Head{Last: GTID{Seq: 12}, Anchors: []Anchor{{11, 107}}, PreviousHeld: 100}, 108},
		"by its own, statements first": {Head{Last: GTID{Seq: 12}, Anchors: []Anchor{{12, 107}}, PreviousHeld: 100}, 107},
		"it goes on in another line":   {Head{Last: GTID{Seq: 12}, Continues: true, PreviousHeld: 100}, 100},
		"it begins":                    {Head{Last: GTID{Seq: 12}, Begins: true, Seqno: 100}, 0},
	} {
		if have := c.h.LastAtLeast(); have != c.want {
			t.Errorf("%s: %d", name, have)
		}
	}
}

// TestLineOf: a transaction is of the last line of history that does not begin after it.
func TestLineOf(t *testing.T) {
	t.Parallel()
	line := func(id string, after uint64) Line {
		return Line{History: "h", ID: id, After: GTID{Server: 1, Seq: after}}
	}
	h := Head{Lines: []Line{{History: "h", ID: "a"}, line("b", 5), line("c", 9), line("d", 9)}}
	for seq, want := range map[uint64]string{1: "a", 5: "a", 6: "b", 9: "b", 10: "d"} {
		if have := h.LineOf(GTID{Server: 1, Seq: seq}).ID; have != want {
			t.Errorf("%d: %q", seq, have)
		}
	}
	old := Head{Lines: []Line{{History: "h", ID: "a"}, {History: "h", ID: "b"}}} // where a line begins is not known
	if have := old.LineOf(GTID{Server: 1, Seq: 1}).ID; have != "b" {
		t.Errorf("%q", have)
	}
	if have := (Head{}).LineOf(GTID{Server: 1, Seq: 1}); have.Known() {
		t.Errorf("%+v", have)
	}
}

// TestIsUnnamed: what is not in a head, for lack of space, may name no seqno.
func TestIsUnnamed(t *testing.T) {
	var h Head
	for n := uint64(1); n <= 2*maxUnnamed; n++ {
		h.AddAnchor(2*n, 0)
		h.AddAnchor(2*n+1, int64(100+3*n)) //nolint:gosec // small
	}
	last := h.Unnamed[maxUnnamed-1]
	for number, want := range map[uint64]bool{2: true, 3: false, last: true, last + 1: false, last + 2: true,
		last + 3: true} {
		if h.IsUnnamed(number) != want {
			t.Errorf("%d: not %v", number, want)
		}
	}
}

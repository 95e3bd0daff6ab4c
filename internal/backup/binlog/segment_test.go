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
		Seqno: math.MaxInt64, PreviousSeqno: math.MaxInt64, Previous: g, First: g, Last: g, BeforeLast: g,
		LastSum: strings.Repeat("f", 64),
		From:    math.MaxInt64, FirstTime: at, LastTime: at,
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

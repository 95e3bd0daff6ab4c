package harness

import (
	"fmt"
	"strings"
	"testing"
)

func TestDecisiveLines(t *testing.T) {
	var log strings.Builder
	for i := range 9 {
		fmt.Fprintf(&log, "2026-11-27 0 [Note] InnoDB: page %d\n", i)
		fmt.Fprintf(&log, "2026-11-27 0 [Note] WSREP: Member %d.0 (a) wants a transfer. Selected 0.0 (b) as donor.\n", i)
	}
	got := decisiveLines(log.String())
	if len(got) != mostFacts || !strings.Contains(got[0], "Member 4.0") || !strings.Contains(got[4], "Member 8.0") {
		t.Errorf("%q", got)
	}
}

func TestBrief(t *testing.T) {
	if got := brief("a\nb\n"); got != "a b" {
		t.Errorf("%q", got)
	}
	if got := brief(strings.Repeat("x", 3*factWidth)); len(got) > factWidth+3 {
		t.Errorf("%d bytes", len(got))
	}
}

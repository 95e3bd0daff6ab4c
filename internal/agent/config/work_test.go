package config

import (
	"os"
	"testing"
)

func TestParse(t *testing.T) {
	if got := parseWritten("rchar: 5\nwchar: 77\nsyscr: 1\n"); got != 77 {
		t.Errorf("written %d", got)
	}
	if got := parseTicks("12 (a ) b (c) S 1 2 3 4 5 6 7 8 9 10 30 12 13 14"); got != 42 {
		t.Errorf("ticks %d", got)
	}
	if parseWritten("") != 0 || parseTicks("") != 0 {
		t.Error("nothing counts for something")
	}
}

// TestWorkersRemember: what a process has done still counts when it has gone.
func TestWorkersRemember(t *testing.T) {
	w := TransferWorkers{seen: map[int]counts{999999999: {written: 10, ticks: 1}}}
	if written, work := w.Count([]int{999999999, os.Getpid()}); written < 10 || work < 11 {
		t.Errorf("%d %d", written, work)
	}
}

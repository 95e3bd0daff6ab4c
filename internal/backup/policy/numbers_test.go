package policy

import (
	"fmt"
	"testing"
)

// TestDiffer: how far apart the numbers of a transaction are counts from the lowest node to the highest.
func TestDiffer(t *testing.T) {
	one := func(node string, seqno int64, ahead int64) Number {
		return Number{Node: node, Seqno: seqno, Own: 50, There: uint64(50 + ahead), Ahead: ahead}
	}
	for want, known := range map[string][]Number{
		" 0 0": {one("b", 7, 0), one("c", 9, 0)},
		"the transaction of the seqno 7 has the number 50, and 51 on b 1 7": {one("b", 7, 1), one("c", 9, 0)},
		"the transaction of the seqno 7 has the number 50, and 48 on b; the transaction of the seqno 9 has the number 50, " +
			"and 53 on c 5 9": {one("c", 9, 3), one("b", 7, -2)},
	} {
		why, spread, seqno := Differ(known)
		if have := fmt.Sprint(why, " ", spread, " ", seqno); have != want {
			t.Errorf("%q instead of %q", have, want)
		}
	}
	if why, _, _ := Differ(nil); why != "" {
		t.Error(why)
	}
}

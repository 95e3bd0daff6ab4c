package policy

import (
	"errors"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// named has the transactions up to last, each of which names its seqno, a hundred times its number.
func (s *store) named(last uint64, latest int) *store {
	h := s.heads[len(s.heads)-1]
	first := h.Last.Seq + 1
	h = binlog.Head{First: gtid(first), Last: gtid(last), FirstTime: at(latest - 9), LastTime: at(latest),
		Earliest: at(latest - 9), Bytes: 10, Transactions: int(last - first + 1), Seqnos: true}
	for n := first; n <= last; n++ {
		h.AddAnchor(n, int64(100*n))
	}
	return s.put(h)
}

// TestHoldsLater: a backup whose node numbers transactions lower than the archive holds the first ones of the segments
// after that of its number, by their seqnos. No time is accepted, or offered, that these are not before.
func TestHoldsLater(t *testing.T) {
	archive := newStore().begins(5, "").named(10, 10).named(12, 50).named(14, 90).heads
	of := func(number uint64, seqno int64) Base {
		b := base("b1", number, 5)
		b.Seqno = seqno
		return b
	}
	const refused = "it holds transactions of that time, or later ones"
	for name, c := range map[string]struct {
		base    Base
		seconds int
		says    string
	}{
		"none of a later segment":                  {of(10, 1000), 20, ""},
		"the first of the next one":                {of(10, 1100), 41, refused},
		"a time after it":                          {of(10, 1100), 42, ""},
		"all of the next one":                      {of(10, 1200), 50, refused},
		"and a time after it":                      {of(10, 1200), 51, ""},
		"the first of the one after that":          {of(10, 1300), 81, refused},
		"the first of the next, by a lower number": {of(8, 1100), 41, refused},
		"it has the next one by its number":        {of(12, 1200), 41, refused},
		"what is refused offers a later time":      {of(10, 1100), 99, "from 2026-11-24T12:00:51Z (0-1-12)"},
		"also where it holds two segments":         {of(10, 1300), 99, "from the GTID 0-1-14 to 0-1-14"},
	} {
		tgt := binlog.Target{Time: at(c.seconds)}
		_, err := Choose(archive, c.base, tgt, binlog.Through{})
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		var o Outside
		if errors.As(err, &o) && !o.From.IsZero() {
			if _, err := Choose(archive, c.base, binlog.Target{Time: o.From}, binlog.Through{}); err != nil {
				t.Errorf("%s: offers %s: %v", name, o.From, err)
			}
		}
	}
	s := newStore().begins(5, "").named(10, 10).put(binlog.Head{First: gtid(11), Last: gtid(11), FirstTime: at(20),
		LastTime: at(20), Earliest: at(20), Bytes: 10, Transactions: 1, Seqnos: true, PreviousHeld: 1000,
		Unnamed: []uint64{11}})
	s.heads[2].Seqno = 1400 // where the node was when it was stored
	archive = s.named(13, 50).heads
	_, err := Choose(archive, of(11, 1200), binlog.Target{Time: at(99)}, binlog.Through{})
	if want := "is from the GTID 0-1-13 to 0-1-13"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the end of a segment is not known: %v", err)
	}
	gap := newStore().begins(5, "").named(10, 10).begins(10, "purged").named(12, 50).heads
	if _, err := Choose(gap, of(10, 1000), binlog.Target{GTID: gtid(10)}, binlog.Through{}); err != nil {
		t.Errorf("another chain follows: %v", err)
	}
}

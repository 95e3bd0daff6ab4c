package policy

import (
	"errors"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// TestEarlier: a GTID that an earlier chain has, too, names two transactions, unless the later chain begins with the
// same one by its content.
func TestEarlier(t *testing.T) {
	archive := func(change func(h []binlog.Head)) *store {
		s := newStore().begins(5, "").segment(20, 20).another("s2", line("a", 0)).begins(20, "").segment(30, 30).
			another("s2", line("b", 2500)).begins(25, "").segment(40, 40)
		change(s.heads)
		return s
	}
	sums := func(end, begin string) func(h []binlog.Head) {
		return func(h []binlog.Head) { h[1].LastSum, h[2].LastSum, h[1].Held = end, begin, h[2].Seqno }
	}
	between := func(begin, held int64) func(h []binlog.Head) {
		return func(h []binlog.Head) {
			sums("x", "x")(h)
			h[2].Seqno, h[1].Held = begin, held
		}
	}
	none := func([]binlog.Head) {}
	for name, c := range map[string]struct {
		change func(h []binlog.Head)
		lost   []uint64
		chain  uint64
		seq    uint64
		want   uint64
	}{
		"of the chain before":                       {none, nil, 5, 28, 4},
		"where that one ends":                       {none, nil, 5, 30, 4},
		"after that one":                            {none, nil, 5, 31, 0},
		"where both begin and end, and a third has": {none, nil, 5, 25, 4},
		"of the first chain alone":                  {none, nil, 5, 12, 2},
		"where the first one begins":                {none, nil, 5, 5, 2},
		"before all":                                {none, nil, 5, 4, 0},
		"of no other chain":                         {none, nil, 3, 28, 0},
		"another one where a chain begins":          {sums("x", "y"), nil, 3, 20, 2},
		"the same one where a chain begins":         {sums("x", "x"), nil, 3, 20, 0},
		"its content is not known":                  {sums("", ""), nil, 3, 20, 2},
		"the same one, and more without a number":   {between(2001, 2000), nil, 3, 20, 2},
		"the same one, and all that is after it":    {between(2001, 2002), nil, 3, 20, 0},
		"where it begins is not known":              {between(0, 2000), nil, 3, 20, 2},
		"the same one, and nothing is held":         {between(2000, 0), nil, 3, 20, 2},
		"the same one, and a chain after it":        {sums("x", "x"), nil, 5, 20, 4},
		"the beginning of the chain is not there":   {none, []uint64{1}, 3, 20, 2},
		"nor that of the other one":                 {sums("x", "x"), []uint64{3}, 3, 20, 2},
		"the last one cannot be read": {func(h []binlog.Head) { h[3] = binlog.Head{Number: 4, Unreadable: "x"} }, nil, 5,
			20, 3},
		"the first one cannot be read": {func(h []binlog.Head) { h[2] = binlog.Head{Number: 3, Unreadable: "x"} }, nil, 5,
			28, 4},
	} {
		h, err := Earlier(archive(c.change).archive(c.lost...), c.chain, binlog.Target{GTID: gtid(c.seq)})
		if err != nil || h.Number != c.want {
			t.Errorf("%s: the segment %d, %v", name, h.Number, err)
		}
	}
	s := archive(none)
	if h, err := Earlier(s.archive(), 5, binlog.Target{Latest: true}); err != nil || h.Number != 0 {
		t.Errorf("without a GTID: %d, %v", h.Number, err)
	}
	for n := uint64(1); n <= 5; n++ {
		a, away := s.archive(), errors.New("the store is away")
		head := a.Head
		a.Head = func(number uint64) (binlog.Head, error) {
			if number == n {
				return binlog.Head{}, away
			}
			return head(number)
		}
		if h, err := Earlier(a, 5, binlog.Target{GTID: gtid(4)}); !errors.Is(err, away) {
			t.Errorf("the segment %d is not read: %d, %v", n, h.Number, err)
		}
	}
}

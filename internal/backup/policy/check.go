package policy

import "github.com/galera-operator/galera-operator/internal/backup/binlog"

// Check follows the segments from the earliest of some bases on, to the end of the chain of each. It returns them, and
// the number of one that is not what was archived, with the reason; "" when there is none. What retention has removed
// is no damage: nothing is followed from a base whose next segment is not there, nor one before it.
func Check(heads []binlog.Head, bases []Base) (of []binlog.Head, number uint64, why string) {
	begin := -1
	for i := len(bases) - 1; i >= 0; i-- {
		b := bases[i]
		first := -1
		if b.why() == "" {
			first = headsOf(heads).since(b)
		}
		if first < 0 || begin >= 0 && first >= begin && first < begin+len(of) {
			continue
		}
		begin = first
		for k := first; k < len(heads); k++ {
			if k > first {
				why := Break(heads[k-1], heads[k])
				if why != "" && endsChain(heads[k-1], heads[k]) {
					break
				}
				if why != "" {
					return nil, heads[k-1].Number + 1, why
				}
			}
			of = append(of, heads[k])
		}
	}
	return of, 0, ""
}

// endsChain reports whether a segment begins another chain, right after the one before it.
func endsChain(before, h binlog.Head) bool {
	return h.Begins && h.Number == before.Number+1 && h.Before == before.Checksum
}

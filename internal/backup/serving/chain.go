package serving

import (
	"fmt"
	"slices"
	"sort"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Refusal is why an archive cannot be followed from a position, now and later: a follower begins anew with a backup.
type Refusal struct{ Why string }

// Error implements error.
func (r Refusal) Error() string { return r.Why }

func refuse(format string, args ...any) error { return Refusal{fmt.Sprintf(format, args...)} }

// locate returns the segment that a follower goes on in: the first one that ends at its position, or after it. The
// numbers are those in the store, in order. ok is false while the archive ends before the position: it may be that of a
// backup, which an archive reaches within its interval. A chain of 0 is any.
func locate(numbers []uint64, chain uint64, from binlog.GTID, head func(uint64) (binlog.Head, error)) (
	h binlog.Head, ok bool, err error) {
	if len(numbers) == 0 {
		return h, false, nil
	}
	last, err := head(numbers[len(numbers)-1])
	if err != nil {
		return h, false, err
	}
	begins, of, err := beginning(numbers, last.Chain, chain, from, head)
	if err != nil {
		return h, false, err
	}
	if !of {
		return h, false, refuse("the archive has begun anew with the segment %s: what was written before it may be missing%s",
			binlog.Name(begins), reason(begins, head))
	}
	if last.Last.Domain != from.Domain || last.Last.Server != from.Server {
		return h, false, refuse("the archive holds the transactions %d-%d, and the position is %s", last.Last.Domain,
			last.Last.Server, from)
	}
	if from.Seq > last.Last.Seq {
		return h, false, nil
	}
	numbers = joined(numbers, begins)
	first, err := head(numbers[0])
	if err != nil {
		return h, false, err
	}
	if from.Seq < first.Start().Seq {
		return h, false, refuse("what follows %s is not in the archive any more, which goes back to %s, in %s", from,
			first.Start(), galera.Count(len(numbers), "segment"))
	}
	i := sort.Search(len(numbers), func(i int) bool {
		if err != nil {
			return true
		}
		var at binlog.Head
		at, err = head(numbers[i])
		return at.Last.Seq >= from.Seq
	})
	if err != nil {
		return h, false, err
	}
	h, err = head(numbers[i])
	return h, err == nil, err
}

// beginning returns the number of the segment with which the last chain begins, or one that it goes on from without a
// loss: back to the chain that is followed, and to the position, as far as the store has that. of reports whether it is
// the chain that is followed, or goes on from it.
func beginning(numbers []uint64, last, chain uint64, from binlog.GTID, head func(uint64) (binlog.Head, error)) (
	first uint64, of bool, err error) {
	for first = last; ; {
		of = of || chain == 0 || first == chain
		i, there := slices.BinarySearch(numbers, first)
		if !there || i == 0 || numbers[i-1] != first-1 {
			return first, of, nil
		}
		h, err := head(first)
		if err != nil || of && from.Seq >= h.Start().Seq {
			return first, of, err
		}
		before, err := head(first - 1)
		if err != nil || !policy.Joins(before, h) || before.Chain >= first {
			return first, of, err
		}
		first = before.Chain
	}
}

// joined returns those of a chain up to the last one, without what is before a segment that is missing.
func joined(numbers []uint64, chain uint64) []uint64 {
	i := len(numbers) - 1
	for i > 0 && numbers[i] > chain && numbers[i-1] == numbers[i]-1 {
		i--
	}
	return numbers[i:]
}

// reason is why a chain has begun, as far as that can be read.
func reason(chain uint64, head func(uint64) (binlog.Head, error)) string {
	if h, err := head(chain); err == nil && h.Begins && h.Why != "" {
		return " (" + h.Why + ")"
	}
	return ""
}

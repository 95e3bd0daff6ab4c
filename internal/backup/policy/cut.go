package policy

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Unsuitable is why a backup does not lead to a target, though nothing is damaged: an earlier one may.
type Unsuitable struct{ Why string }

// Error implements error.
func (u Unsuitable) Error() string {
	return u.Why + ". Begin with an earlier backup: set bootstrapFrom.store.id, or bootstrapFrom.backup"
}

func unsuitable(format string, args ...any) error { return Unsuitable{fmt.Sprintf(format, args...)} }

// Cut is what is applied of a range. It sees the segments and their transactions in order, and refuses what is not the
// archive that was chosen.
type Cut struct {
	Base   binlog.GTID
	Target binlog.Target
	// Seqno is the base's in Galera's history: what was made with sql_log_bin=0 on the node that was copied is in the
	// base, and not before its GTID.
	Seqno int64
	// Last is the last transaction that is to be applied; the base's before the first one.
	Last binlog.GTID
	// Late is how many transactions after the end name a time before the target: their order, or the archiver's clock,
	// shows otherwise, or they name no more than the target's second.
	Late int

	ended bool
	held  binlog.GTID // the last transaction that the base holds
	head  binlog.Head // the segment that is read, the zero Head before the first one
	read  binlog.GTID // the transaction that was read last
	count int
	time  time.Time
	least int64 // the seqno of the transaction that was read last, at least
}

// Segment begins the next segment. The error reports why it is not the next one.
func (c *Cut) Segment(h binlog.Head, number uint64) error {
	if h.Number != number {
		return fmt.Errorf("it names itself the segment %s", binlog.Name(h.Number))
	}
	if c.head.Number != 0 {
		if why := Break(c.head, h); why != "" {
			return fmt.Errorf("it does not go on from the one before: %s", why)
		}
	}
	c.head, c.read, c.count, c.time = h, h.Start(), 0, time.Time{}
	return nil
}

// See takes the next transaction of the segment, and reports whether it is to be applied. Once one is beyond the
// target, none after it is.
func (c *Cut) See(t binlog.Transaction) (apply bool, err error) {
	if err := c.next(t.GTID); err != nil {
		return false, err
	}
	c.count++
	c.time = c.head.After(c.time, t.Time)
	held, err := c.holds(t)
	if err != nil {
		return false, err
	}
	late := c.Target.Passed(c.time, t.Exact)
	switch {
	case held && (late || c.ended || c.Target.GTID != binlog.GTID{} && t.GTID.Seq > c.Target.GTID.Seq):
		return false, unsuitable("the backup holds the transaction %s, which is not before %s", t.GTID, c.Target)
	case held && c.Last != c.Base: // so the backup holds that, too, and TRUNCATE would be applied to later rows
		return false, unsuitable("the backup holds the transaction %s, and so it does %s, a statement that changes tables, "+
			"which its number %s is before", t.GTID, c.Last, c.Base)
	case held:
		c.held = t.GTID
		return false, nil
	}
	c.ended = c.ended || late || c.Target.GTID != binlog.GTID{} && t.GTID.Seq > c.Target.GTID.Seq
	if c.ended {
		if !c.Target.Time.IsZero() && c.head.Bound(t.Time).Before(c.Target.Time) {
			c.Late++
		}
		return false, nil
	}
	c.Last = t.GTID
	return true, nil
}

// holds reports whether the base holds a transaction. It refuses a base whose node numbers transactions differently
// than the archive: a node begins with the number after that of its last logged transaction, so one that was started
// after a transaction with sql_log_bin=0 is behind the others, and numbers alone would leave out a transaction.
func (c *Cut) holds(t binlog.Transaction) (bool, error) {
	numbered := t.GTID.Seq <= c.Base.Seq
	if !c.head.Seqnos || c.Seqno <= 0 {
		if c.least = 0; t.Seqno > 0 && c.Seqno > 0 && numbered != (t.Seqno <= c.Seqno) {
			return false, unsuitable("the backup ends at %s and the seqno %d, and the transaction %s names the seqno %d, "+
				"which no node has shown to be Galera's: the backup's node may number transactions differently", c.Base,
				c.Seqno, t.GTID, t.Seqno)
		}
		return numbered, nil
	}
	c.least = max(c.least+1, t.Seqno) // a statement that changes tables does not name its seqno
	if numbered && c.least > c.Seqno {
		return false, unsuitable("the backup ends at %s and the seqno %d, and the archive has the transaction %s at the "+
			"seqno %d or later: the backup's node numbered transactions differently", c.Base, c.Seqno, t.GTID, c.least)
	}
	return numbered || t.Seqno > 0 && t.Seqno <= c.Seqno, nil
}

// next refuses a transaction that is not the one after the last one, but for the holes that the segment names.
func (c *Cut) next(g binlog.GTID) error {
	before := c.read
	c.read = g
	if !g.Follows(before) {
		return fmt.Errorf("the transaction %s comes after %s", g, before)
	}
	if g.Seq == before.Seq+1 {
		return nil
	}
	for _, h := range c.head.Holes {
		if h.After == before && h.Next == g {
			return nil
		}
	}
	return fmt.Errorf("the transactions between %s and %s are missing", before, g)
}

// End ends the segment. The error reports what it lacks.
func (c *Cut) End() error {
	want := c.head.Last
	if c.head.Empty() {
		want = c.head.Start()
	}
	if c.count != c.head.Transactions || c.read != want {
		return fmt.Errorf("it has %s up to %s instead of %d up to %s", galera.Count(c.count, "transaction"), c.read,
			c.head.Transactions, want)
	}
	return nil
}

// Done makes sure that the range was seen to its end. sum is the checksum of its last head.
func (c *Cut) Done(sum string) error {
	if c.head.Checksum != sum {
		return fmt.Errorf("the segment %s is another one than when the restore began", binlog.Name(c.head.Number))
	}
	if g := c.Target.GTID; g != (binlog.GTID{}) && c.Base.Follows(g) {
		return unsuitable("the data of the backup hold the transaction %s, which is not before %s", c.Base, c.Target)
	}
	if g := c.Target.GTID; g != (binlog.GTID{}) && c.Last != g && c.held != g {
		return fmt.Errorf("the archive has no transaction %s: the one before that number is %s", g, c.Last)
	}
	return nil
}

// Reached is the last transaction of the archive that the data hold in the end. Where nothing is applied it may be one
// that the base holds, though its number is later than the base's.
func (c *Cut) Reached() binlog.GTID {
	if c.held.Follows(c.Last) {
		return c.held
	}
	return c.Last
}

// Ended reports whether the target was passed.
func (c *Cut) Ended() bool { return c.ended }

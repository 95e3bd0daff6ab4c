package external

import (
	"context"
	"database/sql"
	"fmt"
	"math/big"
	"strings"
)

// Sequence is an object that numbers are taken from.
type Sequence struct {
	Object
	// Options are its definition, Next the number after those that were taken or cached, Cycles how often it began anew.
	Options, Next, Cycles string
}

// readSequences reads what some sequences are.
func (inv *Inventory) readSequences(ctx context.Context, c *sql.Conn, of []Object, elsewhere func(string) bool) error {
	for _, o := range of {
		if elsewhere(o.Database) {
			return fmt.Errorf("%w: it names the sequence %s, which it was not asked for", errImplausible, o)
		}
		s, err := readSequence(ctx, c, o)
		if err != nil {
			return err
		}
		inv.Sequences = append(inv.Sequences, s)
	}
	return nil
}

// readSequence reads a sequence. A transaction reads what it is now, also one that reads a snapshot.
func readSequence(ctx context.Context, c *sql.Conn, o Object) (s Sequence, err error) {
	r, err := row(ctx, c, "SELECT * FROM "+ident(o.Database)+"."+ident(o.Name))
	if err != nil {
		return s, fmt.Errorf("reading the sequence %s: %w", o, err)
	}
	var options []string
	for _, name := range []string{"minimum_value", "maximum_value", "start_value", "increment", "cache_size",
		"cycle_option"} {
		options = append(options, name+"="+r[name].String)
	}
	return Sequence{Object: o, Options: strings.Join(options, " "), Next: r["next_not_cached_value"].String,
		Cycles: r["cycle_count"].String}, nil
}

// between reports whether a follower's sequence goes on where the source's did between two readings: numbers are taken
// from it meanwhile. It is pure.
func (s Sequence) between(before, after Sequence) bool {
	if before.Cycles != after.Cycles {
		return true // it began anew meanwhile, and may have gone on with any number
	}
	low, known := new(big.Int).SetString(before.Next, 10)
	high, also := new(big.Int).SetString(after.Next, 10)
	next, here := new(big.Int).SetString(s.Next, 10)
	if !known || !also || !here || s.Cycles != after.Cycles {
		return false
	}
	if low.Cmp(high) > 0 { // it counts down
		low, high = high, low
	}
	return low.Cmp(next) <= 0 && next.Cmp(high) <= 0
}

// sequencesDiffer names what a follower has of other sequences than the source had before and after it was there.
func sequencesDiffer(before, after, have []Sequence) (out []string) {
	then, here := map[string]Sequence{}, map[string]Sequence{}
	for _, s := range before {
		then[s.String()] = s
	}
	for _, s := range have {
		here[s.String()] = s
	}
	for _, s := range after {
		switch of, found := here[s.String()]; {
		case !found:
			out = append(out, fmt.Sprintf("the sequence %s is missing", s))
		case of.Options != s.Options:
			out = append(out, fmt.Sprintf("the sequence %s is defined as %s, and the source's as %s", s, of.Options, s.Options))
		case !of.between(then[s.String()], s):
			out = append(out, fmt.Sprintf("the sequence %s goes on with %s, and the source's with %s", s, of.Next, s.Next))
		}
		delete(here, s.String())
	}
	for _, s := range have {
		if _, more := here[s.String()]; more {
			out = append(out, fmt.Sprintf("the sequence %s is not on the source", s))
		}
	}
	return out
}

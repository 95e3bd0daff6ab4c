// Package binlog is the archive of a cluster's binary log: what an event, a transaction and a segment are, and which
// segments bring a backup to a point in time. It is pure.
package binlog

import (
	"fmt"
	"strings"
)

// GTID names a transaction. With wsrep_gtid_mode it is the same on every node of a cluster.
type GTID struct {
	Domain, Server uint32
	Seq            uint64
}

// String is DOMAIN-SERVER-SEQ, "" for none.
func (g GTID) String() string {
	if g == (GTID{}) {
		return ""
	}
	return fmt.Sprintf("%d-%d-%d", g.Domain, g.Server, g.Seq)
}

// Follows reports whether g is later than before in one sequence. Numbers may be left out: a DDL statement that fails
// on every node takes one.
func (g GTID) Follows(before GTID) bool {
	return g.Domain == before.Domain && (before.Seq == 0 || g.Server == before.Server && g.Seq > before.Seq)
}

// Parse reads DOMAIN-SERVER-SEQ; "" is none.
func Parse(text string) (g GTID, err error) {
	if text == "" {
		return g, nil
	}
	if n, err := fmt.Sscanf(text, "%d-%d-%d", &g.Domain, &g.Server, &g.Seq); err != nil || n != 3 || g.String() != text {
		return GTID{}, fmt.Errorf("%q is not a GTID: write DOMAIN-SERVER-NUMBER", text)
	}
	return g, nil
}

// MarshalText implements encoding.TextMarshaler.
func (g GTID) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (g *GTID) UnmarshalText(text []byte) (err error) {
	*g, err = Parse(string(text))
	return err
}

// In finds a domain's GTID in a position, as @@gtid_binlog_pos has it: one for each domain. others is the rest of the
// position.
func In(position string, domain uint32) (g GTID, others []string) {
	for _, one := range strings.Split(position, ",") {
		p, err := Parse(strings.TrimSpace(one))
		switch {
		case err != nil || p == GTID{}:
		case p.Domain == domain:
			g = p
		default:
			others = append(others, p.String())
		}
	}
	return g, others
}

// Beyond reports whether a position has more than another one: in each domain of that one a number that is not lower,
// and in one a higher one. An unknown position is beyond nothing, and nothing is beyond one.
func Beyond(position, of string) bool {
	more := false
	for _, one := range strings.Split(of, ",") {
		want, err := Parse(strings.TrimSpace(one))
		have, _ := In(position, want.Domain)
		if err != nil || want == (GTID{}) || have.Seq < want.Seq {
			return false
		}
		more = more || have.Seq > want.Seq
	}
	return more
}

// Diverged reports whether a position has, in a domain of another one, its number or a higher one from another server:
// whether it has the transaction with that number is not known then.
func Diverged(position, of string) bool {
	for _, one := range strings.Split(of, ",") {
		want, err := Parse(strings.TrimSpace(one))
		have, _ := In(position, want.Domain)
		if err == nil && want != (GTID{}) && have.Seq >= want.Seq && have.Server != want.Server {
			return true
		}
	}
	return false
}

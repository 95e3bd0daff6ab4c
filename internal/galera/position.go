// Package galera is the vocabulary of all other packages: positions, states and
// the Snapshot of one cluster. It is data only and imports nothing but the standard
// library, so that the planner, the simulator and the agent can share it.
package galera

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// UndefinedSeqno is the seqno Galera writes when it does not know its position
// (grastate.dat "seqno: -1").
const UndefinedSeqno int64 = -1

// ZeroUUID is the state UUID of a component without any state. A node that is
// Primary with this UUID has lost its history: no node can ever join it.
const ZeroUUID = "00000000-0000-0000-0000-000000000000"

// errBadPosition is returned by ParsePosition for text that is not uuid:seqno.
var errBadPosition = errors.New("not a position of the form uuid:seqno")

// Position is a place in a cluster's history: the state UUID and the number of
// the last write-set. The zero value means "unknown".
type Position struct {
	UUID  string `json:"uuid,omitempty"`
	Seqno int64  `json:"seqno,omitempty"`
}

// Known reports whether the position names a real place in a real history.
func (p Position) Known() bool {
	return p.UUID != "" && p.UUID != ZeroUUID && p.Seqno >= 0
}

// String returns the position as Galera writes it, uuid:seqno, or "unknown".
func (p Position) String() string {
	if p.UUID == "" {
		return "unknown"
	}
	return fmt.Sprintf("%s:%d", p.UUID, p.Seqno)
}

// ParsePosition reads uuid:seqno as Galera prints it. It returns errBadPosition
// for anything else.
func ParsePosition(s string) (Position, error) {
	uuid, seq, ok := strings.Cut(strings.TrimSpace(s), ":")
	if !ok || !isUUID(uuid) {
		return Position{}, fmt.Errorf("%q: %w", s, errBadPosition)
	}
	n, err := strconv.ParseInt(seq, 10, 64)
	if err != nil || n < UndefinedSeqno {
		return Position{}, fmt.Errorf("%q: %w", s, errBadPosition)
	}
	return Position{UUID: strings.ToLower(uuid), Seqno: n}, nil
}

func isUUID(s string) bool {
	if len(s) != len(ZeroUUID) {
		return false
	}
	for i, c := range s {
		if (i == 8 || i == 13 || i == 18 || i == 23) != (c == '-') {
			return false
		}
		if c != '-' && !strings.ContainsRune("0123456789abcdefABCDEF", c) {
			return false
		}
	}
	return true
}

package model

import (
	"fmt"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// write names a write-set; its value is a place in the table of all that was ever replicated,
// 0 is none. A member's data are named by the last write-set in them.
type write int8

type writeSet struct {
	parent write
	uuid   int8
	seqno  int8
	acked  bool
	// gone reports whether no promise covers it any more: its last copy was lost with a disk unseen, or a user
	// has accepted its loss.
	gone bool
}

// history is the table. It is truth: two members with the same uuid:seqno need not hold the
// same write-set.
type history struct {
	table [maxWrites]writeSet
	used  write
	uuids int8
}

// uuids are the state UUIDs of the world; the first names no history.
var uuids = func() (out [maxHistories]string) {
	for i := 1; i < maxHistories; i++ {
		out[i] = fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)
	}
	return out
}()

func uuidNumber(s string) int8 {
	for i, u := range uuids {
		if u == s {
			return int8(i)
		}
	}
	return 0
}

// hasSpace reports whether the table has space for a write-set, or for another cluster's history; some
// is kept for the histories this cluster may begin.
func (h *history) hasSpace() bool {
	return h.used < maxWrites-reserve && h.uuids < maxHistories-reserve
}

func (h *history) add(ws writeSet) write {
	h.used++
	h.table[h.used] = ws
	return h.used
}

// begin makes a new history at seqno.
func (h *history) begin(seqno int8) write {
	h.uuids++
	return h.add(writeSet{uuid: h.uuids, seqno: seqno})
}

func (h *history) after(p write) write {
	return h.add(writeSet{parent: p, uuid: h.table[p].uuid, seqno: h.table[p].seqno + 1})
}

// includes reports whether data whose last write-set is head hold ws.
func (h *history) includes(head, ws write) bool {
	for head > ws {
		head = h.table[head].parent
	}
	return head == ws
}

// next is the write-set on the way from head to last that follows head, 0 when there is none.
func (h *history) next(head, last write) write {
	for last > head {
		p := h.table[last].parent
		if p == head {
			return last
		}
		last = p
	}
	return 0
}

func (h *history) seqno(ws write) int8 { return h.table[ws].seqno }
func (h *history) uuid(ws write) int8  { return h.table[ws].uuid }

func (h *history) position(ws write) galera.Position {
	if ws == 0 {
		return galera.Position{}
	}
	return galera.Position{UUID: uuids[h.table[ws].uuid], Seqno: int64(h.table[ws].seqno)}
}

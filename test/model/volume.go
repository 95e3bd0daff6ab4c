package model

import (
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

type dataState int8

const (
	dataEmpty dataState = iota
	dataPresent
	dataIncomplete
)

var dataStates = [...]galera.DataState{galera.DataEmpty, galera.DataPresent, galera.DataIncomplete}

// volume is what survives a pod: the data and the agent's order book.
type volume struct {
	used bool // saved volumes: there is one
	// bound reports whether there is a volume at all: a claim gets it with the first host of its pod.
	bound bool
	data  dataState
	head  write
	// safe is grastate's safe_to_bootstrap.
	safe bool
	// marked reports whether Galera has marked the data, half that they hold a part of a statement beyond head.
	marked, half bool
	// voted reports whether the group has found the data to differ.
	voted bool
	// cacheFrom is the lowest seqno the write-set cache can send.
	cacheFrom int8
	book      book
}

// remembered is how many orders an agent recognises.
const remembered = 4

// book is the agent's order book.
type book struct {
	highest int64
	// formedEpoch and formedID name the last order accepted that forms a component.
	formedEpoch int64
	formedID    string
	held        bool
	// damaged reports whether the agent cannot read the book.
	damaged bool
	lines   lines
	records [remembered]record // the latest first
}

// lineage names a bootstrap that a member's data come from, and where it went on from.
type lineage struct {
	id    string
	epoch int64
	start int8
	// copied: galera.Line.
	copied bool
}

// lines are the last bootstraps of a member's history, the latest first: galera.Lineage in this
// world, where a value must be comparable.
type lines [6]lineage

// ids are galera.Lineage.IDs in this world.
func (l *lines) ids() []string {
	if l[0].epoch == 0 {
		return nil
	}
	out := make([]string, 0, len(l))
	for _, x := range l {
		if x.epoch > 0 {
			out = append(out, x.id)
		}
	}
	return out
}

// before is the epoch of the last bootstrap before the one of epoch.
func (l *lines) before(epoch int64) int64 {
	if l[0].epoch == epoch {
		return max(l[1].epoch, 0)
	}
	return l[0].epoch
}

type orderState int8

const (
	orderNone orderState = iota
	orderAccepted
	orderDone
	orderRefused
	orderFailed
)

var orderStates = [...]string{"", "Accepted", "Done", "Refused", "Failed"}

type record struct {
	id    string
	epoch int64
	kind  orderKind
	state orderState
}

// line is the line of history that the order begins at a position.
func (r *record) line(start galera.Position) galera.Line {
	return agentapi.Order{ID: r.id, Epoch: r.epoch}.Line(start)
}

func (b *book) find(id string) *record {
	for i := range b.records {
		if b.records[i].state != orderNone && b.records[i].id == id {
			return &b.records[i]
		}
	}
	return nil
}

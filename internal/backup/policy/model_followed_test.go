package policy_test

import (
	"slices"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

// followed has something happen to a cluster that follows a source, or has followed one. The archiver is there all the
// time, though the operator deploys it when the cluster is independent: the status may be rolled back.
func (w *world) followed(e event) {
	switch e.a % 6 {
	case 0, 1, 2: // until the end; afterwards a person would have to start the channel again
		if w.until == "" || w.applied() != w.until || e.b%16 == 0 {
			w.ofSource()
		}
	case 3, 4: // the cutover names an end that may not be reached yet
		if w.until == "" && w.old > 0 {
			w.until = binlog.GTID{Domain: followedOne, Server: 7, Seq: w.old + uint64(e.b%3)}.String()
			w.say("cut over at %s", w.until)
		}
	case 5: // a node gets a full copy, and with it nothing of that domain in its binary log
		donor := (e.b + 1 + e.b/3%2) % 3
		if w.nodes[e.b%3].away || w.nodes[donor].away {
			return
		}
		w.copyTo(e.b%3, donor, false, false)
		n, old := &w.nodes[e.b%3], func(e entry) bool { return w.all[e.tx].followed }
		n.purged = len(slices.DeleteFunc(slices.Clone(n.log[:n.purged]), old))
		n.log = slices.DeleteFunc(slices.Clone(n.log), old)
	}
}

// appliesAll has the cluster apply all of the source that it is cut over from.
func (w *world) appliesAll() {
	for end, _ := binlog.Parse(w.until); w.old < end.Seq; {
		w.ofSource()
	}
}

func (w *world) ofSource() {
	w.old++
	w.add(tx{seq: w.old, at: w.now, raw: w.now, foreign: true, followed: true}, -1)
}

// applied is the position of what the data have of the source.
func (w *world) applied() string {
	at := binlog.GTID{}
	for _, id := range w.line().txs {
		if t := w.all[id]; t.followed {
			at = binlog.GTID{Domain: followedOne, Server: 7, Seq: t.seq}
		}
	}
	return at.String()
}

// position is the last numbers in a node's binary log.
func (w *world) position(i int) (last binlog.GTID, foreign []binlog.GTID) {
	others := map[uint32]binlog.GTID{}
	for _, e := range w.nodes[i].log {
		if g := w.gtid(e); g.Domain == domain {
			last = g
		} else {
			others[g.Domain] = g
		}
	}
	for _, of := range []uint32{followedOne, otherOne} {
		if g, ok := others[of]; ok {
			foreign = append(foreign, g)
		}
	}
	return last, foreign
}

// seen is what other servers have written, by the binary logs of all nodes that answer.
func (w *world) seen() (foreign []binlog.GTID) {
	for i := range w.nodes {
		if _, of := w.position(i); !w.nodes[i].away {
			foreign = append(foreign, policy.Foreign(binlog.Head{Foreign: foreign}, of)...)
		}
	}
	return foreign
}

// written reports whether any of them shows that another server has written since the chain began. n is the node that
// is followed, or is to be.
func (w *world) written(a *archiver, n int) bool {
	seen := w.seen()
	if w.unaware {
		_, seen = w.position(n)
	}
	return len(w.foreign(a.at, seen)) > 0
}

func (w *world) gtid(e entry) binlog.GTID {
	if w.all[e.tx].followed {
		return binlog.GTID{Domain: followedOne, Server: 7, Seq: e.seq}
	}
	if w.all[e.tx].foreign {
		return binlog.GTID{Domain: otherOne, Server: 9, Seq: e.seq}
	}
	return binlog.GTID{Domain: domain, Server: 1, Seq: e.seq}
}

// wholeDomains: data that have a transaction of one domain have all those of the other one that were committed before.
func (w *world) wholeDomains(b backup, of *history, txs []int) {
	last := int64(0)
	for _, id := range txs {
		last = max(last, w.all[id].seqno)
	}
	for _, id := range of.txs {
		if t := w.all[id]; t.followed && t.seqno < last && !slices.Contains(txs, id) {
			w.breaks("a restore of the backup %s has the transaction of the seqno %d, and lacks %s of the source that was "+
				"followed", b.ID, last, w.gtid(entry{tx: id, seq: t.seq}))
		}
	}
}

func init() {
	mutants["the end of a domain is believed before it is there"] = func(d *decisions) {
		d.ended = func(own uint32, end, _ string, seen []binlog.GTID) ([]binlog.GTID, string) {
			return policy.Ended(own, end, end, seen)
		}
	}
	mutants["a domain that has ended may go on"] = func(d *decisions) {
		d.foreign = func(at binlog.Head, now []binlog.GTID) []binlog.GTID {
			return policy.Foreign(at, slices.DeleteFunc(slices.Clone(now), func(g binlog.GTID) bool {
				return slices.ContainsFunc(at.Foreign, func(k binlog.GTID) bool { return k.Domain == g.Domain })
			}))
		}
	}
	mutants["only the followed node is asked what another server has written"] = func(d *decisions) { d.unaware = true }
	// The node that is followed has a full copy, and what the source wrote is in the binary logs of the others.
	known["only the followed node is asked what another server has written"] = copied
	// The archive would begin with an end that the data have not reached, and a base would be made in between.
	known["the end of a domain is believed before it is there"] = []event{{28, 0, 1}, {28, 0, 1}, {28, 3, 2}, {0, 0, 0},
		{3, 0, 3}, {12, 0, 0}, {28, 0, 1}, {28, 0, 1}, {0, 0, 0}, {3, 0, 3}, {8, 0, 0}}
}

// copied is a schedule in which a node with a full copy is followed, and what the source wrote after the chain began is
// in the other nodes' binary logs.
var copied = []event{{0, 0, 0}, {0, 0, 0}, {3, 0, 3}, {12, 0, 0}, {28, 0, 1}, {28, 5, 1}, {0, 0, 0}, {3, 0, 7},
	{8, 0, 0}}

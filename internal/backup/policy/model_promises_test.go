package policy_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

// restore brings a backup to a target, as the Jobs do.
func (w *world) restore(b backup, t binlog.Target) (txs []int, late int, err error) {
	if b.named != b.ID {
		return nil, 0, fmt.Errorf("the manifest of %s is that of %s", b.ID, b.named)
	}
	if why := policy.Before(b.Base, t); why != "" {
		return nil, 0, fmt.Errorf("%s", why)
	}
	r, err := w.choose(w.heads(), b.Base, t, w.through)
	if err != nil {
		return nil, 0, err
	}
	if w.heedless {
		b.Seqno = 0
	}
	c := &policy.Cut{Base: b.GTID, Seqno: b.Seqno, Last: b.GTID, Target: t}
	txs = slices.Clone(b.txs)
	refuse := func(e error) bool {
		if e != nil && err == nil && !w.trusting {
			err = e
		}
		return err != nil
	}
	for n := r.From; n <= r.To && n > 0; n++ {
		s := w.segments[n]
		if refuse(c.Segment(s.Head, n)) {
			return nil, 0, err
		}
		for k, id := range s.txs {
			read := binlog.Transaction{GTID: w.gtid(entry{tx: id, seq: s.seqs[k]}), Seqno: w.all[id].named(),
				Time: w.all[id].raw}
			if w.certain && !s.Seqnos {
				read.Seqno = 0
			}
			apply, e := c.See(read)
			if refuse(e) {
				return nil, 0, err
			}
			if apply {
				txs = append(txs, id)
			}
		}
		if refuse(c.End()) {
			return nil, 0, err
		}
	}
	if r.From > 0 && refuse(c.Done(r.Sum)) {
		return nil, 0, err
	}
	return txs, c.Late, err
}

func (w *world) heads() (out []binlog.Head) {
	for _, n := range w.archive().Numbers {
		out = append(out, w.segments[n].Head)
	}
	return out
}

// of finds a line whose history begins with some transactions.
func (w *world) of(txs []int) *history {
	for i := range w.lines {
		if l := &w.lines[i]; len(l.txs) >= len(txs) && slices.Equal(l.txs[:len(txs)], txs) {
			return l
		}
	}
	return nil
}

// check restores every backup to a target, and breaks the promises that do not hold.
func (w *world) check(t binlog.Target) {
	if t.GTID != (binlog.GTID{}) && !w.lies {
		w.checkUnnamed(t)
	}
	for _, b := range w.backups {
		txs, _, err := w.restore(b, t)
		if err != nil {
			w.checkOffer(b, err)
			continue
		}
		w.say("%s with %s: %v", t, b.ID, txs)
		l := w.of(txs)
		if of := w.of(b.txs); l == nil && of != nil {
			w.wholeDomains(b, of, txs)
		}
		switch {
		case l == nil:
			w.breaks("%s with the backup %s succeeds, and is no beginning of any line of history: %v", t, b.ID, txs)
		case t.Latest:
			w.checkLatest(b, txs)
		case t.GTID != binlog.GTID{} && !w.isNumbered(b, txs, t):
			w.breaks("%s with the backup %s ends at the transaction %d", t, b.ID, w.lastOwn(txs))
		case !t.Time.IsZero():
			w.checkTime(b, t.Time, txs)
		}
	}
}

// checkOffer: what a refusal offers can be restored.
func (w *world) checkOffer(b backup, refusal error) {
	var o policy.Outside
	if !errors.As(refusal, &o) || w.lies {
		return
	}
	for _, t := range []binlog.Target{{GTID: o.First}, {GTID: o.Last}, {Time: o.From}, {Time: o.To}} {
		if t == (binlog.Target{}) {
			continue
		}
		if _, _, err := w.restore(b, t); err != nil {
			w.breaks("%v; and %v", refusal, err)
		}
	}
}

// lastOwn is the last transaction of the cluster's own, -1 for none.
func (w *world) lastOwn(txs []int) (last int) {
	last = -1
	for _, id := range txs {
		if !w.all[id].foreign {
			last = id
		}
	}
	return last
}

// isNumbered reports whether the archive gives a number to the last of some transactions, also where a chain begins, or
// the node of the backup, if the chain that continues from it gives the number to none of that line.
func (w *world) isNumbered(b backup, txs []int, t binlog.Target) bool {
	last, of, other, seq := w.lastOwn(txs), w.of(txs).txs, false, t.GTID.Seq
	r, _ := w.choose(w.heads(), b.Base, t, w.through)
	for _, s := range w.segments {
		if s.Begins && s.Last.Seq == seq && s.at == last {
			return true
		}
		for k, id := range s.txs {
			if s.seqs[k] == seq && id == last {
				return true
			}
			other = other || s.Chain == r.Chain && s.seqs[k] == seq && slices.Contains(of, id)
		}
	}
	return !other && (b.GTID.Seq == seq || last >= 0 && w.all[last].seq == seq)
}

// checkLatest: everything that was archived, at its end, is in the restore.
func (w *world) checkLatest(b backup, txs []int) {
	all := w.archive().Numbers
	s := w.segments[all[len(all)-1]]
	for _, id := range s.txs {
		if !slices.Contains(txs, id) {
			w.breaks("the latest with the backup %s lacks the transaction %d, which is archived", b.ID, id)
		}
	}
	if s.Begins && w.last(txs) < s.Seqno && !slices.Equal(b.txs, txs) && !w.skewed {
		w.breaks("the latest with the backup %s ends before the archive", b.ID)
	}
}

// checkTime: nothing that was committed at the time or later, and everything before, as exactly as the clients' times
// are true.
func (w *world) checkTime(b backup, at time.Time, txs []int) {
	// A time that a client has set is bounded by what the archiver knows: when everything was archived last before, and
	// first after it.
	next := slices.IndexFunc(w.marks, func(m time.Time) bool { return !m.Before(at) })
	bounded := func(t tx) bool {
		return t.at.Before(at.Add(2*binlog.ClockSlack)) || w.outliers &&
			(next < 0 || t.at.Before(w.marks[next].Add(2*binlog.ClockSlack)))
	}
	mark := time.Time{}
	for _, m := range w.marks {
		if m.Add(2*binlog.ClockSlack).Before(at) && m.After(mark) {
			mark = m
		}
	}
	for k, id := range txs {
		if t := w.all[id]; !bounded(t) || k >= len(b.txs) && !w.outliers && !t.raw.Before(at) {
			w.breaks("the time %s with the backup %s has the transaction %d, of %s", at, b.ID, id, t.at)
		}
	}
	lacks := -1
	for _, l := range w.lines { // what was lost with an earlier line was not committed in the later one
		if len(l.txs) < len(txs) || !slices.Equal(l.txs[:len(txs)], txs) {
			continue
		}
		i := slices.IndexFunc(l.txs[len(txs):], func(id int) bool {
			t := w.all[id]
			return !w.outliers && len(w.lines) == 1 && t.raw.Before(at) || t.at.Before(mark)
		})
		if i < 0 || !w.shown(l.txs[len(txs)+i:]) {
			return
		}
		lacks = l.txs[len(txs)+i]
	}
	w.breaks("the time %s with the backup %s lacks the transaction %d, of %s", at, b.ID, lacks, w.all[lacks].at)
}

// shown reports whether something has shown that the first of some transactions exists. One that is in no binary log is
// shown by the next one that is in one: once that is archived, or was there when the archive was found to be complete.
// Nodes run without a binary log behind the operator's back only.
func (w *world) shown(txs []int) bool {
	all := w.archive().Numbers
	end := w.segments[all[len(all)-1]]
	through := end.Seqno
	if len(end.txs) > 0 {
		through = w.last(end.txs)
	}
	return slices.ContainsFunc(txs, func(id int) bool {
		t := w.all[id]
		return !t.unlogged && (id < w.marked || !t.foreign && t.seqno <= through)
	})
}

// observe surveys, and checks that what is reported is so.
func (w *world) observe() (r policy.Report) {
	a := w.archive()
	if len(a.Numbers) == 0 {
		return r
	}
	bases, _ := w.bases()
	r, err := w.survey(a, bases)
	for w.changed([]policy.Base{r.Base}) { // the one that is reported is read again
		bases, _ = w.bases()
		r, err = w.survey(a, bases)
	}
	if err != nil {
		w.breaks("the survey fails: %v", err)
		return r
	}
	if w.forgetful {
		r.Gap = ""
	}
	w.say("survey: chain %d, base %q, gap %q", r.Chain, r.Base.ID, r.Gap)
	first := w.segments[a.Numbers[len(a.Numbers)-1]].Chain == 1 && len(a.Numbers) == int(a.Numbers[len(a.Numbers)-1])
	if r.Base.ID == "" && r.Gap == "" && !first {
		w.breaks("no backup leads to the end of the archive, and no gap is reported")
	}
	if i := slices.IndexFunc(w.backups, func(b backup) bool { return b.ID == r.Base.ID }); i >= 0 && !w.lies {
		if _, _, err := w.restore(w.backups[i], binlog.Target{Latest: true}); err != nil {
			w.breaks("the backup %s is reported, and the latest transaction cannot be restored with it: %v", r.Base.ID, err)
		}
	}
	return r
}

// clean removes segments, by a listing that may be late, and checks that what a window needs is still there: what could
// be restored before can be restored after it.
func (w *world) clean(i, late int) {
	bases, unread := w.bases()
	now, known := w.today(&w.archivers[i])
	if unread || !known {
		return
	}
	needless, relied, err := w.prune(w.listed(late), bases, window, now)
	if err != nil {
		return
	}
	needless = w.due(w.doomed, needless, w.read(), w.now, doomedTime)
	if len(needless) > 0 && !w.remembering && w.changed(relied) {
		return
	}
	w.keeps(fmt.Sprint("segments were removed: ", needless), func() {
		for _, n := range needless {
			delete(w.segments, n)
		}
	})
}

// keeps checks that what could be restored of the window before something can be restored after it.
func (w *world) keeps(what string, act func()) {
	targets := w.targets()
	before := map[binlog.Target]bool{}
	for _, t := range targets {
		before[t] = w.possible(t)
	}
	act()
	w.say("%s", what)
	for _, t := range targets {
		if before[t] && !w.possible(t) {
			w.breaks("%s could be restored until %s", t, what)
		}
	}
}

// targets are points of the window. The end of the archive is one, unless what is in it, and when it was complete, is
// from before the window: the latest that its last transaction may be from is in the future where a clock is wrong.
func (w *world) targets() []binlog.Target {
	var out []binlog.Target
	if all := w.archive().Numbers; len(all) > 0 {
		last := w.segments[all[len(all)-1]]
		end := last.End()
		if end.After(w.now) {
			end = binlog.Later(last.LastTime, last.Through)
		}
		if w.now.Sub(end) < window {
			out = append(out, binlog.Target{Latest: true})
		}
	}
	for at := w.now.Add(-window + time.Minute).Truncate(time.Second); !at.After(w.now); at = at.Add(time.Minute) {
		out = append(out, binlog.Target{Time: at})
	}
	return out
}

func (w *world) possible(t binlog.Target) bool {
	return slices.ContainsFunc(w.backups, func(b backup) bool {
		_, _, err := w.restore(b, t)
		return err == nil
	})
}

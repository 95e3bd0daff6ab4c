package sites

import (
	"errors"
	"reflect"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/promotion"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/lease"
)

// checksum is that of the head of the only segment.
func checksum(dir string) string { return "sum of " + dir }

// archiver is the program, and what it reports.
type archiver struct {
	up      bool
	life    int
	task    task.Archive
	known   task.Archived
	checked bool
}

// deployArchiver has the archiver's pod made anew when it is to do something else.
func (w *world) deployArchiver(s *site) {
	if t := w.rules.archiver(s.c); !reflect.DeepEqual(t, s.archiver.task) {
		s.archiver = archiver{life: s.archiver.life + 1, task: t}
	}
	for i := range s.leases {
		if !s.c.RenewsWriteLease() {
			s.leases[i] = leaser{}
		} else if dir := directory(s.c); s.leases[i].dir != dir {
			s.leases[i] = leaser{dir: dir}
		}
	}
}

// startArchiver starts it: it reads where the archive ends.
func (w *world) startArchiver(s *site) {
	a := &s.archiver
	if a.up || a.task.Dir == "" || w.cut(toStore, s) {
		return
	}
	a.up, a.life, a.checked = true, a.life+1, false
	a.known = task.Archived{Place: a.task.Place, Segment: 1, Checksum: checksum(a.task.Dir)}
	if end := w.archive[a.task.Dir]; end > 0 {
		a.known.GTID, a.known.Lines = gtid(end), w.archived
	}
}

// askArchiver is its answer, nil for none.
func (w *world) askArchiver(s *site) *task.Archived {
	if !s.archiver.up || w.cut(toSource, s) {
		return nil
	}
	out := s.archiver.known
	return &out
}

// archiveMore has it archive what a node has.
func (w *world) archiveMore(s *site, x int) {
	a, n := &s.archiver, s.nodes[x%members]
	if !a.up || !n.up || w.cut(toStore, s) || w.stops && a.known.Promotion != nil {
		return
	}
	w.archiveLines(w.archive[a.task.Dir])
	end := max(w.archive[a.task.Dir], n.own)
	w.archive[a.task.Dir], a.known.GTID, a.known.Lines = end, gtid(end), w.archived
}

// checkPromotions has it look for a promotion, as its program does.
func (w *world) checkPromotions(s *site, x int) {
	a := &s.archiver
	if !a.up || w.cut(toStore, s) || w.checksOnce && a.checked {
		return
	}
	a.checked = true
	now, next, err := promotion.Latest(w.Context(), w.bucket, a.task.Dir)
	if err == nil && now != nil && (now.ID() == a.task.Overrules || now.ID() == a.task.Replaced) {
		now.Followed = now.ID() == a.task.Replaced
		err = promotion.Overrule(w.Context(), w.bucket, a.task.Dir, *now)
		now = nil
	}
	withdrawn := uint64(0)
	if mine := a.task.Withdraws; err == nil && now == nil && mine != nil {
		var counts *task.Promotion
		counts, err = w.record(w.Context(), w.bucket, a.task.Dir, *mine)
		switch {
		case errors.Is(err, promotion.ErrOverruled):
			withdrawn, err = mine.Number, nil
		case err != nil:
		case counts.Withdrawn:
			withdrawn, next = counts.Number, counts.Number+1
		default:
			now = counts
		}
	}
	if err != nil {
		a.known.Unrecorded = err.Error()
		return
	}
	life := a.life
	w.later(x, func() {
		if a.life == life && a.up {
			a.known.Promotion, a.known.Next, a.known.Withdrawn, a.known.Unrecorded = now, next, withdrawn, ""
		}
	})
}

// leaser renews the lease, in steps.
type leaser struct {
	dir   string // "" for none
	step  int
	began time.Duration
	asked map[*node]question
	watch promotion.Watch
}

// question is that of an agent.
type question struct {
	life int
	at   time.Duration
}

// renew takes a program's next step of a renewal.
func (w *world) renew(s *site, i int) {
	p := &s.leases[i]
	if p.dir == "" {
		return
	}
	if p.step == 0 {
		p.began, p.asked = w.clock(), map[*node]question{}
	}
	if w.clock()-p.began > 2*lease.Every {
		p.step = 0
		return
	}
	if p.step == len(w.steps) {
		p.step = 0
		for n, q := range p.asked {
			if n.agent && n.life == q.life && !w.cut(toLease, s) {
				w.hear(&n.holder, q.at, w.clock())
				w.seen["renewed"]++
			}
		}
		return
	}
	step := w.steps[p.step]
	if step != lease.Ask && w.cut(toStore, s) {
		p.step = 0
		return
	}
	p.step++
	switch step {
	case lease.Ask:
		for _, n := range s.nodes {
			if n.agent && !w.cut(toLease, s) {
				p.asked[n] = question{n.life, w.clock()}
			}
		}
	case lease.Announce:
		if err := promotion.Announce(w.Context(), w.bucket, p.dir, w.now); err != nil {
			w.Fatal(err)
		}
	case lease.Look:
		promoted, err := p.watch.Promoted(w.Context(), w.bucket, p.dir)
		if err != nil {
			w.Fatal(err)
		}
		if promoted {
			p.step = 0
		}
	}
}

// source is NAME-source.
type source struct {
	up   bool
	life int
	dir  string
	// task is what it is started to record, asked what it is asked to, with a token.
	task, asked *task.Recording
	heard       time.Duration // when it was asked last
	end         uint64        // of the archive, as it was read
	taker       lease.Taker
	promotion   *task.Promotion
	unrecorded  string
	// line is the line of history that is recorded, pinned the one to record, "" for none; sent is up to where this
	// process has sent everything, or compared it; and refused reports whether it sends nothing any more.
	line, pinned string
	sent         uint64
	refused      bool
}

// deploySource has its pod made anew when it is to do something else, and returns what it is asked.
func (w *world) deploySource(s *site, c *cluster) (asked *task.Recording) {
	var of *task.Recording
	if p := w.promotion(c); p != nil {
		of = &task.Recording{Promotion: *p}
		if p.Number > 0 {
			token := c.Spec.Cutover.Token
			of.Ahead = w.ahead(c)
			of.Segment, of.Checksum = uint64(token.Segment), token.Checksum //nolint:gosec // counted from one on
			of, asked = nil, of
		}
	}
	line := c.Status.Restore.Replay.Line
	if src := &s.source; src.dir == "" || !reflect.DeepEqual(of, src.task) || line != src.line {
		s.source = source{life: src.life + 1, dir: c.Status.Restore.Directory, task: of, line: line}
	}
	return asked
}

// startSource starts it.
func (w *world) startSource(s *site) {
	if src := &s.source; !src.up && src.dir != "" {
		s.source = source{up: true, life: src.life + 1, dir: src.dir, task: src.task, line: src.line}
	}
}

// readArchive has it read where the archive ends.
func (w *world) readArchive(s *site) {
	if src := &s.source; src.up && !w.cut(toStore, s) {
		src.end = w.archive[src.dir]
	}
}

// askSource is its answer, nil for none: it is asked to record something.
func (w *world) askSource(s *site, asked *task.Recording) (served *task.Served, problem string) {
	src := &s.source
	if !src.up || w.cut(toSource, s) {
		return nil, "NAME-source does not answer"
	}
	if asked != nil && (src.asked == nil || *src.asked != *asked) {
		src.promotion, src.unrecorded = nil, ""
	}
	src.asked, src.heard = asked, w.clock()
	served = &task.Served{Promotion: src.promotion, Unrecorded: src.unrecorded}
	if src.end > 0 {
		served.GTID, served.Through, served.Observed = gtid(src.end), w.now, w.now
	}
	return served, ""
}

// recordPromotion has it recorded what is asked for, as its program does.
func (w *world) recordPromotion(s *site, x int) {
	src := &s.source
	of := src.asked
	if w.clock()-src.heard >= 30*time.Second {
		of = nil
	}
	if of == nil {
		of = src.task
	}
	if !src.up || of == nil {
		return
	}
	if w.cut(toStore, s) {
		src.promotion, src.unrecorded = nil, "the store does not answer"
		return
	}
	compared, why := w.compare(s, *of)
	if why != "" {
		src.promotion, src.unrecorded = nil, why
		return
	}
	life, dir := src.life, src.dir
	w.later(x, func() {
		if src.life != life || w.cut(toStore, s) {
			return
		}
		mine := of.Promotion
		mine.At, mine.Line, mine.Alone, mine.Compared = w.now, src.line, src.line == "" && !w.before, compared
		if w.lineless {
			mine.Line = ""
		}
		counts, err := w.record(w.Context(), w.bucket, dir, mine)
		w.later(x/4+1, func() { w.answered(s, life, mine, counts, err) })
	})
}

// compare reports why a token is not used, "" where it may be. A program of an earlier release has not compared the
// last transaction.
func (w *world) compare(s *site, of task.Recording) (compared bool, why string) {
	if of.Number == 0 {
		return false, ""
	}
	src := &s.source
	now, next, err := promotion.Latest(w.Context(), w.bucket, src.dir)
	if err != nil {
		return false, err.Error()
	}
	end := gtid(w.archive[src.dir])
	switch {
	case now != nil || next > of.Number:
		return false, ""
	case of.Ahead != "" && !w.before:
		return false, "this cluster has " + of.Ahead
	case of.Checksum != checksum(src.dir):
		return false, "this store has another archive"
	case end != of.GTID:
		return false, "the archive ends with " + end
	case w.before:
		return false, ""
	}
	why = w.unlike(s)
	return why == "", why
}

// answered takes the answer of the store.
func (w *world) answered(s *site, life int, mine task.Promotion, counts *task.Promotion, err error) {
	src := &s.source
	if src.life != life || src.asked != nil && src.asked.Number != mine.Number {
		return
	}
	why := ""
	if err != nil {
		counts, why = nil, err.Error()
	}
	if err == nil && counts.UID == mine.UID && mine.Number == 0 {
		if !src.taker.Recorded {
			src.taker.Recorded, src.taker.RecordedAt = true, w.clock()
		}
		if !src.taker.Looked && !w.cut(toStore, s) {
			announced, err := promotion.Announced(w.Context(), w.bucket, src.dir)
			if err != nil {
				w.Fatal(err)
			}
			src.taker.Looked, src.taker.Announced = true, announced
		}
		switch {
		case !w.mayWrite(src.taker, w.clock()):
			counts = nil
		case src.taker.Announced:
			w.seen["waited"]++
		}
	}
	src.promotion, src.unrecorded = counts, why
}

package policy_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// event is one of a schedule: the world has no other source of chance.
type event struct{ what, a, b int }

const kinds = 28

// do has an event happen.
func (w *world) do(e event) {
	switch e.what {
	case 0, 1, 2:
		w.commit(w.on(e.a%3), -1, false)
	case 3, 4, 5, 6, 7:
		for range 1 + e.b%4 {
			w.step(e.a%2, e.b%3)
		}
	case 8, 9:
		w.flush(&w.archivers[e.a%2], e.b%2 == 0)
	case 10, 11:
		w.now = w.now.Add(time.Duration(1+e.a%20) * time.Second)
	case 12:
		if id := w.makeBackup(e.a % 3); id != "" {
			w.object("", id, v1alpha1.BackupDelete)
		}
	case 13: // a statement that fails
		w.seqno, w.seq = w.seqno+1, w.seq+1
	case 14: // sql_log_bin=0
		w.commit(w.on(e.a%3), e.a%3, false)
	case 15:
		w.nodes[e.a%3].away = !w.nodes[e.a%3].away
	case 16:
		w.archivers[e.a%2].kill()
		w.late = e.b % 4 % 3
	case 17:
		w.rareEvent(e)
	case 18:
		w.observe()
	case 19:
		w.clean(e.a%2, e.b%7%3)
	case 20:
		w.now = w.now.Add(time.Duration(1+e.a%4) * time.Minute)
	case 21:
		w.target(e)
	case 22:
		w.operate(e.a%3, e.b%4 > 0)
	case 23:
		w.retain(false)
	case 31:
		w.retain(true)
	case 32:
		w.toggle(e.a%3, e.b%2 == 0)
	case 24:
		if e.b%3 > 0 {
			w.commit(w.on(e.a%3), e.a%3, false)
		}
		if e.b%4 == 0 {
			w.restart(e.a % 3)
		}
	case 25:
		w.align(e.a % 3)
	case 27:
		w.setClock(e.a, e.b)
	case 28:
		w.followed(e)
	case 29:
		w.alter(e)
	case 30: // a view of the group, or a failed certification
		w.seqno++
	case 26: // full copies, of one node to another, or to both
		if w.copyTo((e.a+1)%3, e.a%3, e.b%2 > 0, e.b%3 == 0); e.b%5 > 1 {
			w.copyTo((e.a+2)%3, e.a%3, e.b%2 > 0, e.b%3 == 0)
		}
	}
}

// rareEvent has what may not happen all the time, or no archive becomes long.
func (w *world) rareEvent(e event) {
	switch e.a % 8 {
	case 0, 1:
		w.recover(e.b % 4)
		w.say("recovered in %s, from %d on", w.line().ID, w.line().Start)
	case 2:
		w.report(0)
		w.toggle(0, false)
	case 3: // all nodes run without a binary log for a while, which takes a start of each, and nothing says so
		was := w.logging
		w.viewChanges()
		w.logging = false
		for range e.b % 3 {
			w.commit(w.now, -1, false)
		}
		w.logging = was
		w.logs()
	case 4: // a client sets its time
		w.outliers = true
		w.commit(w.now.Add(time.Duration(e.b%5-2)*time.Hour), -1, false)
	case 5:
		w.commit(w.now, -1, true)
		w.say("another server writes")
	case 6:
		if e.b >= 700 {
			w.replace(e.b)
			return
		}
		n := &w.nodes[e.b%3]
		n.purged = len(n.log)
	case 7:
		w.lose(e.b)
	}
}

// toggle disables point in time, or enables it again.
func (w *world) toggle(how int, late bool) {
	w.view++
	if w.logging = !w.logging; w.logging {
		w.session++
	}
	w.turned(how, late)
	for i := range w.archivers {
		w.archivers[i].kill()
	}
	w.logs()
	w.say("logging %v", w.logging)
}

// lose removes an object of the archive, or exchanges its content for another one's.
func (w *world) lose(which int) {
	all := w.archive().Numbers
	if len(all) < 3 {
		return
	}
	n := all[which%(len(all)-1)]
	if other := all[(which/7)%(len(all)-1)]; which%2 == 0 {
		s := w.segments[n]
		s.txs, s.seqs = w.segments[other].txs, w.segments[other].seqs
		w.segments[n] = s
		w.lies = true
		w.say("the content of the segment %d is that of %d", n, other)
		return
	}
	delete(w.segments, n)
	w.say("the segment %d is lost", n)
}

// target restores all backups to a point.
func (w *world) target(e event) {
	switch e.a % 3 {
	case 0:
		w.check(binlog.Target{Latest: true})
	case 1:
		w.check(binlog.Target{Time: w.now.Add(-time.Duration(e.b%300) * time.Second).Truncate(time.Second)})
	case 2:
		if w.seq > 0 {
			w.check(binlog.Target{GTID: binlog.GTID{Server: 1, Seq: 1 + uint64(e.b)%(w.seq+3)}})
		}
	}
}

// play has a schedule happen, and ends with every kind of restore.
func play(d decisions, schedule []event) *world {
	w := newWorld(d)
	for _, e := range schedule {
		if w.do(e); w.broken != "" {
			return w
		}
	}
	w.observe()
	w.checkJoins()
	w.check(binlog.Target{Latest: true})
	for k := range 20 {
		w.check(binlog.Target{Time: w.now.Add(-time.Duration(k*13) * time.Second).Truncate(time.Second)})
	}
	for seq := uint64(1); seq <= w.seq && seq < 60; seq++ {
		w.check(binlog.Target{GTID: binlog.GTID{Server: 1, Seq: seq}})
	}
	w.settles()
	return w
}

func draw(seed uint64) []event {
	r := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // a schedule is to be repeated
	out := make([]event, 20+r.IntN(180))
	calm := r.IntN(3)
	for i := range out {
		out[i] = event{r.IntN(kinds), r.IntN(1000), r.IntN(1000)}
		switch {
		case out[i].what < 3 && r.IntN(5) == 0: // a statement that changes tables
			out[i].what = 29
		case out[i].what < 3 && r.IntN(10) == 0: // a view of the group
			out[i].what = 30
		}
		switch odd := r.IntN(5); {
		case out[i].what == 23 && odd < 2: // by a status of a while ago
			out[i].what = 31
		case out[i].what == 17 && out[i].a%8 == 2 && odd > 0: // point in time is turned off in another way, or seen late
			out[i].what = 32
		}
		if out[i].what == 17 && calm > 0 && r.IntN(4) > 0 {
			out[i].what = r.IntN(13)
		}
	}
	if r.IntN(6) > 0 {
		return out
	}
	for i := range 2 + r.IntN(8) { // a cluster that follows first
		e := event{28, r.IntN(1000), r.IntN(1000)}
		at := min(len(out), i+r.IntN(1+i*3))
		out = slices.Insert(out, at, e)
	}
	return out
}

// shorten leaves out what a failure does not need.
func shorten(d decisions, schedule []event) []event {
	for n := len(schedule) / 2; n > 0; n /= 2 {
		for i := 0; i+n <= len(schedule); {
			if less := slices.Delete(slices.Clone(schedule), i, i+n); play(d, less).broken != "" {
				schedule = less
			} else {
				i += n
			}
		}
	}
	return schedule
}

// TestModel: whatever happens, a restore that succeeds is right, what is reported recoverable is, every gap is
// reported, and nothing is removed that the window needs. ARCHIVE_SIM_DURATION=10m tries new seeds for so long.
func TestModel(t *testing.T) {
	seeds, first := uint64(1500), uint64(0)
	if testing.Short() {
		seeds = 300
	}
	until := time.Now()
	if d, err := time.ParseDuration(os.Getenv("ARCHIVE_SIM_DURATION")); err == nil {
		first, until = uint64(until.UnixNano()), until.Add(d) //nolint:gosec // a seed
	}
	restores, reported, gaps := 0, 0, 0
	s := first
	for ; s < first+seeds || time.Now().Before(until); s++ {
		schedule := draw(s)
		w := play(shipped(), schedule)
		if w.broken != "" {
			t.Logf("seed %d: %s", s, w.broken)
			short := shorten(shipped(), schedule)
			t.Fatalf("seed %d: %s\n%#v\n%s", s, w.broken, short, strings.Join(play(shipped(), short).trace, "\n"))
		}
		for _, line := range w.trace {
			switch {
			case strings.Contains(line, " with b"):
				restores++
			case strings.HasPrefix(line, "survey") && !strings.Contains(line, `base ""`):
				reported++
			case strings.HasPrefix(line, "survey") && !strings.Contains(line, `gap ""`):
				gaps++
			}
		}
	}
	t.Logf("%d schedules, %d restores, %d reports of a base, %d of a gap", s-first, restores, reported, gaps)
	if restores < 1000 || reported < 50 || gaps < 50 {
		t.Error("the schedules do not come to what the promises are about")
	}
}

package policy_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

// hosts are how far the clocks are ahead: of the nodes, of the archivers, of the Jobs of backups, and of the operator.
type hosts struct {
	nodes         [3]time.Duration
	archivers     [2]time.Duration
	job, operator time.Duration
}

// setClock sets one. Of all but the operator's, one is wrong at a time.
func (w *world) setClock(which, by int) {
	d := []time.Duration{0, 3 * time.Minute, -3 * time.Minute, time.Hour, -time.Hour, 30 * time.Hour}[by%6]
	k := which % 8
	if k < 7 {
		w.hosts = hosts{operator: w.hosts.operator}
	}
	switch {
	case k < 3:
		w.hosts.nodes[k] = d
		w.outliers = w.outliers || d != 0
	case k < 5:
		w.hosts.archivers[k-3] = d
	case k < 7:
		w.hosts.job = d
	default:
		w.hosts.operator = d
	}
	w.say("clocks: %+v", w.hosts)
}

// on is the time by a node's clock.
func (w *world) on(node int) time.Time { return w.now.Add(w.hosts.nodes[node]) }

// completedOn is when a backup of a node is complete: by the later one of its clock and its Job's.
func (w *world) completedOn(node int) time.Time {
	if w.jobbed {
		return w.now.Add(w.hosts.job)
	}
	return w.now.Add(max(w.hosts.job, w.hosts.nodes[node]))
}

// operatorNow is the time by the operator's clock. Without an archive, or before it has come to a time, retention goes
// by it alone: it is right then.
func (w *world) operatorNow() time.Time {
	if !w.logging || w.reported.ArchivedThrough == nil {
		return w.now
	}
	return w.now.Add(w.hosts.operator)
}

// earliest and latest are what the operator takes for the time: by its own clock, or by the API server's.
func (w *world) earliest() time.Time { return w.now.Add(min(0, w.hosts.operator)) }
func (w *world) latest() time.Time   { return w.now.Add(max(0, w.hosts.operator)) }

// synced are the nodes that answer, and one that has.
func (w *world) synced(n int) (out []int) {
	for i := range w.nodes {
		if i == n || !w.nodes[i].away {
			out = append(out, i)
		}
	}
	return out
}

// ownNow is the time by an archiver's own clock, and judged what nodes show of it.
func (w *world) ownNow(a *archiver) time.Time {
	if a == &w.archivers[0] {
		return w.now.Add(w.hosts.archivers[0])
	}
	return w.now.Add(w.hosts.archivers[1])
}

func (w *world) judged(a *archiver, asked []int) policy.Clock {
	ahead := map[string]time.Duration{}
	for _, i := range asked {
		ahead[fmt.Sprint(i)] = w.on(i).Sub(w.ownNow(a))
	}
	return w.clock(ahead)
}

func (w *world) early(a *archiver, asked ...int) time.Time {
	return w.ownNow(a).Add(w.judged(a, asked).Early)
}

// times bound what an archiver stores now.
func (w *world) times(a *archiver, asked []int) binlog.Times {
	c, now := w.judged(a, asked), w.ownNow(a)
	if c.Doubt() > 0 {
		return binlog.Doubtful(a.through, now.Add(c.Early), now.Add(c.Late), a.at.LastTime)
	}
	t := w.between(a.through, now.Add(c.Late), a.at.LastTime)
	if w.believing {
		return t
	}
	read := a.since.overdue
	if !a.since.archived.Equal(a.through) {
		read = w.now
	}
	return t.Since(a.through, now.Add(c.Late-w.now.Sub(read)))
}

// archivedTimes are what was called archived when a transaction was read last, and when the last one was read that says
// to be of before that.
type archivedTimes struct{ archived, overdue time.Time }

// sees notes that of the transaction that was read last.
func (w *world) sees(a *archiver) {
	if len(a.read) == 1 {
		a.since = archivedTimes{}
	}
	if a.since.archived = a.through; w.all[a.read[len(a.read)-1].tx].raw.Before(a.through) {
		a.since.overdue = w.now
	}
}

// today is the time by which an archiver removes segments.
func (w *world) today(a *archiver) (now time.Time, known bool) {
	all := w.synced(-1)
	if w.lonely {
		return w.ownNow(a), true
	}
	return w.early(a, all...), len(all) > 0
}

func init() {
	minute := func(n ...event) []event { return append([]event{{20, 0, 0}, {0, 1, 0}, {3, 0, 3}, {8, 0, 0}}, n...) }
	begins := []event{{0, 1, 0}, {3, 0, 3}, {12, 0, 0}}
	known["the archiver's own clock is believed"] = slices.Concat(begins, []event{{27, 3, 3}}, minute(), minute(),
		[]event{{20, 0, 0}})
	known["one node's clock is believed"] = slices.Concat(begins, []event{{27, 0, 3}}, minute(), minute(), minute(),
		[]event{{20, 0, 0}})
	// The second backup is within the window.
	known["segments are removed by the archiver's own clock"] = slices.Concat(begins, minute(), minute(),
		minute(event{27, 3, 3}, event{12, 0, 0}, event{19, 0, 0}), minute(event{20, 0, 0}),
		[]event{{18, 0, 0}, {18, 0, 0}, {18, 0, 0}}, minute(event{20, 0, 0}, event{19, 0, 0}))
	// The first backup leads to the points of before point in time was off.
	known["retention goes by the operator's clock"] = slices.Concat([]event{{27, 7, 3}}, begins, minute(),
		minute(event{17, 2, 0}, event{17, 2, 0}), minute(event{12, 0, 0}), minute(event{23, 0, 0}),
		minute(event{20, 0, 0}, event{23, 0, 0}))
	mutants["an archiver knows no time that another one has stored"] = func(d *decisions) { d.outdated = true }
	known["an archiver knows no time that another one has stored"] = unheard
	mutants["a transaction is of the time that it says, whenever it is read"] = func(d *decisions) { d.believing = true }
	known["a transaction is of the time that it says, whenever it is read"] = overdue
	mutants["of two halves of the clocks, either may be right"] = func(d *decisions) {
		d.clock = func(ahead map[string]time.Duration) policy.Clock {
			c := policy.JudgeClock(ahead)
			c.Off = nil
			return c
		}
	}
	known["of two halves of the clocks, either may be right"] = halved
	mutants["of two halves of the clocks, the earlier one is right"] = func(d *decisions) {
		d.choose = chosenFrom(func(h binlog.Head) binlog.Head {
			h.LateCeiling = time.Time{}
			return h
		})
	}
	// The archiver's own clock is behind, and one node answers; later all do.
	known["of two halves of the clocks, the earlier one is right"] = slices.Concat(begins, []event{{8, 0, 0}, {27, 3, 4},
		{15, 1, 0}, {15, 2, 0}, {11, 19, 0}, {11, 19, 0}, {0, 0, 0}, {3, 0, 3}, {8, 0, 1}, {15, 1, 0}, {15, 2, 0},
		{11, 19, 0}, {8, 0, 0}})
	// The backup begins where the archive does.
	known["a backup is as old as the clock of its Job says"] = slices.Concat([]event{{27, 5, 4}, {0, 1, 0}, {3, 0, 3},
		{20, 0, 0}, {12, 0, 0}}, minute(), minute())
}

// halved is a schedule in which a segment is stored while the archiver knows its own clock and that of the node that it
// follows, which is ahead. Later a time before that is called archived, by three clocks.
var halved = []event{{24, 99, 247}, {12, 703, 333}, {15, 794, 9}, {26, 415, 288}, {15, 601, 989}, {27, 848, 819},
	{7, 658, 651}, {2, 84, 674}, {3, 640, 507}, {9, 372, 485}, {15, 175, 870}, {11, 956, 904}, {8, 928, 72},
	{10, 702, 538}, {10, 208, 315}}

// unheard is a schedule in which an archiver stores a transaction of a node whose clock is behind, and another one has
// stored a time that is later by the other clocks, and is reported.
var unheard = []event{{0, 611, 125}, {2, 80, 408}, {3, 52, 443}, {27, 458, 268}, {12, 524, 607}, {5, 585, 159},
	{11, 638, 327}, {9, 642, 752}, {2, 161, 171}, {24, 742, 884}, {5, 177, 484}, {22, 235, 895}, {1, 974, 723},
	{3, 969, 185}, {22, 927, 979}}

// overdue is a schedule in which a transaction of a node whose clock is behind is read minutes after the archive was
// called complete.
var overdue = []event{{2, 921, 978}, {0, 761, 805}, {4, 408, 823}, {12, 907, 258}, {27, 865, 274}, {20, 554, 221},
	{9, 828, 230}, {16, 826, 634}, {20, 322, 655}, {3, 881, 512}, {0, 520, 743}, {20, 504, 403}, {6, 548, 142},
	{11, 905, 400}, {8, 490, 128}}

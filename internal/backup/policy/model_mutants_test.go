package policy_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
	"github.com/galera-operator/galera-operator/internal/backup/policy/schedule"
)

// known are schedules that find a mutant which few seeds do.
var known = map[string][]event{
	// A backup of a lost line has a later number than what the next line has archived.
	"segments are removed by number (1)": {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {3, 0, 3}, {12, 0, 0}, {17, 0, 3},
		{3, 0, 3}, {12, 0, 0}, {0, 0, 0}, {3, 0, 3}, {8, 0, 0}, {0, 0, 0}, {3, 0, 3}, {8, 0, 0}, {19, 0, 0}, {20, 3, 0},
		{19, 0, 0}, {19, 0, 0}},
	// The latest backup is the only one that is kept.
	"the window needs no backup of before it": {{0, 0, 0}, {3, 0, 3}, {12, 0, 0}, {20, 0, 0}, {0, 0, 0}, {3, 0, 3},
		{8, 0, 0}, {20, 0, 0}, {0, 0, 0}, {3, 0, 3}, {8, 0, 0}, {20, 0, 0}, {12, 0, 0}, {0, 0, 0}, {3, 0, 3}, {8, 0, 0},
		{11, 9, 0}, {19, 0, 0}, {20, 3, 0}, {19, 0, 0}, {19, 0, 0}},
	// A client names a time two hours later.
	"a client's time is believed (8)": {{0, 0, 0}, {3, 0, 3}, {12, 0, 0}, {17, 4, 4}, {3, 0, 3}, {8, 0, 0}, {11, 19, 0},
		{0, 0, 0}, {3, 0, 3}, {8, 0, 0}, {11, 19, 0}},
	// The last backup of before the window is of a line of history that was lost.
	"retention keeps the last backup of before its window alone": {{0, 0, 0}, {0, 0, 0}, {12, 0, 0}, {3, 0, 3},
		{0, 0, 0}, {12, 0, 0}, {17, 0, 1}, {0, 0, 0}, {3, 0, 3}, {8, 0, 0}, {20, 3, 0}, {20, 3, 0}, {11, 9, 0}, {8, 0, 0},
		{23, 0, 0}, {20, 1, 0}, {23, 0, 0}},
	"retention knows the last chain of the archive alone": misdated,
	// Nodes number on from different transactions that they lack.
	"nodes are asked by number alone": {{14, 850, 570}, {24, 282, 152}, {15, 223, 708}, {12, 748, 375}, {7, 483, 446},
		{24, 71, 914}, {24, 951, 46}, {14, 284, 941}, {4, 837, 271}, {0, 250, 513}, {7, 17, 312}},
	// The archive has a number at a later seqno than the backup, whose node numbers higher.
	"a base of a later number is reported": {{24, 753, 841}, {24, 361, 56}, {15, 815, 783}, {12, 87, 40}, {4, 783, 721},
		{0, 232, 276}, {6, 473, 961}, {8, 169, 632}},
	"a base is before a segment by number": {{1, 795, 508}, {13, 503, 633}, {24, 910, 538}, {24, 895, 860}, {3, 659, 310},
		{12, 824, 72}, {24, 921, 826}, {14, 63, 261}, {0, 449, 620}, {6, 541, 918}, {8, 549, 964}, {24, 720, 937},
		{7, 699, 102}, {9, 643, 243}},
	// The node that is followed lacks the last transaction before a recovery, and gives its number to the next one.
	"a view is known by its number in every line of history": {{0, 0, 0}, {12, 0, 0}, {3, 0, 3}, {14, 0, 0}, {17, 0, 4},
		{0, 0, 0}, {3, 0, 15}, {8, 0, 0}},
	// All nodes run without a binary log, and are started again with one before the archive notices.
	"two nodes are enough, whatever their binary logs are": {{0, 449, 248}, {0, 626, 25}, {7, 107, 939}, {22, 736, 306},
		{17, 963, 314}, {24, 678, 530}, {17, 33, 598}, {2, 474, 98}, {7, 367, 323}, {8, 35, 639}},
	// After the recovery all nodes have a copy of the one that lacks a transaction.
	"one node's binary log is enough": {{0, 0, 0}, {0, 0, 0}, {12, 0, 0}, {3, 0, 3}, {14, 0, 0},
		{17, 0, 4}, {26, 0, 3}, {0, 0, 0}, {3, 0, 19}, {8, 0, 0}},
	// Nothing is written after the recovery.
	"nothing follows because nothing is given": {{0, 0, 0}, {0, 0, 0}, {12, 0, 0}, {3, 0, 3}, {14, 0, 0}, {17, 0, 4},
		{26, 0, 3}, {3, 0, 3}, {3, 0, 3}, {20, 0, 0}, {8, 0, 0}, {20, 0, 0}, {8, 0, 0}, {20, 0, 0}, {8, 0, 0}},
	"one node's binary log shows the last transaction": {{0, 0, 0}, {0, 0, 0}, {12, 0, 0}, {3, 0, 3}, {14, 0, 0},
		{17, 0, 4}, {26, 0, 3}, {3, 0, 3}, {3, 0, 3}, {20, 0, 0}, {8, 0, 0}, {20, 0, 0}, {8, 0, 0}, {20, 0, 0}, {8, 0, 0}},
	// The backup that is relied on becomes an earlier one.
	"a manifest is read once": {{0, 0, 0}, {3, 0, 3}, {12, 0, 0}, {0, 0, 0}, {3, 0, 3}, {8, 0, 0}, {12, 0, 0}, {20, 3, 0},
		{20, 3, 0}, {20, 0, 0}, {0, 0, 0}, {3, 0, 3}, {8, 0, 0}, {3, 0, 3}, {8, 0, 0}, {19, 0, 0}, {20, 0, 0}, {19, 0, 0},
		{19, 0, 0}, {17, 6, 703}, {20, 3, 0}, {19, 0, 0}},
}

// mutants are decisions that were shipped once, or lie near.
var mutants = map[string]func(d *decisions){
	"numbers alone name a transaction (1)": func(d *decisions) {
		d.choose = func(heads []binlog.Head, b policy.Base, t binlog.Target, through binlog.Through) (policy.Range, error) {
			if len(heads) == 0 {
				return policy.Choose(heads, b, t, through)
			}
			var out []binlog.Head
			for _, h := range heads {
				h = one(h)
				h.Chain, h.Session = 1, b.Session
				out = append(out, h)
			}
			b.Line, b.Seqno = out[0].Lines[0], 1
			r, err := policy.Choose(out, b, t, through)
			for _, h := range heads {
				if h.Number == r.To {
					r.Sum = h.Checksum
				}
			}
			return r, err
		}
	},
	"the archive goes on in whatever line there is (1)": func(d *decisions) {
		d.resume = func(at binlog.Head, session string, n policy.Node) policy.Step {
			v := policy.Resume(at, session, n)
			if v.Act == policy.Refuse || v.Act == policy.Continue {
				v.Act = policy.Follow
			}
			return v
		}
	},
	"segments are removed by number (1)": func(d *decisions) {
		d.prune = func(a policy.Archive, bases []policy.Base, _ time.Duration, _ time.Time) (out []uint64, _ []policy.Base,
			err error) {
			if len(bases) == 0 {
				return nil, nil, nil
			}
			for _, n := range a.Numbers[:max(0, len(a.Numbers)-1)] {
				if h, _ := a.Head(n); h.Last == bases[0].GTID || bases[0].GTID.Follows(h.Last) {
					out = append(out, n)
				}
			}
			return out, nil, nil
		}
	},
	"enabled again, the chain goes on (2)": func(d *decisions) {
		d.resume = func(at binlog.Head, _ string, n policy.Node) policy.Step { return policy.Resume(at, at.Session, n) }
		d.hole = explained
	},
	"a hole on all nodes is none (2)": func(d *decisions) { d.hole = explained },
	"copies that lack something show it": func(d *decisions) {
		d.hole = func(after, next binlog.GTID, nodes []policy.Asked, waited bool) policy.HoleAnswer {
			return policy.JudgeHole(after, next, owned(3, nodes), waited)
		}
	},
	"no answer is nothing (3)": func(d *decisions) {
		d.hole = func(after, next binlog.GTID, nodes []policy.Asked, waited bool) policy.HoleAnswer {
			for i := range nodes {
				if nodes[i].Answer == policy.Unknown {
					nodes[i].Answer, nodes[i].Own = policy.Lacks, true
				}
			}
			return policy.JudgeHole(after, next, nodes, waited)
		}
	},
	"a lost segment is not noticed (7)": func(d *decisions) {
		d.survey = func(a policy.Archive, bases []policy.Base) (policy.Report, error) {
			r, err := policy.Survey(a, bases)
			last, _ := a.Head(a.Numbers[len(a.Numbers)-1])
			for _, b := range bases {
				if r.Base.ID == "" && b.Line.Same(last.Line()) && b.Session == last.Session {
					r.Base = b
				}
			}
			return r, err
		}
	},
	"a gap is known by who has seen it begin (7)": func(d *decisions) { d.forgetful = true },
	"a restore compares nothing (7)":              func(d *decisions) { d.trusting = true },
	"a client's time is believed (8)": func(d *decisions) {
		d.between = func(_, _, latest time.Time) binlog.Times {
			return binlog.Times{Floor: latest, Ceiling: start.Add(1e6 * time.Hour)}
		}
	},
	"other domains are skipped (9)": func(d *decisions) {
		d.foreign = func(binlog.Head, []binlog.GTID) []binlog.GTID { return nil }
	},
	"a base of before the chain began (9)": func(d *decisions) {
		blind := func(h binlog.Head) binlog.Head {
			if h.Foreign, h.From = nil, 0; h.Begins {
				h.Seqno = 1
			}
			return h
		}
		d.choose, d.survey = chosenFrom(blind), surveyOf(blind)
	},
	"a segment is written over another one (11)":                func(d *decisions) { d.overwriting = true },
	"a manifest is read once":                                   func(d *decisions) { d.remembering = true },
	"nodes are asked by number alone":                           func(d *decisions) { d.bynumber = true },
	"a node's last transaction is not compared":                 func(d *decisions) { d.unchecked = true },
	"what a base holds is known by number alone":                func(d *decisions) { d.heedless = true },
	"a view is known by its number in every line of history":    func(d *decisions) { d.viewed = true },
	"the first number after a server's start is that of before": func(d *decisions) { d.first = unasked },
	"two nodes are enough, whatever their binary logs are":      func(d *decisions) { d.first = owning(3) },
	"one node's binary log is enough":                           func(d *decisions) { d.first = owning(1) },
	"nothing follows because nothing is given": func(d *decisions) {
		d.ends = func(binlog.GTID, []policy.Asked, bool) policy.HoleAnswer {
			return policy.HoleAnswer{Act: policy.Follow}
		}
	},
	"one node's binary log shows the last transaction": func(d *decisions) {
		d.ends = func(last binlog.GTID, nodes []policy.Asked, waited bool) policy.HoleAnswer {
			return policy.JudgeLast(last, owned(1, nodes), waited)
		}
	},
	"a base of a later number is taken":    func(d *decisions) { d.choose = chosenFrom(numbered) },
	"a base of a later number is reported": func(d *decisions) { d.survey = surveyOf(numbered) },
	"a base is before a segment by number": func(d *decisions) { d.choose = chosenFrom(unanchored) },
	"nodes count on from the highest number ahead": func(d *decisions) {
		d.differ = func(known []policy.Number) (string, uint64, int64) {
			why, _, seqno := policy.Differ(known)
			most := int64(0)
			for _, n := range known {
				most = max(most, n.Ahead)
			}
			return why, uint64(most), seqno //nolint:gosec // not negative
		}
	},
	"a base that has failed is not made again": func(d *decisions) {
		d.decide = func(to *v1alpha1.ArchiveStatus, f archival.Facts) archival.Request {
			ask := archival.Decide(to, f)
			if ask.Failed != nil {
				return archival.Request{}
			}
			return ask
		}
	},
	"what is recoverable begins before the backup": func(d *decisions) {
		d.decide = func(to *v1alpha1.ArchiveStatus, f archival.Facts) archival.Request {
			ask := archival.Decide(to, f)
			if to.RecoverableFrom != nil {
				to.RecoverableFrom = new(metav1.NewTime(to.RecoverableFrom.Add(-time.Second)))
			}
			return ask
		}
	},
	"retention keeps no backup of before its window": func(d *decisions) {
		d.expire = func(to *v1alpha1.GaleraBackupScheduleStatus, f schedule.Facts) []*v1alpha1.GaleraBackup {
			f.Backups, f.Cluster = slices.Clone(f.Backups), f.Cluster.DeepCopy()
			f.Cluster.Status.Backup, f.Cluster.Status.EndedArchive = nothingNeeded(f.Cluster.Status.Backup), nil
			for i := range f.Backups {
				f.Backups[i].Status.GTID = ""
			}
			return schedule.Retain(to, f)
		}
	},
	"retention keeps the last backup of before its window alone": func(d *decisions) {
		d.expire = func(to *v1alpha1.GaleraBackupScheduleStatus, f schedule.Facts) []*v1alpha1.GaleraBackup {
			f.Cluster = f.Cluster.DeepCopy()
			f.Cluster.Status.Backup = nothingNeeded(f.Cluster.Status.Backup)
			return schedule.Retain(to, f)
		}
	},
	"retention knows the last chain of the archive alone": func(d *decisions) {
		d.decide = func(to *v1alpha1.ArchiveStatus, f archival.Facts) archival.Request {
			if f.Archived != nil {
				f.Archived.Needed = []string{cmp.Or(f.Archived.Base, "none")}
			}
			return archival.Decide(to, f)
		}
	},
	"the archiver's own clock is believed": func(d *decisions) {
		d.clock = func(map[string]time.Duration) policy.Clock { return policy.Clock{} }
	},
	"one node's clock is believed": func(d *decisions) {
		d.clock = func(ahead map[string]time.Duration) policy.Clock {
			for _, node := range []string{"0", "1", "2"} {
				if by, ok := ahead[node]; ok {
					return policy.Clock{Early: by, Late: by}
				}
			}
			return policy.Clock{}
		}
	},
	"segments are removed by the archiver's own clock": func(d *decisions) { d.lonely = true },
	"a backup is as old as the clock of its Job says":  func(d *decisions) { d.jobbed = true },
	"retention goes by the operator's clock": func(d *decisions) {
		d.expire = func(to *v1alpha1.GaleraBackupScheduleStatus, f schedule.Facts) []*v1alpha1.GaleraBackup {
			f.Cluster = f.Cluster.DeepCopy() // what the window needs goes by other clocks
			if a := f.Cluster.Status.Backup; a != nil {
				a.ArchivedThrough, a.Needed = nil, []string{"none"}
			}
			f.Cluster.Status.EndedArchive = nil
			return schedule.Retain(to, f)
		}
	},
	"the window needs no backup of before it": func(d *decisions) {
		d.prune = func(a policy.Archive, bases []policy.Base, w time.Duration, now time.Time) ([]uint64, []policy.Base,
			error) {
			return policy.Prune(a, bases, w, now.Add(window))
		}
	},
}

// nothingNeeded is the state of an archive that has said that it needs no backup which is there.
func nothingNeeded(a *v1alpha1.ArchiveStatus) *v1alpha1.ArchiveStatus {
	if a != nil {
		a.Base, a.Needed, a.ArchivedThrough = "", []string{"none"}, nil
	}
	return a
}

// fails finds a schedule that breaks a promise with other decisions than those shipped, and because of them.
func fails(d decisions, seeds uint64) (w *world, seed uint64) {
	for s := range seeds {
		if w := broken(d, draw(s)); w != nil {
			return w, s
		}
	}
	return nil, 0
}

// broken plays a schedule, and returns the world if the decisions break a promise that those shipped keep.
func broken(d decisions, schedule []event) *world {
	if w := play(d, schedule); w.broken != "" && play(shipped(), schedule).broken == "" {
		return w
	}
	return nil
}

// TestModelMutants: the promises find each of them.
func TestModelMutants(t *testing.T) {
	for name, mutate := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := shipped()
			mutate(&d)
			if w := broken(d, known[name]); w != nil {
				t.Log("known: " + w.broken)
				return
			}
			if known[name] != nil {
				t.Fatal("the known schedule does not find it")
			}
			w, seed := fails(d, 4000)
			if w == nil {
				t.Fatal("the promises do not find it")
			}
			t.Logf("seed %d: %s", seed, w.broken)
		})
	}
}

func one(h binlog.Head) binlog.Head {
	h.Lines, h.Before, h.Checksum, h.Seqno = []binlog.Line{{History: "h", ID: "x"}}, "", "", 1
	return h
}

// numbered is a head without what shows that a number is that of another transaction, unanchored one without what
// shows it within the segment.
func numbered(h binlog.Head) binlog.Head {
	if h.Anchors = nil; !h.Begins {
		h.PreviousSeqno = 1
	}
	return h
}

func unanchored(h binlog.Head) binlog.Head {
	if !h.Begins {
		h.PreviousSeqno = 1
	}
	return h
}

// chosenFrom and surveyOf decide from heads that are changed.
func chosenFrom(change func(binlog.Head) binlog.Head) func([]binlog.Head, policy.Base, binlog.Target,
	binlog.Through) (policy.Range, error) {
	return func(heads []binlog.Head, b policy.Base, t binlog.Target, through binlog.Through) (policy.Range, error) {
		var out []binlog.Head
		for _, h := range heads {
			out = append(out, change(h))
		}
		return policy.Choose(out, b, t, through)
	}
}

func changed(a policy.Archive, change func(binlog.Head) binlog.Head) policy.Archive {
	head := a.Head
	a.Head = func(n uint64) (binlog.Head, error) {
		h, err := head(n)
		return change(h), err
	}
	return a
}

func surveyOf(change func(binlog.Head) binlog.Head) func(policy.Archive, []policy.Base) (policy.Report, error) {
	return func(a policy.Archive, bases []policy.Base) (policy.Report, error) {
		return policy.Survey(changed(a, change), bases)
	}
}

// unasked takes any transaction for the next one.
func unasked(binlog.GTID, binlog.GTID, []policy.Asked, bool) policy.HoleAnswer {
	return policy.HoleAnswer{Act: policy.Follow}
}

// owning takes the binary logs of so many more nodes for their own, once one shows something.
func owning(more int) func(last, next binlog.GTID, nodes []policy.Asked, waited bool) policy.HoleAnswer {
	return func(last, next binlog.GTID, nodes []policy.Asked, waited bool) policy.HoleAnswer {
		return policy.JudgeNext(last, next, owned(more, nodes), waited)
	}
}

func owned(more int, nodes []policy.Asked) []policy.Asked {
	if more < 2 && !slices.ContainsFunc(nodes, func(n policy.Asked) bool { return n.Own && n.Answer == policy.Lacks }) {
		more = 0
	}
	for i := range nodes {
		if !nodes[i].Own && more > 0 && nodes[i].Answer == policy.Lacks {
			nodes[i].Own, more = true, more-1
		}
	}
	return nodes
}

// explained takes what no node has for no transaction.
func explained(after, next binlog.GTID, nodes []policy.Asked, waited bool) policy.HoleAnswer {
	v := policy.JudgeHole(after, next, nodes, waited)
	if v.Act == policy.Begin {
		return policy.HoleAnswer{Act: policy.Follow, Why: fmt.Sprint("all lack it: ", next)}
	}
	return v
}

package policy_test

import (
	"fmt"
	"slices"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
	"github.com/galera-operator/galera-operator/internal/backup/policy/schedule"
)

// tx is a transaction of the simulated cluster. What it is stands in its place in world.all: two of one number are two
// transactions.
type tx struct {
	seq      uint64 // of its GTID; of a domain of its own when another server has written it
	seqno    int64
	at       time.Time // when it was committed
	raw      time.Time // what it says of that
	foreign  bool      // another server's; followed reports whether the cluster has followed that one
	followed bool
	// unlogged reports whether it is in no binary log, unnamed whether it is a statement that changes tables: that does
	// not name its seqno.
	unlogged, unnamed bool
}

// history is a line, and all transactions of data that belong to it, those of the lines before included.
type history struct {
	binlog.Line
	txs []int
}

// node is a member: its binary log, in files, how far it numbers transactions ahead of tx.seq, since which seqno it has
// written its binary log itself, and whether it answers.
type node struct {
	since  int64
	log    []entry
	file   int
	ahead  int64
	purged int // so many entries are gone
	away   bool
}

type entry struct {
	tx, file int
	seq      uint64 // its number there
}

// backup is a base, and what it holds.
type backup struct {
	policy.Base
	named    string // the ID in its manifest
	txs      []int
	replaced bool // its data are later than its object names
}

// manifest is one as it was read, and when that was.
type manifest struct {
	backup
	at time.Time
}

// segment is an object of the archive.
type segment struct {
	binlog.Head
	txs  []int
	seqs []uint64 // their numbers
	at   int      // the last one before it, where a chain begins
}

// decisions are the functions of package policy that the world runs: a mutant exchanges one of them.
type decisions struct {
	resume  func(binlog.Head, string, policy.Node) policy.Step
	hole    func(after, next binlog.GTID, nodes []policy.Asked, waited bool) policy.HoleAnswer
	first   func(last, next binlog.GTID, nodes []policy.Asked, waited bool) policy.HoleAnswer
	ends    func(last binlog.GTID, nodes []policy.Asked, waited bool) policy.HoleAnswer
	foreign func(binlog.Head, []binlog.GTID) []binlog.GTID
	ended   func(own uint32, end, applied string, seen []binlog.GTID) (foreign []binlog.GTID, why string)
	between func(after, before, latest time.Time) binlog.Times
	survey  func(policy.Archive, []policy.Base) (policy.Report, error)
	prune   func(policy.Archive, []policy.Base, time.Duration, time.Time) ([]uint64, []policy.Base, error)
	choose  func([]binlog.Head, policy.Base, binlog.Target, binlog.Through) (policy.Range, error)
	earlier func(a policy.Archive, chain uint64, t binlog.Target) (binlog.Head, error)
	follows func(before, h binlog.Head) bool
	joins   func(before, h binlog.Head) bool
	due     func(d policy.Doomed, needless []uint64, read, now time.Time, after time.Duration) []uint64
	clock   func(ahead map[string]time.Duration) policy.Clock
	decide  func(*v1alpha1.ArchiveStatus, archival.Facts) archival.Request
	end     func(c *v1alpha1.GaleraCluster, window time.Duration, today, late time.Time) *v1alpha1.EndedArchive
	expire  func(*v1alpha1.GaleraBackupScheduleStatus, schedule.Facts) []*v1alpha1.GaleraBackup
	// trusting restores do not compare what they read with what was chosen.
	trusting bool
	// forgetful surveys know no gap that they have not seen begin.
	forgetful bool
	differ    func([]policy.Number) (why string, spread uint64, seqno int64)
	// bynumber has nodes asked, and confirm, by numbers that may be those of other transactions.
	bynumber bool
	// unchecked archivers go on from a node without a comparison of its last transaction.
	unchecked bool
	// unaware archivers ask the node that they follow alone what another server has written.
	unaware bool
	// viewed archivers take a view of the line of history before for the one of its number.
	viewed    bool
	steadfast bool // archivers go on with a stream in another view
	unlike    bool // archivers ask whether nothing follows by number alone
	outdated  bool // archivers know no time that another one has stored since
	eager     bool // archivers take what a node has when it is asked for read
	certain   bool // restores heed no seqno that no node has shown to be Galera's
	// heedless restores apply by number what a base lacks, believing archivers believe times that are read late.
	heedless, believing bool
	// overwriting archivers store a segment in the place of another one.
	overwriting bool
	// hasty restores take a GTID for that of a later line of history, too.
	hasty bool
	// remembering archivers remove what is needless by the manifests that they have read once.
	remembering    bool
	lonely, jobbed bool // archivers remove by their own clock, and backups are complete by that of their Jobs
}

func shipped() decisions {
	return decisions{resume: policy.Resume, hole: policy.JudgeHole, first: policy.JudgeNext,
		ends: policy.JudgeLast, foreign: policy.Foreign, ended: policy.Ended,
		between: binlog.Between, survey: policy.Survey, prune: policy.Prune, choose: policy.Choose, follows: policy.Follows,
		joins: policy.Joins, earlier: policy.Earlier, due: policy.Doomed.Due, differ: policy.Differ, clock: policy.JudgeClock,
		decide: archival.Decide, end: archival.TurnOff, expire: schedule.Retain}
}

// world is a cluster of three nodes, a store, two archivers, and an operator.
type world struct {
	decisions
	operator
	all       []tx
	lines     []history
	seq, own  uint64 // the last numbers of the cluster's domain, and of the other server's
	seqno     int64
	old       uint64 // the last number of the source that the cluster has followed
	until     string // where the cutover ends that, "" before it
	now       time.Time
	hosts     hosts
	logging   bool
	session   int
	view      int // of the group: it changes with every start of a server
	nodes     [3]node
	archivers [2]archiver

	segments map[uint64]segment
	through  binlog.Through
	backups  []backup
	made     int // how many there were
	known    map[string]manifest
	turn     int // which manifest is read again next
	doomed   policy.Doomed
	needed   []policy.Base // that were reported last
	late     int           // so many of the last objects are not listed yet
	marks    []time.Time   // when everything was archived
	marked   int           // how many transactions there were at the last of them
	lies     bool          // an object was exchanged: a restore may be refused, and must not be wrong
	outliers bool
	skewed   bool
	broken   string
	trace    []string
}

const (
	domain      = 0
	otherOne    = 5
	followedOne = 3
	window      = 8 * time.Minute
	doomedTime  = 4 * time.Minute
	maxWaits    = 5 * time.Minute
	maxBegins   = 60 // segments of a schedule
)

var start = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func newWorld(d decisions) *world {
	w := &world{decisions: d, now: start, logging: true, session: 1, view: 1, segments: map[uint64]segment{},
		doomed: policy.Doomed{}, known: map[string]manifest{}, operator: newOperator()}
	w.lines = []history{{Line: w.name(0, 0)}}
	return w
}

func (w *world) name(n int, start int64) binlog.Line {
	return binlog.Line{History: "11111111-2222-4333-8444-555555555555", ID: fmt.Sprintf("line-%d", n), Epoch: int64(n + 1),
		Start: start}
}

func (w *world) line() *history { return &w.lines[len(w.lines)-1] }

func (w *world) say(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

func (w *world) breaks(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
		w.say("BROKEN: %s", w.broken)
	}
}

// commit has a transaction on all nodes. It is in no binary log of without, -1 for none.
func (w *world) commit(raw time.Time, without int, foreign bool) {
	t := tx{at: w.now, raw: raw.Truncate(time.Second), foreign: foreign}
	if foreign {
		w.own++
		t.seq = w.own
	} else {
		w.seq++
		t.seq = w.seq
	}
	w.add(t, without)
}

func (w *world) add(t tx, without int) {
	w.seqno++
	t.seqno, t.unlogged = w.seqno, !w.logging
	id := len(w.all)
	w.all = append(w.all, t)
	w.line().txs = append(w.line().txs, id)
	for i := range w.nodes {
		if n := &w.nodes[i]; w.logging && i != without {
			n.log = append(n.log, entry{id, n.file, w.numberOn(n, t)})
		}
	}
}

// recover goes on in another line, without the last transactions.
func (w *world) recover(lost int) {
	for i := range w.archivers { // the streams end with the servers; what was read is stored, or not
		if a := &w.archivers[i]; a.open && lost%2 == i {
			w.flush(a, false)
		}
		w.archivers[i].drop()
	}
	w.view = 1 // the component that a bootstrap makes counts its views from one on
	old := w.line()
	keep := old.txs[:max(0, len(old.txs)-lost)]
	next := history{txs: slices.Clone(keep)}
	w.seqno, w.seq, w.own, w.old = 0, 0, 0, 0
	for _, id := range keep {
		switch t := w.all[id]; {
		case t.followed:
			w.seqno, w.old = t.seqno, t.seq
		case t.foreign:
			w.seqno, w.own = t.seqno, t.seq
		default:
			w.seqno, w.seq = t.seqno, t.seq
		}
	}
	if lost == 0 {
		w.seqno = max(w.seqno, w.last(old.txs))
	}
	next.Line = w.name(len(w.lines), w.seqno)
	w.lines = append(w.lines, next)
	for i := range w.nodes {
		n := &w.nodes[i]
		n.file++
		n.log = slices.DeleteFunc(n.log, func(e entry) bool { return !slices.Contains(keep, e.tx) })
		n.purged = min(n.purged, len(n.log))
		n.since = min(n.since, w.seqno)
		n.ahead = w.counted(n) // it counts on from there
		w.skewed = w.skewed || n.ahead != 0
	}
}

// restart has a node count on from its own binary log, which may lack the last transactions.
func (w *world) restart(i int) {
	n := &w.nodes[i]
	if w.counted(n) == n.ahead || len(n.log) == 0 {
		return
	}
	n.ahead = w.counted(n)
	n.file++
	w.skewed = true
	w.viewChanges()
	w.say("node %d numbers by %d ahead", i, n.ahead)
}

func (w *world) last(txs []int) int64 {
	if len(txs) == 0 {
		return 0
	}
	return w.all[txs[len(txs)-1]].seqno
}

// lineage is what a node's agent reports.
func (w *world) lineage() (out []binlog.Line) {
	for i := len(w.lines) - 1; i >= 0 && len(out) < 8; i-- {
		out = append(out, w.lines[i].Line)
	}
	return out
}

// listed is what the store has, without the last objects: a listing may be late.
func (w *world) listed(late int) policy.Archive {
	a := w.archive()
	a.Numbers = a.Numbers[:max(0, len(a.Numbers)-late)]
	return a
}

// archive is what the store has.
func (w *world) archive() policy.Archive {
	a := policy.Archive{Head: func(n uint64) (binlog.Head, error) {
		s, ok := w.segments[n]
		if !ok {
			return binlog.Head{}, fmt.Errorf("the segment %d is missing", n)
		}
		return s.Head, nil
	}}
	for n := range w.segments {
		a.Numbers = append(a.Numbers, n)
	}
	slices.Sort(a.Numbers)
	return a
}

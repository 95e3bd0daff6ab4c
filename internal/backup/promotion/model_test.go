package promotion

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gocloud.dev/blob/memblob"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const first, second = "aaaaaaaa-1", "bbbbbbbb-1"

// modelNode is a node of A: what it has applied of the group's writes, and what its agent has reported.
type modelNode struct {
	modelConfig
	applied  int
	reported archival.End
}

// modelConfig is what nodes are given.
type modelConfig struct {
	refuses bool
	number  int64
	in      *v1alpha1.StoreLocation
	by      *v1alpha1.SupersededStatus
}

// sites is a world of two of them, with a store. Each part acts by what it knew a while ago.
type sites struct {
	*testing.T
	buckets    [2]*store.Bucket // B records in the first one
	blind      bool             // the store lets objects be written over
	careless   bool             // B takes over with what it has
	forgets    bool             // A goes by its status alone
	anyArchive bool             // B takes the token of another archive
	anywhere   bool             // A makes tokens void wherever its store is
	c          *v1alpha1.GaleraCluster
	earlier    *v1alpha1.SwitchSiteStatus
	published  modelConfig // of A's nodes
	named      int         // the bucket that A's store names
	archives   int         // the bucket that the archiver uses
	version    int
	passes     int64 // of the operator: its clock
	nodes      [2]modelNode
	writes     int
	archived   int
	withdraws  *task.Promotion // the archiver's task
	known      *task.Archived
	token      *v1alpha1.SwitchToken // B's
	applied    int                   // by B
	counts     *task.Promotion       // what B knows of its record
	open       bool                  // B
	pending    []func()
	broken     string
}

func gtidOf(n int) string { return fmt.Sprintf("0-1-%d", n+1) }

func newSites(t *testing.T) *sites {
	w := &sites{T: t, buckets: [2]*store.Bucket{memblob.OpenBucket(nil), memblob.OpenBucket(nil)},
		c: &v1alpha1.GaleraCluster{}}
	w.c.UID = first
	return w
}

// bucketOf is a GaleraBackupStore that names one of the buckets.
func bucketOf(i int) *v1alpha1.GaleraBackupStore {
	s := &v1alpha1.GaleraBackupStore{}
	s.Spec.S3 = &v1alpha1.S3Store{Bucket: fmt.Sprint(i)}
	return s
}

func (w *sites) record(in *store.Bucket, mine task.Promotion) *task.Promotion {
	if w.blind {
		text := []byte(fmt.Sprintf(`{"number":%d,"uid":%q,"gtid":%q,"withdrawn":%v}`, mine.Number, mine.UID, mine.GTID,
			mine.Withdrawn))
		if err := store.Write(w.Context(), in, key(dir, mine.Number, record), text); err != nil {
			w.Fatal(err)
		}
		return &mine
	}
	p, err := Record(w.Context(), in, store.Create, dir, mine)
	if err != nil {
		return nil
	}
	return p
}

// later has something happen at once, or at some time.
func (w *sites) later(x int, do func()) {
	if x%3 == 0 {
		w.pending = append(w.pending, do)
		return
	}
	do()
}

// operator makes a pass of A: it reads, and writes its status later, unless another one was faster.
func (w *sites) operator(x int) {
	next, version := w.c.DeepCopy(), w.version
	if w.lost() != nil && w.c.Spec.SwitchSite != nil { // it is restored first
		return
	}
	w.passes++
	now := time.Unix(1e9+w.passes, 0)
	f := archival.Facts{Archived: w.known, Store: bucketOf(w.named), Now: now, Alike: now.Add(-time.Minute)}
	for _, n := range w.nodes {
		f.Ends = append(f.Ends, n.reported)
	}
	archival.Supersede(next, f.Archived)
	archival.SwitchSite(next, f)
	w.later(x, func() {
		if w.version == version {
			if x%5 == 0 && w.c.Status.SwitchSite != nil {
				w.earlier = w.c.Status.SwitchSite.DeepCopy()
			}
			w.c.Status, w.version = next.Status, version+1
		}
	})
}

// lost is what the status has lost of the change of sites (observe.Closed), nil for nothing.
func (w *sites) lost() *v1alpha1.SwitchSiteStatus {
	s := w.c.Status.SwitchSite
	if w.forgets || w.published.number == 0 || s != nil && s.Number >= w.published.number {
		return nil
	}
	return &v1alpha1.SwitchSiteStatus{Number: w.published.number, Phase: v1alpha1.SwitchWithdrawing,
		Location: w.published.in}
}

// publish is a pass of the cluster's controller: it restores what the status has lost, and gives nodes what follows.
func (w *sites) publish() {
	if lost := w.lost(); lost != nil {
		w.c.Status.SwitchSite, w.version = lost, w.version+1
	}
	if by := w.published.by; w.c.Status.Superseded == nil && by != nil && !w.forgets { // observe.Superseded
		w.c.Status.Superseded, w.version = by, w.version+1
	}
	w.published = modelConfig{refuses: w.c.Refuses(), number: w.c.SwitchNumber(), by: w.c.Status.Superseded}
	if w.c.Switching() {
		w.published.in = w.c.Status.SwitchSite.Location
	}
}

// archiver looks into the store, and reports it.
func (w *sites) archiver() {
	in := w.buckets[w.archives]
	now, next, err := Latest(w.Context(), in, dir)
	if err != nil {
		w.Fatal(err)
	}
	known := &task.Archived{GTID: gtidOf(w.archived), Promotion: now, Next: next,
		Place: location.Annotation(bucketOf(w.archives)), Segment: 1, Checksum: fmt.Sprint("bucket ", w.archives)}
	if s := w.c.Status.SwitchSite; w.anywhere && s != nil && s.Location != nil {
		known.Place = location.Text(*s.Location)
	}
	if now == nil && w.withdraws != nil {
		switch p := w.record(in, *w.withdraws); {
		case p == nil:
			return
		case p.Withdrawn:
			known.Withdrawn, known.Next = p.Number, p.Number+1
		default:
			known.Promotion = p
		}
	}
	w.known = known
}

// takeOver is B's: it has its record made, and accepts writes once that is known.
func (w *sites) takeOver(x int) {
	t := w.token
	if t == nil || w.open {
		return
	}
	if w.counts != nil {
		w.open = !w.counts.Withdrawn && w.counts.UID == second && w.counts.GTID == t.GTID
		return
	}
	if t.To != second || t.Checksum != "bucket 0" && !w.anyArchive { // for no one, or of another archive
		return
	}
	if !w.careless && (gtidOf(w.applied) != t.GTID || gtidOf(w.archived) != t.GTID) {
		return
	}
	w.later(x, func() {
		p := w.record(w.buckets[0], task.Promotion{Number: uint64(t.Number), Namespace: "site", Name: "standby",
			UID: second, GTID: t.GTID})
		w.later(x/3, func() {
			if w.token == t {
				w.counts = p
			}
		})
	})
}

func (w *sites) event(what, x int) {
	n := &w.nodes[x%2]
	switch what {
	case 0, 1:
		w.operator(x)
	case 2: // agents read what was published
		n.modelConfig = w.published
	case 3:
		n.reported = archival.End{Node: fmt.Sprint(x % 2)}
		if n.refuses && n.number > 0 {
			n.reported.By, n.reported.Position, n.reported.Settled = n.number, gtidOf(n.applied), n.applied == w.writes
		}
	case 4, 5: // a client
		if !n.refuses {
			w.writes++
			n.applied = w.writes
		}
	case 6:
		n.applied = w.writes
	case 7:
		w.archived = max(w.archived, n.applied)
	case 8:
		w.deploy()
	case 9, 10:
		w.archiver()
	case 11:
		w.applied = w.archived
	case 12, 13:
		w.takeOver(x)
	case 14, 15, 16:
		w.person(what, x)
	case 18:
		w.publish()
	case 19:
		w.mishap(x)
	case 17:
		if len(w.pending) > 0 {
			do := w.pending[x%len(w.pending)]
			i := x % len(w.pending)
			w.pending = append(w.pending[:i:i], w.pending[i+1:]...)
			do()
		}
	}
	w.check()
}

// deploy starts the archiver with what the status and the store have now.
func (w *sites) deploy() {
	w.withdraws, w.archives = nil, w.named
	s := w.c.Status.SwitchSite
	if s == nil || s.Phase != v1alpha1.SwitchWithdrawing || s.Token == nil ||
		!w.anywhere && *s.Location != location.Of(bucketOf(w.named)) {
		return
	}
	w.withdraws = &task.Promotion{Number: uint64(s.Token.Number), Namespace: "prod", Name: "shop", UID: first,
		GTID: s.Token.GTID, Withdrawn: true}
}

// mishap has the status of A lost, or an earlier one, and its store name another place.
func (w *sites) mishap(x int) {
	switch x % 40 {
	case 0:
		w.c.Status.SwitchSite, w.version = nil, w.version+1
	case 1:
		if w.earlier != nil && w.c.Status.SwitchSite != nil && w.earlier.Number < w.c.Status.SwitchSite.Number {
			w.c.Status.SwitchSite, w.version = w.earlier.DeepCopy(), w.version+1
		}
	case 2, 3, 4:
		w.named = x % 2
	case 5, 6, 7:
		w.c.Status, w.version = v1alpha1.GaleraClusterStatus{}, w.version+1
	}
}

// person asks for a change of sites, and takes that back.
func (w *sites) person(what, x int) {
	switch what {
	case 14: // at A
		w.version++
		if w.c.Spec.SwitchSite = nil; x%3 > 0 {
			w.c.Spec.SwitchSite = &v1alpha1.SwitchSiteSpec{UID: first, To: v1alpha1.SiteCluster{UID: second}}
		}
	case 15: // at B: it may be too late
		if s := w.c.Status.SwitchSite; s != nil && s.Token != nil && w.token == nil {
			token := *s.Token
			w.later(x, func() { w.token = &token })
		}
	case 16:
		if !w.open && (w.counts == nil || w.counts.Withdrawn) {
			w.token, w.counts = nil, nil
		}
	}
}

func (w *sites) check() {
	switch {
	case w.broken != "" || !w.open:
	case !w.nodes[0].refuses || !w.nodes[1].refuses:
		w.broken = "both sites accept writes"
	case w.applied < w.writes:
		w.broken = fmt.Sprintf("%d writes are lost", w.writes-w.applied)
	}
}

func playSites(t *testing.T, seed uint64, change func(*sites)) *sites {
	t.Helper()
	w, chance := newSites(t), rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // a schedule is to be repeated
	defer func() { _ = errors.Join(w.buckets[0].Close(), w.buckets[1].Close()) }()
	change(w)
	for range 100 + chance.IntN(300) {
		w.event(chance.IntN(20), chance.IntN(1000))
	}
	for range 20 { // all is well for long enough, and the store is set back if that is asked for
		w.named = 0
		if s := w.c.Status.SwitchSite; s != nil && s.Location != nil && *s.Location == location.Of(bucketOf(1)) {
			w.named = 1
		}
		for _, what := range []int{17, 0, 18, 2, 3, 6, 7, 8, 9, 11, 12} {
			w.event(what, 1)
			w.event(what, 4)
		}
	}
	if s := w.c.Status.SwitchSite; w.broken == "" && !w.open && s != nil && s.Phase == v1alpha1.SwitchWithdrawing {
		w.broken = "it is never taken back"
	}
	return w
}

// TestSitesChangePlaces: two sites never accept writes, and the one that takes over has all that the other one has
// acknowledged, in whichever order their parts act by what they knew before.
func TestSitesChangePlaces(t *testing.T) {
	changed, back := 0, 0
	for seed := range uint64(2000) {
		w := playSites(t, seed, func(*sites) {})
		if w.broken != "" {
			t.Fatalf("seed %d: %s", seed, w.broken)
		}
		if w.open {
			changed++
		} else if s := w.c.Status.SwitchSite; s != nil && s.Number > 1 {
			back++
		}
	}
	if t.Logf("%d changes, %d taken back", changed, back); changed < 100 || back < 100 {
		t.Error("the schedules do not come to what is promised")
	}
	for name, change := range map[string]func(*sites){
		"objects are written over":          func(w *sites) { w.blind = true },
		"B takes over with the token alone": func(w *sites) { w.careless = true },
		"A goes by its status alone":        func(w *sites) { w.forgets = true },
		"B takes any archive's token":       func(w *sites) { w.anyArchive = true },
		"A makes tokens void anywhere":      func(w *sites) { w.anywhere = true },
	} {
		found := ""
		for seed := uint64(0); seed < 3000 && found == ""; seed++ {
			found = playSites(t, seed, change).broken
		}
		if t.Logf("%s: %s", name, found); found == "" {
			t.Errorf("%s: not found", name)
		}
	}
}

package sites

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gocloud.dev/blob/memblob"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/store"
)

const (
	// members is how many nodes a cluster has.
	members = 2
	// firstUID is that of the cluster that accepts writes at first, history the UUID of each.
	firstUID = "aaaaaaaa-1111"
	history  = "6b4c1a52-0000-11f0-a000-000000000001"
	// seeded is the last transaction of the first cluster with which the others have begun.
	seeded = 3
)

// began is when the first event happens.
const began = 3 * time.Second

// epoch is when the world begins.
var epoch = time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)

// Links that are cut. Those of a site follow each other, by its number.
const (
	toStore  = iota * 3 // all programs of a site and the store
	toNodes             // its operator and its agents
	toSource            // NAME-source and its operator, and the archiver and its operator
	stream              // the first site and each other one
	toLease             // NAME-lease and the agents
	links
)

// world is some sites, the first of which accepts writes at first and is archived, and a store.
type world struct {
	*testing.T
	rules
	now     time.Time
	bucket  *store.Bucket
	sites   []*site
	cuts    [links]bool
	pending []func()
	archive map[string]uint64 // the last transaction, by directory
	broken  string
	trace   []string
	// before reports whether the programs of the sites that follow are of an earlier release, and lineless of one that has
	// recorded no line of history.
	before, lineless bool
	past
	truth
	seen coverage
}

func newWorld(t *testing.T, r rules, sites int) *world {
	w := &world{T: t, rules: r, now: epoch, bucket: memblob.OpenBucket(nil), archive: map[string]uint64{},
		seen: coverage{}}
	first := w.newSite("shop", "prod", firstUID)
	first.c.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"},
		PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	first.c.Status.Backup = &v1alpha1.ArchiveStatus{Session: "s"}
	first.own = seeded
	w.archive[directory(first.c)] = seeded
	w.archiveLines(0)
	for i := 1; i < sites; i++ {
		s := w.newSite("standby", fmt.Sprintf("site-%d", i), fmt.Sprintf("%c%[1]c%[1]c%[1]c%[1]c%[1]c%[1]c%[1]c-1111", 'a'+i))
		s.c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{StoreRef: v1alpha1.LocalName{Name: "offsite"},
			Cluster: v1alpha1.ReplicatedCluster{Namespace: "prod", Name: "shop"}}
		s.c.Status.Restore = &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreCompleted, Directory: directory(first.c),
			Replay: &v1alpha1.ReplayStatus{Chain: 1, To: 1, Reached: gtid(seeded), Line: lineOf(0).String()}}
		s.c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower, Applied: gtid(seeded)}
		s.followed, s.of = seeded, make([]int, seeded)
	}
	for _, s := range w.sites {
		for _, n := range s.nodes {
			n.followed, n.own = s.followed, s.own
		}
	}
	for w.clock() < began {
		w.round(time.Second)
	}
	return w
}

// gtid is a transaction of the first cluster.
func gtid(n uint64) string { return fmt.Sprintf("0-1-%d", n) }

// clock is a monotonic one.
func (w *world) clock() time.Duration { return w.now.Sub(epoch) }

func (w *world) say(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%8s ", w.clock())+fmt.Sprintf(format, args...))
}

// later has something happen at once, or at some time.
func (w *world) later(x int, do func()) {
	if x%4 == 0 {
		w.pending = append(w.pending, do)
		return
	}
	do()
}

// arrive has something happen that is late.
func (w *world) arrive(x int) {
	if len(w.pending) == 0 {
		return
	}
	i := x % len(w.pending)
	do := w.pending[i]
	w.pending = slices.Delete(w.pending, i, i+1)
	do()
}

// advance has time pass.
func (w *world) advance(d time.Duration) {
	w.now = w.now.Add(d)
	for _, s := range w.sites {
		for _, n := range s.nodes {
			w.guard(n)
		}
	}
}

// number is that of a site.
func (w *world) number(s *site) int { return slices.Index(w.sites, s) }

// cut reports whether a link of a site is.
func (w *world) cut(link int, s *site) bool { return w.cuts[link+w.number(s)] }

// round has all parts take their next step, as far as they can.
func (w *world) round(d time.Duration) {
	for len(w.pending) > 0 {
		w.arrive(0)
	}
	w.advance(d)
	first := w.sites[0]
	for i := range w.sites[0].leases {
		for range len(w.steps) + 1 {
			w.renew(first, i)
		}
	}
	for _, s := range w.sites {
		for _, n := range s.nodes {
			w.kubelet(s, n)
			w.agent(s, n)
			w.catchUp(s, n)
			w.read(s, n, 1)
			w.report(s, n)
		}
		if s == first {
			w.startArchiver(s)
			w.archiveMore(s, 0)
			w.checkPromotions(s, 1)
			w.archivingPass(s, 1)
			w.reseedPass(s, 1)
			w.followsAgain(s)
		} else {
			w.startSource(s)
			w.readArchive(s)
			w.recordPromotion(s, 1)
			w.servingPass(s, 1)
			w.channel(s, 0)
		}
		w.clusterPass(s, 1)
	}
}

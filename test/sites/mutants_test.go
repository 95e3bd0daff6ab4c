package sites

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
	"github.com/galera-operator/galera-operator/internal/backup/policy/restoration"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/lease"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/status"
)

// asItIs restores nothing.
func asItIs(f observe.Facts, _ map[string]observe.Seen, _ agentapi.NodeConfig) *cluster {
	return f.Cluster
}

// heardSince has nodes report other numbers of a lease that is turned off.
func heardSince(as func(c *cluster, heard int64) int64) func(*v1alpha1.GaleraClusterStatus, status.Input) {
	return func(to *v1alpha1.GaleraClusterStatus, in status.Input) {
		in.Seen = maps.Clone(in.Seen)
		for name, s := range in.Seen {
			if s.Report.Lease != nil {
				l := *s.Report.Lease
				l.UnwantedHeard = as(in.Facts.Cluster, l.UnwantedHeard)
				s.Report.Lease = &l
				in.Seen[name] = s
			}
		}
		shipped().update(to, in)
	}
}

// followsAgain has a cluster that has taken over follow again when it loses its status.
func followsAgain(f observe.Facts, seen map[string]observe.Seen, published agentapi.NodeConfig) *cluster {
	c := observe.Accepting(f, seen, published)
	if f.Cluster.Follows() && !c.Follows() {
		c.Status.Replication.Role = v1alpha1.RoleFollower
	}
	return c
}

// mutant is one mistake.
type mutant struct {
	name   string
	change func(r *rules)
}

// mutants are the mistakes.
var mutants = []mutant{
	// No write is dropped silently.
	{"what another cluster lacks is counted once", func(r *rules) {
		r.supersede = func(c *cluster, a *task.Archived) {
			before := c.Status.Superseded
			if archival.Supersede(c, a); before != nil && c.Status.Superseded != nil {
				c.Status.Superseded.Surplus = before.Surplus
			}
		}
	}},
	{"what another cluster lacks is counted by numbers alone", func(r *rules) {
		r.supersede = func(c *cluster, a *task.Archived) {
			if a != nil && a.Promotion != nil {
				of, p := *a, *a.Promotion
				p.Line, of.Promotion = "", &p
				a = &of
			}
			archival.Supersede(c, a)
		}
	}},
	{"nothing is archived after a promotion", func(r *rules) { r.stops = true }},
	{"any record is the same promotion", func(r *rules) {
		r.supersede = func(c *cluster, a *task.Archived) {
			if c.Status.Superseded == nil || a == nil || a.Promotion == nil {
				archival.Supersede(c, a)
			}
		}
	}},

	// Of two sites, one of which has a lease, one accepts writes.
	{"a site accepts writes as soon as it is recorded", func(r *rules) {
		r.mayWrite = func(t lease.Taker, _ time.Duration) bool { return t.Recorded }
	}},
	{"a lost status has no lease", func(r *rules) { r.leased = asItIs }},
	{"who has taken over, and loses the status, has no lease", func(r *rules) { r.accepting = followsAgain }},
	{"a lease that was about to end once does", func(r *rules) {
		r.leased = func(f observe.Facts, seen map[string]observe.Seen, published agentapi.NodeConfig) *cluster {
			if f.Cluster.Status.WriteLease == v1alpha1.WriteLeaseEnding {
				return f.Cluster
			}
			return observe.Leased(f, seen, published)
		}
	}},
	{"a promotion is looked for before the lease is announced", func(r *rules) {
		r.steps = []lease.Step{lease.Ask, lease.Look, lease.Announce}
	}},
	{"a lease counts from the answer", func(r *rules) {
		r.hear = func(h *lease.Holder, _, now time.Duration) { h.Hear(now) }
	}},
	{"a reading of before counts", func(r *rules) {
		r.update = heardSince(func(c *cluster, _ int64) int64 { return c.Generation })
	}},
	{"a lease was turned off once", func(r *rules) {
		r.update = heardSince(func(c *cluster, heard int64) int64 {
			if heard == 0 {
				return 0
			}
			return c.Generation
		})
	}},
	{"a lease that has ended is none", func(r *rules) {
		r.config = func(c *cluster) agentapi.NodeConfig {
			if c = c.DeepCopy(); c.Status.WriteLease == v1alpha1.WriteLeaseEnded {
				c.Status.WriteLease = ""
			}
			return shipped().config(c)
		}
	}},

	// Without one it is reported that both have accepted writes.
	{"nodes are given spec.cutover before it is recorded", func(r *rules) {
		r.config = func(c *cluster) agentapi.NodeConfig {
			n := shipped().config(c)
			if n.Follow != nil && c.Spec.Cutover != nil && c.Spec.Cutover.Token == nil {
				f := *n.Follow
				f.Until, f.Hold = c.Spec.Cutover.GTID, ""
				n.Follow, n.Revision = &f, n.Revision+"m"
			}
			return n
		}
	}},
	{"a promotion is looked for once", func(r *rules) { r.checksOnce = true }},
	{"what is lost altogether was nothing", func(r *rules) {
		r.closed = func(f observe.Facts, seen map[string]observe.Seen, published agentapi.NodeConfig) *cluster {
			f.StatefulSet = nil // as of a cluster that was not started
			return observe.Closed(f, seen, published)
		}
	}},
	{"nodes of a superseded cluster accept writes", func(r *rules) {
		r.config = func(c *cluster) agentapi.NodeConfig {
			if c = c.DeepCopy(); !c.Switching() {
				c.Status.Superseded = nil
			}
			return shipped().config(c)
		}
	}},
	{"agents that refuse a setting take nothing over", func(r *rules) {
		r.writesOf = func(have, _ agentapi.NodeConfig) agentapi.NodeConfig { return have }
	}},
	{"nothing is published while a setting is refused", func(r *rules) {
		r.withheld = func(_ *cluster, have agentapi.NodeConfig) agentapi.NodeConfig { return have }
	}},

	// A planned change loses nothing.
	{"a lost status has no change of sites", func(r *rules) { r.closed = asItIs }},
	{"an attempt has the number of one that was refused", func(r *rules) {
		r.switchSite = func(c *cluster, f archival.Facts) {
			before := c.Status.SwitchSite.DeepCopy()
			if archival.SwitchSite(c, f); phase(c) == v1alpha1.SwitchStopping && before != nil && before.Message != "" &&
				before.Phase == v1alpha1.SwitchTakenBack {
				c.Status.SwitchSite.Number = before.Number
			}
		}
	}},
	{"a lost status has no takeover", func(r *rules) { r.superseded = asItIs }},
	{"a token is used whatever was applied", func(r *rules) {
		applied := func(c *cluster) *cluster {
			if to := c.Spec.Cutover; to != nil && to.Token != nil && c.Status.Replication != nil {
				c = c.DeepCopy()
				c.Status.Replication.Applied = to.GTID
			}
			return c
		}
		r.promotion = func(c *cluster) *task.Promotion { return shipped().promotion(applied(c)) }
		r.recorded = func(c *cluster, served *task.Served, problem string) *v1alpha1.PromotionRecord {
			return shipped().recorded(applied(c), served, problem)
		}
		r.config = func(c *cluster) agentapi.NodeConfig {
			n := shipped().config(c)
			if n.Follow != nil && n.Follow.Until != "" && c.Spec.Cutover.Token != nil {
				f := *n.Follow
				f.Until = gtid(1)
				n.Follow = &f
			}
			return n
		}
	}},
	{"a token is used for its number", func(r *rules) {
		r.ahead = func(*cluster) string { return "" }
		r.within = func(binlog.Line, []binlog.Line, string) bool { return true }
	}},
	{"a token is given for what the archive has", func(r *rules) {
		r.switchSite = func(c *cluster, f archival.Facts) {
			f.Ends = slices.Clone(f.Ends)
			for i := range f.Ends {
				if f.Archived != nil && c.Status.SwitchSite != nil {
					f.Ends[i].By, f.Ends[i].Settled = c.Status.SwitchSite.Number, true
					f.Ends[i].Position = f.Archived.GTID
				}
			}
			archival.SwitchSite(c, f)
		}
	}},
	{"a token is void as soon as it is taken back", func(r *rules) {
		r.switchSite = func(c *cluster, f archival.Facts) {
			archival.SwitchSite(c, f)
			if s := c.Status.SwitchSite; s != nil && s.Phase == v1alpha1.SwitchWithdrawing {
				s.Phase, s.Token = v1alpha1.SwitchTakenBack, nil
			}
		}
	}},

	// A cluster that is to follow its successor loses nothing that that one lacks, and accepts no write.
	{"what the successor lacks is not looked at", func(r *rules) {
		r.reseed = func(to *v1alpha1.GaleraClusterStatus, f restoration.ReseedFacts) restoration.ReseedAct {
			f.Cluster = f.Cluster.DeepCopy()
			if by, s := f.Cluster.Status.Superseded, f.Cluster.Status.SwitchSite; by != nil && s != nil {
				by.Surplus, by.CountedBy, s.Ends = new(int64(0)), v1alpha1.CountedByContent, by.GTID
				s.EndsGeneration = f.Cluster.Generation
			}
			return restoration.Reseed(to, f)
		}
	}},
	{"a record of an earlier release is of what was compared", func(r *rules) {
		r.supersede = func(c *cluster, a *task.Archived) {
			if a != nil && a.Promotion != nil {
				of, p := *a, *a.Promotion
				p.Compared, of.Promotion = true, &p
				a = &of
			}
			archival.Supersede(c, a)
		}
	}},
	{"where nodes end is not looked at again", func(r *rules) {
		r.switchSite = func(c *cluster, f archival.Facts) {
			archival.SwitchSite(c, f)
			if s := c.Status.SwitchSite; s != nil && s.Token != nil && v1alpha1.Rejoins(c) {
				s.Ends, s.EndsGeneration, s.Message = s.Token.GTID, c.Generation, ""
			}
		}
	}},
	{"where nodes have ended before a request counts", func(r *rules) {
		r.reseed = func(to *v1alpha1.GaleraClusterStatus, f restoration.ReseedFacts) restoration.ReseedAct {
			if s := f.Cluster.Status.SwitchSite; s != nil {
				s.EndsGeneration, to.SwitchSite.EndsGeneration = f.Cluster.Generation, f.Cluster.Generation
			}
			return restoration.Reseed(to, f)
		}
	}},
	{"what it was to follow has not taken over", func(r *rules) {
		r.superseded = func(f observe.Facts, seen map[string]observe.Seen, published agentapi.NodeConfig) *cluster {
			has := observe.Superseded(f, seen, published)
			if by := has.Status.Superseded; by != nil && by.GTID == "0-0-0" {
				return f.Cluster
			}
			return has
		}
	}},
	{"nodes accept writes until they are removed", func(r *rules) {
		r.config = func(c *cluster) agentapi.NodeConfig {
			if v1alpha1.Rejoins(c) {
				c = c.DeepCopy()
				c.Spec.ReplicaOf, c.Status.Superseded = nil, nil
			}
			return shipped().config(c)
		}
	}},

	// Each wait ends.
	{"agents that refuse a setting take the refusal over, and no end", func(r *rules) {
		r.writesOf = func(have, newer agentapi.NodeConfig) agentapi.NodeConfig {
			n := have.WithWritesOf(newer)
			n.Follow = have.Follow
			return n
		}
	}},
	{"no token is made void", func(r *rules) {
		r.archiver = func(c *cluster) task.Archive {
			t := archiverTask(c)
			t.Withdraws = nil
			return t
		}
	}},
	{"who has taken over, and loses the status, changes no places", func(r *rules) { r.accepting = followsAgain }},
	{"what is overruled is forgotten before it is recorded", func(r *rules) {
		r.supersede = func(c *cluster, a *task.Archived) {
			if a != nil && a.Next == 0 {
				a.Next = 1
			}
			archival.Supersede(c, a)
		}
		r.archiver = func(c *cluster) task.Archive {
			t := archiverTask(c)
			if by := c.Status.Superseded; t.Replaced != "" && (by == nil || by.ID != t.Overrules) {
				t.Overrules = ""
			}
			return t
		}
	}},
	{"a token is not taken back by itself", func(r *rules) {
		r.switchSite = func(c *cluster, f archival.Facts) {
			if s := c.Status.SwitchSite; s != nil && s.Phase == v1alpha1.SwitchOffered {
				f.Now = s.StartedAt.Time
			}
			archival.SwitchSite(c, f)
		}
	}},
	{"nodes wait for those that know the end already", func(r *rules) {
		r.next = func(f lifecycle.FollowState) lifecycle.FollowAct {
			act := f.Next()
			if at, _ := binlog.In(f.Applied, 0); act == lifecycle.FollowAccept && at.Seq%2 == 0 {
				return lifecycle.FollowAsk
			}
			return act
		}
	}},
	{"a lease that has ended stays so", func(r *rules) {
		r.update = func(to *v1alpha1.GaleraClusterStatus, in status.Input) {
			before := to.WriteLease
			if shipped().update(to, in); before == v1alpha1.WriteLeaseEnded && to.WriteLease == v1alpha1.WriteLeaseHeld {
				to.WriteLease = before
			}
		}
	}},
}

// TestMutants: each mistake is found.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			r := shipped()
			m.change(&r)
			if of, ok := known[m.name]; ok {
				if w := play(t, shipped(), of); w.broken != "" {
					t.Fatalf("without it, too: %s", w.broken)
				}
				w := play(t, r, of)
				if t.Log(w.broken); w.broken == "" {
					t.Errorf("not found:\n%s", strings.Join(w.trace, "\n"))
				}
				return
			}
			for seed := range uint64(250) {
				if w := play(t, r, draw(seed)); w.broken != "" {
					t.Logf("seed %d: %s", seed, w.broken)
					return
				}
			}
			t.Error("not found")
		})
	}
}

// TestKnownSchedules: each known schedule is of a mutant.
func TestKnownSchedules(t *testing.T) {
	for name := range known {
		if !slices.ContainsFunc(mutants, func(m mutant) bool { return m.name == name }) {
			t.Errorf("a schedule is known for %q", name)
		}
	}
}

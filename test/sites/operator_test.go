package sites

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/status"
)

// site is a cluster, with its operator and its programs.
type site struct {
	c *cluster
	// version is that of the resource, earlier a status that it has had.
	version   int
	earlier   *v1alpha1.GaleraClusterStatus
	published agentapi.NodeConfig // NAME-config: no revision for none
	configs   int                 // its version
	reports   map[string]observe.Seen
	nodes     []*node
	// followed and own are the last transactions that the group has of the first cluster, and of its own.
	followed, own uint64
	of            []int // the line of history that each of the first cluster's is of
	// down reports whether the operator does not run, gone whether a person has stopped the cluster for good.
	down, gone bool
	archiver   archiver
	leases     [2]leaser
	source     source
	ends       []archival.End
	asked      int64 // the generation for which they are
	// claims reports whether the volumes are there, emptied whether they were removed once, so that it follows.
	claims, emptied bool
	alike           time.Time
}

// directory is that of a cluster's archive.
func directory(c *cluster) string { return manifest.Dir(c.Namespace, c.Name, string(c.UID)) }

func (w *world) newSite(name, namespace, uid string) *site {
	c := &cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid), Generation: 1}}
	c.Spec.Replicas, c.Status.Replicas = members, members
	c.Status.ClusterUUID, c.Status.Identity = history, uid
	s := &site{c: c, reports: map[string]observe.Seen{}, claims: true}
	for i := range members {
		s.nodes = append(s.nodes, &node{name: resources.PodName(c, i)})
	}
	w.sites = append(w.sites, s)
	return s
}

// accepts reports whether a node of the site accepts writes.
func (s *site) accepts() bool { return slices.ContainsFunc(s.nodes, (*node).accepts) }

// facts are the objects of a cluster.
func (s *site) facts() observe.Facts {
	f := observe.Facts{Cluster: s.c.DeepCopy(), Pods: map[string]*corev1.Pod{},
		Claims: map[string]*corev1.PersistentVolumeClaim{"data": {}}}
	if !s.claims {
		f.Claims = nil
		return f
	}
	f.StatefulSet = &appsv1.StatefulSet{}
	for _, n := range s.nodes {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: n.name}}
		if n.agent { // otherwise it is another one, which waits for NAME-config
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: resources.ContainerName,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		}
		f.Pods[n.name] = p
	}
	return f
}

// store writes a status, unless the resource was changed since it was read.
func (s *site) store(version int, to v1alpha1.GaleraClusterStatus) bool {
	if s.version != version {
		return false
	}
	s.c.Status, s.version = to, version+1
	return true
}

// clusterPass is one of the cluster's controller: it restores what the status has lost, publishes the configuration,
// and reports.
func (w *world) clusterPass(s *site, x int) {
	if s.down || s.gone {
		return
	}
	f, version, published, configs, seen := s.facts(), s.version, s.published, s.configs, maps.Clone(s.reports)
	before := f.Cluster
	f.Cluster = w.accepting(f, seen, published)
	f.Cluster = w.leased(f, seen, published)
	f.Cluster = w.closed(f, seen, published)
	if f.Cluster = w.superseded(f, seen, published); f.Cluster != before {
		if !s.store(version, *f.Cluster.Status.DeepCopy()) {
			return
		}
		w.say("%s: restored %+v, superseded %v", s.c.Namespace, s.c.Status.SwitchSite, s.c.Superseded())
		version = s.version
		w.seen["restored"]++
		w.seen["independentAgain"] += count(isIndependent(f.Cluster) && !isIndependent(before))
	}
	identity := observe.IdentityOf(f, seen, published)
	if !identity.Known() {
		return
	}
	if f.Cluster = f.Cluster.DeepCopy(); identity.UID != "" {
		f.Cluster.Status.Identity = identity.UID
	}
	config := w.publishes(f.Cluster, published)
	w.later(x, func() {
		if s.configs == configs && s.published.Revision != config.Revision {
			s.published, s.configs = config, configs+1
			w.say("%s publishes: refuse %v, switching %d, lease %v, follow %+v", s.c.Namespace, config.Refuse,
				config.Switching, config.Lease, config.Follow)
		}
	})
	next := f.Cluster.DeepCopy()
	w.update(&next.Status, w.input(s, f, seen, config))
	if s.claims {
		next.Status.ClusterUUID = history
	}
	w.later(x/4+1, func() {
		if held := s.c.Status.WriteLease; s.store(version, next.Status) && held != next.Status.WriteLease {
			w.leaseBecomes(next)
		}
	})
}

func isIndependent(c *cluster) bool {
	r := c.Status.Replication
	return r != nil && r.Role == v1alpha1.RoleIndependent
}

// input is what the status is made of.
func (w *world) input(s *site, f observe.Facts, seen map[string]observe.Seen, config agentapi.NodeConfig) status.Input {
	c := f.Cluster
	in := status.Input{Facts: f, Seen: seen, Config: config, Now: w.now,
		Decision:  plan.Decision{Reason: plan.ReasonHealthy},
		Published: &status.PublishedPair{Serial: "1", NotAfter: w.now.Add(90 * 24 * time.Hour)}}
	in.Snapshot = galera.Snapshot{Namespace: c.Namespace, Name: c.Name, Replicas: members, ClusterUUID: history}
	for i := range members {
		m := galera.Member{Name: resources.PodName(c, i), Ordinal: i, Pod: galera.Pod{Exists: s.claims, Ready: true,
			Role: v1alpha1.RoleReplica}}
		if i == 0 {
			m.Pod.Role = v1alpha1.RolePrimary
		}
		of := seen[m.Name]
		if m.Known = of.Live; of.Live && of.Report.Server != nil {
			m.Phase, m.Server = galera.PhaseRunning, &galera.Server{Component: galera.ComponentPrimary,
				State: galera.NodeSynced, ClusterUUID: history, Size: of.Report.Server.Size}
		}
		in.Snapshot.Members = append(in.Snapshot.Members, m)
	}
	return in
}

// archivingPass is one of the archive's controller.
func (w *world) archivingPass(s *site, x int) {
	c, version := s.c.DeepCopy(), s.version
	if s.down || s.gone || !c.ArchivesBinlog() || c.Status.ClusterUUID == "" {
		return
	}
	if c.Follows() {
		if v1alpha1.Replaced(c) != "" {
			s.archiver = archiver{life: s.archiver.life + 1}
		}
		return
	}
	if c.Status.Backup == nil {
		c.Status.Backup = &v1alpha1.ArchiveStatus{Session: "s"}
		s.store(version, c.Status)
		return
	}
	w.deployArchiver(s)
	f := archival.Facts{Cluster: c, Now: w.now, Store: place(), Archived: w.askArchiver(s)}
	next := c.DeepCopy()
	w.supersede(next, f.Archived)
	f.Ends, f.Alike = w.nodeEnds(s)
	if lost := c.Status.SwitchSite; c.Spec.SwitchSite != nil && (lost == nil || lost.Phase == v1alpha1.SwitchTakenBack) &&
		s.published.SwitchNumber() > 0 && (lost == nil || lost.Number < s.published.Switching) {
		return // it is restored first
	}
	w.switchSite(next, f)
	w.later(x, func() {
		if s.store(version, next.Status) && (phase(c) != phase(next) || c.Superseded() != next.Superseded()) {
			w.say("%s: the change of sites is %q, superseded %v", c.Namespace, phase(next), next.Superseded())
		}
	})
}

func phase(c *cluster) string {
	if s := c.Status.SwitchSite; s != nil {
		return s.Phase
	}
	return ""
}

// nodeEnds is where the nodes end, and since when that is so.
func (w *world) nodeEnds(s *site) (out []archival.End, since time.Time) {
	if s.c.SwitchNumber() == 0 {
		s.ends = nil
		return nil, time.Time{}
	}
	for name, seen := range s.reports {
		end := archival.End{Node: name}
		if r := seen.Report; seen.Live && r.Server != nil {
			end.By, end.Position = r.Closed.By, r.Closed.Position
			end.Settled = r.Server.ReceiveQueue == 0 && r.Server.Size >= members
		}
		out = append(out, end)
	}
	slices.SortFunc(out, func(a, b archival.End) int { return cmp.Compare(a.Node, b.Node) })
	if !slices.Equal(out, s.ends) || s.asked != s.c.Generation {
		s.ends, s.asked, s.alike = out, s.c.Generation, w.now
	}
	return out, s.alike
}

// servingPass is one of the controller of what a cluster follows.
func (w *world) servingPass(s *site, x int) {
	c, version := s.c.DeepCopy(), s.version
	if s.down || s.gone {
		return
	}
	if !c.Follows() {
		s.source = source{life: s.source.life + 1}
		return
	}
	if c.Status.ClusterUUID == "" {
		return
	}
	problem, asked := "", (*task.Recording)(nil)
	if of := c.Status.Restore; of == nil || of.Replay == nil {
		problem = "the chain is not known any more"
	} else {
		asked = w.deploySource(s, c)
	}
	served, silent := w.askSource(s, asked)
	problem = cmp.Or(problem, silent)
	if c.Status.Replication == nil {
		return
	}
	next := c.DeepCopy()
	to := next.Status.Replication
	if to.Archive = (&v1alpha1.FollowedArchive{Message: problem}); served != nil && served.GTID != "" {
		to.Archive.GTID = served.GTID
	} else if before := c.Status.Replication.Archive; before != nil {
		to.Archive.GTID = before.GTID
	}
	to.Promotion = w.recorded(c, served, problem)
	if of := next.Status.Restore; served != nil && s.source.pinned != "" && of != nil && of.Replay != nil &&
		of.Replay.Line == s.source.line {
		of.Replay.Line = s.source.pinned
	}
	w.later(x, func() {
		if s.store(version, next.Status) && fmt.Sprint(c.Status.Replication.Promotion) != fmt.Sprint(to.Promotion) {
			w.say("%s: promotion %+v", c.Namespace, to.Promotion)
		}
	})
}

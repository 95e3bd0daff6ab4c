package sites

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/promotion"
)

// What a person does, by the second number of an event: up to acceptsLoss it is about a change of sites.
const (
	changes     = 1
	takesBack   = 3
	gives       = 4
	acceptsLoss = 8
	wantsLease  = 10
	wantsNone   = 12
)

// person has a person do something, at the first site or at a site that follows it, as far as the API admits it.
func (w *world) person(x, y int) {
	first, s := w.sites[0], w.sites[1+x%(len(w.sites)-1)]
	switch y % 16 {
	case 0, changes, 2:
		w.switchTo(s, x)
	case takesBack:
		w.edit(first, "take the change of sites back", func(c *cluster) { c.Spec.SwitchSite = nil })
	case gives, 5, 6, 7:
		w.give(s, x)
	case acceptsLoss:
		w.acceptLoss(s)
	case 9:
		w.overrule(x)
	case wantsLease, 11:
		w.edit(first, "want a lease", func(c *cluster) { c.Spec.Backup.PointInTime.WriteLease = true })
	case wantsNone:
		if x%3 == 0 {
			w.wantsNoLease(first)
		}
	case 13:
		w.removeCutover(s)
	case 14:
		if x%4 == 0 && s.c.Spec.Cutover != nil && !s.gone {
			w.edit(s, "take over without a record", func(c *cluster) { c.Spec.Cutover.WithoutRecord = true })
		}
	case 15:
		w.giveUpRest(s, x)
	}
}

// edit changes a resource.
func (w *world) edit(s *site, what string, change func(c *cluster)) {
	if s.gone {
		return
	}
	w.say("%s: a person has it %s", s.c.Namespace, what)
	before := s.c.Spec.DeepCopy()
	if change(s.c); !reflect.DeepEqual(*before, s.c.Spec) {
		s.c.Generation++
	}
	s.version++
}

// wantsNoLease turns the lease off.
func (w *world) wantsNoLease(s *site) {
	if s.c.Spec.Backup.PointInTime.WriteLease {
		now, _, err := promotion.Latest(w.Context(), w.bucket, directory(s.c))
		if err != nil {
			w.Fatal(err)
		}
		w.taken = now != nil && now.ID() != s.c.Spec.OverrulesPromotion
	}
	w.edit(s, "want no lease", func(c *cluster) { c.Spec.Backup.PointInTime.WriteLease = false })
}

// switchTo is kubectl galera switch-site.
func (w *world) switchTo(s *site, x int) {
	first := w.sites[0]
	if first.c.Spec.SwitchSite != nil || rejoins(first.c) || s.gone || s.c.Spec.Cutover != nil && x%5 > 0 {
		return
	}
	w.edit(first, "change places with "+s.c.Namespace, func(c *cluster) {
		c.Spec.SwitchSite = &v1alpha1.SwitchSiteSpec{UID: v1alpha1.RequestUID(c), To: v1alpha1.SiteCluster{
			Namespace: s.c.Namespace, Name: s.c.Name, UID: string(s.c.UID)}}
	})
}

// give is its second step.
func (w *world) give(s *site, x int) {
	of := w.sites[0].c.Status.SwitchSite
	if of == nil || of.Token == nil || of.Phase != v1alpha1.SwitchOffered || of.Token.To != string(s.c.UID) {
		return
	}
	token := *of.Token
	w.later(x, func() {
		if s.c.Spec.Cutover != nil {
			return
		}
		w.edit(s, fmt.Sprintf("take over with the token %d at %s", token.Number, token.GTID), func(c *cluster) {
			c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: token.GTID, UID: token.To, Token: &token}
		})
	})
}

// acceptLoss is kubectl galera cutover --accept-loss.
func (w *world) acceptLoss(s *site) {
	r := s.c.Status.Replication
	if s.c.Spec.Cutover != nil || r == nil || r.Archive == nil || r.Archive.GTID == "" || r.Archive.Message != "" {
		return
	}
	end := r.Archive.GTID
	archive, _ := binlog.Parse(end)
	if applied, _ := binlog.In(r.Applied, 0); applied.Follows(archive) {
		end = applied.String()
	}
	w.edit(s, "take over at "+end, func(c *cluster) {
		c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: end, UID: string(c.UID)}
	})
}

// overrule has the first cluster go on, as its condition describes: all that have been given spec.cutover are stopped.
func (w *world) overrule(x int) {
	first := w.sites[0]
	if !first.c.Superseded() || rejoins(first.c) || x%2 == 0 {
		return
	}
	for _, s := range w.sites[1:] {
		if s.c.Spec.Cutover != nil {
			s.gone, s.source = true, source{life: s.source.life + 1}
			for _, n := range s.nodes {
				n.kill()
			}
		}
	}
	w.seen["overruled"]++
	w.taken, w.reported = false, ""
	w.edit(first, "overrule "+first.c.Status.Superseded.ID, func(c *cluster) {
		c.Spec.OverrulesPromotion, c.Spec.SwitchSite = c.Status.Superseded.ID, nil
	})
}

// removeCutover gives a token up, as far as the API admits it.
func (w *world) removeCutover(s *site) {
	to, r := s.c.Spec.Cutover, s.c.Status.Replication
	if to == nil || to.Token == nil || to.WithoutRecord || s.accepts() || r == nil || r.Role != v1alpha1.RoleFollower ||
		r.AcceptsAfter != "" || r.Promotion != nil && r.Promotion.ID != "" && !r.Promotion.Withdrawn {
		return
	}
	w.edit(s, "remove spec.cutover", func(c *cluster) { c.Spec.Cutover = nil })
}

// giveUpRest ends a cutover with what the cluster has.
func (w *world) giveUpRest(s *site, x int) {
	to, r := s.c.Spec.Cutover, s.c.Status.Replication
	if to == nil || r == nil || r.Role != v1alpha1.RoleFollower || r.Applied == "" || x%4 > 0 {
		return
	}
	w.edit(s, "take over with what it has, "+r.Applied, func(c *cluster) {
		c.Spec.Cutover.GTID, c.Spec.Cutover.Token, c.Spec.Cutover.UID = r.Applied, nil, string(c.UID)
	})
}

// mishap loses what a site knows.
func (w *world) mishap(s *site, x int) {
	if s.gone {
		return
	}
	now := s.c.Status.SwitchSite
	switch x % 10 {
	case 0, 1:
		w.loseStatus(s)
	case 2, 3, 4:
		s.earlier = s.c.Status.DeepCopy()
	case 5, 6:
		if of := s.earlier; of != nil && isEarlier(of.SwitchSite, now) {
			w.say("%s: the status is rolled back", s.c.Namespace)
			s.c.Status = *of.DeepCopy()
			s.version++
			w.seen["rolledBack"]++
		}
	case 7:
		w.loseConfig(s)
	case 8:
		w.loseConfig(s)
		w.loseStatus(s)
	case 9:
		if s == w.sites[0] && s.c.Spec.ReplicaOf == nil && x%3 == 0 {
			w.recreate(s, x)
		}
	}
	if s == w.sites[0] {
		w.truth.unprotected(s)
	}
}

// isEarlier reports whether a status is known to be one of before an attempt, or before all (docs/sites.md).
func isEarlier(of, now *v1alpha1.SwitchSiteStatus) bool {
	return now == nil || of == nil || of.Number < now.Number || of.Phase == v1alpha1.SwitchTakenBack && of.Message != ""
}

func (w *world) loseStatus(s *site) {
	w.say("%s: the status is lost", s.c.Namespace)
	s.c.Status = v1alpha1.GaleraClusterStatus{}
	s.version++
	w.seen["lost"]++
}

func (w *world) loseConfig(s *site) {
	w.say("%s: the ConfigMap is lost", s.c.Namespace)
	s.published = agentapi.NodeConfig{}
	s.configs++
}

// recreate deletes the resource, and creates it again: nodes go on.
func (w *world) recreate(s *site, x int) {
	w.say("%s: the resource is created again", s.c.Namespace)
	s.c.UID, s.c.Generation = types.UID(fmt.Sprintf("aaaaaaaa-%d", 2222+s.version)), 1
	if s.c.Status = (v1alpha1.GaleraClusterStatus{}); x%2 == 0 {
		w.loseConfig(s)
	}
	s.version++
	s.earlier, w.recreated = nil, true
	w.seen["recreated"]++
}

// fail has parts fail, or come back.
func (w *world) fail(x, y int) {
	s := w.sites[x%len(w.sites)]
	n := s.nodes[y%members]
	switch y % 12 {
	case 0, 1, 2:
		n.kill()
	case takesBack:
		s.archiver.up, s.archiver.life = false, s.archiver.life+1
	case 4:
		s.source.up, s.source.life = false, s.source.life+1
	case 5:
		for i := range s.leases {
			s.leases[i] = leaser{dir: s.leases[i].dir}
		}
	case 6, 7:
		s.down = !s.down
		w.say("%s: the operator is down: %v", s.c.Namespace, s.down)
	case 8:
		n.stuck = !n.stuck
	default:
		i := (x + y/12) % links
		w.cuts[i] = !w.cuts[i]
		w.say("the link %d is cut: %v", i, w.cuts[i])
	}
}

// heal ends all failures.
func (w *world) heal() {
	w.cuts = [links]bool{}
	for _, s := range w.sites {
		s.down = false
		for _, n := range s.nodes {
			n.stuck = false
		}
	}
}

// unrecorded reports whether a person has a site take over without a record.
func unrecorded(s *site) bool { return s.c.Spec.Cutover != nil && s.c.Spec.Cutover.WithoutRecord }

// living are the sites that were not stopped for good.
func (w *world) living() []*site {
	return slices.DeleteFunc(slices.Clone(w.sites), func(s *site) bool { return s.gone })
}

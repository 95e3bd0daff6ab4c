package sites

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/policy/restoration"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// successor is the site that the first one names, or is superseded by; nil for none.
func (w *world) successor(c *cluster) *site {
	uid := ""
	if by := c.Status.Superseded; by != nil {
		uid = by.UID
	}
	if rejoins(c) {
		uid = c.Spec.ReplicaOf.Cluster.UID
	}
	for _, s := range w.sites[1:] {
		if string(s.c.UID) == uid {
			return s
		}
	}
	return nil
}

// rejoins reports whether the first cluster is to follow the one that has taken over from it, or does. One that had
// taken over before all of this has spec.cutover.
func rejoins(c *cluster) bool { return c.Spec.ReplicaOf != nil && c.Spec.Cutover == nil }

// rejoin is kubectl galera switch-site --rejoin, as far as the API admits it. It may be taken back.
func (w *world) rejoin(x int) {
	first := w.sites[0]
	c, of, by := first.c, first.c.Status.SwitchSite, first.c.Status.Superseded
	if rejoins(c) {
		if r := c.Status.Reseed; x%5 == 0 && by != nil && (r == nil || r.Phase == v1alpha1.ReseedChecking) {
			w.edit(first, "follow nothing", func(c *cluster) { c.Spec.ReplicaOf = nil })
		}
		return
	}
	if !c.Superseded() || of == nil || of.Phase != v1alpha1.SwitchTaken || by.Surplus == nil || *by.Surplus > 0 {
		return
	}
	s := w.successor(c)
	if s == nil || s.gone {
		return
	}
	w.asksToFollow(first)
}

// asksToFollow has the first cluster be asked to follow the one that has taken over from it.
func (w *world) asksToFollow(first *site) {
	by := first.c.Status.Superseded
	w.edit(first, "follow "+by.ID, func(c *cluster) {
		c.Spec.SwitchSite, c.Spec.Cutover, c.Spec.OverrulesPromotion = nil, nil, ""
		c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{StoreRef: v1alpha1.LocalName{Name: "offsite"}, Replaces: by.ID,
			Cluster: v1alpha1.ReplicatedCluster{Namespace: by.Namespace, Name: by.Name, UID: by.UID}}
	})
}

// byRoot is a write of an account with READ ONLY ADMIN to the first site, once another one has taken over.
func (w *world) byRoot(n *node) {
	first := w.sites[0]
	if len(w.opened) == 0 || !n.up || first.emptied || rejoins(first.c) || !slices.Contains(first.nodes, n) {
		return
	}
	first.own++
	w.byReadOnlyAdmin = append(w.byReadOnlyAdmin, first.own)
	n.followed, n.own = first.followed, first.own
	w.say("root writes %d to the first cluster", first.own)
}

// reseedPass is one of the controller that empties and fills a cluster which rejoins.
func (w *world) reseedPass(s *site, x int) {
	c, version := s.c.DeepCopy(), s.version
	if s.down || s.gone || c.Spec.ReplicaOf == nil {
		return
	}
	of := w.successor(c)
	if !restoration.Reseeds(c) {
		if !s.claims { // the status was lost meanwhile
			w.fill(s, of)
		}
		return
	}
	f := restoration.ReseedFacts{Cluster: c, Now: w.now, Source: restoration.Source{Store: place()}}
	if s.claims {
		claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: resources.ClaimName(c, 0), UID: "claim",
			OwnerReferences: []metav1.OwnerReference{{UID: "set"}}}}
		f.Claims = append(f.Claims, claim)
		f.Set = &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{UID: "set"}}
		f.Set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
	}
	if of != nil && slices.Contains(w.opened, of) && !w.cut(toStore, of) {
		f.Check = outcome.Outcome{Exists: true, Done: true, Location: new(location.Of(place())),
			Result: task.Result{Backup: &task.Stored{Dir: directory(of.c)}, Replay: &task.Replay{Chain: 1}}}
	}
	next := c.DeepCopy()
	act := w.reseed(&next.Status, f)
	if !reflect.DeepEqual(c.Status, next.Status) {
		before, now := c.Status.Reseed, next.Status.Reseed
		if before == nil || before.Phase != now.Phase || before.Message != now.Message {
			w.say("the first cluster is %s: %s", now.Phase, now.Message)
		}
		w.later(x, func() { s.store(version, next.Status) })
		return
	}
	switch {
	case c.Status.Reseed.Phase == v1alpha1.ReseedCopying && c.Status.Restore.Phase == v1alpha1.RestoreFinding:
		w.fill(s, of)
	case act == restoration.ReseedRemove:
		w.later(x, func() {
			if s.version == version {
				w.remove(s, of)
			}
		})
	}
}

// remove removes the nodes and the volumes of the first cluster.
func (w *world) remove(s, of *site) {
	lost := w.lacks(of)
	if lost > 0 || !slices.Contains(w.opened, of) {
		w.broken = fmt.Sprintf("%d transactions are removed that no other cluster has", lost)
	}
	w.say("the first cluster is emptied")
	w.seen["emptied"]++
	for _, n := range s.nodes {
		n.kill()
		n.config = agentapi.NodeConfig{}
	}
	s.claims, s.emptied, s.earlier, s.archiver = false, true, nil, archiver{life: s.archiver.life + 1}
	s.followed, s.own = 0, 0
}

// fill has the Jobs copy what the other cluster has archived. They take longer than it takes to publish that nodes
// follow.
func (w *world) fill(s, of *site) {
	if n := s.published; n.Revision == "" || n.Refused().SupersededBy != "" || of == nil || w.cut(toStore, s) || w.cut(toStore, of) {
		return
	}
	s.claims, s.followed = true, of.own
	s.c.Status.Restore = &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreCompleted, Directory: directory(of.c),
		Replay: &v1alpha1.ReplayStatus{Chain: 1, To: 1}}
	s.version++
	w.say("the first cluster is filled: %d", s.followed)
}

// followsAgain has the first cluster apply what the other one has written.
func (w *world) followsAgain(s *site) {
	of := w.successor(s.c)
	if n := s.nodes[0]; s.emptied && s.claims && of != nil && n.up && n.config.Follow != nil && !w.cut(toStore, s) &&
		!w.cut(toStore, of) {
		s.followed = max(s.followed, of.own)
		n.followed = s.followed
	}
}

// notRejoined is why a first cluster that is to follow its successor does not, though all is well; "" where it does, or
// a condition has why.
func (w *world) notRejoined(s *site) string {
	of := w.successor(s.c)
	switch {
	case !rejoins(s.c) || of == nil || of.gone:
		return ""
	case !s.emptied && !stalled(s):
		return "the first cluster does not follow, and no condition has why"
	case s.emptied && s.c.Superseded() && stalled(s) && strings.Contains(s.c.Status.Reseed.Message, "create it anew"):
		w.seen["rolledBackRejoin"]++ // what it knew was restored from before it was emptied
		return ""
	case s.emptied && (!s.claims || s.followed != of.own || !s.c.Follows()):
		return fmt.Sprintf("the first cluster has %d of %d that the one has written which has taken over", s.followed, of.own)
	}
	w.seen["rejoined"] += count(s.emptied)
	return ""
}

// TestRejoin: a first cluster that lacks nothing is emptied, and has in the end what the one has written that has taken
// over.
func TestRejoin(t *testing.T) {
	w := play(t, shipped(), join(taken, again))
	if first := w.sites[0]; w.broken != "" || w.seen["emptied"] != 1 || w.seen["rejoined"] == 0 || first.followed == 0 {
		t.Errorf("%s: emptied %d times, has %d\n%s", w.broken, w.seen["emptied"], first.followed,
			strings.Join(w.trace, "\n"))
	}
}

// TestTakenByAnEarlierRelease: a change of sites that an earlier release has recorded ends. What the second site lacks
// is counted by the line of history that is recorded; where there is none, nothing is removed, and that is reported.
func TestTakenByAnEarlierRelease(t *testing.T) {
	const byLines, byNothing = v1alpha1.CountedByLines, v1alpha1.CountedByNothing
	without, with := []event{{doBefore, 0, 0}}, []event{{doBefore, 0, 1}}
	for name, tc := range map[string]struct {
		of      schedule
		by      string
		surplus int64
		says    string // "" where it is emptied
	}{
		"nothing was lost":                     {join(with, taken), byLines, 0, ""},
		"some was lost":                        {join(with, streamed, recovered, taken), byLines, 1, "lacks 1 transaction"},
		"nothing was lost, and it has no line": {join(without, taken), byNothing, -1, "create it anew"},
		"some was lost, and it has no line":    {join(without, streamed, recovered, taken), byNothing, -1, "create it anew"},
	} {
		w := play(t, shipped(), tc.of)
		first, second := w.sites[0], w.sites[1]
		by, s := first.c.Status.Superseded, first.c.Status.SwitchSite
		if w.broken != "" || !second.accepts() || !w.planned || by == nil || s.Phase != v1alpha1.SwitchTaken ||
			by.CountedBy != tc.by || (by.Surplus == nil) != (tc.surplus < 0) || by.Surplus != nil && *by.Surplus != tc.surplus {
			t.Errorf("%s: %s: %+v, %+v\n%s", name, w.broken, by, s, strings.Join(w.trace, "\n"))
			continue
		}
		w.asksToFollow(first) // as the API of an earlier release admits it
		for range 9 {
			w.round(time.Second)
		}
		r := first.c.Status.Reseed
		if w.check(); w.broken != "" || first.emptied != (tc.says == "") || r == nil ||
			!strings.Contains(r.Message, tc.says) || tc.says != "" && !stalled(first) {
			t.Errorf("%s: %s: emptied %v, %+v\n%s", name, w.broken, first.emptied, r, strings.Join(w.trace, "\n"))
		}
	}
}

package sites

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/status"
)

// truth is what no part of the world knows as a whole.
type truth struct {
	// held reports whether the lease of the first cluster protects it: from when it is Held until the operator has ended
	// it, or what is known of it was lost together. taken reports whether another cluster had taken over when it was
	// turned off last: then it is not to be ended.
	held, taken bool
	// recreated reports whether the first cluster was created again: it has another directory in the store.
	recreated bool
	// opened are the sites that have taken over, planned reports whether one has done so without loss.
	opened  []*site
	planned bool
	// byReadOnlyAdmin are the transactions of accounts with READ ONLY ADMIN, which no node refuses. A planned change may
	// lose these; they are counted.
	byReadOnlyAdmin []uint64
	// reported is the promotion because of which all nodes of the first cluster were read to refuse writes, "" for none.
	reported string
}

// coverage is how often something has happened in schedules.
type coverage map[string]int

// situations are what schedules have to come to.
var situations = []string{"planned", "unplanned", "waited", "superseded", "surplus", "withdrawn", "expired",
	"overruled", "emptied", "rejoined", "lostTo", "lost", "rolledBack",
	"recovered", "recreated", "restored", "independentAgain", "renewed", "turnedOff", "killed",
	"unknown", "forbidden"}

// leaseBecomes is called when the operator has written another state of the lease. One that was turned off does not
// protect from those that have taken over since.
func (w *world) leaseBecomes(c *cluster) {
	w.say("the lease is %q", c.Status.WriteLease)
	switch c.Status.WriteLease {
	case v1alpha1.WriteLeaseHeld:
		w.held = true
	case v1alpha1.WriteLeaseEnding, "":
		w.seen["turnedOff"]++
		w.held = w.held && w.taken
	}
}

// unprotected notes that nothing shows any more that there is a lease (docs/sites.md), or that a person has removed it,
// as a status shows that was rolled back.
func (t *truth) unprotected(s *site) {
	c := s.c
	none := c.Status.WriteLease == "" || c.Status.WriteLease == v1alpha1.WriteLeaseEnding
	removed := !c.Spec.Backup.PointInTime.WriteLease && none && c.Status.Identity != ""
	if !rejoins(c) && (t.recreated || removed || c.Status.WriteLease == "" && !s.published.Lease) {
		t.held = false
	}
}

// check is called after each event.
func (w *world) check() {
	first := w.sites[0]
	recorded := 0
	for _, s := range w.sites[1:] {
		if s.gone || !s.accepts() || w.broken != "" {
			continue
		}
		if to := s.c.Spec.Cutover; to == nil {
			w.broken = s.c.Namespace + " accepts writes, and has no spec.cutover"
			return
		}
		if !slices.Contains(w.opened, s) {
			w.takesOver(s)
		}
		if !unrecorded(s) {
			recorded++
		}
	}
	if c := first.c; c.Superseded() && !slices.ContainsFunc(first.nodes, func(n *node) bool {
		return n.accepts() || n.config.Refused().SupersededBy == ""
	}) {
		w.reported = c.Status.Superseded.ID
	}
	switch {
	case w.broken != "":
	case w.reported != "" && first.accepts() && !w.recreated:
		w.broken = "the first cluster has refused writes because of " + w.reported + ", and accepts them again"
	case recorded == 0:
	case recorded > 1:
		w.broken = "two clusters that follow the first one accept writes"
	case !first.accepts():
	case w.planned:
		w.broken = "both sites accept writes after a planned change"
	case w.held:
		w.broken = "both sites accept writes, and the first one has a lease"
	}
}

// takesOver is called when a site accepts its first write.
func (w *world) takesOver(s *site) {
	to, lost := s.c.Spec.Cutover, w.lacks(s)
	w.opened = append(w.opened, s)
	w.say("%s accepts writes, and lacks %d", s.c.Namespace, lost)
	if unrecorded(s) {
		return
	}
	if to.Token == nil {
		w.seen["unplanned"]++
		return
	}
	w.planned = true
	w.seen["planned"]++
	if lost = w.lacksOfClients(s); lost > 0 && !w.before {
		w.broken = fmt.Sprintf("a planned change has lost %d transactions of clients", lost)
	}
}

// settle is a calm time that is long enough for everything, at first with settings that are refused.
func (w *world) settle() {
	w.calm()
	if w.broken == "" && slices.ContainsFunc(w.living(), refused) {
		var shut []*site
		if w.broken, shut = w.heldBack(); w.broken == "" {
			w.correct()
			w.calm()
		}
		if i := slices.IndexFunc(shut, (*site).accepts); i >= 0 && w.broken == "" {
			w.broken = shut[i].c.Namespace + " takes over with settings that are corrected alone"
		}
	}
	if w.broken == "" {
		w.broken = w.unsettled()
	}
}

// calm lasts before and after eleven minutes, until nothing happens for longer than a lease lasts.
func (w *world) calm() {
	for _, pause := range []time.Duration{0, 11 * time.Minute} {
		w.heal()
		w.advance(pause)
		for quiet, rounds := 0, 0; quiet < 6 && rounds < 40; rounds++ {
			before := len(w.trace)
			w.round(7 * time.Second)
			if w.check(); w.broken != "" {
				return
			}
			if quiet++; len(w.trace) > before {
				quiet = 0
			}
		}
	}
}

// unsettled is what is wrong though all is well, "" for nothing.
func (w *world) unsettled() string {
	first, open := w.sites[0], 0
	for _, s := range w.living() {
		if s.accepts() {
			open++
		}
		if s != first {
			if why := w.undone(s); why != "" {
				return why
			}
		}
		for _, n := range s.nodes {
			if n.accepts() != s.nodes[0].accepts() {
				return fmt.Sprintf("only some nodes of %s accept writes", s.c.Namespace)
			}
		}
	}
	if why := w.uncounted(); why != "" {
		return why
	}
	if why := w.notRejoined(first); why != "" {
		return why
	}
	st, c := first.c.Status.SwitchSite, first.c
	if st != nil {
		w.seen["withdrawn"] += count(st.Phase == v1alpha1.SwitchTakenBack && st.Message == "")
		w.seen["expired"] += count(st.Phase == v1alpha1.SwitchExpired)
	}
	switch {
	case open == 0 && !slices.ContainsFunc(w.living(), stalled):
		return "no site accepts writes, and no condition has what a person is to do"
	case c.Switching() && !strings.Contains(st.Message, "kubectl patch"):
		return "the change of sites does not end: " + st.Phase + ": " + st.Message
	case c.Superseded() && !stalled(first):
		return "the first cluster is superseded, and not Stalled"
	case c.Refuses() && first.accepts():
		return "the first cluster is to refuse writes, and accepts them"
	case !c.Refuses() && !c.Follows() && !first.accepts():
		return fmt.Sprintf("the first cluster does not accept writes: lease %q", c.Status.WriteLease)
	case c.WantsWriteLease() && first.accepts() && !w.recreated && c.Status.WriteLease != v1alpha1.WriteLeaseHeld:
		return fmt.Sprintf("the lease is %q", c.Status.WriteLease)
	case !c.WantsWriteLease() && first.accepts() && !w.recreated && c.Status.WriteLease != "":
		return fmt.Sprintf("the lease is turned off, and is %q", c.Status.WriteLease)
	}
	return ""
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// uncounted is why writes are dropped silently, "" where none are.
func (w *world) uncounted() string {
	first := w.sites[0]
	of := first.c.Status.Superseded
	for _, s := range w.opened {
		if s.gone || unrecorded(s) || w.recreated || first.emptied {
			continue
		}
		if !rejoins(first.c) && first.c.Follows() && stalled(first) { // it accepts no writes, and reads no records
			continue
		}
		lost := int64(w.lacks(s))
		switch {
		case of == nil && status.ReplacedUnknown(first.c) != "" && w.successor(first.c) == s && stalled(first):
			continue
		case of == nil || !first.c.Superseded():
			return fmt.Sprintf("%s has taken over, and the first cluster does not report it", s.c.Namespace)
		case of.UID != string(s.c.UID):
			return fmt.Sprintf("%s has taken over, and %s is reported", s.c.Namespace, of.UID)
		case of.CountedBy == v1alpha1.CountedByNothing && w.before && stalled(first): // a person is to compare the two
			continue
		case of.Surplus == nil || *of.Surplus < lost:
			return fmt.Sprintf("%d transactions are lost, and not all are counted", lost)
		}
		w.seen["superseded"]++
		w.seen["surplus"] += count(lost > 0)
	}
	return ""
}

// undone is why a site that is to take over does not, "" where it does, or a condition has it.
func (w *world) undone(s *site) string {
	c := s.c
	if p := c.Status.Replication; p != nil && p.Promotion != nil && p.Promotion.LostTo != "" {
		w.seen["lostTo"]++
	}
	if c.Spec.Cutover == nil || s.accepts() || stalled(s) {
		return ""
	}
	return fmt.Sprintf("%s does not take over, and no condition has why: %+v", c.Namespace, c.Status.Replication)
}

// stalled reports whether a condition has what a person is to do.
func stalled(s *site) bool {
	return meta.IsStatusConditionTrue(s.c.Status.Conditions, v1alpha1.ConditionStalled)
}

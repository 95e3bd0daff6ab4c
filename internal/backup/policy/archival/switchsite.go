package archival

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
)

const (
	// settleTime is for how long all nodes have to end alike: a statement that changes tables, and waits for its turn, is
	// not refused any more.
	settleTime = time.Second
	// stopTime is for how long nodes refuse writes before that is taken back.
	stopTime = 10 * time.Minute
)

const voiding = "the store is to have it recorded that the token is void"

// Urgent reports whether clients wait for what nodes, or the store, are about to answer.
func Urgent(s *v1alpha1.SwitchSiteStatus) bool {
	return s != nil && (s.Phase == v1alpha1.SwitchStopping || s.Phase == v1alpha1.SwitchWithdrawing &&
		s.Message == voiding)
}

// SwitchSite brings status.switchSite up to date, after Supersede. It is pure. Each step is written down before
// anything is done for it: nodes refuse writes because of the status, and the archiver makes a token void because of
// it. A token that was given once is taken back only by the store: the other cluster may have used it.
func SwitchSite(c *v1alpha1.GaleraCluster, f Facts) {
	s := c.Status.SwitchSite
	gone := s != nil && (!v1alpha1.OwnSwitch(c) || c.Spec.SwitchSite.To != s.To)
	switch {
	case s == nil || s.Phase == v1alpha1.SwitchTakenBack:
		beginSwitch(c, f)
	case s.Phase == v1alpha1.SwitchExpired:
		if gone {
			s.Phase, s.Message = v1alpha1.SwitchTakenBack, ""
		}
	case s.Phase == v1alpha1.SwitchTaken:
		s.Ends, s.EndsGeneration, s.Message = "", 0, ""
		switch {
		case v1alpha1.Rejoins(c):
			ended(s, f, c.Status.Superseded.ID)
		case c.Spec.SwitchSite == nil && !c.Superseded(): // a person has overruled it, or the cluster has followed since
			s.Phase, s.Token = v1alpha1.SwitchTakenBack, nil
		}
	case c.Superseded() && (s.Token == nil || f.decided(s)): // what another store has recorded leaves a token as it is
		s.Phase, s.Message = v1alpha1.SwitchTaken, ""
	case s.Token != nil && f.readIn(s) &&
		f.Archived.Withdrawn == uint64(s.Token.Number): //nolint:gosec // records are counted from one on
		s.Phase, s.Token, s.Message = v1alpha1.SwitchTakenBack, nil, ""
		if !gone && f.late(s) { // it would be begun again
			s.Phase, s.Message = v1alpha1.SwitchExpired, "the other cluster has not taken over with the token"
		}
	case s.Phase == v1alpha1.SwitchWithdrawing:
		withdraw(c, f)
	case gone && s.Token == nil: // no one can take over
		s.Phase, s.Message = v1alpha1.SwitchTakenBack, ""
	case gone, s.Token != nil && f.late(s): // the command may have been killed
		s.Phase = v1alpha1.SwitchWithdrawing
		withdraw(c, f)
	case s.Token == nil:
		stopped(c, f)
	}
}

// ended reports with which transaction all nodes end, and the archive, of a cluster that is to follow another one,
// while the store has it that this one has taken over.
func ended(s *v1alpha1.SwitchSiteStatus, f Facts, by string) {
	if s.Message = cmp.Or(f.moved(s), f.unread()); s.Message != "" {
		return
	}
	if p := f.Archived.Promotion; p == nil || p.ID() != by {
		s.Message = "the store does not have it recorded any more that the other cluster has taken over (" + by + ")"
		return
	}
	last, why := lastOf(f, s.Number)
	if s.Message = why; why == "" {
		s.Ends, s.EndsGeneration = last.String(), f.Cluster.Generation
	}
}

// beginSwitch begins an attempt. The archiver has to answer, as what makes it possible to take it back.
func beginSwitch(c *v1alpha1.GaleraCluster, f Facts) {
	asked := c.Spec.SwitchSite
	if asked == nil || c.Status.Superseded != nil {
		if before := c.Status.SwitchSite; before != nil {
			before.Message = ""
		}
		return
	}
	// the number is none that was used before the status was lost: nodes may still report that
	next := &v1alpha1.SwitchSiteStatus{Number: f.Now.Unix(), To: asked.To, Phase: v1alpha1.SwitchTakenBack}
	before := c.Status.SwitchSite
	if before != nil {
		next.Number = max(next.Number, before.Number+1)
	}
	switch why := f.unread(); {
	case !v1alpha1.OwnSwitch(c):
		next.Message = fmt.Sprintf("it is that of another cluster, which has had the same manifest, or of before this one "+
			"has begun anew to follow another one: its uid is %q, and would have to be %s", asked.UID, v1alpha1.RequestUID(c))
	case f.Store == nil || f.Store.Spec.SingleWriter:
		next.Message = "the archive's store has to be there, and to create objects conditionally (spec.singleWriter: " +
			"false): both clusters could take over otherwise"
	case why != "":
		next.Message = why
	default:
		next.Phase = v1alpha1.SwitchStopping
		next.StartedAt, next.Location = new(metav1.NewTime(f.Now)), new(location.Of(f.Store))
		next.From = string(c.UID)
	}
	// One that has begun has a number of its own: a status from before it shows that it is an earlier one.
	if next.Phase == v1alpha1.SwitchTakenBack && before != nil && before.Message != "" {
		next.Number = before.Number
	}
	c.Status.SwitchSite = next
}

// unread is why the archiver does not know the store that there is now, or has archived nothing, "" where it has.
func (f Facts) unread() string {
	why := f.unanswered()
	if a := f.Archived; why == "" && (a.GTID == "" || a.Checksum == "") {
		why = "the archiver has archived nothing yet"
	}
	return why
}

// unanswered is why it is not known what the store has recorded, "" where it is.
func (f Facts) unanswered() string {
	const has = "the archiver has to have read the store, "
	switch a := f.Archived; {
	case a == nil && f.Problem.Message != "":
		return has + "and does not run: " + f.Problem.Message
	case a == nil:
		return has + "and does not answer: " + f.Silent
	case f.Store == nil || a.Place != location.Annotation(f.Store):
		return has + "and still uses another one, or is of an earlier release: it is about to be replaced"
	case a.Next == 0:
		return has + "and has not yet: the message of PointInTimeRecoverable has what keeps it from that"
	}
	return ""
}

// readIn reports whether the archiver answers for the store of an attempt.
func (f Facts) readIn(s *v1alpha1.SwitchSiteStatus) bool {
	return f.Archived != nil && s.Location != nil && f.Archived.Place == location.Text(*s.Location)
}

// decided reports whether the store of an attempt has the record that its token stands for, of whomever.
func (f Facts) decided(s *v1alpha1.SwitchSiteStatus) bool {
	return f.readIn(s) && f.Archived.Next > uint64(s.Token.Number) //nolint:gosec // records are counted from one on
}

// moved is why the store of an attempt cannot be used, "" where it is the one that there is.
func (f Facts) moved(s *v1alpha1.SwitchSiteStatus) string {
	switch {
	case f.Store == nil:
		return "the GaleraBackupStore of spec.backup.storeRef is not there: create it"
	case s.Location != nil && *s.Location != location.Of(f.Store):
		return fmt.Sprintf("the GaleraBackupStore %s names %s now, and the other cluster may take over with what is in %s: "+
			"set it back", f.Store.Name, location.Describe(location.Of(f.Store)), location.Describe(*s.Location))
	}
	return ""
}

// late reports whether nodes have refused writes for an attempt for too long.
func (f Facts) late(s *v1alpha1.SwitchSiteStatus) bool {
	return s.StartedAt != nil && f.Now.Sub(s.StartedAt.Time) > stopTime
}

// withdraw has a token made void. Where it is not known which one was given, because the status was lost, the next
// record is the only one that it can be used with. The identity shows that the resource was created again only where
// nothing else is known: that of a cluster that has rejoined is no UID.
func withdraw(c *v1alpha1.GaleraCluster, f Facts) {
	s := c.Status.SwitchSite
	if id := cmp.Or(s.From, c.Status.Identity); s.Token == nil && id != "" && id != string(c.UID) {
		s.Message = "this resource was created again, and a token may have been given for the archive of the one before, " +
			"with the uid " + id + ". " + ByHand(c)
		return
	}
	why := cmp.Or(f.moved(s), f.unanswered(), f.Problem.Message) // with a problem the archiver stays as it is
	switch {
	case why != "":
	case s.Token != nil:
		why = f.Archived.Unrecorded
	default:
		if why = f.unread(); why == "" {
			s.Location = new(location.Of(f.Store))
			s.Token = f.token(c, f.Archived.GTID, string(c.UID))
		}
	}
	if s.Message = cmp.Or(why, voiding); why != "" && (s.StartedAt == nil || f.late(s)) {
		lost := ". Where the store is lost for good"
		if s.Token == nil {
			lost += ", or has never had anything of this cluster"
		}
		s.Message += lost + ": " + ByHand(c)
	}
}

// ByHand returns how a person has nodes accept writes again where no store decides.
func ByHand(c *v1alpha1.GaleraCluster) string {
	return fmt.Sprintf("Make sure that no cluster takes over with the token, or has (remove spec.cutover there, or "+
		"delete that cluster), then: kubectl patch galeracluster %s -n %s --subresource=status --type=merge -p "+
		`'{"status":{"switchSite":{"phase":"TakenBack","token":null,"message":null}}}'`, c.Name, c.Namespace)
}

// token is the one for a cluster.
func (f Facts) token(c *v1alpha1.GaleraCluster, gtid, to string) *v1alpha1.SwitchToken {
	a := f.Archived
	return &v1alpha1.SwitchToken{Number: int64(a.Next), Segment: int64(a.Segment), //nolint:gosec // counted from one on
		Checksum: a.Checksum, GTID: gtid, From: string(c.UID), To: to}
}

// stopped gives the token once all nodes end with the same transaction, and the archive with that, too.
func stopped(c *v1alpha1.GaleraCluster, f Facts) {
	s := c.Status.SwitchSite
	if s.Message = cmp.Or(f.moved(s), f.unread()); s.Message == "" {
		last, why := lastOf(f, s.Number)
		if s.Message = why; why == "" {
			s.Phase = v1alpha1.SwitchOffered
			s.Token = f.token(c, last.String(), s.To.UID)
			return
		}
	}
	if f.late(s) {
		s.Phase = v1alpha1.SwitchExpired
	}
}

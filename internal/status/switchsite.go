package status

import (
	"fmt"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// switchingSite reports a cluster that accepts no writes so that another site can take over, or cannot begin with it.
func switchingSite(in Input) *validate.Problem {
	c := in.cluster()
	s := c.Status.SwitchSite
	if s == nil {
		return nil
	}
	back := fmt.Sprintf("kubectl patch galeracluster %s -n %s --type=merge -p '{\"spec\":{\"switchSite\":null}}'", c.Name,
		c.Namespace)
	to := "another cluster"
	if s.To.UID != "" {
		to = fmt.Sprintf("%s/%s (uid %s)", s.To.Namespace, s.To.Name, s.To.UID)
	}
	text, waits := fmt.Sprintf("all nodes refuse the writes of clients, so that %s can take over", to), ""
	if s.Message != "" {
		waits = "; " + s.Message
	}
	switch {
	case s.Phase == v1alpha1.SwitchTakenBack && s.Message != "" && c.Spec.SwitchSite != nil:
		return blocking(v1alpha1.ReasonSwitchingSite, "nodes go on accepting writes, and spec.switchSite is not begun: "+
			s.Message+". To take it back: "+back)
	case s.Phase == v1alpha1.SwitchExpired:
		return blocking(v1alpha1.ReasonSwitchingSite, "nodes accept writes again, as spec.switchSite could not be done "+
			"within ten minutes: "+s.Message+". Before it is tried again: "+back)
	case !c.Switching():
		return nil
	case !c.ArchivesBinlog() || c.Spec.Hibernate:
		return blocking(v1alpha1.ReasonSwitchingSite, text+waits+". Only the archiver can go on with it, or take it back: "+
			"enable spec.backup.pointInTime, and end the hibernation")
	case c.Follows(): // nothing else is done for it
		return blocking(v1alpha1.ReasonSwitchingSite, fmt.Sprintf("%s%s. It does not end by itself: this cluster is taken "+
			"for one that follows %s, as status.replication was lost. %s", text, waits, c.FollowedName(), archival.ByHand(c)))
	case s.Phase == v1alpha1.SwitchWithdrawing:
		return blocking(v1alpha1.ReasonSwitchingSite, text+". They accept them again once the token is void, unless the "+
			"other cluster is recorded first"+waits)
	case s.Phase == v1alpha1.SwitchOffered && s.Token != nil:
		return blocking(v1alpha1.ReasonSwitchingSite, fmt.Sprintf("%s%s. The archive has everything up to %s. This ends "+
			"when the other cluster has taken over with status.switchSite.token, or when you take it back: %s", text, waits,
			s.Token.GTID, back))
	}
	return blocking(v1alpha1.ReasonSwitchingSite, text+waits+". To take it back: "+back)
}

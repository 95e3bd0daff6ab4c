package status

import (
	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// recoverable is True when the archive of the binary log goes on from a backup, and keeps up
// (controllers/galeracluster/archiving judges that).
func recoverable(c *v1alpha1.GaleraCluster) condition {
	s := c.Status.Backup
	switch {
	case c.Follows():
		return no(v1alpha1.ReasonCuttingOver, "the archive begins when the cluster is independent of "+c.FollowedName()+
			" (status.replication.role)")
	case s == nil || s.Reason == "":
		return no(v1alpha1.ReasonArchiverStarting, "the archiver is about to start")
	case s.Reason == v1alpha1.ReasonArchiving, s.Reason == v1alpha1.ReasonPruningPaused:
		return yes(s.Reason, s.Message)
	}
	return no(s.Reason, s.Message)
}

package related

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// archive judges the archive of the binary log; nil if none is wanted.
func archive(c *v1alpha1.GaleraCluster, o Objects) *Area {
	if !c.ArchivesBinlog() {
		return nil
	}
	var found []Finding
	name := c.Spec.Backup.StoreRef.Name
	if !slices.Contains(usedByBackups(o, latestFirst(o.Backups)), name) { // else it stands with the backups
		found = stores(c, o, []string{name})
	}
	able := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionPointInTimeRecoverable)
	switch {
	case able == nil:
		found = append(found, about("GaleraCluster", c, Waiting, v1alpha1.ReasonArchiverStarting,
			"the operator has not reported yet whether the archive keeps up"))
	case able.Status != metav1.ConditionTrue:
		found = append(found, behind(c, *able))
	}
	return area(found, o.unread(store))
}

// behind explains why not every point in time can be restored.
func behind(c *v1alpha1.GaleraCluster, able metav1.Condition) Finding {
	f := about("GaleraCluster", c, Failing, able.Reason, able.Message)
	switch able.Reason {
	case v1alpha1.ReasonArchiverStarting, v1alpha1.ReasonBaseMissing, v1alpha1.ReasonChecking:
		f.State = Waiting
	case v1alpha1.ReasonArchiverFailing, v1alpha1.ReasonArchiveLags:
		f.Command = fmt.Sprintf("kubectl logs deployment/%s-archiver -n %s --tail=20", c.Name, c.Namespace)
	case v1alpha1.ReasonArchiveGap:
		f.Do, f.Command = "It ends with the next backup", fmt.Sprintf("kubectl galera backups %s -n %s", c.Name, c.Namespace)
	default:
		f.Command = fmt.Sprintf("kubectl describe galerabackupstore %s -n %s", c.Spec.Backup.StoreRef.Name, c.Namespace)
	}
	return f
}

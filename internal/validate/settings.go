package validate

import (
	"fmt"
	"slices"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/mycnf"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// Settings reports a forbidden setting in spec.mariadb.config, nil when there is none. published is the
// configuration that the nodes have.
func Settings(c *v1alpha1.GaleraCluster, published agentapi.NodeConfig) *Problem {
	keys := make([]string, 0, len(c.Spec.MariaDB.Config))
	for k := range c.Spec.MariaDB.Config {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if p := forbidden(c, k); p != nil {
			return p
		}
	}
	return keptFromCreation(c, published)
}

// WithoutForbidden returns the cluster without the settings in spec.mariadb.config that are forbidden.
func WithoutForbidden(c *v1alpha1.GaleraCluster) *v1alpha1.GaleraCluster {
	c = c.DeepCopy()
	for k := range c.Spec.MariaDB.Config {
		if forbidden(c, k) != nil {
			delete(c.Spec.MariaDB.Config, k)
		}
	}
	return c
}

// forbidden reports a setting in spec.mariadb.config that is.
func forbidden(c *v1alpha1.GaleraCluster, k string) *Problem {
	if c.ArchivesBinlog() && archives(k) {
		return blocked(v1alpha1.ReasonForbiddenSetting,
			fmt.Sprintf(
				"spec.mariadb.config must not contain %q while spec.backup.pointInTime is enabled: the archive needs the value "+
					"the operator sets. "+
					"Remove it; until then the last accepted configuration stays in force", k))
	}
	value := c.Spec.MariaDB.Config[k]
	if why := mycnf.Refused(k, value.String()); why != "" {
		return blocked(v1alpha1.ReasonForbiddenSetting,
			fmt.Sprintf("spec.mariadb.config must not contain %q: %s. %s", k, why, remove))
	}
	return nil
}

// remove is the advice for a setting that is refused.
const remove = "Remove it, or correct it; until then the last accepted configuration stays in force"

// keptFromCreation reports a setting that the nodes' data directories were created with, and that cannot change any
// more.
func keptFromCreation(c *v1alpha1.GaleraCluster, published agentapi.NodeConfig) *Problem {
	if c.Status.ClusterUUID == "" || published.Revision == "" || !hasRun(c) {
		return nil // there is no database yet, or nothing is known of it
	}
	kept := mycnf.Unchangeable(published.Settings, resources.Settings(c))
	if kept == nil {
		return nil
	}
	return blocked(v1alpha1.ReasonForbiddenSetting, fmt.Sprintf(
		"spec.mariadb.config must not change %s, which is %q: a data directory keeps the value that it was created with. "+
			"Set it back; until then the last "+
			"accepted configuration stays in force. To change it, create a new cluster with another value, and "+
			"copy the data with mariadb-dump", kept.Name, kept.Value))
}

// hasRun reports whether nodes were seen to run with settings that were published for this cluster. Until then those
// may lack what the volumes of an earlier cluster were created with, and can be corrected.
func hasRun(c *v1alpha1.GaleraCluster) bool {
	return c.Status.AppliedGeneration > 0 || c.Status.LastOperation != nil
}

// archives reports whether the archive of the binary log needs the operator's value of a setting.
func archives(key string) bool {
	for own := range resources.BinlogSettings() {
		if mycnf.Normalise(own) == mycnf.Normalise(key) {
			return true
		}
	}
	return slices.ContainsFunc(resources.BinlogRefused(),
		func(own string) bool { return mycnf.Normalise(own) == mycnf.Normalise(key) })
}

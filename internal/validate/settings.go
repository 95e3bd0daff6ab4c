package validate

import (
	"fmt"
	"slices"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/mycnf"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// Settings reports a forbidden setting in spec.mariadb.config, nil when there is none.
func Settings(c *v1alpha1.GaleraCluster) *Problem {
	keys := make([]string, 0, len(c.Spec.MariaDB.Config))
	for k := range c.Spec.MariaDB.Config {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if c.ArchivesBinlog() && archives(k) {
			return &Problem{v1alpha1.ReasonForbiddenSetting,
				fmt.Sprintf("spec.mariadb.config must not contain %q while spec.backup.pointInTime is enabled: the archive needs the value the operator sets. "+
					"Remove it; until then the last accepted configuration stays in force", k), true}
		}
		if why, bad := mycnf.ForbiddenSetting(k); bad {
			return &Problem{v1alpha1.ReasonForbiddenSetting,
				fmt.Sprintf("spec.mariadb.config must not contain %q: %s. Remove it; until then the last accepted configuration stays in force", k, why), true}
		}
		if value := c.Spec.MariaDB.Config[k]; mycnf.CheckSetting(k, value.String()) != nil {
			return &Problem{v1alpha1.ReasonForbiddenSetting,
				fmt.Sprintf("the value of %q in spec.mariadb.config contains line breaks or other control characters, which an option file cannot hold. "+
					"Remove them; until then the last accepted configuration stays in force", k), true}
		}
	}
	return nil
}

// archives says that the archive of the binary log needs the operator's value of a setting.
func archives(key string) bool {
	for own := range resources.BinlogSettings() {
		if mycnf.Normalise(own) == mycnf.Normalise(key) {
			return true
		}
	}
	return slices.ContainsFunc(resources.BinlogRefused(), func(own string) bool { return mycnf.Normalise(own) == mycnf.Normalise(key) })
}

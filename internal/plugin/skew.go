package plugin

import (
	"fmt"

	"golang.org/x/mod/semver"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// skew reports whether a plugin is of an earlier or later minor release than the latest agent of a cluster, "" when it
// is of the same one, or it is not known. Agents are replaced by their operator's, so the latest reports the operator's
// release. It is pure.
func skew(plugin string, c *v1alpha1.GaleraCluster) string {
	latest := ""
	for _, m := range c.Status.Members {
		if m.Agent != nil && semver.IsValid(m.Agent.Version) &&
			(latest == "" || semver.Compare(m.Agent.Version, latest) > 0) {
			latest = m.Agent.Version
		}
	}
	if latest == "" || !semver.IsValid(plugin) {
		return ""
	}
	switch semver.Compare(semver.MajorMinor(plugin), semver.MajorMinor(latest)) {
	case -1:
		return fmt.Sprintf(
			"this plugin (%s) is older than the operator (%s): it does not show what came later. Install the plugin of that "+
				"release", plugin, latest)
	case 1:
		return fmt.Sprintf("this plugin (%s) is newer than the operator (%s): the operator does not know all it asks for",
			plugin, latest)
	}
	return ""
}

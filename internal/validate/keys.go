package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/atrest"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// Keys returns what is wrong with the Secret of the encryption keys, or what is waited for; nil when nothing is. While
// it returns a problem, nothing is published that would restart a node.
func Keys(f observe.Facts) *Problem {
	c := f.Cluster
	if c.AtRest() == nil && !c.NodesHaveKeys() && !observe.KeysForgotten(f) {
		return nil
	}
	needed, name := resources.NeededKeys(c), resources.KeysSecretName(c)
	switch {
	case f.Keys == nil && needed != nil:
		return otherAlgorithm(c) // the keys could not be read now
	case f.Keys == nil:
		return &Problem{Reason: v1alpha1.ReasonKeysPending, Message: "waiting for the encryption keys to be read"}
	case !f.Keys.Exists && MayMakeKeys(f):
		return &Problem{Reason: v1alpha1.ReasonKeysPending, Message: "the encryption keys are being made"}
	case !f.Keys.Exists && needed == nil && len(f.Claims) > 0 && c.Status.ClusterUUID == "":
		return blocked(v1alpha1.ReasonKeysMissing, fmt.Sprintf(
			"the Secret %q with the encryption keys does not exist, and the volumes of an earlier cluster of this name may "+
				"need its keys: create it from your copy of it, or delete the claims %s if their data are not needed", name,
			strings.Join(slices.Sorted(maps.Keys(f.Claims)), ", ")))
	case !f.Keys.Exists && needed == nil:
		return blocked(v1alpha1.ReasonKeysMissing, fmt.Sprintf(
			"the Secret %q with the encryption keys does not exist: create it, from your copy of it if there is data", name))
	case !f.Keys.Exists:
		return blocked(v1alpha1.ReasonKeysMissing, fmt.Sprintf(
			"the Secret %q with the encryption keys was deleted: create it again from your copy. The nodes continue, and "+
				"none is restarted: a new pod could not read its data", name))
	case f.Keys.Problem != "":
		return blocked(v1alpha1.ReasonKeysRefused, fmt.Sprintf(
			"the encryption keys in the Secret %q cannot be used: %s. Put the former content back; until then no node is "+
				"restarted", name, f.Keys.Problem))
	}
	if needed == nil {
		return &Problem{Reason: v1alpha1.ReasonKeysPending, Message: "the encryption keys are being recorded"}
	}
	if why := atrest.Differ(needed, f.Keys.Fingerprints); why != "" {
		return blocked(v1alpha1.ReasonKeysRefused, fmt.Sprintf(
			"the Secret %q does not have the encryption keys of the data: %s. Put the former content back; until then no "+
				"node is restarted", name, why))
	}
	return otherAlgorithm(c)
}

// otherAlgorithm is what is wrong with an algorithm that the data are not encrypted with.
func otherAlgorithm(c *v1alpha1.GaleraCluster) *Problem {
	if c.AtRest() == nil || !c.NodesHaveKeys() || c.AtRest().Algorithm == "" || c.Status.AtRest.Algorithm == "" ||
		c.AtRest().Algorithm == c.Status.AtRest.Algorithm {
		return nil
	}
	return blocked(v1alpha1.ReasonKeysRefused, fmt.Sprintf(
		"the data are still encrypted with %q: set spec.encryption.atRest.algorithm to it, or remove spec.encryption and "+
			"wait until status.atRest.state is Off", c.Status.AtRest.Algorithm))
}

// MayMakeKeys reports whether new keys may be made for a cluster: nothing can have been encrypted with others. Volumes
// of an earlier cluster can have been, also where the new one begins with a backup: a restore makes its claims only
// once the keys are recorded.
func MayMakeKeys(f observe.Facts) bool {
	c := f.Cluster
	if c.AtRest() == nil || c.AtRest().KeysSecretRef != nil || f.Keys == nil || f.Keys.Exists || c.NodesHaveKeys() {
		return false
	}
	return unborn(f) || inClear(f)
}

// unborn reports whether a cluster has no data, and has never had any.
func unborn(f observe.Facts) bool {
	c := f.Cluster
	return c.Status.ClusterUUID == "" && f.StatefulSet == nil && f.Config == nil && len(f.Claims) == 0
}

// inClear reports whether the nodes of a cluster that has data run without keys.
func inClear(f observe.Facts) bool {
	return f.Cluster.Status.ClusterUUID != "" && f.StatefulSet != nil && resources.MountedKeys(f.StatefulSet) == ""
}

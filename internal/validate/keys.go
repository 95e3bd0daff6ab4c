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
	if c.AtRest() == nil {
		return nil
	}
	recorded, name := resources.RecordedKeys(c), resources.KeysSecretName(c)
	switch {
	case f.Keys == nil && recorded != nil:
		return nil // it could not be read now
	case f.Keys == nil:
		return &Problem{Reason: v1alpha1.ReasonKeysPending, Message: "waiting for the encryption keys to be read"}
	case !f.Keys.Exists && MayMakeKeys(f):
		return &Problem{Reason: v1alpha1.ReasonKeysPending, Message: "the encryption keys are being made"}
	case !f.Keys.Exists && recorded == nil && len(f.Claims) > 0:
		return blocked(v1alpha1.ReasonKeysMissing, fmt.Sprintf(
			"the Secret %q with the encryption keys does not exist, and the volumes of an earlier cluster of this name may "+
				"need its keys: create it from your copy of it, or delete the claims %s if their data are not needed", name,
			strings.Join(slices.Sorted(maps.Keys(f.Claims)), ", ")))
	case !f.Keys.Exists && recorded == nil:
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
	if recorded == nil {
		return &Problem{Reason: v1alpha1.ReasonKeysPending, Message: "the encryption keys are being recorded"}
	}
	if why := atrest.Differ(recorded, f.Keys.Fingerprints); why != "" {
		return blocked(v1alpha1.ReasonKeysRefused, fmt.Sprintf(
			"the Secret %q does not have the encryption keys of the data: %s. Put the former content back; until then no "+
				"node is restarted", name, why))
	}
	return nil
}

// MayMakeKeys reports whether new keys may be made for a cluster: nothing can have been encrypted with others. Volumes
// of an earlier cluster can have been, also where the new one begins with a backup: a restore makes its claims only
// once the keys are recorded.
func MayMakeKeys(f observe.Facts) bool {
	c := f.Cluster
	return c.AtRest() != nil && c.AtRest().KeysSecretRef == nil && f.Keys != nil && !f.Keys.Exists &&
		resources.RecordedKeys(c) == nil && c.Status.ClusterUUID == "" && f.StatefulSet == nil && f.Config == nil &&
		len(f.Claims) == 0
}

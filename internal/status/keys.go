package status

import (
	"fmt"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// memberKeys reports a node without the keys of its data. It comes before the planner's decision, which knows of no
// more than a position that cannot be determined.
func memberKeys(in Input) *validate.Problem {
	for _, m := range in.Snapshot.Members {
		if m.Failure != nil && m.Failure.Reason == agentapi.FailureKeys {
			return failureOf(in, m)
		}
	}
	return nil
}

// keysAdvice describes how a node gets the keys of its data. The cluster of a node that never served is created anew,
// because the keys are recorded before the first server starts.
func keysAdvice(in Input, m galera.Member) string {
	c := in.cluster()
	switch {
	case othersServe(in, m):
		return ". Bring back the right volume or the right keys; or, if its data are not needed, give it an empty volume: " +
			"the node then joins by SST"
	case c.Status.ClusterUUID != "":
		advice := fmt.Sprintf(". Put the keys that the data were encrypted with into the Secret %q",
			resources.KeysSecretName(c))
		if c.AtRest() == nil && !c.NodesHaveKeys() {
			advice += ", and then set spec.encryption.atRest: without it the nodes are given no keys"
		}
		return advice
	}
	keep := ""
	if c.Spec.Storage.PersistentVolumeClaimRetentionPolicy.WhenDeleted == v1alpha1.ClaimDelete {
		keep = "set spec.storage.persistentVolumeClaimRetentionPolicy.whenDeleted to Retain, "
	}
	return fmt.Sprintf(". No node has served yet. To use these data, %sdelete this GaleraCluster, create the Secret %q "+
		"with the keys of the data from your copy, and create the cluster again with spec.encryption.atRest. If the data "+
		"are not needed, delete the claims as well", keep, resources.KeysSecretName(c))
}

package status

import (
	"strings"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// TestKeysAdvice: what to do about encrypted data without their keys never deletes them unasked: a volume is emptied
// where others serve, and a cluster that was created without the keys is created again over its volumes.
func TestKeysAdvice(t *testing.T) {
	alone := func(in *Input) {
		in.Facts.Cluster.Status.ClusterUUID = ""
		for i := range in.Snapshot.Members {
			in.Snapshot.Members[i].Server = nil
		}
	}
	for name, c := range map[string]struct {
		change  func(*Input)
		advises string
		not     string
		empties bool
	}{
		"the others serve": {func(*Input) {}, "an empty volume", "delete this GaleraCluster", true},
		"a history, and none serves": {func(in *Input) { alone(in); in.Facts.Cluster.Status.ClusterUUID = "5b3f" },
			"into the Secret", "delete", false},
		"a history, and no keys": {func(in *Input) { alone(in); in.Facts.Cluster.Status.ClusterUUID = "5b3f" },
			", and then set spec.encryption.atRest", "delete", false},
		"a history, and keys asked for": {func(in *Input) {
			alone(in)
			in.Facts.Cluster.Status.ClusterUUID, in.Facts.Cluster.Spec.Encryption = "5b3f", &v1alpha1.EncryptionSpec{}
		}, "into the Secret", "spec.encryption", false},
		"a history, and the nodes decrypt": {func(in *Input) {
			alone(in)
			in.Facts.Cluster.Status.ClusterUUID = "5b3f"
			in.Facts.Cluster.Status.AtRest = &v1alpha1.AtRestStatus{State: v1alpha1.AtRestDecrypting}
		}, "into the Secret", "spec.encryption", false},
		"created anew": {alone, "To use these data, delete this GaleraCluster, create the Secret", "whenDeleted", false},
		"created anew, and claims go with it": {func(in *Input) {
			alone(in)
			in.Facts.Cluster.Spec.Storage.PersistentVolumeClaimRetentionPolicy.WhenDeleted = v1alpha1.ClaimDelete
		}, "whenDeleted to Retain, delete this GaleraCluster", "data, delete", false},
	} {
		in := healthy()
		c.change(&in)
		in.Snapshot.Members[1].Failure = &galera.Failure{Reason: agentapi.FailureKeys, Message: "no keys"}
		p := memberKeys(in)
		if p == nil || !p.Blocked || p.Reason != v1alpha1.ReasonKeysUnusable || !strings.Contains(p.Message, c.advises) ||
			strings.Contains(p.Message, c.not) || (p.Command != "") != c.empties {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestKeysThatAreNotThereAreNotRecorded: a switch begins with keys that were read, and the nodes are given no others.
func TestKeysThatAreNotThereAreNotRecorded(t *testing.T) {
	for name, keys := range map[string]*observe.Keys{"not read": nil, "missing": {}, "truncated": {Exists: true,
		Problem: "it is truncated"}} {
		in := healthy()
		in.Facts.Cluster.Spec.Encryption = &v1alpha1.EncryptionSpec{}
		in.Facts.Keys = keys
		if got := nextAtRest(in, v1alpha1.AtRestStatus{}); got.State != "" || len(got.Keys) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

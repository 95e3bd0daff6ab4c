package resources

import (
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestLeaseOfNodes: nodes need a lease once the status has it, and never while they follow another cluster.
func TestLeaseOfNodes(t *testing.T) {
	c := shop()
	c.Generation = 4
	c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	of := func() agentapi.NodeConfig { return NodeConfig(c, 3, agentapi.TLSConfig{}, testOptions) }
	before := of()
	rules := len(NetworkPolicy(c, testOptions).Spec.Ingress)
	c.Spec.Backup.PointInTime.WriteLease = true
	if before.Lease || of().Lease {
		t.Error("nodes need one before they have heard of it")
	}
	c.Status.WriteLease = v1alpha1.WriteLeaseStarting
	if n := of(); !n.Lease || n.LeaseUnwanted != 0 || n.Revision == before.Revision {
		t.Error("nodes do not need it")
	}
	ingress := NetworkPolicy(c, testOptions).Spec.Ingress
	last := ingress[len(ingress)-1]
	if len(ingress) != rules+1 || last.From[0].PodSelector.MatchLabels[labelComponent] != ComponentLease ||
		len(last.Ports) != 1 || last.Ports[0].Port.IntVal != agentapi.PeerPort {
		t.Errorf("%+v", ingress)
	}
	c.Spec.Backup.PointInTime.WriteLease = false
	if n := of(); !n.Lease || n.LeaseUnwanted != 4 || len(NetworkPolicy(c, testOptions).Spec.Ingress) != rules+1 {
		t.Error("nodes do not need it any more as soon as it is turned off")
	}
	c.Status.WriteLease = v1alpha1.WriteLeaseEnding
	if n := of(); n.Lease || n.LeaseUnwanted != 0 || len(NetworkPolicy(c, testOptions).Spec.Ingress) != rules+1 {
		t.Error("nodes that have yet to learn that they need it no longer are not reached any more")
	}
	c.Status.WriteLease = ""
	if len(NetworkPolicy(c, testOptions).Spec.Ingress) != rules {
		t.Error("what renewed it is admitted for good")
	}
	c.Status.WriteLease = v1alpha1.WriteLeaseHeld
	c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{}
	if of().Lease {
		t.Error("nodes that follow need it")
	}
}

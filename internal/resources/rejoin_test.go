package resources

import (
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestRejoining: nodes that are to be emptied refuse writes as before, report where they end, and follow nothing. They
// keep the GTID domain that they have followed with. Afterwards they follow.
func TestRejoining(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	c.Name, c.Namespace, c.UID = "shop", "prod", "aaaaaaaa-1"
	c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Replaces: "4-bbbbbbbb"}
	c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	c.Status.Superseded = &v1alpha1.SupersededStatus{ID: "4-bbbbbbbb"}
	c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Number: 7, Phase: v1alpha1.SwitchTaken}
	if n := NodeConfig(c, 1, agentapi.TLSConfig{}, Options{}); !n.Refuse || n.Switching != 7 || n.Follow != nil ||
		ServerID(c) != 0 {
		t.Errorf("%+v", n)
	}
	c.Status.Superseded.ID, c.Status.Reseed = "5-cccccccc", &v1alpha1.ReseedStatus{Request: "4-bbbbbbbb",
		Phase: v1alpha1.ReseedChecking}
	if n := NodeConfig(c, 1, agentapi.TLSConfig{}, Options{}); n.Follow != nil || !n.Refuse || n.Switching != 7 {
		t.Errorf("yet another one has taken over, and it follows, with data of its own: %+v", n)
	}
	c.Status.Superseded.ID, c.Status.Reseed = "4-bbbbbbbb", nil
	c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleIndependent}
	if before := ServerID(c); before == 0 {
		t.Error("it would write in the domain 0")
	}
	before, replica := ServerID(c), c.Spec.ReplicaOf
	c.Spec.ReplicaOf = nil
	if have := ServerID(c); have != before {
		t.Errorf("it was taken back, and the nodes write in another domain: %d instead of %d", have, before)
	}
	c.Spec.ReplicaOf = replica
	c.Status.Superseded, c.Status.Replication, c.Status.Identity = nil, nil, "aaaaaaaa-2"
	if n := NodeConfig(c, 1, agentapi.TLSConfig{}, Options{}); n.Refuse || n.Switching != 0 || n.Follow == nil ||
		n.Follow.Until != "" || ServerID(c) == before {
		t.Errorf("%+v", n)
	}
	c.Spec.ReplicaOf.Replaces, c.Status.Superseded = "", &v1alpha1.SupersededStatus{ID: "4-bbbbbbbb"}
	if n := NodeConfig(c, 1, agentapi.TLSConfig{}, Options{}); !n.Refuse || n.Switching != 0 {
		t.Errorf("it is not to follow: %+v", n)
	}
}

package resources

import (
	"encoding/json"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestWithWrites: what is published while the rest is held back is as NodeConfig has it but for the rest, and keeps its
// revision, which may be an earlier release's, while nothing differs.
func TestWithWrites(t *testing.T) {
	c := shop()
	c.Generation = 4
	c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{}
	c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower}
	c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-7", UID: string(c.UID)} // held for good, until it is recorded
	of := func() agentapi.NodeConfig { return NodeConfig(c, 3, agentapi.TLSConfig{}, testOptions) }
	published := func(n agentapi.NodeConfig) (out agentapi.NodeConfig) {
		if err := json.Unmarshal(mustJSON(n), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	have := published(of())
	have.Revision = "earlier"
	if n := WithWrites(c, have); n.Revision != "earlier" {
		t.Errorf("%+v, %+v", n, n.Follow)
	}
	c.Status.Replication.Promotion = &v1alpha1.PromotionRecord{ID: "1-a", GTID: "0-1-7"}
	n := WithWrites(c, have)
	if n.Follow.Until != "0-1-7" || n.Follow.Hold != "" || n.Revision != of().Revision {
		t.Errorf("%+v, %+v", n, n.Follow)
	}
	if again := WithWrites(c, published(n)); again.Revision != n.Revision {
		t.Errorf("%+v", again)
	}
	c.Status.Identity = "another"
	if n := WithWrites(c, have); n.Revision != "earlier" || n.Follow.Until != "" {
		t.Errorf("%+v, %+v", n, n.Follow)
	}
	if n := WithWrites(c, agentapi.NodeConfig{}); n.Revision != "" {
		t.Errorf("nothing was published: %+v", n)
	}
}

package serving

import (
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestARecordIsNotForgotten: what the store has recorded for this cluster counts, also when the other cluster's archive
// has one more transaction by the time that it is answered.
func TestARecordIsNotForgotten(t *testing.T) {
	w := newWorld(t)
	w.served = &task.Served{Chain: 7}
	w.pass()
	w.c.Status.ClusterUUID, w.c.Status.Restore.Replay.Reached = "u", "0-1-5"
	w.c.Status.Restore.Directory = "prod/shop/b65191a0"
	token := v1alpha1.SwitchToken{Number: 4, GTID: "0-1-9", From: "b65191a0-1", To: string(w.c.UID)}
	w.c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: string(w.c.UID), Token: &token}
	r := w.c.Status.Replication
	r.Applied, r.Archive, r.Promotion = "0-1-9", &v1alpha1.FollowedArchive{GTID: "0-1-10"}, nil
	own := &task.Promotion{Number: 4, Namespace: "site", Name: "shop", UID: string(w.c.UID), GTID: "0-1-9"}
	have := Recorded(w.c, &task.Served{Chain: 7, Promotion: own}, "")
	if have == nil || have.ID != "4-a54080f9" {
		t.Errorf("the record is forgotten: %+v", have)
	}
}

package sites

import (
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/promotion"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// tookOver has the first cluster be one that has taken over from another one, and still names that in its spec; again:
// which that one had taken over from before. Later than as the first event it changes nothing.
func (w *world) tookOver(again bool) {
	first := w.sites[0]
	if w.clock() > began || first.c.Spec.ReplicaOf != nil {
		return
	}
	west := task.Promotion{Namespace: "west", Name: "shop", UID: "ffffffff-1111", GTID: gtid(1)}
	w.edit(first, "have taken over before all of this", func(c *cluster) {
		c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{StoreRef: v1alpha1.LocalName{Name: "offsite"},
			Cluster: v1alpha1.ReplicatedCluster{Namespace: west.Namespace, Name: west.Name}}
		c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleIndependent, AcceptsAfter: gtid(seeded)}
		if again {
			was, err := promotion.Record(w.Context(), w.bucket, store.Create, directory(c), west)
			if err != nil {
				w.Fatal(err)
			}
			c.Spec.ReplicaOf.Replaces, c.Status.Identity = was.ID(), v1alpha1.IdentityAfter(c, was.ID())
			c.Status.Reseed = &v1alpha1.ReseedStatus{Request: was.ID(), Phase: v1alpha1.ReseedCompleted}
		}
		c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: gtid(seeded), UID: c.Status.Identity}
	})
	first.followed = seeded
	for range 3 {
		w.round(time.Second)
	}
}

package api

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestSwitchSiteIsAdmitted: it needs an archive, and names one cluster. A token stays as it is until its record is
// known to be of another cluster, and can be removed while there is none.
func TestSwitchSiteIsAdmitted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const ns = "switch-site"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	to := func(uid string) *v1alpha1.SwitchSiteSpec {
		return &v1alpha1.SwitchSiteSpec{UID: "aaaaaaaa-1", To: v1alpha1.SiteCluster{Namespace: "site", Name: "standby",
			UID: uid}}
	}
	a := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}, Spec: spec()}
	a.Spec.SwitchSite = to("bbbbbbbb-1")
	mustSay(t, kube.Create(ctx, a), "enable spec.backup.pointInTime")
	a.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"},
		PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	must(t, kube.Create(ctx, a))
	change := func(c *v1alpha1.GaleraCluster, f func()) error {
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
		f()
		return kube.Update(ctx, c)
	}
	mustSay(t, change(a, func() { a.Spec.SwitchSite = to("cccccccc-1") }), "remove switchSite first")
	mustSay(t, change(a, func() { a.Spec.Backup = nil }), "enable spec.backup.pointInTime")
	must(t, change(a, func() { a.Spec.SwitchSite = nil }))
	state := func(phase string) {
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(a), a))
		a.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Number: 1, To: to("bbbbbbbb-1").To, Phase: phase,
			Token: &v1alpha1.SwitchToken{Number: 4, GTID: "0-1-9", Segment: 7, Checksum: "checksum-7", From: "aaaaaaaa-1",
				To: "bbbbbbbb-1"}}
		must(t, kube.Status().Update(ctx, a))
	}
	elsewhere := func() { a.Spec.Backup.StoreRef.Name = "elsewhere" }
	state(v1alpha1.SwitchWithdrawing)
	mustSay(t, change(a, elsewhere), "a token was given")
	state(v1alpha1.SwitchTaken)
	must(t, change(a, elsewhere))

	b := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "standby"}, Spec: spec()}
	b.Spec.ReplicaOf = replica()
	token := func(number int64) *v1alpha1.CutoverSpec {
		return &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: "bbbbbbbb-1", Token: &v1alpha1.SwitchToken{Number: number,
			GTID: "0-1-9", Segment: 7, Checksum: "checksum-7", From: "b65191a0-1", To: "bbbbbbbb-1"}}
	}
	must(t, kube.Create(ctx, b))
	record := func(p *v1alpha1.PromotionRecord) {
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(b), b))
		b.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower, Promotion: p}
		must(t, kube.Status().Update(ctx, b))
	}
	remove := func() error { return change(b, func() { b.Spec.Cutover = nil }) }
	wrong := token(4)
	wrong.GTID = "0-1-8"
	mustSay(t, change(b, func() { b.Spec.Cutover = wrong }), "gtid must be the token's")
	must(t, change(b, func() { b.Spec.Cutover = token(4) }))
	mustSay(t, remove(), "cannot be taken back or changed") // its status may be lost
	record(nil)
	must(t, remove())
	must(t, change(b, func() { b.Spec.Cutover = token(4) }))
	record(&v1alpha1.PromotionRecord{ID: "4-bbbbbbbb", GTID: "0-1-9"})
	const taken = "cannot be taken back or changed"
	mustSay(t, remove(), taken)
	mustSay(t, change(b, func() { b.Spec.Cutover.Token.Number = 5 }), taken)
	mustSay(t, change(b, func() { b.Spec.Cutover.Token = nil }), taken)
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(b), b))
	b.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower, AcceptsAfter: "0-1-9"}
	must(t, kube.Status().Update(ctx, b))
	mustSay(t, remove(), taken)
	record(&v1alpha1.PromotionRecord{ID: "4-b65191a0", GTID: "0-1-9", Withdrawn: true})
	must(t, change(b, func() { b.Spec.Cutover = token(5) }))
	must(t, remove())
	must(t, change(b, func() { b.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: "bbbbbbbb-1"} }))
	mustSay(t, remove(), taken)
}

package api

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestFollowIsAdmitted: what does not go with a source that is followed is refused with a reason; a cutover is final,
// and the source stays in the spec until the cluster is independent of it.
func TestFollowIsAdmitted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, tc := range map[string]struct{ with, says string }{
		"follow": {"storage: {size: 1Gi}, bootstrapFrom: {external: {host: db, credentialsSecretRef: {name: s}, insecure: " +
			"true, follow: true}}", ""},
		"databases": {"storage: {size: 1Gi}, bootstrapFrom: {external: {host: db, credentialsSecretRef: {name: s}, " +
			"insecure: true, follow: true, databases: [a]}}",
			"follow takes over all databases"},
		"a name that is not verified": {"storage: {size: 1Gi}, bootstrapFrom: {external: {host: db, credentialsSecretRef: " +
			"{name: s}, tls: {caSecretRef: {name: ca}, verify: CA}, follow: true}}",
			"verified by its name"},
		"alternatives": {"storage: {size: 1Gi}, bootstrapFrom: {external: {host: db, credentialsSecretRef: {name: s}, " +
			"insecure: true, follow: true, alternatives: [{host: db, port: 3307}, {host: db2}]}}", ""},
		"alternatives of a copy": {"storage: {size: 1Gi}, bootstrapFrom: {external: {host: db, credentialsSecretRef: " +
			"{name: s}, insecure: true, alternatives: [{host: db2}]}}", "only host is copied"},
		"an alternative is the source": {"storage: {size: 1Gi}, bootstrapFrom: {external: {host: db, " +
			"credentialsSecretRef: {name: s}, insecure: true, follow: true, alternatives: [{host: db2}, {host: db}]}}",
			"names the source itself"},
		"an alternative twice": {"storage: {size: 1Gi}, bootstrapFrom: {external: {host: db, credentialsSecretRef: " +
			"{name: s}, insecure: true, follow: true, alternatives: [{host: db2}, {host: db2, port: 3306}]}}", "Duplicate"},
		"nine alternatives": {"storage: {size: 1Gi}, bootstrapFrom: {external: {host: db, credentialsSecretRef: {name: s}, " +
			"insecure: true, follow: true, alternatives: [{host: a}, {host: b}, {host: c}, {host: d}, {host: e}, {host: f}, " +
			"{host: g}, {host: h}, {host: i}]}}", "must have at most 8 items"},
		"an archive": {"storage: {size: 1Gi}, backup: {storeRef: {name: s}, pointInTime: {enabled: true}}, bootstrapFrom: " +
			"{external: {host: db, credentialsSecretRef: {name: s}, insecure: true, follow: true}}",
			"set pointInTime with spec.cutover"},
		"no GTID": {"storage: {size: 1Gi}, cutover: {gtid: x-1-7}, bootstrapFrom: {external: {host: db, " +
			"credentialsSecretRef: {name: s}, insecure: true, follow: true}}",
			"spec.cutover.gtid"},
	} {
		err := kube.Create(ctx, fromYAML(t, "following", "{"+tc.with+"}"), client.DryRunAll)
		if tc.says == "" {
			must(t, err)
			continue
		}
		t.Log(name)
		mustSay(t, err, tc.says)
	}
	const ns = "follow-admission"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}, Spec: spec()}
	from := &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db", Insecure: true, Follow: true,
		CredentialsSecretRef: v1alpha1.LocalName{Name: "old"}}}
	c.Spec.BootstrapFrom = from
	must(t, kube.Create(ctx, c))
	c.Status.ClusterUUID = "6f1a1d7e-9d5e-5a39-8ab2-11f2a6b0d1c2"
	must(t, kube.Status().Update(ctx, c))
	update := func(edit func(*v1alpha1.GaleraCluster)) error {
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
		edit(c)
		return kube.Update(ctx, c)
	}
	mustSay(t, update(func(c *v1alpha1.GaleraCluster) { c.Spec.BootstrapFrom = nil }), "run kubectl galera cutover")
	mustSay(t, update(func(c *v1alpha1.GaleraCluster) { c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-7"} }),
		"set spec.cutover.uid to the metadata.uid of this cluster")
	must(t, update(func(c *v1alpha1.GaleraCluster) {
		c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-7", UID: string(c.UID)}
	}))
	mustSay(t, update(func(c *v1alpha1.GaleraCluster) { c.Spec.Cutover = nil }), "cannot be taken back")
	mustSay(t, update(func(c *v1alpha1.GaleraCluster) { c.Spec.Cutover.GTID = "0-1-8" }), "cannot be taken back")
	mustSay(t, update(func(c *v1alpha1.GaleraCluster) { c.Spec.BootstrapFrom = nil }), "run kubectl galera cutover")
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
	c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower, Applied: "0-1-5"}
	must(t, kube.Status().Update(ctx, c))
	mustSay(t, update(func(c *v1alpha1.GaleraCluster) { c.Spec.Cutover.GTID = "0-1-6" }), "cannot be taken back")
	must(t, update(func(c *v1alpha1.GaleraCluster) { c.Spec.Cutover.GTID = "0-1-5" }))
	c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleIndependent, Applied: "0-1-6"}
	must(t, kube.Status().Update(ctx, c))
	mustSay(t, update(func(c *v1alpha1.GaleraCluster) { c.Spec.Cutover.GTID = "0-1-6" }), "cannot be taken back")
	archived := func(c *v1alpha1.GaleraCluster) {
		c.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "s"},
			PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	}
	must(t, update(archived))
	must(t, update(func(c *v1alpha1.GaleraCluster) { c.Spec.BootstrapFrom = nil }))
	must(t, update(func(c *v1alpha1.GaleraCluster) { c.Spec.Cutover.Own = "9-9-1" }))

	// One that an earlier build has admitted without a uid stays valid, and so does a manifest that is applied anew.
	old := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "old"}, Spec: spec()}
	old.Spec.BootstrapFrom, old.Spec.Cutover = from, &v1alpha1.CutoverSpec{GTID: "0-1-7"}
	must(t, kube.Create(ctx, old))
	change := func(edit func()) error {
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(old), old))
		edit()
		return kube.Update(ctx, old)
	}
	must(t, change(func() { old.Labels = map[string]string{"of": "before"} }))
	must(t, change(func() { old.Spec.Cutover.UID = string(old.UID) }))
}

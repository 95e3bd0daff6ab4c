package api

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin"
)

// TestPluginShowsWhatBelongsToACluster: a store that refuses, a schedule that cannot be read and a database that was
// refused are on the screen with what to do, and for programs under related.
func TestPluginShowsWhatBelongsToACluster(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, "plugin-related", spec())
	w.bringUp()
	out, notes, err := w.galera("status", "shop")
	w.Expect(err).NotTo(HaveOccurred(), notes)
	w.Expect(out).To(ContainSubstring("there is no backup, and no schedule makes one"))

	store := backupKind(t, "GaleraBackupStore", "offsite",
		`{s3: {bucket: nowhere, endpoint: "https://s3.example.com"}, encryption: {recipients: [KEY]}}`)
	store.SetNamespace("plugin-related")
	must(t, kube.Create(ctx, store))
	s := &v1alpha1.GaleraBackupStore{}
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(store), s))
	s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReachable, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonStoreRefused, Message: "NoSuchBucket",
		LastTransitionTime: metav1.Now(), ObservedGeneration: s.Generation}}
	must(t, kube.Status().Update(ctx, s))
	b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "plugin-related", Name: "now"},
		Spec: v1alpha1.GaleraBackupSpec{ClusterRef: v1alpha1.BackupClusterRef{Name: "shop"},
			StoreRef: v1alpha1.LocalName{Name: "offsite"}}}
	must(t, kube.Create(ctx, b))
	d := &v1alpha1.GaleraDatabase{ObjectMeta: metav1.ObjectMeta{Namespace: "plugin-related", Name: "orders"},
		Spec: v1alpha1.GaleraDatabaseSpec{ClusterRef: v1alpha1.ClusterReference{Name: "shop"}}}
	must(t, kube.Create(ctx, d))
	out, notes, err = w.galera("status", "shop")
	w.Expect(err).NotTo(HaveOccurred(), notes)
	w.Expect(out).To(And(ContainSubstring("✗ Backups  … Users"), ContainSubstring("StoreRefused: NoSuchBucket"),
		ContainSubstring("$ kubectl describe galerabackupstore offsite -n plugin-related"),
		MatchRegexp("no backup is\\s+complete")))
	out, notes, err = w.galera("status", "shop", "-o", "json")
	w.Expect(err).NotTo(HaveOccurred(), notes)
	w.Expect(out).
		To(
			And(
				ContainSubstring(
					`"related":{"backups":{"findings":[{"command":"kubectl describe galerabackupstore offsite -n plugin-related"`),
				ContainSubstring(`"name":"orders"`)))
}

// TestPluginWithAnOlderOperator: a Kubernetes that knows clusters only has its cluster shown, and the user learns what
// it does not know.
func TestPluginWithAnOlderOperator(t *testing.T) {
	g := NewWithT(t)
	ctx := context.Background()
	old := &envtest.Environment{ErrorIfCRDPathMissing: true, Scheme: scheme,
		CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: installTime},
		CRDDirectoryPaths: []string{filepath.Join("..", "..", "config", "crd", "bases",
			"galera-operator.io_galeraclusters.yaml")}}
	config, err := old.Start()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = old.Stop() })
	kube, err := client.New(config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "old"}}))
	must(t, kube.Create(ctx, &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "old", Name: "shop"},
		Spec: spec()}))
	var out, said bytes.Buffer
	root := plugin.New(&out, &said)
	root.SetArgs([]string{"status", "shop", "-n", "old", "--kubeconfig", kubeconfigOf(t, config)})
	g.Expect(root.ExecuteContext(ctx)).To(Succeed(), said.String())
	g.Expect(out.String()).To(And(ContainSubstring("old/shop"),
		MatchRegexp(`GaleraProxies:\s+this Kubernetes does not know the kind`)))
}

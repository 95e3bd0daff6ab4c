package api

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// access is what the policies let be made for the load generator of a benchmark. It is written here, because they are
// tested without the benchmarks' code as well; that this makes the same is tested with it.
func access() map[string]client.Object {
	const name = "x-bench-abcdefghij"
	at := metav1.ObjectMeta{Namespace: "default", Name: name}
	return map[string]client.Object{
		"benchmark's ServiceAccount": &corev1.ServiceAccount{ObjectMeta: at, AutomountServiceAccountToken: new(false)},
		"benchmark's Role": &rbacv1.Role{ObjectMeta: at, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""},
			Resources: []string{"configmaps"}, ResourceNames: []string{"x-run-1"}, Verbs: []string{"patch"}}}},
		"benchmark's RoleBinding": &rbacv1.RoleBinding{ObjectMeta: at,
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: at.Namespace}},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}},
	}
}

// benchmarkRequests are requests that are refused to the benchmarks' program, and admitted to the operator.
func benchmarkRequests(t *testing.T, probes map[string]func(client.Client) error) map[string]func(client.Client) error {
	t.Helper()
	ctx, all, out := context.Background(), everyWorkload(t, false), map[string]func(client.Client) error{}
	for _, name := range []string{"nodes", "s3: backup", "s3: archiver", "account"} {
		o := all[name]
		o.SetOwnerReferences(nil) // made-up owners
		out[name] = func(c client.Client) error {
			return c.Create(ctx, o.DeepCopyObject().(client.Object), client.DryRunAll)
		}
	}
	ours := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "benchmarked",
		Labels: map[string]string{v1alpha1.LabelCluster: "shop"}}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "x", Image: "x"}}}}
	must(t, kube.Create(ctx, ours))
	t.Cleanup(func() { _ = kube.Delete(ctx, ours) })
	out["a label of a pod"] = func(c client.Client) error {
		return c.Patch(ctx, ours.DeepCopy(), client.RawPatch("application/strategic-merge-patch+json",
			[]byte(`{"metadata": {"labels": {"b": "c"}}}`)), client.DryRunAll)
	}
	probe := all["benchmark's ServiceAccount"].DeepCopyObject().(client.Object)
	probe.SetOwnerReferences(nil)
	probe.SetLabels(map[string]string{mutantLabel: "x"})
	probes[benchmarksPolicy] = func(c client.Client) error {
		return c.Create(ctx, probe.DeepCopyObject().(client.Object), client.DryRunAll)
	}
	return out
}

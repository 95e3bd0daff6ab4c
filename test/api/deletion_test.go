package api

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestDeletionProtection: the shipped policy refuses the deletion of a protected cluster, alone or with all others, and
// of no other.
func TestDeletionProtection(t *testing.T) {
	ctx := context.Background()
	for _, u := range objects(t, filepath.Join("..", "..", "config", "admission", "deletion_protection.yaml")) {
		must(t, kube.Create(ctx, u))
		t.Cleanup(func() { _ = kube.Delete(ctx, u) })
	}
	kept, other := fromYAML(t, "kept", `{storage: {size: 1Gi}, deletionProtection: true}`),
		fromYAML(t, "unprotected", `storage: {size: 1Gi}`)
	must(t, kube.Create(ctx, kept))
	must(t, kube.Create(ctx, other))

	const want = "spec.deletionProtection keeps kept from being deleted: set it to false first"
	// The API server takes a moment to notice a policy; a dry run asks it without harm.
	must(t, wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			err := kube.Delete(ctx, kept, client.DryRunAll)
			return err != nil && strings.Contains(err.Error(), want), nil
		}))
	mustSay(t, kube.Delete(ctx, kept), want)
	mustSay(t, kube.DeleteAllOf(ctx, kept.DeepCopy(), client.InNamespace(metav1.NamespaceDefault),
		client.MatchingFields{"metadata.name": "kept"}), want)
	must(t, kube.Delete(ctx, other))

	must(t, unstructured.SetNestedField(kept.Object, false, "spec", "deletionProtection"))
	must(t, kube.Update(ctx, kept))
	must(t, kube.Delete(ctx, kept))
}

// objects reads a file of several documents.
func objects(t *testing.T, path string) (out []*unstructured.Unstructured) {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	for d := yaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		u := &unstructured.Unstructured{}
		if err := d.Decode(u); err != nil {
			break
		}
		out = append(out, u)
	}
	if len(out) == 0 {
		t.Fatalf("%s is empty", path)
	}
	return out
}

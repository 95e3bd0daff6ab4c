package api

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// warnings collects what the API server warns of.
type warnings struct {
	mu   sync.Mutex
	said []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

// take returns the warnings about keys since the last call.
func (w *warnings) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, text := range w.said {
		if strings.Contains(text, "galera-operator-keys-warning") {
			out = append(out, text)
		}
	}
	w.said = nil
	return strings.Join(out, "\n")
}

// TestKeysWarning: who asks for encryption at rest is warned by the name of the Secret, and is not refused. No one
// else is warned.
func TestKeysWarning(t *testing.T) {
	ctx := context.Background()
	for _, u := range objects(t, filepath.Join("..", "..", "config", "admission", "keys_warning.yaml")) {
		must(t, kube.Create(ctx, u))
		t.Cleanup(func() { _ = kube.Delete(ctx, u) })
	}
	heard := &warnings{}
	own := rest.CopyConfig(config)
	own.WarningHandler = heard
	user, err := client.New(own, client.Options{})
	must(t, err)

	encrypted := fromYAML(t, "warned", `{storage: {size: 1Gi}, encryption: {atRest: {}}}`)
	// The API server takes a moment to notice a policy; a dry run asks it without harm.
	must(t, wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			if err := user.Create(ctx, encrypted.DeepCopy(), client.DryRunAll); err != nil {
				return false, err
			}
			return heard.take() != "", nil
		}))
	expect := func(what, secret string) {
		t.Helper()
		said := heard.take()
		if (said != "") != (secret != "") || !strings.Contains(said, secret) {
			t.Errorf("%s: %q", what, said)
		}
	}
	set := func(c *unstructured.Unstructured, spec map[string]any, fields ...string) {
		t.Helper()
		if spec == nil {
			unstructured.RemoveNestedField(c.Object, fields...)
		} else {
			must(t, unstructured.SetNestedMap(c.Object, spec, fields...))
		}
		must(t, user.Update(ctx, c))
	}
	must(t, user.Create(ctx, encrypted))
	t.Cleanup(func() { _ = kube.Delete(ctx, encrypted) })
	expect("created with encryption", "the Secret warned-keys neither the data of warned nor their backups")
	set(encrypted, map[string]any{"example.org/x": "y"}, "metadata", "annotations")
	expect("changed in something else", "")
	set(encrypted, nil, "spec", "encryption")
	expect("encryption removed", "")

	plain := fromYAML(t, "plain", `storage: {size: 1Gi}`)
	must(t, user.Create(ctx, plain))
	t.Cleanup(func() { _ = kube.Delete(ctx, plain) })
	expect("created without encryption", "")
	set(plain, map[string]any{"atRest": map[string]any{"keysSecretRef": map[string]any{"name": "mine"}}}, "spec",
		"encryption")
	expect("encryption added", "the Secret mine ")
}

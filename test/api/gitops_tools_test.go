package api

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// TestGitOpsTools: what the repository configures for Flux and Argo CD is admitted by their own definitions, strictly.
func TestGitOpsTools(t *testing.T) {
	var paths []string
	for module, folder := range map[string]string{
		"FLUX_SOURCE_CONTROLLER": "config/crd/bases", "FLUX_HELM_CONTROLLER": "config/crd/bases",
		"FLUX_KUSTOMIZE_CONTROLLER": "config/crd/bases", "ARGO_CD": "manifests/crds",
	} {
		paths = append(paths, filepath.Join(pinnedModule(t, module), folder))
	}
	_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{Paths: paths, Scheme: scheme, MaxTime: installTime})
	must(t, err)
	ctx := context.Background()
	for _, name := range []string{"flux-system", "argocd"} {
		must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	strict := client.WithFieldValidation(kube, metav1.FieldValidationStrict)
	kinds := map[string]int{}
	for _, folder := range []string{filepath.Join(repository, "flux"), filepath.Join(repository, "argocd"),
		filepath.Join("..", "..", "config", "argocd")} {
		for _, u := range built(t, folder) {
			kinds[u.GetKind()]++
			if err := strict.Create(ctx, u.DeepCopy()); err != nil {
				t.Errorf("%s %s: %v", u.GetKind(), u.GetName(), err)
			}
		}
	}
	for kind, want := range map[string]int{"GitRepository": 2, "HelmRelease": 1, "Kustomization": 2, "Application": 2,
		"AppProject": 1, "ConfigMap": 1} {
		if kinds[kind] != want {
			t.Errorf("%d of %s, want %d", kinds[kind], kind, want)
		}
	}
	health, err := os.ReadFile(filepath.Join("..", "..", "config", "argocd", "health.lua"))
	must(t, err)
	cm := &corev1.ConfigMap{}
	must(t, kube.Get(ctx, client.ObjectKey{Namespace: "argocd", Name: "argocd-cm"}, cm))
	crds, err := filepath.Glob(filepath.Join("..", "..", "config", "crd", "bases", "*.yaml"))
	must(t, err)
	if len(cm.Data) != len(crds) {
		t.Errorf("Argo CD is configured with %d resources, and there are %d", len(cm.Data), len(crds))
	}
	for key, text := range cm.Data {
		if text != string(health) {
			t.Errorf("%s is not health.lua", key)
		}
	}
}

// pinnedModule is the folder of a module that is pinned in hack/versions.env, for its definitions.
func pinnedModule(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "hack", "versions.env"))
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if module, is := strings.CutPrefix(strings.TrimSpace(line), name+"="); is {
			c := exec.Command("go", "mod", "download", "-json", module)
			c.Dir = t.TempDir()
			out, err := c.Output()
			must(t, err)
			var found struct{ Dir string }
			must(t, json.Unmarshal(out, &found))
			return found.Dir
		}
	}
	t.Fatalf("hack/versions.env has no %s", name)
	return ""
}

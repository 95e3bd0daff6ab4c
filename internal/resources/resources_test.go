package resources

import (
	"slices"
	"testing"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

func TestEveryObjectIsLabelledAndTyped(t *testing.T) {
	for _, object := range render(shop(), testOptions) {
		kind := object.GetObjectKind().GroupVersionKind()
		if kind.Kind == "" || kind.Version == "" {
			t.Errorf("%s %q has no type: it cannot be server-side-applied", kind, object.GetName())
		}
		if object.GetLabels()[v1alpha1.LabelCluster] != "shop" || object.GetLabels()[labelInstance] != "shop" {
			t.Errorf("%s %s has the labels %v", kind.Kind, object.GetName(), object.GetLabels())
		}
		if object.GetNamespace() != "demo" {
			t.Errorf("%s %s is in the namespace %q", kind.Kind, object.GetName(), object.GetNamespace())
		}
		if cert, ok := object.(*cmv1.Certificate); ok && cert.Spec.SecretTemplate.Labels[v1alpha1.LabelCluster] != "shop" {
			t.Errorf("the Secret of Certificate %s has no label", cert.Name)
		}
	}
	for _, claim := range StatefulSet(shop(), testOptions, pods(shop(), 3)).Spec.VolumeClaimTemplates {
		if claim.Labels[v1alpha1.LabelCluster] != "shop" {
			t.Errorf("the claim %s has no label", claim.Name)
		}
	}
}

// TestNothingIsPruned: a tool that prunes by the label of an instance deletes what has no owner, unless that asks it
// not to.
func TestNothingIsPruned(t *testing.T) {
	const option = "argocd.argoproj.io/sync-options"
	kept := func(what string, annotations map[string]string) {
		t.Helper()
		if annotations[option] != "Prune=false" {
			t.Errorf("%s has no owner, and may be pruned", what)
		}
	}
	for _, object := range render(shop(), testOptions) {
		if metav1.GetControllerOf(object) == nil {
			kept(object.GetName(), object.GetAnnotations())
		}
		if cert, ok := object.(*cmv1.Certificate); ok {
			kept("the Secret of "+cert.Name, cert.Spec.SecretTemplate.Annotations)
		}
	}
	for _, claim := range StatefulSet(shop(), testOptions, pods(shop(), 3)).Spec.VolumeClaimTemplates {
		kept("the claim "+claim.Name, claim.Annotations)
	}
}

func TestWhatOutlivesTheCluster(t *testing.T) {
	for retain, kept := range map[v1alpha1.ClaimPolicy][]string{v1alpha1.ClaimRetain: {"Secret/shop-root"},
		v1alpha1.ClaimDelete: nil} {
		c := shop()
		c.Spec.Storage.PersistentVolumeClaimRetentionPolicy.WhenDeleted = retain
		for _, object := range render(c, testOptions) {
			name := object.GetObjectKind().GroupVersionKind().Kind + "/" + object.GetName()
			owner := metav1.GetControllerOf(object)
			switch want := !slices.Contains(kept, name); {
			case want && owner == nil:
				t.Errorf("whenDeleted=%v: %s would outlive the cluster", retain, name)
			case want && (owner.UID != c.UID || owner.Kind != "GaleraCluster" ||
				owner.APIVersion != "galera-operator.io/v1alpha1" || !*owner.BlockOwnerDeletion):
				t.Errorf("whenDeleted=%v: %s has the wrong owner %+v", retain, name, owner)
			case !want && owner != nil:
				t.Errorf("whenDeleted=%v: %s would be deleted with the cluster", retain, name)
			}
		}
	}
}

func TestNamesAreUniqueWithinAKind(t *testing.T) {
	seen := map[string]bool{}
	for _, object := range render(shop(), testOptions) {
		key := object.GetObjectKind().GroupVersionKind().Kind + "/" + object.GetName()
		if seen[key] {
			t.Errorf("%s is rendered twice", key)
		}
		seen[key] = true
	}
}

// TestUndefaultedSpec: without the API server's defaults the result is the same as with them.
func TestUndefaultedSpec(t *testing.T) {
	if got, want := string(manifests(t, undefaulted())), string(manifests(t, shop())); got != want {
		t.Error(firstDifference(want, got))
	}
}

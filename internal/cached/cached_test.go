package cached

import (
	"os"
	"reflect"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"
)

// ofOurs are types that the operator reads of its own resources only, which are kept whole.
var ofOurs = map[string]bool{
	"k8s.io/api/core/v1.ConfigMapKeySelector": true, "k8s.io/api/core/v1.LocalObjectReference": true,
	"k8s.io/api/core/v1.ResourceRequirements": true, // spec.resources
}

// readLive are fields that the operator reads of objects that it does not take from its cache.
var readLive = map[field]bool{
	// observe's search for the pods that mount a claim
	{"k8s.io/api/core/v1.PodSpec", "Volumes"}:                             true,
	{"k8s.io/api/core/v1.Volume", "VolumeSource"}:                         true,
	{"k8s.io/api/core/v1.VolumeSource", "PersistentVolumeClaim"}:          true,
	{"k8s.io/api/core/v1.PersistentVolumeClaimVolumeSource", "ClaimName"}: true,
}

// TestWhatIsReadIsKept: each field that the operator reads of an object from its cache survives the transform.
func TestWhatIsReadIsKept(t *testing.T) {
	there, kept := map[field]bool{}, map[field]bool{}
	for kind, by := range ByObject() {
		whole := reflect.New(reflect.TypeOf(kind).Elem())
		fill(whole.Elem(), 0)
		walk(whole.Elem(), func(f field, zero bool) { there[f] = there[f] || !zero })
		slim := map[field]bool{}
		walk(reflect.ValueOf(transform(t, by.Transform, whole.Interface())),
			func(f field, zero bool) { slim[f] = slim[f] || !zero })
		for f, is := range slim {
			if before, known := kept[f]; known && before != is {
				t.Errorf("%s is kept of some kinds, and not of %T", f, kind)
			}
			kept[f] = is
		}
	}
	read := reads(t)
	if len(read) < 30 {
		t.Fatalf("only %d fields are read: the search finds nothing", len(read))
	}
	for f, at := range read {
		if there[f] && !kept[f] && !ofOurs[f.of] && !readLive[f] {
			t.Errorf("%s is read and not kept: %s", f, at)
		}
	}
}

// TestTheMetadataIsKept: by it objects are found, owned, compared and patched.
func TestTheMetadataIsKept(t *testing.T) {
	for kind, by := range ByObject() {
		whole := reflect.New(reflect.TypeOf(kind).Elem())
		fill(whole.Elem(), 0)
		want := *whole.Elem().FieldByName("ObjectMeta").Addr().Interface().(*metav1.ObjectMeta).DeepCopy()
		want.ManagedFields = nil
		got := reflect.ValueOf(transform(t, by.Transform, whole.Interface())).Elem().FieldByName("ObjectMeta").Interface()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%T has the metadata %+v", kind, got)
		}
	}
}

// TestOthersPass: the mark of an object whose deletion was missed is no object.
func TestOthersPass(t *testing.T) {
	for kind, by := range ByObject() {
		mark := toolscache.DeletedFinalStateUnknown{Key: "demo/shop-0"}
		if got := transform(t, by.Transform, mark); got != any(mark) {
			t.Errorf("%T: %v", kind, got)
		}
	}
}

// TestNothingIsWrittenBack: what is not whole must never replace the object, and the operator has no right to do that.
func TestNothingIsWrittenBack(t *testing.T) {
	for _, path := range []string{"../../config/rbac/role.yaml"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict(text, &role); err != nil {
			t.Fatal(err)
		}
		for kind := range ByObject() {
			for _, rule := range role.Rules {
				if names(t, rule, kind) && (slices.Contains(rule.Verbs, "update") || slices.Contains(rule.Verbs, "*")) {
					t.Errorf("%s lets the operator update a %T, of which its cache holds only a part", path, kind)
				}
			}
		}
	}
}

func names(t *testing.T, rule rbacv1.PolicyRule, kind client.Object) bool {
	t.Helper()
	gvk, err := apiutil.GVKForObject(kind, clientgoscheme.Scheme)
	if err != nil {
		t.Fatal(err)
	}
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	return slices.Contains(rule.APIGroups, gvk.Group) && (slices.Contains(rule.Resources, resource.Resource) ||
		slices.Contains(rule.Resources, "*"))
}

func transform(t *testing.T, by toolscache.TransformFunc, o any) any {
	t.Helper()
	out, err := by(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

package cached

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestDataOfStrangersIsNotKept: an object with the label of a cluster costs the operator no more than a cluster's own.
func TestDataOfStrangersIsNotKept(t *testing.T) {
	bounded := Bounded(func(o any) (any, error) { return o, nil })
	large := strings.Repeat("a", maxData)
	of := func() metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: "x", Labels: map[string]string{v1alpha1.LabelCluster: "shop"},
			Annotations: map[string]string{"example.org/notes": large, "galera-operator.io/renew": large,
				"example.org/team": "a"}}
	}
	for name, o := range map[string]client.Object{
		"a Secret":    &corev1.Secret{ObjectMeta: of(), Data: map[string][]byte{"k": []byte(large)}},
		"a ConfigMap": &corev1.ConfigMap{ObjectMeta: of(), Data: map[string]string{"k": large}},
		"binary data": &corev1.ConfigMap{ObjectMeta: of(), BinaryData: map[string][]byte{"k": []byte(large)}},
	} {
		got := transform(t, bounded, o).(client.Object)
		a := got.GetAnnotations()
		if a[v1alpha1.AnnotationTooLarge] == "" || a["example.org/notes"] != "" || a["galera-operator.io/renew"] == "" ||
			a["example.org/team"] == "" {
			t.Errorf("%s: %d annotations", name, len(a))
		}
		switch s := got.(type) {
		case *corev1.Secret:
			if len(s.Data) > 0 {
				t.Errorf("%s keeps its data", name)
			}
		case *corev1.ConfigMap:
			if len(s.Data)+len(s.BinaryData) > 0 {
				t.Errorf("%s keeps its data", name)
			}
		}
	}
	small := transform(t, bounded, &corev1.Secret{Data: map[string][]byte{"k": []byte("v")}}).(*corev1.Secret)
	if len(small.Data) != 1 || len(small.Annotations) > 0 {
		t.Errorf("a small Secret has %d values", len(small.Data))
	}
	gone := toolscache.DeletedFinalStateUnknown{Key: "demo/x"}
	if got := transform(t, bounded, gone); got != any(gone) {
		t.Errorf("%v", got)
	}
}

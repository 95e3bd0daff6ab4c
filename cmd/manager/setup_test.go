package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// TestTheCacheLeavesOutWhatIsLong: the memory of the operator has a limit, and what benchmarks leave has none.
func TestTheCacheLeavesOutWhatIsLong(t *testing.T) {
	cm := &corev1.ConfigMap{Data: map[string]string{result.KeyLog: "words", result.KeyRun: "{}"}}
	cm.Labels, cm.ManagedFields = map[string]string{v1alpha1.LabelBenchmark: "x"}, []metav1.ManagedFieldsEntry{{Manager: "m"}}
	o := cacheOptions(&options{})
	for of, by := range o.ByObject {
		if _, is := of.(*corev1.ConfigMap); !is || by.Transform == nil {
			continue
		}
		if _, err := by.Transform(cm); err != nil {
			t.Fatal(err)
		}
	}
	if len(cm.Data) != 1 || cm.Data[result.KeyRun] == "" || cm.ManagedFields != nil {
		t.Errorf("the cache keeps %+v", cm)
	}
}

package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/program"
)

// TestTheCacheLeavesOutWhatIsLong: the memory of the program has a limit, and what benchmarks leave has none.
func TestTheCacheLeavesOutWhatIsLong(t *testing.T) {
	cm := &corev1.ConfigMap{Data: map[string]string{result.KeyLog: "words", result.KeyRun: "{}"}}
	cm.Labels, cm.ManagedFields = map[string]string{v1alpha1.LabelBenchmark: "x"},
		[]metav1.ManagedFieldsEntry{{Manager: "m"}}
	for of, by := range cacheOptions(&options{}).ByObject {
		if by.Label.Matches(labels.Set{}) {
			t.Errorf("every %T is watched", of)
		}
		if _, is := of.(*corev1.ConfigMap); !is {
			continue
		}
		if _, err := by.Transform(cm); err != nil {
			t.Fatal(err)
		}
	}
	if len(cm.Data) != 1 || cm.Data[result.KeyRun] == "" || cm.ManagedFields != nil {
		t.Errorf("the cache keeps %+v", cm)
	}
	if got := cacheOptions(&options{watchNamespaces: "a,b"}).DefaultNamespaces; len(got) != 2 {
		t.Errorf("%v", got)
	}
}

func TestOptions(t *testing.T) {
	good := options{image: "op", namespace: "ns", podUsers: program.UsersAuto, logFormat: "json", leaderElect: true}
	for name, tc := range map[string]struct {
		edit func(*options)
		ok   bool
	}{
		"good":          {func(*options) {}, true},
		"no image":      {func(o *options) { o.image = "" }, false},
		"no namespace":  {func(o *options) { o.namespace = "" }, false},
		"no such users": {func(o *options) { o.podUsers = "root" }, false},
		"log format":    {func(o *options) { o.logFormat = "console" }, false},
	} {
		o := good
		tc.edit(&o)
		if err := o.check(); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

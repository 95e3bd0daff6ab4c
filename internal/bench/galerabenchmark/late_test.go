package galerabenchmark

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// TestLateResult: a Job that is seen to end before its result is in the cache has left one all the same.
func TestLateResult(t *testing.T) {
	b := &v1alpha1.GaleraBenchmark{}
	b.Name, b.Namespace = "x", "bench"
	run := result.Run{Index: 1, Attempt: 1, Kind: result.KindOLTP}
	cm := &corev1.ConfigMap{Data: map[string]string{result.KeyRun: `{"index": 1}`, result.KeyOutput: `{"kind": "oltp"}`}}
	cm.Name, cm.Namespace = experiment.Name(b.Name, run), b.Namespace
	r := &Reconciler{Live: fake.NewClientBuilder().WithObjects(cm).Build()}
	for name, tc := range map[string]struct {
		job  experiment.Job
		read bool
	}{
		"ended":   {experiment.Job{Name: cm.Name, Finished: true}, true},
		"runs":    {experiment.Job{Name: cm.Name}, false},
		"another": {experiment.Job{Name: "x-run-002-1", Finished: true}, false},
	} {
		f := benchmarkFacts{State: experiment.State{Job: &tc.job, Records: []result.Record{{Run: run}}}}
		if err := r.lateResult(t.Context(), b, &f); err != nil {
			t.Fatal(err)
		}
		if got := f.Records[0].Output != nil; got != tc.read {
			t.Errorf("%s: read %t", name, got)
		}
	}
}

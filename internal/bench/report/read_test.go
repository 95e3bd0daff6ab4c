package report

import (
	"reflect"
	"strings"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestRead: from a file written as json, without a cluster, every interval is computed anew, and nothing else changes.
func TestRead(t *testing.T) {
	b := sample()
	b.Resource.Status.Comparisons = nil
	whole := written(t, "json", b)
	want := b.Resource.Status.Results
	stale := b.Resource.Status.DeepCopy()
	stale.Results[1].OverheadLow, stale.Results[1].PValue, stale.Verdict = "1", "0.5", "of an older program"
	stale.Comparisons = []v1alpha1.BenchmarkComparison{{Metric: "tps"}}
	b.Resource.Status = *stale
	got, err := Read(strings.NewReader(written(t, "json", b)))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Resource.Status.Results, want) {
		t.Errorf("got %+v", got.Resource.Status.Results)
	}
	if again := written(t, "json", got); again != whole {
		t.Errorf("written again:\n%s", again)
	}
	if _, err := Read(strings.NewReader("run,attempt")); err == nil {
		t.Error("a file of another format was read")
	}
}

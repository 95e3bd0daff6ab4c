package status

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/internal/observe"
)

// TestCPUStarved: the condition names each node that got no processor, and is Unknown when no agent answers.
func TestCPUStarved(t *testing.T) {
	starve := func(in *Input, node string, d time.Duration) {
		seen := in.Seen[node]
		seen.Report.StarvedFor = d
		in.Seen[node] = seen
	}
	for name, c := range map[string]struct {
		change func(*Input)
		want   metav1.ConditionStatus
		says   string
	}{
		"no node waits for a processor": {func(*Input) {}, metav1.ConditionFalse, "processor time when it needs it"},
		"one node waited": {func(in *Input) { starve(in, "n-1", 5400*time.Millisecond) }, metav1.ConditionTrue,
			"n-1 for 5.4 s"},
		"two nodes waited": {func(in *Input) {
			starve(in, "n-0", time.Second)
			starve(in, "n-2", 2*time.Second)
		}, metav1.ConditionTrue, "n-0 for 1.0 s, n-2 for 2.0 s"},
		"no agent answers": {func(in *Input) { in.Seen = map[string]observe.Seen{} }, metav1.ConditionUnknown,
			"No agent answers"},
		"a report that is too old does not count": {func(in *Input) {
			starve(in, "n-1", 5*time.Second)
			seen := in.Seen["n-1"]
			seen.Live = false
			in.Seen["n-1"] = seen
		}, metav1.ConditionFalse, "processor time"},
	} {
		t.Run(name, func(t *testing.T) {
			in := healthy()
			c.change(&in)
			if v := cpuStarved(in); v.status != c.want || !strings.Contains(v.message, c.says) {
				t.Errorf("got %+v", v)
			}
		})
	}
}

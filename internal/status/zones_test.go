package status

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestTimeZones: tables of time zones that could not be filled are reported while that is so, or while it is not known,
// and nothing else changes.
func TestTimeZones(t *testing.T) {
	const failure = "ERROR 1114: the table is full"
	for name, c := range map[string]struct {
		reports [3]*agentapi.Report
		want    string
	}{
		"no failure":                  {[3]*agentapi.Report{{}, {}, {}}, ""},
		"a failure":                   {[3]*agentapi.Report{{}, {ZonesFailure: failure}, {}}, failure},
		"another one does not answer": {[3]*agentapi.Report{nil, {ZonesFailure: failure}, {}}, failure},
		"one that may have failed":    {[3]*agentapi.Report{{}, nil, {}}, "before"},
	} {
		in := healthy()
		for i, r := range c.reports {
			name := in.Snapshot.Members[i].Name
			seen := in.Seen[name]
			if seen.Live = r != nil; r != nil {
				seen.Report.ZonesFailure = r.ZonesFailure
			}
			in.Seen[name] = seen
		}
		s := v1alpha1.GaleraClusterStatus{Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionTimeZonesCurrent, Message: "before"}}}
		Update(&s, in)
		got := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionTimeZonesCurrent)
		if (got != nil) != (c.want != "") || got != nil && !strings.Contains(got.Message, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
		if got != nil && c.want == failure && got.Status != metav1.ConditionFalse {
			t.Errorf("%s: %s", name, got.Status)
		}
		if c.reports[1] != nil && c.reports[0] != nil && !meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReady) {
			t.Errorf("%s: the cluster is not Ready", name)
		}
	}
}

package restoration

import (
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestTarget: a time is taken to the microsecond, in whatever zone; what is none is reported.
func TestTarget(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-24T12:30:00Z":             "the time 2026-11-24T12:30:00Z",
		"2026-11-24T13:30:00.250000+01:00": "the time 2026-11-24T12:30:00.25Z",
		"2026-11-24T12:30:00.000001Z":      "the time 2026-11-24T12:30:00.000001Z",
		"2026-11-24T25:30:00Z":             "spec.bootstrapFrom.pointInTime.time: ",
	} {
		c := &v1alpha1.GaleraCluster{}
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{PointInTime: &v1alpha1.RestorePoint{Time: text}}
		target, wrong := Target(c)
		if have := target.String(); wrong == "" && have != want || wrong != "" && !strings.HasPrefix(wrong, want) ||
			target.Time.Nanosecond()%int(time.Microsecond) != 0 {
			t.Errorf("%s: %s, %q", text, have, wrong)
		}
	}
}

// TestLeftOut: a target with a fraction has a reason of its own for what names its second.
func TestLeftOut(t *testing.T) {
	if have := leftOut("the time 2026-11-24T12:30:00Z"); strings.Contains(have, "fraction") {
		t.Error(have)
	}
	if have := leftOut("the time 2026-11-24T12:30:00.5Z"); have != "they name the second of that time without a "+
		"fraction, or were committed after one that does not" {
		t.Error(have)
	}
}

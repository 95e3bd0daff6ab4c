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
			target.Time.Nanosecond()%int(time.Microsecond) != 0 || wrong == "" && target.Time.Location() != time.UTC {
			t.Errorf("%s: %s, %q", text, have, wrong)
		}
	}
}

// TestReplay: Jobs replay what was found for the point that the spec names, and none once it names no point, or another
// kind of text.
func TestReplay(t *testing.T) {
	latest, wrong := &v1alpha1.RestorePoint{Latest: true}, &v1alpha1.RestorePoint{GTID: "0-1"}
	found := &v1alpha1.ReplayStatus{Target: "the latest transaction", From: 3, To: 4, Bytes: 5, Sum: "s", Domain: 6}
	for name, c := range map[string]struct {
		point *v1alpha1.RestorePoint
		found *v1alpha1.ReplayStatus
		fails bool
	}{
		"the backup itself":      {nil, nil, false},
		"nothing to replay":      {latest, nil, false},
		"what was found":         {latest, found, false},
		"the point was removed":  {nil, found, true},
		"the point is none":      {wrong, found, true},
		"the point was one, too": {&v1alpha1.RestorePoint{Time: "2026-11-24"}, found, true},
	} {
		o := &v1alpha1.GaleraCluster{}
		o.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{PointInTime: c.point}
		o.Status.Restore = &v1alpha1.RestoreStatus{Replay: c.found}
		r, err := Replay(o)
		if (err != nil) != c.fails || (r != nil) != (c.found != nil && !c.fails) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if r != nil && (!r.Target.Latest || r.From != 3 || r.To != 4 || r.Bytes != 5 || r.Sum != "s" || r.Domain != 6) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := ReplayTo(nil, found, &v1alpha1.GaleraCluster{}); r != nil {
		t.Errorf("to no point: %+v", r)
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

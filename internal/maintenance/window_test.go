package maintenance

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

func TestRestart(t *testing.T) {
	saturday := time.Date(2026, 11, 21, 3, 30, 0, 0, time.UTC)
	windows := func(schedule string) []v1alpha1.MaintenanceWindow {
		return []v1alpha1.MaintenanceWindow{{Name: "w", Schedule: schedule, Duration: metav1.Duration{Duration: time.Hour}}}
	}
	for name, c := range map[string]struct {
		spec *v1alpha1.MaintenanceSpec
		want string // contained in the answer, "" for now
	}{
		"nothing is said": {nil, ""},
		"no windows":      {&v1alpha1.MaintenanceSpec{AgentUpgrade: v1alpha1.AgentUpgradeAutomatic}, ""},
		"in the window":   {&v1alpha1.MaintenanceSpec{Windows: windows("0 3 * * 6")}, ""},
		"before it, agents not waiting": {&v1alpha1.MaintenanceSpec{AgentUpgrade: v1alpha1.AgentUpgradeAutomatic,
			Windows: windows("0 4 * * 6")}, "2026-11-21T04:00:00Z"},
		"by hand": {&v1alpha1.MaintenanceSpec{AgentUpgrade: v1alpha1.AgentUpgradeManual,
			Windows: windows("0 3 * * 6")}, "delete the pods"},
	} {
		got := Restart(c.spec, saturday)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAgentUpgrade(t *testing.T) {
	saturday := time.Date(2026, 11, 21, 3, 30, 0, 0, time.UTC)
	window := func(schedule, zone string, d time.Duration) v1alpha1.MaintenanceWindow {
		return v1alpha1.MaintenanceWindow{Name: "w", Schedule: schedule, TimeZone: zone,
			Duration: metav1.Duration{Duration: d}}
	}
	in := func(w ...v1alpha1.MaintenanceWindow) *v1alpha1.MaintenanceSpec {
		return &v1alpha1.MaintenanceSpec{AgentUpgrade: v1alpha1.AgentUpgradeWindow, Windows: w}
	}
	for name, c := range map[string]struct {
		spec *v1alpha1.MaintenanceSpec
		want string // contained in the answer, "" for now
	}{
		"nothing is said": {nil, ""},
		"by default":      {&v1alpha1.MaintenanceSpec{}, ""},
		"automatic":       {&v1alpha1.MaintenanceSpec{AgentUpgrade: v1alpha1.AgentUpgradeAutomatic}, ""},
		"manual":          {&v1alpha1.MaintenanceSpec{AgentUpgrade: v1alpha1.AgentUpgradeManual}, "Manual"},
		"in the window":   {in(window("0 3 * * 6", "UTC", time.Hour)), ""},
		"as it begins":    {in(window("30 3 * * 6", "UTC", time.Hour)), ""},
		"as it has ended": {in(window("30 2 * * 6", "UTC", time.Hour)), "2026-11-28T02:30:00Z"},
		"before it":       {in(window("0 4 * * 6", "UTC", time.Hour)), "2026-11-21T04:00:00Z"},
		"in another zone": {in(window("0 4 * * 6", "Europe/Vienna", time.Hour)), ""},
		"without a zone":  {in(window("@daily", "", 4*time.Hour)), ""},
		"in the second window": {in(window("0 4 * * *", "UTC", time.Hour), window("0 3 * * *", "UTC", time.Hour)),
			""},
		"the sooner of two": {in(window("0 5 * * *", "UTC", time.Hour), window("0 4 * * *", "UTC", time.Hour)),
			"T04:00:00Z"},
		"one that began yesterday": {in(window("0 3 * * 5", "UTC", 48*time.Hour)), ""},
		"an unknown zone":          {in(window("0 3 * * *", "Europe/Atlantis", time.Hour)), "Atlantis"},
		"an impossible hour":       {in(window("0 33 * * *", "UTC", time.Hour)), "w: "},
		"an impossible one alongside one": {in(window("0 33 * * *", "UTC", time.Hour), window("0 3 * * *", "UTC", time.Hour)),
			""},
		"a day that never comes": {in(window("0 3 31 2 *", "UTC", time.Hour)), "ever begins"},
	} {
		got := AgentUpgrade(c.spec, saturday)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

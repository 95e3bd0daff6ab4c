package archival

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestTurnOff: what the window of an archive needs that is turned off is known until that has passed, also when it is turned
// on again meanwhile, and off.
func TestTurnOff(t *testing.T) {
	const window = 720 * time.Hour
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	ended := func(left time.Duration, ids ...string) *v1alpha1.EndedArchive {
		return &v1alpha1.EndedArchive{Until: metav1.NewTime(now.Add(left)), Needed: ids}
	}
	many := make([]string, v1alpha1.MaxNeeded+1)
	for i := range many {
		many[i] = fmt.Sprint("m", i)
	}
	for name, c := range map[string]struct {
		archive *v1alpha1.ArchiveStatus
		before  *v1alpha1.EndedArchive
		want    string
		left    time.Duration
	}{
		"its base, and those of other chains": {&v1alpha1.ArchiveStatus{Base: "a", Needed: []string{"a", "b"}}, nil, "a b",
			window},
		"its base is not known": {&v1alpha1.ArchiveStatus{Needed: []string{"b"}}, nil, "b", window},
		"nothing":               {&v1alpha1.ArchiveStatus{}, nil, "", 0},
		"it has ended before":   {nil, ended(time.Hour, "a"), "a", time.Hour},
		"its window has passed": {nil, ended(0, "a"), "", 0},
		"it was turned on again": {&v1alpha1.ArchiveStatus{Base: "b"}, ended(time.Hour, "a", "b"), "b a",
			window},
		"and nothing is known of that": {&v1alpha1.ArchiveStatus{}, ended(time.Hour, "a"), "a", window},
		"long ago":                     {&v1alpha1.ArchiveStatus{Base: "b"}, ended(-time.Hour, "a"), "b", window},
		"more than are named": {&v1alpha1.ArchiveStatus{Needed: many}, nil, strings.Join(many[:v1alpha1.MaxNeeded], " "),
			window},
	} {
		cluster := &v1alpha1.GaleraCluster{}
		cluster.Status.Backup, cluster.Status.EndedArchive = c.archive, c.before
		got := TurnOff(cluster, window, now)
		if (got != nil) != (c.want != "") || got != nil && (strings.Join(got.Needed, " ") != c.want ||
			got.Until.Sub(now) != c.left) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestManyNeeded: the status names the first of those that are reported.
func TestManyNeeded(t *testing.T) {
	to, ids := &v1alpha1.ArchiveStatus{}, []string{}
	for i := range v1alpha1.MaxNeeded + 5 {
		ids = append(ids, fmt.Sprint(i))
	}
	c := &v1alpha1.GaleraCluster{}
	c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	Decide(to, Facts{Cluster: c, Archived: &task.Archived{Needed: ids}})
	if !slices.Equal(to.Needed, ids[:v1alpha1.MaxNeeded]) {
		t.Errorf("%d are named: %v", len(to.Needed), to.Needed)
	}
}

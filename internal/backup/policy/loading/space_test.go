package loading

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// TestNoRoom: nothing is loaded that a node's volume has no space for, the cluster gets no account meanwhile, and the
// import goes on once there is space. What is not known yet is waited for; what an agent never reports refuses nothing.
func TestNoRoom(t *testing.T) {
	const mib = 1 << 20
	has := func(free int64) observe.Seen {
		return observe.Seen{Live: true, Report: agentapi.Report{Volume: &agentapi.VolumeSpace{Free: free, Size: 1 << 40}}}
	}
	silent := has(0)
	silent.Live = false
	archived := func(f *Facts) {
		f.Cluster.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	}
	logs := func(f *Facts) { f.Cluster.Spec.MariaDB.Config = map[string]v1alpha1.Setting{"log_bin": {}} }
	for name, c := range map[string]struct {
		agents map[string]observe.Seen
		edit   func(*Facts)
		want   string // "" when the load begins
		waits  bool   // for something that comes by itself
	}{
		"enough": {map[string]observe.Seen{"shop-0": has(1100 * mib), "shop-1": has(9000 * mib)}, nil, "", false},
		"one has less": {map[string]observe.Seen{"shop-0": has(9000 * mib), "shop-1": has(1099 * mib)}, nil,
			"shop-1 has about 1088 MiB", false},
		"with an archive": {map[string]observe.Seen{"shop-0": has(2099 * mib), "shop-1": has(9000 * mib)}, archived,
			"as much in the binary log", false},
		"enough for that": {map[string]observe.Seen{"shop-0": has(2100 * mib), "shop-1": has(2100 * mib)}, archived, "",
			false},
		"a log that is set": {map[string]observe.Seen{"shop-0": has(2099 * mib), "shop-1": has(9000 * mib)}, logs,
			"as much in the binary log", false},
		"one does not answer": {map[string]observe.Seen{"shop-0": has(9000 * mib), "shop-1": silent}, nil,
			"the agent of shop-1", true},
		"none has been asked": {nil, nil, "the agent of shop-0", true},
		"one does not report it": {map[string]observe.Seen{"shop-0": {Live: true}, "shop-1": has(9000 * mib)}, nil, "",
			false},
		"an arbitrator": {map[string]observe.Seen{"shop-0": has(9000 * mib), "shop-1": has(9000 * mib),
			"shop-arbitrator": silent}, nil, "", false},
		"the cluster is not Ready": {map[string]observe.Seen{"shop-0": has(9000 * mib), "shop-1": has(9000 * mib)},
			func(f *Facts) { f.Cluster.Status.Conditions = nil }, "to be Ready", true},
	} {
		f := importing(ended(task.Result{Source: &task.Source{Version: "11.8.3-MariaDB", Bytes: 1000 * mib}}))
		f.Cluster.Spec.Replicas, f.Agents = 2, c.agents
		if c.edit != nil {
			c.edit(&f)
		}
		s := v1alpha1.GaleraRestoreStatus{Phase: v1alpha1.RestoreFinding, Attempts: 1}
		for range 2 * maxFailures {
			if s.Phase == v1alpha1.RestoreFinding {
				Decide(&s, f)
			}
		}
		message := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionComplete).Message
		begins, stalled := c.want == "", meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionStalled)
		if (s.Phase == v1alpha1.RestoreLoading) != begins || stalled != (!begins && !c.waits) ||
			!strings.Contains(message, c.want) || stalled != (reason(s) == v1alpha1.ReasonDiskFull) || s.External == nil {
			t.Errorf("%s: %+v", name, s)
		}
		f = importing(f.Job)
		f.Cluster.Spec.Replicas = 1
		f.Agents = map[string]observe.Seen{"shop-0": has(9000 * mib)}
		if Decide(&s, f); s.Phase != v1alpha1.RestoreLoading {
			t.Errorf("%s: it does not go on: %+v", name, s)
		}
	}
}

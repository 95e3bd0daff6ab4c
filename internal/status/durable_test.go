package status

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestDurable: settings with which acknowledged writes may not be on a disk limit what the status promises.
func TestDurable(t *testing.T) {
	archive := &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	for name, c := range map[string]struct {
		settings map[string]string
		backup   *v1alpha1.ClusterBackup
		want     bool
	}{
		"defaults":                  {nil, nil, true},
		"written out":               {map[string]string{"innodb_flush_log_at_trx_commit": "1"}, nil, true},
		"group commit's fourth":     {map[string]string{"innodb_flush_log_at_trx_commit": "3"}, nil, true},
		"flushed by the kernel":     {map[string]string{"loose_innodb-flush-log-at-trx-commit": "2"}, nil, false},
		"once a second":             {map[string]string{"innodb_flush_log_at_trx_commit": "0"}, nil, false},
		"not archived":              {map[string]string{"sync_binlog": "0"}, nil, true},
		"archived":                  {map[string]string{"sync_binlog": "0"}, archive, false},
		"archived, and synced":      {map[string]string{"sync_binlog": "1"}, archive, true},
		"archived, now and then":    {map[string]string{"sync-binlog": "100"}, archive, false},
		"other settings say little": {map[string]string{"max_connections": "2"}, nil, true},
	} {
		in := healthy()
		in.Config.Settings, in.cluster().Spec.Backup = c.settings, c.backup
		var s v1alpha1.GaleraClusterStatus
		Update(&s, in)
		got := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionDurable)
		if (got.Status == metav1.ConditionTrue) != c.want || !c.want && (got.Reason != v1alpha1.ReasonFlushedLate ||
			!strings.Contains(got.Message, "power")) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestDurableNamesTheSameSetting: of several settings the condition names the same one each time, so that the status
// rests.
func TestDurableNamesTheSameSetting(t *testing.T) {
	in := healthy()
	in.cluster().Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	in.Config.Settings = map[string]string{"sync_binlog": "0", "innodb_flush_log_at_trx_commit": "2"}
	first := durable(in)
	for range 50 {
		if again := durable(in); again != first {
			t.Fatalf("%+v, then %+v", first, again)
		}
	}
}

// TestNeverServed: a cluster whose first server does not start requires manual action, and is never said to have lost
// data.
func TestNeverServed(t *testing.T) {
	for _, reason := range []string{agentapi.FailureStart, agentapi.FailureSettings, agentapi.FailureInitialisation} {
		for name, c := range map[string]struct {
			edit    func(*Input)
			blocked bool
			says    string
		}{
			"between two attempts": {func(*Input) {}, true, "No node has served yet"},
			"an attempt is running": {func(in *Input) {
				in.Snapshot.Operation = &galera.Operation{Type: galera.OpFirstStart}
				in.Snapshot.Members[0].Data = galera.DataPresent
			}, true, "No node has served yet"},
			"it checks what was left": {func(in *Input) {
				in.Snapshot.Members[0].Data = ""
				in.Snapshot.Members[0].Order = &galera.Order{Kind: string(agentapi.OrderInitialise),
					State: string(agentapi.OrderFailed)}
			}, true, "No node has served yet"},
			"nothing is known of it": {func(in *Input) { in.Snapshot.Members[0].Data = "" }, reason == agentapi.FailureSettings,
				""},
			"the status was lost": {func(in *Input) { in.Snapshot.Members[1].Data = galera.DataPresent },
				reason == agentapi.FailureSettings, ""},
			"an agent is silent": {func(in *Input) { in.Snapshot.Members[1].Known = false },
				reason == agentapi.FailureSettings, ""},
			"it has served": {func(in *Input) { in.Snapshot.ClusterUUID = "u" }, reason == agentapi.FailureSettings,
				""},
		} {
			in := healthy()
			in.Snapshot.ClusterUUID = ""
			for i := range in.Snapshot.Members {
				in.Snapshot.Members[i].Data, in.Snapshot.Members[i].HeldData = galera.DataEmpty, false
			}
			in.Snapshot.Members[0].Failure = &galera.Failure{Reason: reason, Message: "exit code 1: the server's own line"}
			c.edit(&in)
			p := memberFailure(in)
			if p == nil || p.Blocked != c.blocked || !strings.Contains(p.Message, "the server's own line") ||
				strings.Contains(p.Message, "No node has served") != (c.says != "") {
				t.Errorf("%s, %s: %+v", reason, name, p)
			}
		}
	}
}

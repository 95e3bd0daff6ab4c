package observe

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestRestartAsked: a recorded restart, by annotation or by kubectl rollout restart, is of the mariadbd that ran when
// it was recorded.
func TestRestartAsked(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	run := metav1.NewMicroTime(began)
	for name, tc := range map[string]struct {
		kind, state, node string
		now               time.Time
		server            *agentapi.Server
		want              bool
	}{
		"by annotation": {v1alpha1.RequestRestart, v1alpha1.RequestPending, "db-0", began,
			&agentapi.Server{StartedAt: began}, true},
		"by kubectl rollout": {v1alpha1.RequestRollout, v1alpha1.RequestPending, "db-0", began,
			&agentapi.Server{StartedAt: began}, true},
		"a promotion": {v1alpha1.RequestPromote, v1alpha1.RequestPending, "db-0", began,
			&agentapi.Server{StartedAt: began}, false},
		"it was done": {v1alpha1.RequestRollout, v1alpha1.RequestDone, "db-0", began,
			&agentapi.Server{StartedAt: began}, false},
		"it has expired": {v1alpha1.RequestRollout, v1alpha1.RequestPending, "db-0", began.Add(time.Hour),
			&agentapi.Server{StartedAt: began}, false},
		"of another node": {v1alpha1.RequestRollout, v1alpha1.RequestPending, "db-1", began,
			&agentapi.Server{StartedAt: began}, false},
		"it is a later run": {v1alpha1.RequestRollout, v1alpha1.RequestPending, "db-0", began,
			&agentapi.Server{StartedAt: began.Add(time.Second)}, false},
		"no server is running": {v1alpha1.RequestRollout, v1alpha1.RequestPending, "db-0", began, nil, false},
	} {
		c := &v1alpha1.GaleraCluster{}
		c.Status.Requests = []v1alpha1.RequestStatus{{Kind: tc.kind, State: tc.state,
			ExpiresAt: metav1.NewTime(began.Add(time.Hour)),
			Pending:   []v1alpha1.PendingRestart{{Name: tc.node, StartedAt: &run}}}}
		if got := restartAsked(c, "db-0", tc.server, tc.now); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

package conditions

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/cluster"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// switches follows a switch of replication's encryption from the entry in the journal to the moment
// in which all nodes are Synced with the new one, whatever happens between.
func switches(in Input, before *v1alpha1.ClusterTLSStatus) (now, last *v1alpha1.SwitchStatus) {
	if before != nil {
		now, last = before.Switch, before.LastSwitch
	}
	s := in.Snapshot
	if begin, ok := in.Decision.Action.(plan.Begin); ok && now == nil && begin.Operation.Type == cluster.OpSwitchTLS {
		now = &v1alpha1.SwitchStatus{From: s.Published.String(), Strategy: begin.Operation.Step, StartedAt: metav1.NewTime(in.Now)}
	}
	if now == nil {
		return nil, last
	}
	now = now.DeepCopy()
	now.To = s.Wanted.String()
	if !switched(s) {
		return now, last
	}
	completed := metav1.NewTime(in.Now)
	now.CompletedAt = &completed
	now.OutageMilliseconds = outage(in, now.StartedAt.Time).Milliseconds()
	now.JoinsByIST, now.JoinsBySST = joins(in, now.StartedAt.Time)
	return nil, now
}

func switched(s cluster.Snapshot) bool {
	for _, m := range s.Members {
		if !m.Synced() || m.Running != s.Wanted || m.RestartNeeded {
			return false
		}
	}
	return s.Published == s.Wanted
}

// outage is how long all nodes were away at once since the switch began, by their last time away.
func outage(in Input, since time.Time) time.Duration {
	var from, to time.Time
	for i, m := range in.Snapshot.Members {
		r := in.report(m.Name)
		if r == nil || r.Away.To.IsZero() || r.Away.To.Before(since) {
			return 0
		}
		if i == 0 || r.Away.From.After(from) {
			from = r.Away.From
		}
		if i == 0 || r.Away.To.Before(to) {
			to = r.Away.To
		}
	}
	return max(0, to.Sub(from))
}

func joins(in Input, since time.Time) (ist, sst int32) {
	for _, m := range in.Snapshot.Members {
		r := in.report(m.Name)
		if r == nil || r.Join == nil || r.Join.StartedAt.Before(since.Truncate(time.Second)) {
			continue
		}
		if r.Join.Kind == joinSST {
			sst++
		} else {
			ist++
		}
	}
	return ist, sst
}

// joinSST is agentapi.Join.Kind of a full transfer.
const joinSST = "SST"

package status

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// switches follows a switch of replication's encryption from its entry in the journal until all nodes
// are Synced with the new encryption.
func switches(in Input, before *v1alpha1.ClusterTLSStatus) (now, last *v1alpha1.SwitchStatus) {
	if before != nil {
		now, last = before.Switch, before.LastSwitch
	}
	s := in.Snapshot
	if begin, ok := in.Decision.Action.(plan.Begin); ok && now == nil && begin.Operation.Type == galera.OpSwitchTLS {
		now = &v1alpha1.SwitchStatus{From: s.Published.String(), Strategy: begin.Operation.Step,
			StartedAt: metav1.NewTime(in.Now)}
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
	now.Outage = &metav1.Duration{Duration: outage(in, now.StartedAt.Time).Truncate(time.Millisecond)}
	now.JoinsByIST, now.JoinsBySST = joins(in, now.StartedAt.Time)
	return nil, now
}

func switched(s galera.Snapshot) bool {
	for _, m := range s.Members {
		if !m.Synced() || m.Running != s.Wanted || m.RestartNeeded {
			return false
		}
	}
	return s.Published == s.Wanted
}

// outage is how long no node served since the switch began.
func outage(in Input, since time.Time) time.Duration {
	together := []agentapi.Away{{From: since, To: in.Now}}
	for _, m := range in.Snapshot.Members {
		r := in.report(m.Name)
		if r == nil {
			return 0
		}
		together = overlaps(together, r.Away)
	}
	var sum time.Duration
	for _, t := range together {
		sum += t.To.Sub(t.From)
	}
	return sum
}

// overlaps intersects two lists of intervals. An interval of the second list without an end lasts until now.
func overlaps(ended, others []agentapi.Away) []agentapi.Away {
	var both []agentapi.Away
	for _, a := range ended {
		for _, b := range others {
			if b.To.IsZero() || b.To.After(a.To) {
				b.To = a.To
			}
			if b.From.Before(a.From) {
				b.From = a.From
			}
			if b.From.Before(b.To) {
				both = append(both, b)
			}
		}
	}
	return both
}

func joins(in Input, since time.Time) (ist, sst int32) {
	for _, m := range in.Snapshot.Members {
		r := in.report(m.Name)
		if r == nil || r.Join == nil || r.Join.Began(in.Seen[m.Name].At).Before(since.Truncate(time.Second)) {
			continue
		}
		if r.Join.Kind == agentapi.JoinSST {
			sst++
		} else {
			ist++
		}
	}
	return ist, sst
}

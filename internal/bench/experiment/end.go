package experiment

import (
	"strings"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// end puts everything back, and then finishes with the outcome d.
func end(s State, d Decision) Decision {
	d.Run, d.Ending = nil, true
	if step, ok := putBack(s, d); ok {
		return step
	}
	if left := leftBehind(s); left != "" {
		d.Message += "; left behind: " + left // what was measured stays measured
	}
	d.Action = Finish{}
	return d
}

// putBack is the next step on the way to what was there before. ok is false when there is none, or it is not waited for
// any longer.
func putBack(s State, d Decision) (step Decision, ok bool) {
	patient := !patienceOver(s)
	switch {
	case s.Cluster != nil && s.Benchmark.Spec.Cluster.Template != nil:
		d.Action = RemoveCluster{}
	case patient && s.undropped():
		d.Action = DropAccounts{}
	case patient && len(s.Accounts) > 0:
		return waiting(d, "waiting until the benchmark's account and databases are dropped: "+s.accounts()), true
	case patient && s.Going:
		return waiting(d, "waiting until the private cluster is gone"), true
	case s.Cluster != nil && claimed(s):
		d.Action = Release{}
	default:
		return d, false
	}
	return d, true
}

func waiting(d Decision, message string) Decision {
	d.Reason, d.Message, d.Again = v1alpha1.ReasonCleaningUp, message, 10*time.Second
	return d
}

// undropped reports whether a user or a database is there that is not being deleted.
func (s State) undropped() bool {
	for _, a := range s.Accounts {
		if !a.Going {
			return true
		}
	}
	return false
}

// accounts names the users and databases that are there, with what each of them waits for.
func (s State) accounts() string {
	var names []string
	for _, a := range s.Accounts {
		if a.Message != "" {
			a.Name += ": " + a.Message
		}
		names = append(names, a.Name)
	}
	return strings.Join(names, "; ")
}

// leftBehind is what is not waited for any longer, and how to get rid of it.
func leftBehind(s State) string {
	switch {
	case len(s.Accounts) > 0:
		return "these objects, which are dropped as soon as the cluster takes changes again: " + s.accounts()
	case s.Going:
		return "the private cluster, which is still being deleted; check its finalizers"
	}
	return ""
}

// cleanupPatience is how long the deletion of a benchmark waits for a cluster that is not well.
const cleanupPatience = 10 * time.Minute

// patienceOver reports whether putting everything back is not waited for any longer: a benchmark must be able to end,
// and one that is deleted sooner.
func patienceOver(s State) bool {
	b := s.Benchmark
	switch {
	case b.DeletionTimestamp != nil && s.Now.Sub(b.DeletionTimestamp.Time) > cleanupPatience:
		return true
	case b.Status.EndingSince == nil:
		return false
	}
	return s.Now.Sub(b.Status.EndingSince.Time) >= stalledTime
}

// NothingLeft reports whether a benchmark has ended, and that its deletion would put nothing back. What belongs to it
// goes by itself.
func NothingLeft(s State) bool {
	return s.Benchmark.Status.CompletedAt != nil && (s.Cluster == nil || !claimed(s))
}

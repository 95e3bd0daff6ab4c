package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
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
	b := s.Benchmark
	data := leftData(s)
	if cleanups(s) >= maxCleanups {
		data = nil
	}
	switch {
	case s.Going && !patienceOver(s):
		return waiting(d, "waiting until the private cluster is gone"), true
	case s.Cluster == nil:
		return d, false
	case b.Spec.Cluster.Template != nil:
		d.Action = RemoveCluster{}
	case b.Status.Override != nil:
		d.Action = EndOverride{}
	case unsettled(s, data) != "" && !patienceOver(s):
		return waiting(d, unsettled(s, data)), true
	case len(data) > 0 && !patienceOver(s):
		d.Reason, d.Message = v1alpha1.ReasonCleaningUp, "removing the test data "+data[0]
		d.Action = StartJob{Wire: result.Run{Kind: result.KindCleanup, Attempt: cleanups(s) + 1, Workload: data[0]},
			Data: result.DataSet{Database: data[0], Owner: string(b.UID)}}
	case hasAccount(s) && !patienceOver(s):
		d.Reason, d.Message, d.Again = v1alpha1.ReasonCleaningUp, "dropping the benchmark's account in the database",
			10*time.Second
		d.Action = DropAccount{}
	case claimed(s):
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

// unsettled is what a referenced cluster is waited for, "" for nothing. One that was not switched, and has no data of
// the benchmark, is as it was.
func unsettled(s State, data []string) string {
	why := Settled(s.Benchmark, s.Cluster)
	switch {
	case why == "":
		return ""
	case len(data) > 0:
		return "waiting for the cluster, to remove the test data: " + why
	case claimed(s) && s.Benchmark.Spec.Cluster.Ref.AllowPolicyChanges && foreign(s) != nil:
		return "waiting until the cluster has its own policy again: " + why
	}
	return ""
}

// leftBehind is what is not waited for any longer, and how to get rid of it.
func leftBehind(s State) string {
	b := s.Benchmark
	if s.Going {
		return "the private cluster, which is still being deleted; look at its finalizers"
	}
	data := leftData(s)
	if s.Cluster == nil || b.Spec.Cluster.Ref == nil || len(data) == 0 && !hasAccount(s) {
		return ""
	}
	var drop []string
	suffix := ""
	if r := b.Status.Resources; r != nil {
		suffix = "_" + r.Suffix
	}
	for _, name := range data {
		drop = append(drop, "DROP DATABASE "+name+suffix)
	}
	if hasAccount(s) {
		drop = append(drop, "DROP USER bench"+suffix)
	}
	if len(data) == 0 {
		return fmt.Sprintf("the benchmark's account, which could not be dropped; on the cluster %s run: %s", s.Cluster.Name,
			drop[0])
	}
	return fmt.Sprintf("the test data, which could not be removed; on the cluster %s run: %s", s.Cluster.Name,
		strings.Join(drop, "; "))
}

const (
	// maxCleanups attempts to remove test data are made; a benchmark must be able to end.
	maxCleanups = 11
	// cleanupPatience is how long the deletion of a benchmark waits for a cluster that is not well.
	cleanupPatience = 10 * time.Minute
)

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
	waited := s.Now.Sub(b.Status.EndingSince.Time)
	if s.Cluster == nil {
		return waited >= stalledTime
	}
	if c := stalled(s.Cluster); c != nil {
		return min(waited, s.Now.Sub(c.LastTransitionTime.Time)) >= stalledTime
	}
	return waited >= switchTime
}

func cleanups(s State) int {
	n := 0
	for _, r := range s.Records {
		if r.Kind == result.KindCleanup && s.Judged[Name(s.Benchmark.Name, r.Run)] {
			n = max(n, r.Attempt)
		}
	}
	return n
}

// hasAccount reports whether the Jobs' account is in the database, or may be. That of a private cluster goes with the
// cluster.
func hasAccount(s State) bool {
	r := s.Benchmark.Status.Resources
	return r != nil && r.Account && s.Benchmark.Spec.Cluster.Ref != nil
}

// leftData are the databases some attempt may have made, also one that failed or never came to its end, and
// that were not removed since.
func leftData(s State) (names []string) {
	if r := s.Benchmark.Status.Resources; r != nil && !r.Account {
		return nil // the account was never made, or is dropped with all of its databases
	}
	removed := map[string]bool{}
	for _, r := range s.Records {
		if r.Kind == result.KindCleanup && r.Valid && s.Judged[Name(s.Benchmark.Name, r.Run)] {
			removed[r.Workload] = true
		}
	}
	for _, r := range s.Records {
		if r.Kind == result.KindPrepare && !removed[r.Workload] && !slices.Contains(names, r.Workload) {
			names = append(names, r.Workload)
		}
	}
	return names
}

// NothingLeft reports whether a benchmark has ended, and that its deletion would put nothing back. What belongs to it
// goes by itself. Test data that could not be removed is tried once more at the deletion, unless that was tried too
// often.
func NothingLeft(s State) bool {
	switch {
	case s.Benchmark.Status.CompletedAt == nil || s.Going:
		return false
	case s.Cluster == nil:
		return true
	case s.Benchmark.Status.Override != nil || claimed(s) || hasAccount(s):
		return false
	}
	return len(leftData(s)) == 0 || cleanups(s) >= maxCleanups
}

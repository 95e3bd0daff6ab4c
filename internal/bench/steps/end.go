package steps

import (
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/matrix"
	"github.com/galera-operator/galera-operator/internal/bench/wire"
)

// end puts everything back, and then finishes with the outcome d.
func end(s State, d Decision) Decision {
	b := s.Benchmark
	d.Run = nil
	switch data := leftData(s); {
	case s.Cluster == nil:
	case b.Spec.Cluster.Template != nil:
		d.Action = RemoveCluster{}
		return d
	case b.Status.Restore != "":
		d.Action = RestoreCluster{}
		return d
	case data != "" && cleanups(s) < maxCleanups && !patienceOver(s):
		d.Reason = v1alpha1.ReasonCleaningUp
		if why := matrix.Settled(s.Cluster); why != "" {
			d.Message, d.Again = "waiting for the cluster, to remove the test data: "+why, 10*time.Second
			return d
		}
		d.Message = "removing the test data " + data
		d.Action = StartJob{Wire: wire.Run{Kind: wire.KindCleanup, Attempt: cleanups(s) + 1, Workload: data}, Data: wire.DataSet{Database: data, Owner: string(b.UID)}}
		return d
	case claimed(s):
		d.Action = Release{}
		return d
	}
	d.Action = Finish{}
	return d
}

const (
	// maxCleanups attempts to remove test data are made; a benchmark must be able to end.
	maxCleanups = 11
	// cleanupPatience is how long the deletion of a benchmark waits for a cluster that is not well.
	cleanupPatience = 10 * time.Minute
)

func patienceOver(s State) bool {
	deleted := s.Benchmark.DeletionTimestamp
	return deleted != nil && s.Now.Sub(deleted.Time) > cleanupPatience
}

func cleanups(s State) int {
	n := 0
	for _, r := range s.Records {
		if r.Kind == wire.KindCleanup && s.Judged[Name(s.Benchmark.Name, r.Run)] {
			n = max(n, r.Attempt)
		}
	}
	return n
}

// leftData is a database some attempt may have made, also one that failed or never came to its end, and
// nobody has removed since; "" when there is none.
func leftData(s State) string {
	removed := map[string]bool{}
	for _, r := range s.Records {
		if r.Kind == wire.KindCleanup && r.Valid && s.Judged[Name(s.Benchmark.Name, r.Run)] {
			removed[r.Workload] = true
		}
	}
	for _, r := range s.Records {
		if r.Kind == wire.KindPrepare && !removed[r.Workload] {
			return r.Workload
		}
	}
	return ""
}

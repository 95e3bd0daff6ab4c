package loading

import (
	"fmt"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/policy/restoration"
	"github.com/galera-operator/galera-operator/internal/mycnf"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// freeStep is how exactly free space is reported: it changes all the time, and each change of a status is written.
const freeStep = 64 << 20

// noRoom returns what keeps tables of about as many bytes from being loaded: the volume of a node has less left than
// they take, or that is not known yet. An agent of an earlier release never reports it, which refuses nothing.
func noRoom(f Facts, bytes int64) restoration.Problem {
	if p := blocking(f); p.Reason != "" {
		return p
	}
	need, written := bytes+bytes/10, "" // other pages are filled differently
	if writesBinlog(f.Cluster) {
		need, written = need+bytes, ", and as much in the binary log"
	}
	for i := range int(f.Cluster.Spec.Replicas) {
		node := resources.PodName(f.Cluster, i)
		seen := f.Agents[node]
		if !seen.Live { // for instance because this operator has just been started
			return restoration.Problem{Reason: v1alpha1.ReasonClusterNotReady, Message: fmt.Sprintf(
				"waiting for the agent of %s to report what its volume has free", node)}
		}
		if v := seen.Report.Volume; v != nil && v.Free < need {
			return restoration.Problem{Reason: v1alpha1.ReasonDiskFull, Message: fmt.Sprintf(
				"the tables take about %d MiB%s, and the volume of %s has about %d MiB free: give the cluster larger volumes "+
					"(spec.storage.size), or drop what it does not need. The import goes on by itself", bytes>>20, written, node,
				v.Free/freeStep*freeStep>>20)}
		}
	}
	return restoration.Problem{}
}

// writesBinlog reports whether nodes may write what they commit to a binary log.
func writesBinlog(c *v1alpha1.GaleraCluster) bool {
	if c.ArchivesBinlog() || c.Source() != nil || c.Status.Replication != nil {
		return true
	}
	for name := range c.Spec.MariaDB.Config {
		if mycnf.Normalise(name) == "log-bin" {
			return true
		}
	}
	return false
}

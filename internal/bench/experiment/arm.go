package experiment

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// switchArm brings the cluster to a run's policy, and proves it. ok is false when that is done.
func switchArm(s State, run Run) (d Decision, ok bool) {
	_, attempt, _ := pending(s, []Run{run})
	d = Decision{Run: journal(s, run, attempt, StepSwitch), Reason: v1alpha1.ReasonSwitchingArm, Again: 10 * time.Second}
	if !Has(s.Benchmark, s.Cluster, run) {
		d.Action, d.Message = ChangeCluster{Run: run}, "giving the cluster the policy of the arm "+run.Arm.Name
		return d, true
	}
	why := Proof(s.Cluster)
	if why == "" {
		why = acceleration(s, run)
	}
	if why == "" {
		return prepare(s, run, d)
	}
	d.Message = fmt.Sprintf("waiting until the encryption is proved to be that of the arm %s: %s", run.Arm.Name, why)
	if s.Benchmark.Status.StartedAt == nil {
		d.Reason = v1alpha1.ReasonPreparingCluster
	}
	if c := stalled(s.Cluster); c != nil {
		if refusesRebootstrap(s, c) {
			d.Action = ChangeCluster{Run: run, Rolling: true}
		}
		d.Reason, d.Message = v1alpha1.ReasonClusterNotReady, fmt.Sprintf("waiting for the cluster, which is stalled: %s: %s",
			c.Reason, c.Message)
	}
	return d, true
}

// prepare makes the test data of all runs, so that no arm is measured right after it was written, and then restarts the
// nodes. ok is false when that is done.
func prepare(s State, run Run, d Decision) (_ Decision, ok bool) {
	if data, ok := makeData(s, run); ok {
		return data, true
	}
	why, ask := unprepared(s, run)
	d.Action, d.Message = ask, why
	return d, why != ""
}

// refusedTime is how long a re-bootstrap has to be refused: a certificate that is not there yet is no reason.
const refusedTime = 30 * time.Second

// refusesRebootstrap reports whether the private cluster cannot be switched by a re-bootstrap: its write-set cache may
// be too small for what was written. The other way takes longer and needs no cache.
func refusesRebootstrap(s State, c *metav1.Condition) bool {
	return s.Benchmark.Spec.Cluster.Template != nil && c.Reason == v1alpha1.ReasonSwitchRefused &&
		s.Now.Sub(c.LastTransitionTime.Time) >= refusedTime && s.Cluster.Spec.TLS.SwitchStrategy == v1alpha1.SwitchRebootstrap
}

// provedAgain is what a node that has just got its data has to be observed, and its cluster to be Ready.
const provedAgain = 10 * time.Minute

// unproved is what is missing of the proof after a transfer or an operation, "" when it is not waited for (any longer).
// A node that got its data, or was restarted, is another server now: what it does was never observed. Other runs change
// nothing, so that for them it must hold at once.
func unproved(s State, r result.Record) string {
	if !changesNodes(r.Kind) || r.Output == nil || r.Output.Error != "" || s.Cluster == nil ||
		s.Now.Sub(r.Output.EndedAt) >= provedAgain {
		return ""
	}
	if o := r.Output.Operation; o != nil && o.Name == v1alpha1.OperationBackup && !backupOver(s.Backup) {
		return BackupProblem(s.Backup)
	}
	return Proof(s.Cluster)
}

// acceleration reports whether nodes still run the other way. An annotation asks for it, which does not change the
// generation of the cluster: only its pods report. A cipher is measured alongside them, whatever they run with.
func acceleration(s State, run Run) string {
	if s.Benchmark.Spec.Cluster.Template == nil || run.Cell.Kind == result.KindCipher {
		return ""
	}
	want := v1alpha1.AccelerationOn
	if run.WithoutAccelerator() {
		want = v1alpha1.AccelerationOff
	}
	if s.Acceleration != want {
		return "not every node runs with cpuAcceleration " + want + " yet"
	}
	return ""
}

// Has reports whether the cluster's policy is already what a run needs.
func Has(b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster, run Run) bool {
	if b.Spec.Cluster.Template == nil {
		return true // an existing cluster is measured as it is
	}
	want := Spec(*b.Spec.Cluster.Template, run)
	off := c.Annotations[v1alpha1.AnnotationCPUAcceleration] == v1alpha1.AccelerationOff
	if run.Cell.Kind != result.KindCipher && off != run.WithoutAccelerator() {
		return false
	}
	if run.Cell.Kind == result.KindTransfer && (c.Spec.StateTransfer.Method != want.StateTransfer.Method ||
		c.Spec.StateTransfer.Parallel != want.StateTransfer.Parallel) {
		return false
	}
	return SamePolicy(c.Spec.TLS, want.TLS)
}

// fatal is why the benchmark cannot go on, the zero Decision when it can.
func fatal(s State, run Run, attempt int) Decision {
	b := s.Benchmark
	retries := 2
	if b.Spec.MaxRetries != nil {
		retries = int(*b.Spec.MaxRetries)
	}
	if run.Arm == nil {
		return Decision{}
	}
	last := lastRecord(s.Records, run.Index)
	if attempt > retries+1 && last != nil {
		return Decision{Failed: true, Reason: v1alpha1.ReasonTooManyInvalidRuns,
			Message: fmt.Sprintf("%s did not count (attempts: %d), the last time because: %s. Remove the cause, and "+
				"create the benchmark anew", run.Name(), attempt-1, last.Reason)}
	}
	for _, d := range []Decision{badData(s, retries), trouble(s, run)} {
		if d.Reason != "" {
			return d
		}
	}
	spec := s.clusterSpec()
	if spec == nil {
		return Decision{}
	}
	if why := cmp.Or(Comparable(&b.Spec), Versions(&b.Spec, spec.TLS), Proxies(&b.Spec, spec.TLS)); why != "" {
		return Decision{Failed: true, Reason: v1alpha1.ReasonWorkloadFailed, Message: why}
	}
	size := spec.Storage.Size
	if need := DiskNeeded(&b.Spec); size.Value() > 0 && need > size.Value() {
		return Decision{Failed: true, Reason: v1alpha1.ReasonNotEnoughDisk,
			Message: fmt.Sprintf("the data sets need some %d MB, and storage.size is %s; choose a larger volume, or fewer rows",
				need/1e6, size.String())}
	}
	return Decision{}
}

func lastRecord(records []result.Record, index int) *result.Record {
	var last *result.Record
	for i, r := range records {
		if r.Index == index && (last == nil || r.Attempt > last.Attempt) {
			last = &records[i]
		}
	}
	return last
}

// badData is why a data set could not be made.
func badData(s State, retries int) Decision {
	failures := 0
	var last result.Record
	for _, r := range s.Records {
		if r.Kind == result.KindPrepare && !r.Valid && s.Judged[Name(s.Benchmark.Name, r.Run)] {
			failures++
			if r.Attempt > last.Attempt {
				last = r
			}
		}
	}
	switch {
	case failures == 0:
		return Decision{}
	case NotEnoughDisk(last.Reason):
		return Decision{Failed: true, Reason: v1alpha1.ReasonNotEnoughDisk, Message: last.Reason}
	case failures > retries:
		return Decision{Failed: true, Reason: v1alpha1.ReasonWorkloadFailed, Message: "the test data could not be made: " +
			last.Reason + ". Remove the cause, and create the benchmark anew"}
	}
	return Decision{}
}

// clusterSpec is that of the cluster to be measured, nil while there is none that has it.
func (s State) clusterSpec() *v1alpha1.GaleraClusterSpec {
	if t := s.Benchmark.Spec.Cluster.Template; t != nil || s.Cluster == nil {
		return t
	}
	return &s.Cluster.Spec
}

// start begins an attempt.
func start(s State, run Run, attempt int) Decision {
	return Decision{Run: journal(s, run, attempt, StepMeasure), Reason: v1alpha1.ReasonMeasuring,
		Message: "measuring " + run.Name(),
		Action:  StartJob{Wire: run.Wire(attempt), Run: run, Data: DataSet(run.Cell)}}
}

// makeData makes the first data set that is missing. ok is false when all are there.
func makeData(s State, run Run) (d Decision, ok bool) {
	for _, cell := range append([]Cell{run.Cell}, Cells(&s.Benchmark.Spec)...) {
		data := DataSet(cell)
		if data.Database == "" || s.made(data.Database) {
			continue
		}
		n := 1
		for _, r := range s.Records {
			if r.Kind == result.KindPrepare && s.Judged[Name(s.Benchmark.Name, r.Run)] {
				n = max(n, r.Attempt+1)
			}
		}
		run.Cell = cell
		return Decision{Run: journal(s, run, n, StepPrepare), Reason: v1alpha1.ReasonPreparingData,
			Message: "making the data set " + data.Database,
			Action: StartJob{Wire: result.Run{Kind: result.KindPrepare, Attempt: n, Workload: data.Database}, Run: run,
				Data: data}}, true
	}
	return Decision{}, false
}

// made reports whether a data set is there, in this very cluster.
func (s State) made(name string) bool {
	for _, d := range s.Benchmark.Status.DataSets {
		if d.Name == name && d.ClusterUUID == s.Cluster.Status.ClusterUUID {
			return true
		}
	}
	return false
}

// Package experiment decides what a benchmark measures, in which order, and what it does next. It is pure: the same
// spec and seed give the same runs; the facts and the spec go in, and one action or the reason for waiting comes out. A
// process that forgets everything and asks again gets the same answer.
package experiment

import (
	"fmt"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// Names of BenchmarkRun.Step.
const (
	StepSwitch   = "Switch"
	StepPrepare  = "Prepare"
	StepMeasure  = "Measure"
	StepTransfer = "Transfer"
	// StepOperation is that of a request by annotation.
	StepOperation = "Operation"
	// StepSwitchBack is the second half of a switch of encryption.
	StepSwitchBack = "SwitchBack"
)

// State is everything a decision depends on.
type State struct {
	Benchmark *v1alpha1.GaleraBenchmark
	// Cluster that is measured; nil when there is none.
	Cluster *v1alpha1.GaleraCluster
	// Going reports whether the private cluster is being deleted, and still there.
	Going bool
	// HolderGone reports whether the benchmark the cluster is marked with has ended without taking the mark away.
	HolderGone bool
	// Missing is what a Job would wait for in vain, in words.
	Missing string
	// Acceleration of the TLS library in all database pods: On or Off; "" while they differ.
	Acceleration string
	// Job that exists, nil when there is none.
	Job *Job
	// Accounts are the users and databases that there are for the Jobs.
	Accounts []Account
	// Backup that was made for the Job; nil when there is none.
	Backup *v1alpha1.GaleraBackup
	// Records of all attempts so far, those without a verdict included.
	Records []result.Record
	// Judged reports which records (by Name) have a verdict.
	Judged map[string]bool
	Now    time.Time
}

// Account is a GaleraUser or a GaleraDatabase of the benchmark.
type Account struct {
	// Name with the kind, for instance GaleraUser bench-x.
	Name string
	// Going reports whether it is being deleted.
	Going bool
	// Message is why it is not Ready, or still there; "" when it is Ready.
	Message string
}

// Job is the one Job of the benchmark.
type Job struct {
	Name     string
	Finished bool
	// GoingSince is when its deletion began: its pod may still be at work. Zero for one that is not deleted.
	GoingSince time.Time
	// RunningSince is when its container started, zero before.
	RunningSince time.Time
	// WaitingSince is when its pod began to wait for a node, for what kubelet complains of, or for its own end; zero when
	// it does neither.
	WaitingSince time.Time
	// Victim is the node that is to lose its data, as the Job was reported; "" for none.
	Victim string
	// Operation is what the Job watches, as it was reported; nil for nothing.
	Operation *result.Operation
	// Message is why it failed, or why its pod does not start.
	Message string
}

// Name of the Job and the ConfigMap of one attempt.
func Name(benchmark string, r result.Run) string {
	if r.Kind == result.KindPrepare {
		return fmt.Sprintf("%s-prepare-%d", benchmark, r.Attempt)
	}
	return fmt.Sprintf("%s-run-%03d-%d", benchmark, r.Index, r.Attempt)
}

// Decision is what to do, and what to report about it.
type Decision struct {
	// Action is nil while something is waited for.
	Action Action
	// Run is the journal: written before Action is carried out.
	Run *v1alpha1.BenchmarkRun
	// Reason and Message are the condition's.
	Reason, Message string
	// Failed reports whether the benchmark ends with Reason without having measured everything.
	Failed bool
	// Stalled reports whether a person has to act.
	Stalled bool
	// Ending reports whether everything is being put back.
	Ending bool
	// Again is when to look again at the latest; 0: when something changes.
	Again time.Duration
}

// Action is one side effect: one of those below, or a Request.
type Action any

// The actions.
type (
	// MakeCluster makes the private cluster.
	MakeCluster struct{ Run Run }
	// ChangeCluster gives the private cluster the policy of a run. Rolling is for one that refused to be switched by a
	// re-bootstrap.
	ChangeCluster struct {
		Run     Run
		Rolling bool
	}
	// StartJob begins one attempt.
	StartJob struct {
		Wire result.Run
		Run  Run
		Data result.DataSet
	}
	// TakePod takes a node's pod away, and those that come in its place, if they were made before Until. With Data it
	// takes its volume, too.
	TakePod struct {
		Member string
		Until  time.Time
		Data   bool
	}
	// SwitchReplication gives the private cluster the policy of a run with replication's encryption turned the other way,
	// or as it was before.
	SwitchReplication struct {
		Run   Run
		Other bool
	}
	// MakeBackup makes a GaleraBackup of the private cluster.
	MakeBackup struct{ Name, Store string }
	// Judge writes down whether a finished attempt counts.
	Judge struct{ Record result.Record }
	// RemoveJob removes a finished Job; its result stays.
	RemoveJob struct{ Name string }
	// RemoveCluster removes the private cluster with its data.
	RemoveCluster struct{}
	// GiveUp writes down why the benchmark ends early, before anything is put back.
	GiveUp struct{}
	// Claim marks a referenced cluster as measured by this benchmark, Release takes the mark away.
	Claim struct{}
	// Release is the end of Claim.
	Release struct{}
	// DropAccounts deletes the Jobs' users and databases.
	DropAccounts struct{}
	// Finish ends the benchmark.
	Finish struct{}
	// Expire deletes the benchmark.
	Expire struct{}
)

// Next decides.
func Next(s State) Decision {
	b := s.Benchmark
	if b.Status.CompletedAt != nil && b.DeletionTimestamp == nil {
		return finished(s)
	}
	if d, ok := jobDecision(s); ok {
		return d
	}
	runs := Runs(&b.Spec)
	run, attempt, all := pending(s, runs)
	switch {
	case b.DeletionTimestamp != nil:
		return end(s, Decision{Reason: v1alpha1.ReasonCleaningUp, Message: "the benchmark is being deleted"})
	case b.Status.Failure != nil:
		return end(s, Decision{Failed: true, Reason: b.Status.Failure.Reason, Message: b.Status.Failure.Message})
	case all:
		return end(s, Decision{Reason: v1alpha1.ReasonMeasured, Message: "everything was measured"})
	case busy(s) != "":
		return Decision{Reason: v1alpha1.ReasonClusterBusy, Again: 30 * time.Second,
			Message: fmt.Sprintf("waiting for the benchmark %s, which measures the same cluster", busy(s))}
	}
	if s.Cluster != nil && s.Cluster.Paused() {
		return Decision{Reason: v1alpha1.ReasonClusterPaused, Stalled: true, Again: 30 * time.Second, Message: fmt.Sprintf(
			"no run begins while the cluster %s is paused; the next one does when the annotation %s is removed from it",
			s.Cluster.Name, v1alpha1.AnnotationPause)}
	}
	failure := fatal(s, run, attempt)
	switch {
	case failure.Reason != "":
		failure.Action = GiveUp{}
		return failure
	case s.Missing != "":
		return Decision{Reason: v1alpha1.ReasonWorkloadFailed, Message: s.Missing, Stalled: true, Again: 15 * time.Second}
	case b.Spec.Suspend:
		return Decision{Reason: v1alpha1.ReasonPaused, Message: "spec.suspend is set: the next run begins when it is false"}
	}
	if s.Cluster == nil {
		return noCluster(s, run)
	}
	if b.Spec.Cluster.Ref != nil && !claimed(s) {
		return Decision{Action: Claim{}, Reason: v1alpha1.ReasonPreparingCluster,
			Message: "marking the cluster as being measured"}
	}
	if templateChanged(s) {
		return Decision{Reason: v1alpha1.ReasonTemplateChanged, Stalled: true,
			Message: "spec.cluster.template was changed after the private cluster had been made, " +
				"and figures of two clusters cannot be compared in one benchmark; set it back and this one goes on, or make " +
				"another benchmark"}
	}
	if d, ok := switchArm(s, run); ok {
		return d
	}
	return start(s, run, attempt)
}

// finished waits for the end of ttlAfterFinished.
func finished(s State) Decision {
	d := Decision{Reason: v1alpha1.ReasonMeasured}
	ttl := s.Benchmark.Spec.TTLAfterFinished
	if ttl == nil {
		return d
	}
	left := s.Benchmark.Status.CompletedAt.Add(ttl.Duration).Sub(s.Now)
	if left <= 0 {
		d.Action = Expire{}
	}
	d.Again = max(left, time.Second)
	return d
}

// jobDecision deals with a Job that exists.
func jobDecision(s State) (Decision, bool) {
	j := s.Job
	if j == nil {
		return Decision{}, false
	}
	keep := Decision{Run: s.Benchmark.Status.Run, Reason: v1alpha1.ReasonMeasuring, Message: "the Job " + j.Name +
		" is running", Again: 15 * time.Second}
	if keep.Run != nil && keep.Run.Step == StepPrepare {
		keep.Reason = v1alpha1.ReasonPreparingData
	}
	if !j.GoingSince.IsZero() {
		keep.Message = "waiting for the end of the Job " + j.Name
		return keep, s.Now.Sub(j.GoingSince) < lostTime
	}
	if s.Benchmark.DeletionTimestamp != nil {
		keep.Action = RemoveJob{j.Name}
		return keep, true
	}
	why, over := s.over()
	if !over {
		keep.Message += stateMessage(s)
		return disturb(s, takeData(s, keep)), true
	}
	for _, r := range s.Records {
		if Name(s.Benchmark.Name, r.Run) == j.Name && !s.Judged[j.Name] {
			if r.Output == nil {
				r.Reason = why
			}
			if why := unproved(s, r); why != "" {
				keep.Message, keep.Again = "waiting until the encryption is proved again after what was done: "+why, 5*time.Second
				return keep, true
			}
			keep.Action = Judge{r}
			return keep, true
		}
	}
	keep.Action = RemoveJob{j.Name}
	return keep, true
}

// over reports whether the Job's attempt has ended, and why it did when it left no result. One that has a verdict is
// over, whatever has become well since.
func (s State) over() (why string, over bool) {
	j := s.Job
	if !j.Finished && !j.hopeless(s.Now) && !s.Judged[j.Name] {
		why = stuck(s)
		return why, why != ""
	}
	return "the Job left no result: " + j.Message, true
}

// stateMessage describes a Job that runs: its own trouble, or that of the cluster which its node has to come back to.
func stateMessage(s State) string {
	if s.Job.Message != "" {
		return ": " + s.Job.Message
	}
	if s.Job.Victim == "" || s.Cluster == nil {
		return ""
	}
	if c := stalled(s.Cluster); c != nil {
		return fmt.Sprintf("; the cluster is stalled: %s: %s", c.Reason, c.Message)
	}
	return ""
}

// startTime is what a pod has to start once kubelet or the scheduler complains: an image that could not be pulled may
// be there at the next try, and so may a node.
const startTime = 5 * time.Minute

// lostTime is what a Job's pod has to end, once deleted. One on a host that is lost never does, and a cluster must get
// its policy back all the same.
const lostTime = 10 * time.Minute

// hopeless reports whether a Job is not waited for any longer.
func (j *Job) hopeless(now time.Time) bool {
	return !j.WaitingSince.IsZero() && now.Sub(j.WaitingSince) >= startTime
}

// BaseSeconds is how long a load runs before a node loses its data.
const BaseSeconds = 10

// takeData takes a node's data away when the runner has watched for long enough.
func takeData(s State, keep Decision) Decision {
	run := s.Benchmark.Status.Run
	if run == nil || s.Job.Victim == "" || s.Job.RunningSince.IsZero() || s.Cluster == nil {
		return keep
	}
	keep.Again = s.Job.RunningSince.Add(BaseSeconds * time.Second).Sub(s.Now)
	if keep.Again > 0 {
		return keep
	}
	keep.Again = 5 * time.Second
	step := *run
	step.Step = StepTransfer
	keep.Run, keep.Action = &step, TakePod{s.Job.Victim, s.Job.RunningSince, true}
	return keep
}

// Victim chooses the node that loses its data: the last one that is not the primary.
func Victim(c *v1alpha1.GaleraCluster) string {
	name := fmt.Sprintf("%s-%d", c.Name, c.Spec.Replicas-1)
	if name == c.Status.Primary && c.Spec.Replicas > 1 {
		return fmt.Sprintf("%s-%d", c.Name, c.Spec.Replicas-2)
	}
	return name
}

// pending is the first run without an attempt that counts.
func pending(s State, runs []Run) (run Run, attempt int, all bool) {
	attempts, valid := map[int]int{}, map[int]bool{}
	for _, r := range s.Records {
		if r.Index > 0 && s.Judged[Name(s.Benchmark.Name, r.Run)] {
			attempts[r.Index] = max(attempts[r.Index], r.Attempt)
			valid[r.Index] = valid[r.Index] || r.Valid
		}
	}
	for _, r := range runs {
		if !valid[r.Index] {
			return r, attempts[r.Index] + 1, false
		}
	}
	return Run{}, 0, true
}

func noCluster(s State, run Run) Decision {
	if ref := s.Benchmark.Spec.Cluster.Ref; ref != nil {
		return Decision{Reason: v1alpha1.ReasonClusterNotFound, Stalled: true, Again: 15 * time.Second,
			Message: fmt.Sprintf("there is no GaleraCluster %q in this namespace; make it, or delete the benchmark", ref.Name)}
	}
	return Decision{Action: MakeCluster{run}, Reason: v1alpha1.ReasonPreparingCluster,
		Message: "making the private cluster", Run: journal(s, run, 1, StepSwitch)}
}

// journal is the entry of a step; one that goes on keeps its beginning.
func journal(s State, r Run, attempt int, step string) *v1alpha1.BenchmarkRun {
	j := v1alpha1.BenchmarkRun{Index: int32(r.Index), Attempt: int32(attempt), Round: int32(r.Round),
		Arm:      r.Arm.Name, //nolint:gosec // small numbers
		Workload: r.Cell.Workload.Name, Variant: r.Cell.Variant, Step: step}
	j.StartedAt.Time = s.Now
	if old := s.Benchmark.Status.Run; old != nil {
		same := *old
		same.StartedAt = j.StartedAt
		if same == j {
			j.StartedAt = old.StartedAt
		}
	}
	return &j
}

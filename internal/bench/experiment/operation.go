package experiment

import (
	"slices"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

const (
	// OperationBaseSeconds is how long a load runs before an operation disturbs it.
	OperationBaseSeconds = 20
	// awayTime is how long a node is kept away that joins by IST: long enough for something to be missing.
	awayTime = 20 * time.Second
)

// Request asks for an operation on the private cluster by an annotation. Its token is the Job's name: each attempt has
// its own, and asking twice is asking once.
type Request struct{ Annotation, Value string }

// request is that of a Job; nil once it was made.
func request(s State) Action {
	asked := Request{v1alpha1.AnnotationPrimary, s.Job.Operation.Node + "@" + s.Job.Name}
	switch s.Job.Operation.Name {
	case v1alpha1.OperationRenewal:
		asked = Request{v1alpha1.AnnotationRenew, "leaf@" + s.Job.Name}
	case v1alpha1.OperationRestart:
		asked.Annotation = v1alpha1.AnnotationRestart
	}
	if s.Cluster.Annotations[asked.Annotation] == asked.Value {
		return nil
	}
	return asked
}

// disturb lets the operator act when the runner has watched an undisturbed load for long enough.
func disturb(s State, keep Decision) Decision {
	run := s.Benchmark.Status.Run
	if run == nil || s.Job.Operation == nil || s.Job.RunningSince.IsZero() || s.Cluster == nil {
		return keep
	}
	due := s.Job.RunningSince.Add(OperationBaseSeconds * time.Second)
	if due.After(s.Now) {
		keep.Again = due.Sub(s.Now)
		return keep
	}
	action, name := operation(s, run, due)
	if action == nil {
		return keep
	}
	step := *run
	step.Step = name
	keep.Again, keep.Run, keep.Action = 5*time.Second, &step, action
	return keep
}

// operation is what is to be done for a Job's, and in which step; nil when all of it was.
func operation(s State, run *v1alpha1.BenchmarkRun, due time.Time) (do Action, step string) {
	switch o := s.Job.Operation; o.Name {
	case v1alpha1.OperationSwitch:
		return switchReplication(s, run)
	case v1alpha1.OperationJoinSST:
		return TakePod{o.Node, s.Job.RunningSince, true}, StepOperation
	case v1alpha1.OperationJoinIST:
		if until := due.Add(awayTime); s.Now.Before(until) {
			return TakePod{o.Node, until, false}, StepOperation
		}
		return nil, ""
	case v1alpha1.OperationBackup:
		if s.Backup == nil {
			return MakeBackup{s.Job.Name, o.Store}, StepOperation
		}
		return nil, ""
	}
	return request(s), StepOperation
}

// switchReplication turns replication's encryption the other way, and back once every node is proved to have followed.
// The step names which half it is; the cluster's spec, whether it was asked for.
func switchReplication(s State, run *v1alpha1.BenchmarkRun) (do Action, step string) {
	all := Runs(&s.Benchmark.Spec)
	if run.Index < 1 || int(run.Index) > len(all) {
		return nil, ""
	}
	r := all[run.Index-1]
	other := SamePolicy(s.Cluster.Spec.TLS, Switched(*s.Benchmark.Spec.Cluster.Template, r, true).TLS)
	switch {
	case run.Step != StepSwitchBack && !other:
		return SwitchReplication{r, true}, StepOperation
	case run.Step != StepSwitchBack && Proof(s.Cluster) != "", run.Step == StepSwitchBack && !other:
		return nil, ""
	}
	return SwitchReplication{r, false}, StepSwitchBack
}

// Switched is the private cluster's spec for the operation Switch. Its user would switch it the template's way.
func Switched(template v1alpha1.GaleraClusterSpec, r Run, other bool) v1alpha1.GaleraClusterSpec {
	s := Spec(template, r)
	s.TLS.SwitchStrategy = template.TLS.SwitchStrategy
	switch {
	case !other:
	case s.TLS.Replication == v1alpha1.TLSDisabled:
		s.TLS.Replication = v1alpha1.TLSRequired
	default:
		s.TLS.Replication = v1alpha1.TLSDisabled
	}
	return s
}

// BackupProblem is why a Job's backup does not count, "" when it is complete.
func BackupProblem(b *v1alpha1.GaleraBackup) string {
	if b == nil {
		return "there is no GaleraBackup of the run"
	}
	if b.Status.Phase == v1alpha1.BackupCompleted {
		return ""
	}
	message := "it is " + b.Status.Phase
	for _, c := range b.Status.Conditions {
		if c.Type == v1alpha1.ConditionComplete && c.Message != "" {
			message = c.Message
		}
	}
	return "the backup is not complete: " + message
}

// backupOver reports whether a Job's backup is complete, or never will be.
func backupOver(b *v1alpha1.GaleraBackup) bool {
	return b == nil || b.Status.Phase == v1alpha1.BackupCompleted || b.Status.Phase == v1alpha1.BackupFailed
}

// changesNodes reports whether a run leaves nodes behind of which nothing was observed yet.
func changesNodes(kind string) bool {
	return slices.Contains([]string{result.KindTransfer, result.KindOperation}, kind)
}

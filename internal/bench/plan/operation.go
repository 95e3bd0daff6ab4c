package plan

import (
	"slices"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// OperationBaseSeconds is how long a load runs before an operation disturbs it.
const OperationBaseSeconds = 20

func operations(w *v1alpha1.BenchmarkWorkload) (out []Cell) {
	o := w.Operation
	for _, name := range o.Operations {
		out = append(out, Cell{Workload: w, Kind: result.KindOperation, Threads: int(o.Threads), Operation: name, Variant: choice(len(o.Operations), "operation=%s", name)})
	}
	return out
}

// Request asks for an operation on the private cluster by an annotation. Its token is the Job's name: each attempt has its own, and
// asking twice is asking once.
type Request struct{ Annotation, Value string }

func (Request) action() {}

// request is that of a Job, the zero Request for one that wants none.
func request(j *Job) Request {
	switch o := j.Operation; {
	case o == nil:
		return Request{}
	case o.Name == v1alpha1.OperationRenewal:
		return Request{v1alpha1.AnnotationRenew, "leaf@" + j.Name}
	case o.Name == v1alpha1.OperationRestart:
		return Request{v1alpha1.AnnotationRestart, o.Node + "@" + j.Name}
	default:
		return Request{v1alpha1.AnnotationPrimary, o.Node + "@" + j.Name}
	}
}

// disturb lets the operator act when the runner has watched an undisturbed load for long enough.
func disturb(s State, keep Decision) Decision {
	run, asked := s.Benchmark.Status.Run, request(s.Job)
	if run == nil || asked == (Request{}) || s.Job.RunningSince.IsZero() || s.Cluster == nil || s.Cluster.Annotations[asked.Annotation] == asked.Value {
		return keep
	}
	keep.Again = s.Job.RunningSince.Add(OperationBaseSeconds * time.Second).Sub(s.Now)
	if keep.Again > 0 {
		return keep
	}
	step := *run
	step.Step = StepOperation
	keep.Again, keep.Run, keep.Action = 5*time.Second, &step, asked
	return keep
}

// changesNodes says that a run leaves nodes behind of which nothing was observed yet.
func changesNodes(kind string) bool {
	return slices.Contains([]string{result.KindTransfer, result.KindOperation}, kind)
}

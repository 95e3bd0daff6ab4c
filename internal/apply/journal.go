package apply

import (
	"crypto/rand"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// Journal carries out the actions that only change the status. It reports whether a was one of
// them; the caller stores the status before anything else is done.
func Journal(status *v1alpha1.GaleraClusterStatus, a plan.Action, now time.Time) bool {
	switch a := a.(type) {
	case plan.Begin:
		op := a.Operation // epochs, and so the planner's ids, repeat when the status goes back
		status.Epoch = op.Epoch
		status.Operation = &v1alpha1.OperationStatus{
			ID: op.ID + "-" + strings.ToLower(rand.Text()[:12]), Type: string(op.Type), Target: op.Target, Step: op.Step,
			Epoch:           op.Epoch,
			BootstrapMember: op.BootstrapMember, StartedAt: metav1.NewTime(now),
		}
		if op.Position.Known() {
			status.Operation.Position = op.Position.String()
		}
	case plan.Complete:
		finish(status, a, now)
	case plan.Resize:
		status.Replicas = int32(a.Size)
	case plan.RecordUUID:
		status.ClusterUUID = a.UUID
		status.Epoch = max(status.Epoch, a.Epoch)
		if a.Leap {
			// Epochs count operations: there were never as many as seconds.
			status.Epoch = max(status.Epoch+1, now.Unix())
		}
	default:
		return false
	}
	return true
}

func finish(status *v1alpha1.GaleraClusterStatus, a plan.Complete, now time.Time) {
	op := status.Operation
	if op == nil {
		return
	}
	status.Operation = nil
	if a.Line != "" {
		status.Line = a.Line
	}
	if a.Size > 0 {
		status.Replicas = int32(a.Size)
	}
	if a.Cause != nil {
		status.Abandoned = abandoned(*a.Cause, now)
	}
	if a.Abandoned {
		return
	}
	if status.Abandoned != nil && (status.Abandoned.Type == op.Type || a.Reached) {
		status.Abandoned = nil
	}
	status.LastOperation = &v1alpha1.CompletedOperation{
		Type: op.Type, Epoch: op.Epoch, StartedAt: op.StartedAt,
		CompletedAt: metav1.NewTime(now), Message: a.Message,
	}
}

// maxAbandonedMessage is the limit of status.abandoned.message, in characters.
const maxAbandonedMessage = 1024

func abandoned(a galera.Abandoned, now time.Time) *v1alpha1.AbandonedOperation {
	return &v1alpha1.AbandonedOperation{Type: string(a.Type), Step: a.Step, Goal: a.Goal, Node: a.Member,
		PodUID: a.PodUID, Attempts: int32(a.Attempts), AbandonedAt: metav1.NewTime(now),
		Message: shortened(a.Message, maxAbandonedMessage)}
}

func shortened(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

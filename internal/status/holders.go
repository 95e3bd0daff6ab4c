package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// heldAfter is how long a claim may need to be deleted before manual action is required.
const heldAfter = 2 * time.Minute

// heldClaim reports a member's claim that is being deleted, and cannot go: the member waits for it. It names who holds
// it.
func heldClaim(in Input) *validate.Problem {
	all := observe.Deleted(in.Facts)
	if len(all) == 0 {
		return nil
	}
	claim := all[0]
	text := fmt.Sprintf("the claim %s is being deleted, and its node gets no new volume before it is gone", claim.Name)
	command := ""
	switch holders := in.Facts.Holders[claim.Name]; {
	case len(holders) > 0 && !slices.ContainsFunc(in.Snapshot.Members, galera.Member.InPrimary):
		h := holders[0]
		text += fmt.Sprintf(". The pod %s (%s) mounts it%s. No node serves, and this volume may hold writes that no other "+
			"one has: save its data before you delete the pod, because its claim goes with it", h.Pod, h.Phase,
			others(len(holders)-1))
	case len(holders) > 0:
		h := holders[0]
		command = kubectl("delete", "pod", h.Pod, "-n", claim.Namespace)
		if h.Job != "" {
			command = kubectl("delete", "job", h.Job, "-n", claim.Namespace)
		}
		text += fmt.Sprintf(". The pod %s (%s) mounts it%s. %s: %s", h.Pod, h.Phase, others(len(holders)-1), deleting(h),
			command)
	case in.Facts.Unread != nil:
		text += ". The pods that mount it could not be read"
	case len(claim.Finalizers) > 0:
		text += ". No pod mounts it; it waits for its finalizers: " + strings.Join(claim.Finalizers, ", ")
	}
	if in.Now.Sub(claim.DeletionTimestamp.Time) < heldAfter {
		return passing(v1alpha1.ReasonClaimHeld, text)
	}
	return blockingWith(v1alpha1.ReasonClaimHeld, command, "%s", text)
}

func others(n int) string {
	if n == 0 {
		return ""
	}
	return ", and " + galera.Count(n, "other")
}

// deleting introduces the command that ends a holder.
func deleting(h observe.Holder) string {
	if h.Phase == corev1.PodSucceeded || h.Phase == corev1.PodFailed {
		return "It has ended; delete it"
	}
	return "If its work is not needed, delete it"
}

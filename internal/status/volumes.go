package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// volumes reports a volume that cannot be expanded to the size in the spec.
func volumes(in Input) *validate.Problem {
	want := in.cluster().Spec.Storage.Size
	for _, p := range observe.Small(in.Facts) {
		if !in.Facts.Rigid[p.Name] {
			continue
		}
		return blocking(v1alpha1.ReasonVolumeNotExpandable, fmt.Sprintf(
			"spec.storage.size is %s, but the StorageClass %q of %s does not allow volume expansion; "+
				"set allowVolumeExpansion: true there, if its driver supports it%s; or restore into a new cluster. "+
				"The nodes continue with their present volumes", &want, class(p), p.Name, revertHint(in)))
	}
	return nil
}

// revertHint advises the old size if admission allows it.
func revertHint(in Input) string {
	size := observe.VolumeSize(in.Facts)
	if size == nil {
		return ""
	}
	return fmt.Sprintf("; or set spec.storage.size back to %s", size)
}

// expanding reports a volume that is being expanded. The expansion may wait for its node, so problems of nodes come
// first.
func expanding(in Input) *validate.Problem {
	if p := awaitsRemount(in, ""); p != nil {
		return p
	}
	if growing := observe.Expanding(in.Facts); len(growing) > 0 {
		p := growing[0]
		text := fmt.Sprintf("%s has %s and is being expanded to %s", p.Name, p.Status.Capacity.Storage(),
			p.Spec.Resources.Requests.Storage())
		for _, c := range p.Status.Conditions {
			if c.Status == corev1.ConditionTrue && c.Message != "" {
				text += ": " + c.Message
			}
		}
		return passing(v1alpha1.ReasonVolumeExpanding, text)
	}
	return nil
}

// remountAfter is how long a volume may wait for its file system to be resized before manual action is required: where
// that is possible while the volume is in use, kubelet does it within a minute or two.
const remountAfter = 5 * time.Minute

// awaitsRemount reports a volume that has been expanded, and whose file system grows only when the volume is mounted
// again; nil when there is none. name is the claim, "" for any.
func awaitsRemount(in Input, name string) *validate.Problem {
	for i, m := range in.Snapshot.Members {
		p := in.Facts.Claims[resources.ClaimName(in.cluster(), m.Ordinal)]
		if p == nil || name != "" && p.Name != name || !resizePending(p, in.Now) {
			continue
		}
		return blocking(v1alpha1.ReasonVolumeExpanding, fmt.Sprintf(
			"the volume of %s is expanded to %s, but its file system has %s: this storage resizes it only when the volume is "+
				"mounted again. While all other nodes are Synced, "+
				"run: kubectl delete pod %s -n %s; one node at a time", p.Name, p.Spec.Resources.Requests.Storage(),
			p.Status.Capacity.Storage(), in.Snapshot.Members[i].Name, in.cluster().Namespace))
	}
	return nil
}

func resizePending(p *corev1.PersistentVolumeClaim, now time.Time) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Type == corev1.PersistentVolumeClaimFileSystemResizePending && c.Status == corev1.ConditionTrue &&
			now.Sub(c.LastTransitionTime.Time) >= remountAfter
	})
}

// expansionPending reports whether a member's full volume is being expanded: no manual action is required.
func expansionPending(in Input, m galera.Member) bool {
	return m.Failure.Reason == agentapi.FailureDiskFull &&
		awaitsRemount(in, resources.ClaimName(in.cluster(), m.Ordinal)) == nil &&
		slices.ContainsFunc(observe.Expanding(in.Facts), func(p *corev1.PersistentVolumeClaim) bool {
			return p.Name == resources.ClaimName(in.cluster(), m.Ordinal)
		})
}

// freeSpaceAdvice does not advise a larger volume if the volume cannot be expanded.
func freeSpaceAdvice(in Input, m galera.Member) string {
	if p := awaitsRemount(in, resources.ClaimName(in.cluster(), m.Ordinal)); p != nil {
		return ". " + strings.ToUpper(p.Message[:1]) + p.Message[1:]
	}
	if p := volumes(in); p != nil {
		return ". Free space; the node then continues by itself. Its volume cannot be expanded: " + p.Message
	}
	return ". Free space, or raise spec.storage.size; the node then continues by itself"
}

func class(p *corev1.PersistentVolumeClaim) string {
	if p.Spec.StorageClassName == nil {
		return ""
	}
	return *p.Spec.StorageClassName
}

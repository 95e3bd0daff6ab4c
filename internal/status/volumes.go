package status

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// volumes speaks of a volume that cannot become as large as the spec asks for.
func volumes(in Input) *validate.Problem {
	want := in.cluster().Spec.Storage.Size
	for _, p := range observe.Small(in.Facts) {
		if !in.Facts.Rigid[p.Name] {
			continue
		}
		return blocking(v1alpha1.ReasonVolumeNotExpandable, fmt.Sprintf(
			"spec.storage.size asks for %s, and the class %q of %s does not allow volumes to be expanded; "+
				"set allowVolumeExpansion: true there, if its driver can do it%s; or restore into a new cluster. "+
				"The nodes go on with what they have", &want, class(p), p.Name, wayBack(in)))
	}
	return nil
}

// wayBack is advised where admission allows it.
func wayBack(in Input) string {
	size := observe.VolumeSize(in.Facts)
	if size == nil {
		return ""
	}
	return fmt.Sprintf("; or set spec.storage.size back to %s", size)
}

// expanding speaks while a volume is made larger, which may wait for its node: what a person has to do about that comes first.
func expanding(in Input) *validate.Problem {
	if growing := observe.Expanding(in.Facts); len(growing) > 0 {
		p := growing[0]
		text := fmt.Sprintf("%s has %s and is being expanded to %s", p.Name, p.Status.Capacity.Storage(), p.Spec.Resources.Requests.Storage())
		for _, c := range p.Status.Conditions {
			if c.Status == corev1.ConditionTrue && c.Message != "" {
				text += ": " + c.Message
			}
		}
		return passing(v1alpha1.ReasonVolumeExpanding, text)
	}
	return nil
}

// roomComes says that a member's volume is full and is being made larger: nobody else has to make room.
func roomComes(in Input, m galera.Member) bool {
	return m.Failure.Reason == agentapi.FailureDiskFull && slices.ContainsFunc(observe.Expanding(in.Facts), func(p *corev1.PersistentVolumeClaim) bool {
		return p.Name == resources.ClaimName(in.cluster(), m.Ordinal)
	})
}

// makeRoom does not advise a larger volume where one was asked for in vain.
func makeRoom(in Input) string {
	if p := volumes(in); p != nil {
		return ". Make room; the node goes on by itself. It gets no larger volume: " + p.Message
	}
	return ". Make room, or let spec.storage.size grow; the node goes on by itself"
}

func class(p *corev1.PersistentVolumeClaim) string {
	if p.Spec.StorageClassName == nil {
		return ""
	}
	return *p.Spec.StorageClassName
}

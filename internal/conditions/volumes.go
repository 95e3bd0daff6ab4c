package conditions

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// volumes speaks of a volume that cannot become as large as the spec asks for.
func volumes(in Input) *Problem {
	want := in.cluster().Spec.Storage.Size
	for _, p := range observe.Small(in.Facts) {
		if !in.Facts.Rigid[p.Name] {
			continue
		}
		return &Problem{v1alpha1.ReasonVolumeNotExpandable, fmt.Sprintf(
			"spec.storage.size asks for %s, and the class %q of %s does not allow volumes to be expanded; "+
				"set allowVolumeExpansion: true there, if its driver can do it; or restore into a new cluster, as no size can be set back. "+
				"The nodes go on with what they have", &want, class(p), p.Name), true}
	}
	return nil
}

// expanding speaks while a volume is made larger, which may wait for its node: what a person has to do about that comes first.
func expanding(in Input) *Problem {
	want := in.cluster().Spec.Storage.Size
	if growing := observe.Expanding(in.Facts); len(growing) > 0 {
		p := growing[0]
		have := p.Status.Capacity[corev1.ResourceStorage]
		text := fmt.Sprintf("%s has %s and is being expanded to %s", p.Name, &have, &want)
		for _, c := range p.Status.Conditions {
			if c.Status == corev1.ConditionTrue && c.Message != "" {
				text += ": " + c.Message
			}
		}
		return &Problem{v1alpha1.ReasonVolumeExpanding, text, false}
	}
	return nil
}

func class(p *corev1.PersistentVolumeClaim) string {
	if p.Spec.StorageClassName == nil {
		return ""
	}
	return *p.Spec.StorageClassName
}

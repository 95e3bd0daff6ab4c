package cached

import corev1 "k8s.io/api/core/v1"

func template(t corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: object(t.ObjectMeta), Spec: podSpec(t.Spec)}
}

func podSpec(s corev1.PodSpec) corev1.PodSpec {
	return corev1.PodSpec{NodeName: s.NodeName, InitContainers: containers(s.InitContainers),
		Containers: containers(s.Containers)}
}

func containers(all []corev1.Container) (out []corev1.Container) {
	for _, c := range all {
		out = append(out, corev1.Container{Name: c.Name, Image: c.Image, Env: values(c.Env), RestartPolicy: c.RestartPolicy,
			Resources: corev1.ResourceRequirements{Limits: c.Resources.Limits}})
	}
	return out
}

// values are the variables with a value of their own.
func values(all []corev1.EnvVar) (out []corev1.EnvVar) {
	for _, e := range all {
		if e.Value != "" {
			out = append(out, corev1.EnvVar{Name: e.Name, Value: e.Value})
		}
	}
	return out
}

func podConditions(all []corev1.PodCondition) (out []corev1.PodCondition) {
	for _, c := range all {
		out = append(out, corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message,
			LastTransitionTime: c.LastTransitionTime})
	}
	return out
}

func containerStatuses(all []corev1.ContainerStatus) (out []corev1.ContainerStatus) {
	for _, s := range all {
		out = append(out, corev1.ContainerStatus{
			Name: s.Name, Image: s.Image, ImageID: s.ImageID, State: s.State, LastTerminationState: s.LastTerminationState,
			Ready: s.Ready, RestartCount: s.RestartCount,
		})
	}
	return out
}

package jobs

import corev1 "k8s.io/api/core/v1"

// podSecurity is what all pods of a benchmark run with: the user of the images, and files of Secrets readable by its group.
func podSecurity() *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: new(uid), RunAsGroup: new(uid), FSGroup: new(uid),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
}

// containerSecurity gives containers nothing they do not need.
func containerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), RunAsNonRoot: new(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

package objects

import (
	corev1 "k8s.io/api/core/v1"
)

// podSecurity is what all pods of a benchmark run with: the user of the images, unless one is assigned, and files of
// Secrets readable by its group.
func podSecurity(images Images) *corev1.PodSecurityContext {
	s := &corev1.PodSecurityContext{RunAsNonRoot: new(true),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
	if !images.AssignedUsers {
		s.RunAsUser, s.RunAsGroup, s.FSGroup = new(uid), new(uid), new(uid)
	}
	return s
}

// containerSecurity gives containers nothing they do not need.
func containerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), RunAsNonRoot: new(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// tokenSeconds is how long the token of a Job is good; kubelet renews it.
const tokenSeconds = int64(3600)

// tokenVolume is what a client speaks to the API server with, which is mounted into the container of the client only:
// neither the proxy's image nor anything else in the pod has use for it.
func tokenVolume() corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: new(int32(0o440)),
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(tokenSeconds)}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
		}}}
}

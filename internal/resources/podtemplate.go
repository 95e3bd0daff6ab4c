package resources

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// sidecarVolume keeps the volumes of spec.podTemplate apart from ours.
const sidecarVolume = "sidecar-"

// extended adds spec.podTemplate to a pod: alongside what is there, and never in place of it.
func extended(c *v1alpha1.GaleraCluster, pod corev1.PodSpec) corev1.PodSpec {
	t := c.Spec.PodTemplate.DeepCopy()
	if t == nil {
		return pod
	}
	pod.RuntimeClassName, pod.HostAliases = t.RuntimeClassName, t.HostAliases
	database := &pod.Containers[0]
	database.Env = append(database.Env, envOf(t.Env)...)
	for _, v := range t.Volumes {
		source := emptyDir(corev1.StorageMediumDefault, "")
		if v.ConfigMap != "" {
			source = configMapVolume(v.ConfigMap)
		}
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: sidecarVolume + v.Name, VolumeSource: source})
	}
	for _, s := range t.Sidecars {
		pod.InitContainers = append(pod.InitContainers, sidecar(s))
	}
	return pod
}

// sidecar is an init container that is restarted always: it starts before the database, and ends after it.
func sidecar(s v1alpha1.Sidecar) corev1.Container {
	always := corev1.ContainerRestartPolicyAlways
	out := corev1.Container{
		Name: s.Name, Image: s.Image, Command: s.Command, Args: s.Args, Env: envOf(s.Env), RestartPolicy: &always,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Resources:       corev1.ResourceRequirements{Requests: s.Resources.Requests, Limits: s.Resources.Limits},
		SecurityContext: containerSecurity(),
	}
	if s.Port != 0 {
		out.Ports = []corev1.ContainerPort{{Name: "sidecar", ContainerPort: s.Port, Protocol: corev1.ProtocolTCP}}
	}
	for _, m := range s.VolumeMounts {
		out.VolumeMounts = append(out.VolumeMounts, corev1.VolumeMount{Name: sidecarVolume + m.Name, MountPath: m.MountPath})
	}
	return out
}

func envOf(list []v1alpha1.EnvValue) (out []corev1.EnvVar) {
	for _, e := range list {
		out = append(out, corev1.EnvVar{Name: e.Name, Value: e.Value})
	}
	return out
}

// podMeta are the labels and annotations of the pods: the user's, and ours over them.
func podMeta(c *v1alpha1.GaleraCluster) (labels, annotations map[string]string) {
	labels, annotations = map[string]string{}, map[string]string{}
	if t := c.Spec.PodTemplate; t != nil {
		maps.Copy(labels, t.Labels)
		maps.Copy(annotations, t.Annotations)
	}
	maps.Copy(labels, Labels(c))
	return labels, annotations
}

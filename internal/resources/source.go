package resources

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	volumeSource   = "source"
	volumeSourceCA = "source-ca"
)

// withSource adds what the channel of a source logs in with. The Secrets are optional: they may be deleted when the
// cluster no longer follows.
func withSource(c *v1alpha1.GaleraCluster, pod corev1.PodSpec) corev1.PodSpec {
	from := c.Source()
	if from == nil {
		return pod
	}
	database := &pod.Containers[0]
	add := func(name, path, secret string, keys ...string) {
		source := secretVolume(secret, true)
		for _, key := range keys {
			source.Secret.Items = append(source.Secret.Items, corev1.KeyToPath{Key: key, Path: key})
		}
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: source})
		database.VolumeMounts = append(database.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path, ReadOnly: true})
	}
	add(volumeSource, agentapi.SourceDir, from.CredentialsSecretRef.Name, "username", "password")
	if from.TLS != nil {
		add(volumeSourceCA, agentapi.SourceCADir, from.TLS.CASecretRef.Name, "ca.crt")
	}
	return pod
}

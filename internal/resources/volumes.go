package resources

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	volumeBin    = "bin"
	volumeRun    = "run"
	volumeTmp    = "tmp"
	volumeConfig = "config"
	volumeTLS    = "tls"
	volumeRoot   = "root"

	// secretMode lets only the owner and the pod's fsGroup read.
	secretMode int32 = 0o440
)

func volumes(c *v1alpha1.GaleraCluster) []corev1.Volume {
	return []corev1.Volume{
		{Name: volumeBin, VolumeSource: emptyDir(corev1.StorageMediumDefault, "128Mi")},
		// In memory, so that nothing of it survives the pod: socket, pid file, rendered settings.
		{Name: volumeRun, VolumeSource: emptyDir(corev1.StorageMediumMemory, "16Mi")},
		{Name: volumeTmp, VolumeSource: temporary(c.Spec.Storage.Temporary)},
		{Name: volumeConfig, VolumeSource: configMapVolume(ConfigMapName(c))},
		{Name: volumeTLS, VolumeSource: secretVolume(TLSSecretName(c), true)},
		{Name: volumeRoot, VolumeSource: secretVolume(RootSecretName(c), false)},
	}
}

// volumeMounts mounts whole volumes: kubelet does not refresh a file that is mounted by subPath.
func volumeMounts(opts Options) []corev1.VolumeMount {
	mounts := []corev1.VolumeMount{
		{Name: DataVolume, MountPath: agentapi.VolumeDir},
		{Name: volumeBin, MountPath: agentapi.BinDir, ReadOnly: true},
		{Name: volumeRun, MountPath: agentapi.RunDir},
		{Name: volumeTmp, MountPath: agentapi.TmpDir},
		{Name: volumeConfig, MountPath: agentapi.ConfigDir, ReadOnly: true},
		{Name: volumeTLS, MountPath: agentapi.TLSDir, ReadOnly: true},
		{Name: volumeRoot, MountPath: agentapi.RootDir, ReadOnly: true},
	}
	if opts.AssignedUsers { // the agent logs in to mariadbd by the name of its user, and no image knows an assigned one
		mounts = append(mounts, corev1.VolumeMount{Name: volumeBin, MountPath: "/etc/passwd", SubPath: agentapi.PasswdFile,
			ReadOnly: true})
	}
	return mounts
}

// temporary is the volume of temporary files. On the host's disk it has no limit: the size of sorts depends on the
// data, and kubelet evicts a pod that exceeds a limit.
func temporary(t *v1alpha1.TemporaryStorage) corev1.VolumeSource {
	if t == nil {
		return emptyDir(corev1.StorageMediumDefault, "")
	}
	return corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				StorageClassName: t.StorageClassName,
				Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: t.Size}},
			},
		}}}
}

func emptyDir(medium corev1.StorageMedium, limit string) corev1.VolumeSource {
	source := &corev1.EmptyDirVolumeSource{Medium: medium}
	if limit != "" {
		source.SizeLimit = new(resource.MustParse(limit))
	}
	return corev1.VolumeSource{EmptyDir: source}
}

func configMapVolume(name string) corev1.VolumeSource {
	return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: name},
		DefaultMode:          new(secretMode),
	}}
}

// secretVolume makes the Secret optional where the pod may be there before it. Kubelet would retry
// a missing one with growing pauses; the agent waits for the files with none.
func secretVolume(name string, optional bool) corev1.VolumeSource {
	source := &corev1.SecretVolumeSource{SecretName: name, DefaultMode: new(secretMode)}
	if optional {
		source.Optional = new(true)
	}
	return corev1.VolumeSource{Secret: source}
}

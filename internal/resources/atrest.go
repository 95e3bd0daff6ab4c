package resources

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/atrest"
)

const (
	volumeKeys  = "keys"
	volumeCache = "gcache"
)

// KeysSecretName returns the name of the Secret with the encryption keys.
func KeysSecretName(c *v1alpha1.GaleraCluster) string {
	if a := c.AtRest(); a != nil && a.KeysSecretRef != nil {
		return a.KeysSecretRef.Name
	}
	return c.Name + "-keys"
}

// KeysSecret returns a new Secret with encryption keys. It has no owner: who deletes the cluster can still read its
// volumes and backups. It lacks the cluster's label, by which the operator's cache would keep it.
func KeysSecret(c *v1alpha1.GaleraCluster, keyFile, password []byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: KeysSecretName(c), Namespace: c.Namespace, Annotations: NotPruned(),
			Labels: map[string]string{labelManagedBy: managedBy, labelPartOf: c.Name}},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{atrest.KeyFile: keyFile, atrest.PasswordFile: password},
	}
}

// KeysVolume mounts the encryption keys, and nothing else of their Secret. A pod starts without them, and its agent
// reports what is missing.
func KeysVolume(c *v1alpha1.GaleraCluster) corev1.VolumeSource {
	v := secretVolume(KeysSecretName(c), true)
	v.Secret.Items = []corev1.KeyToPath{{Key: atrest.KeyFile, Path: atrest.KeyFile},
		{Key: atrest.PasswordFile, Path: atrest.PasswordFile}}
	return v
}

// AtRest returns what the nodes encrypt their data with, nil for nothing. The keys are those that were recorded.
func AtRest(c *v1alpha1.GaleraCluster) *agentapi.AtRest {
	a := c.AtRest()
	if a == nil {
		return nil
	}
	out := &agentapi.AtRest{Algorithm: cmp.Or(a.Algorithm, "AES_CTR"), CacheInMemory: a.GCache != v1alpha1.GCacheClear,
		Keys: RecordedKeys(c)}
	return out
}

// RecordedKeys are the fingerprints of the keys that the cluster's data are encrypted with, by number; nil while none
// are recorded.
func RecordedKeys(c *v1alpha1.GaleraCluster) map[string]string {
	if c.Status.AtRest == nil || len(c.Status.AtRest.Keys) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, k := range c.Status.AtRest.Keys {
		out[k.ID] = k.Fingerprint
	}
	return out
}

// withAtRest adds the keys, and the volume of the cache, to a database pod.
func withAtRest(c *v1alpha1.GaleraCluster, pod corev1.PodSpec) corev1.PodSpec {
	a := c.AtRest()
	if a == nil {
		return pod
	}
	database := &pod.Containers[0]
	add := func(name, path string, source corev1.VolumeSource, readOnly bool) {
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: source})
		database.VolumeMounts = append(database.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path,
			ReadOnly: readOnly})
	}
	add(volumeKeys, agentapi.KeysDir, KeysVolume(c), true)
	if a.GCache != v1alpha1.GCacheClear {
		add(volumeCache, agentapi.CacheDir, emptyDir(corev1.StorageMediumMemory, ""), false)
	}
	return pod
}

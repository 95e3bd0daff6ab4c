package resources

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
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

// KeysSecretName returns the name of the Secret with the encryption keys: the one that was recorded when the spec asks
// for none.
func KeysSecretName(c *v1alpha1.GaleraCluster) string {
	switch a := c.AtRest(); {
	case a != nil && a.KeysSecretRef != nil:
		return a.KeysSecretRef.Name
	case a == nil && c.Status.AtRest != nil && c.Status.AtRest.SecretName != "":
		return c.Status.AtRest.SecretName
	}
	return c.Name + "-keys"
}

// MountedKeys returns the Secret whose encryption keys a StatefulSet's pods have, "" when they have none.
func MountedKeys(s *appsv1.StatefulSet) string {
	if s == nil {
		return ""
	}
	for _, v := range s.Spec.Template.Spec.Volumes {
		if v.Name == volumeKeys && v.Secret != nil {
			return v.Secret.SecretName
		}
	}
	return ""
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

// AtRest returns what the nodes encrypt their data with, nil for nothing. It follows the recorded state, and not the
// spec, which may be ahead of it.
func AtRest(c *v1alpha1.GaleraCluster) *agentapi.AtRest {
	if !c.NodesHaveKeys() {
		return nil
	}
	states := map[string]string{v1alpha1.AtRestPreparing: agentapi.AtRestPrepared,
		v1alpha1.AtRestOn: agentapi.AtRestEncrypted, v1alpha1.AtRestDecrypting: agentapi.AtRestDecrypted}
	return &agentapi.AtRest{State: states[c.AtRestState()], Algorithm: cmp.Or(c.Status.AtRest.Algorithm, "AES_CTR"),
		CacheInMemory: cacheInMemory(c), Keys: RecordedKeys(c)}
}

// cacheInMemory reports whether the cache of write-sets is in memory. Without encryption in the spec it is on the
// volume.
func cacheInMemory(c *v1alpha1.GaleraCluster) bool {
	return c.AtRest() != nil && c.AtRest().GCache != v1alpha1.GCacheClear
}

// NeededKeys are the recorded keys that a node's data may be encrypted with, nil while there are none.
func NeededKeys(c *v1alpha1.GaleraCluster) map[string]string {
	if !c.NodesHaveKeys() {
		return nil
	}
	return RecordedKeys(c)
}

// RecordedKeys are the fingerprints of the keys that the cluster's data, or its backups, are encrypted with, by number;
// nil while none are recorded.
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
	if !c.NodesHaveKeys() {
		return pod
	}
	database := &pod.Containers[0]
	add := func(name, path string, source corev1.VolumeSource, readOnly bool) {
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: source})
		database.VolumeMounts = append(database.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path,
			ReadOnly: readOnly})
	}
	add(volumeKeys, agentapi.KeysDir, KeysVolume(c), true)
	if cacheInMemory(c) {
		add(volumeCache, agentapi.CacheDir, emptyDir(corev1.StorageMediumMemory, ""), false)
	}
	return pod
}

package resources

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/atrest"
)

// TestKeysSecretIsKept: it outlives the cluster, and the operator's cache, which keeps what has the cluster's label,
// never sees it.
func TestKeysSecretIsKept(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	c.Name = "shop"
	s := KeysSecret(c, []byte("a"), []byte("b"))
	if _, cached := s.Labels[v1alpha1.LabelCluster]; cached || len(s.OwnerReferences) > 0 || s.Name != "shop-keys" {
		t.Errorf("%+v", s.ObjectMeta)
	}
}

// TestKeysAreMountedByThemselves: into the database container alone, and only with encryption.
func TestKeysAreMountedByThemselves(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	c.Name, c.Spec.Replicas = "shop", 3
	plain := podSpec(c, Options{})
	if slices.ContainsFunc(plain.Volumes, func(v corev1.Volume) bool {
		return v.Name == volumeKeys || v.Name == volumeCache
	}) {
		t.Error("a cluster without encryption has its volumes")
	}
	c.Spec.Encryption = &v1alpha1.EncryptionSpec{AtRest: v1alpha1.AtRestSpec{
		KeysSecretRef: &v1alpha1.KeysSecretReference{Name: "mine"}}}
	for _, state := range []string{"", v1alpha1.AtRestOff} {
		c.Status.AtRest = &v1alpha1.AtRestStatus{State: state}
		if AtRest(c) != nil || slices.ContainsFunc(podSpec(c, Options{}).Volumes, func(v corev1.Volume) bool {
			return v.Name == volumeKeys
		}) {
			t.Errorf("keys are mounted before they are recorded, in state %q", state)
		}
	}
	c.Status.AtRest.State = v1alpha1.AtRestOn
	pod := podSpec(c, Options{})
	i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == volumeKeys })
	source := pod.Volumes[i].Secret
	if source.SecretName != "mine" || *source.DefaultMode&0o007 != 0 || len(source.Items) != 2 ||
		source.Items[0].Key != atrest.KeyFile || source.Items[1].Key != atrest.PasswordFile {
		t.Errorf("%+v", source)
	}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		has := slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.Name == volumeKeys && m.MountPath == agentapi.KeysDir && m.ReadOnly
		})
		if has != (container.Name == ContainerName) {
			t.Errorf("%s: %+v", container.Name, container.VolumeMounts)
		}
	}
	c.Spec.Encryption.AtRest.GCache = v1alpha1.GCacheClear
	if slices.ContainsFunc(podSpec(c, Options{}).Volumes, func(v corev1.Volume) bool { return v.Name == volumeCache }) {
		t.Error("a cache in clear has a volume in memory")
	}
}

// TestKeysStayWhileTheyAreNeeded: without spec.encryption the nodes keep the recorded keys, and have their cache on the
// volume, until the data are decrypted.
func TestKeysStayWhileTheyAreNeeded(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	c.Name, c.Spec.Replicas = "shop", 3
	c.Status.AtRest = &v1alpha1.AtRestStatus{State: v1alpha1.AtRestDecrypting, SecretName: "mine", Algorithm: "AES_CBC",
		Keys: []v1alpha1.EncryptionKeyStatus{{ID: "1", Fingerprint: "a"}}}
	a := AtRest(c)
	if a == nil || a.State != agentapi.AtRestDecrypted || a.Algorithm != "AES_CBC" || a.Keys["1"] != "a" ||
		a.CacheInMemory {
		t.Errorf("%+v", a)
	}
	volumes := podSpec(c, Options{}).Volumes
	i := slices.IndexFunc(volumes, func(v corev1.Volume) bool { return v.Name == volumeKeys })
	if i < 0 || volumes[i].Secret.SecretName != "mine" ||
		slices.ContainsFunc(volumes, func(v corev1.Volume) bool { return v.Name == volumeCache }) {
		t.Errorf("%+v", volumes)
	}
	if c.Status.AtRest.State = v1alpha1.AtRestOff; AtRest(c) != nil || NeededKeys(c) != nil || RecordedKeys(c) == nil {
		t.Error("keys of backups alone are given to nodes, or forgotten")
	}
}

package validate_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// TestKeys: keys are made for what is new, and never in the place of keys that data may need.
func TestKeys(t *testing.T) {
	cluster := func(recorded ...string) *v1alpha1.GaleraCluster {
		c := &v1alpha1.GaleraCluster{}
		c.Name, c.Spec.Encryption = "shop", &v1alpha1.EncryptionSpec{}
		if len(recorded) > 0 {
			c.Status.AtRest = &v1alpha1.AtRestStatus{State: v1alpha1.AtRestOn, Algorithm: "AES_CTR",
				Keys: []v1alpha1.EncryptionKeyStatus{{ID: "1", Fingerprint: recorded[0]}}}
		}
		return c
	}
	named := cluster()
	named.Spec.Encryption.AtRest.KeysSecretRef = &v1alpha1.KeysSecretReference{Name: "mine"}
	started := cluster()
	started.Status.ClusterUUID = "5b3f"
	restored := cluster()
	restored.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{Backup: &v1alpha1.LocalName{Name: "nightly"}}
	decrypting := cluster("a")
	decrypting.Spec.Encryption, decrypting.Status.AtRest.State = nil, v1alpha1.AtRestDecrypting
	forgotten := started.DeepCopy()
	forgotten.Spec.Encryption = nil
	withKeys, withoutKeys := &appsv1.StatefulSet{}, &appsv1.StatefulSet{}
	withKeys.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "keys", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: "mine"}}}}
	asking := func(algorithm, recorded, state string) *v1alpha1.GaleraCluster {
		c := cluster("a")
		c.Spec.Encryption.AtRest.Algorithm, c.Status.AtRest.Algorithm, c.Status.AtRest.State = algorithm, recorded, state
		return c
	}
	claims := map[string]*corev1.PersistentVolumeClaim{"data-shop-0": {}}
	have := func(fingerprint string) *observe.Keys {
		return &observe.Keys{Exists: true, Fingerprints: map[string]string{"1": fingerprint}}
	}
	for name, c := range map[string]struct {
		f       observe.Facts
		reason  string
		blocked bool
		makes   bool
	}{
		"without encryption": {observe.Facts{Cluster: &v1alpha1.GaleraCluster{}}, "", false, false},
		"new": {observe.Facts{Cluster: cluster(), Keys: &observe.Keys{}}, v1alpha1.ReasonKeysPending, false,
			true},
		"new, not read":      {observe.Facts{Cluster: cluster()}, v1alpha1.ReasonKeysPending, false, false},
		"recorded, not read": {observe.Facts{Cluster: cluster("a")}, "", false, false},
		"named by the user, and missing": {observe.Facts{Cluster: named, Keys: &observe.Keys{}}, v1alpha1.ReasonKeysMissing,
			true, false},
		"missing, with volumes of an earlier cluster": {observe.Facts{Cluster: cluster(), Keys: &observe.Keys{},
			Claims: claims}, v1alpha1.ReasonKeysMissing, true, false},
		"missing, with volumes of an earlier cluster, and a backup to begin with": {observe.Facts{Cluster: restored,
			Keys: &observe.Keys{}, Claims: claims}, v1alpha1.ReasonKeysMissing, true, false},
		"new, with a backup to begin with": {observe.Facts{Cluster: restored, Keys: &observe.Keys{}},
			v1alpha1.ReasonKeysPending, false, true},
		"missing, with a history": {observe.Facts{Cluster: started, Keys: &observe.Keys{}}, v1alpha1.ReasonKeysMissing, true,
			false},
		"missing, with pods": {observe.Facts{Cluster: cluster(), Keys: &observe.Keys{},
			StatefulSet: &appsv1.StatefulSet{}}, v1alpha1.ReasonKeysMissing, true, false},
		"deleted":   {observe.Facts{Cluster: cluster("a"), Keys: &observe.Keys{}}, v1alpha1.ReasonKeysMissing, true, false},
		"to record": {observe.Facts{Cluster: cluster(), Keys: have("a")}, v1alpha1.ReasonKeysPending, false, false},
		"same":      {observe.Facts{Cluster: cluster("a"), Keys: have("a")}, "", false, false},
		"others under the same number": {observe.Facts{Cluster: cluster("a"), Keys: have("b")}, v1alpha1.ReasonKeysRefused,
			true, false},
		"a recorded number is missing": {observe.Facts{Cluster: cluster("a"), Keys: &observe.Keys{Exists: true,
			Fingerprints: map[string]string{"2": "a"}}}, v1alpha1.ReasonKeysRefused, true, false},
		"truncated": {observe.Facts{Cluster: cluster("a"), Keys: &observe.Keys{Exists: true, Problem: "it is truncated"}},
			v1alpha1.ReasonKeysRefused, true, false},
		"truncated, and none recorded": {observe.Facts{Cluster: cluster(), Keys: &observe.Keys{Exists: true,
			Problem: "it is truncated"}}, v1alpha1.ReasonKeysRefused, true, false},
		"deleted, while the nodes decrypt": {observe.Facts{Cluster: decrypting, Keys: &observe.Keys{}},
			v1alpha1.ReasonKeysMissing, true, false},
		"deleted, and the status was lost": {observe.Facts{Cluster: forgotten, Keys: &observe.Keys{},
			StatefulSet: withKeys}, v1alpha1.ReasonKeysMissing, true, false},
		"another algorithm": {observe.Facts{Cluster: asking("AES_CBC", "AES_CTR", v1alpha1.AtRestOn), Keys: have("a")},
			v1alpha1.ReasonKeysRefused, true, false},
		"another algorithm, keys not read": {observe.Facts{Cluster: asking("AES_CBC", "AES_CTR", v1alpha1.AtRestOn)},
			v1alpha1.ReasonKeysRefused, true, false},
		"the same algorithm": {observe.Facts{Cluster: asking("AES_CTR", "AES_CTR", v1alpha1.AtRestOn), Keys: have("a")}, "",
			false, false},
		"another algorithm, after Off": {observe.Facts{Cluster: asking("AES_CBC", "AES_CTR", v1alpha1.AtRestOff),
			Keys: have("a")}, v1alpha1.ReasonKeysPending, false, false},
		"missing, with a configuration": {observe.Facts{Cluster: cluster(), Keys: &observe.Keys{},
			Config: &corev1.ConfigMap{}}, v1alpha1.ReasonKeysMissing, true, false},
		"running in clear": {observe.Facts{Cluster: started, Keys: &observe.Keys{}, StatefulSet: withoutKeys},
			v1alpha1.ReasonKeysPending, false, true},
		"missing, and the pods have keys": {observe.Facts{Cluster: started, Keys: &observe.Keys{}, StatefulSet: withKeys},
			v1alpha1.ReasonKeysMissing, true, false},
	} {
		got := validate.Keys(c.f)
		reason, blocked := "", false
		if got != nil {
			reason, blocked = got.Reason, got.Blocked
		}
		if reason != c.reason || blocked != c.blocked || validate.MayMakeKeys(c.f) != c.makes {
			t.Errorf("%s: %+v, makes %v", name, got, validate.MayMakeKeys(c.f))
		}
		if blocked && !strings.Contains(got.Message, `"`) {
			t.Errorf("%s: the Secret is not named: %s", name, got.Message)
		}
		if reason == v1alpha1.ReasonKeysMissing && strings.Contains(got.Message, "data-shop-0") != (len(c.f.Claims) > 0) {
			t.Errorf("%s: the volumes are not named: %s", name, got.Message)
		}
	}
}

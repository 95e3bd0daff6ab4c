package observe

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/atrest"
)

// TestKeysAreRead: the Secret is read while nodes have its keys, also when the spec asks for none any more, and the one
// that the pods have after the status was lost. A cluster that needs no keys reads no Secret.
func TestKeysAreRead(t *testing.T) {
	file, password, err := atrest.Make()
	if err != nil {
		t.Fatal(err)
	}
	secret := func(name string, data map[string][]byte) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}, Data: data}
	}
	live := fake.NewClientBuilder().WithObjects(secret("mine", map[string][]byte{atrest.KeyFile: file,
		atrest.PasswordFile: password}), secret("torn", map[string][]byte{atrest.KeyFile: file[:20]})).Build()
	asks := func(name string) *v1alpha1.EncryptionSpec {
		return &v1alpha1.EncryptionSpec{AtRest: v1alpha1.AtRestSpec{KeysSecretRef: &v1alpha1.KeysSecretReference{Name: name}}}
	}
	mounts := &appsv1.StatefulSet{}
	mounts.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "keys", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: "mine"}}}}
	const unread, gone, bad, good = "not read", "gone", "bad", "good"
	for name, c := range map[string]struct {
		asks   *v1alpha1.EncryptionSpec
		status *v1alpha1.AtRestStatus
		sts    *appsv1.StatefulSet
		want   string
	}{
		"in clear":                      {nil, nil, nil, unread},
		"asked for":                     {asks("mine"), nil, nil, good},
		"asked for, gone":               {asks("other"), nil, nil, gone},
		"asked for, torn":               {asks("torn"), nil, nil, bad},
		"decrypting":                    {nil, &v1alpha1.AtRestStatus{State: v1alpha1.AtRestDecrypting, SecretName: "mine"}, nil, good},
		"off":                           {nil, &v1alpha1.AtRestStatus{State: v1alpha1.AtRestOff, SecretName: "mine"}, nil, unread},
		"off, and pods with keys":       {nil, &v1alpha1.AtRestStatus{State: v1alpha1.AtRestOff, SecretName: "mine"}, mounts, unread},
		"the status was lost":           {nil, nil, mounts, good},
		"the status was lost, asked to": {asks("other"), nil, mounts, gone},
	} {
		cluster := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop"}}
		cluster.Spec.Encryption, cluster.Status.AtRest = c.asks, c.status
		f := Facts{Cluster: cluster, StatefulSet: c.sts}
		if err := (Readers{Live: live}).keys(t.Context(), &f); err != nil {
			t.Fatal(err)
		}
		got := good
		switch k := f.Keys; {
		case k == nil:
			got = unread
		case !k.Exists:
			got = gone
		case k.Problem != "" || len(k.Fingerprints) != 1:
			got = bad
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s: %+v", name, got, c.want, f.Keys)
		}
	}
}

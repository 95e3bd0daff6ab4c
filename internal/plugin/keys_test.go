package plugin

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestKeysTable: before a key is removed from the Secret, a person sees who needs it: the data while the nodes have the
// keys, and each backup of this cluster, also one with keys that are on record no more.
func TestKeysTable(t *testing.T) {
	key := func(id, fingerprint string) v1alpha1.EncryptionKeyStatus {
		return v1alpha1.EncryptionKeyStatus{ID: id, Fingerprint: fingerprint}
	}
	backup := func(name, of, fingerprint string) v1alpha1.GaleraBackup {
		return v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name},
			Spec:   v1alpha1.GaleraBackupSpec{ClusterRef: v1alpha1.BackupClusterRef{Name: of}},
			Status: v1alpha1.GaleraBackupStatus{EncryptionKeys: []v1alpha1.EncryptionKeyStatus{key("1", fingerprint)}}}
	}
	backups := []v1alpha1.GaleraBackup{backup("b", "shop", "aa"), backup("a", "shop", "aa"), backup("old", "shop", "00"),
		backup("foreign", "other", "aa"), {ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "clear"},
			Spec: v1alpha1.GaleraBackupSpec{ClusterRef: v1alpha1.BackupClusterRef{Name: "shop"}}}}
	for state, want := range map[string]string{
		v1alpha1.AtRestOn: "Encryption at rest of shop: On\nThe keys are in the Secret mine. Who loses them loses what " +
			"needs them.\nkey 1   00  needed by backup old\nkey 1   aa  needed by backup a, backup b, the data\n" +
			"key 2   bb  needed by the data\n",
		v1alpha1.AtRestOff: "Encryption at rest of shop: Off\nThe keys are in the Secret mine. Who loses them loses what " +
			"needs them.\nkey 1   00  needed by backup old\nkey 1   aa  needed by backup a, backup b\n" +
			"key 2   bb  needed by nothing that this namespace knows of\n",
	} {
		c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop"}}
		c.Status.AtRest = &v1alpha1.AtRestStatus{State: state, SecretName: "mine",
			Keys: []v1alpha1.EncryptionKeyStatus{key("1", "aa"), key("2", "bb")}}
		if got := keysTable(c, backups); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", state, got, want)
		}
	}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "plain"}}
	if got := keysTable(c, backups); !strings.Contains(got, "no backup needs one") {
		t.Errorf("%s", got)
	}
}

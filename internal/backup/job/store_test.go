package job

import (
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestStore: a task names the store, its pod mounts the credentials, and Azure's identity is asked for where there are
// none.
func TestStore(t *testing.T) {
	for name, c := range map[string]struct {
		spec     v1alpha1.GaleraBackupStoreSpec
		want     task.Store
		items    []corev1.KeyToPath
		identity bool
	}{
		"S3": {v1alpha1.GaleraBackupStoreSpec{S3: &v1alpha1.S3Store{Bucket: "b", Prefix: "p", Region: "r",
			ForcePathStyle: true, Credentials: &v1alpha1.S3Credentials{SecretName: "s", AccessKeyIDKey: "i",
				SecretAccessKeyKey: "k", SessionTokenKey: "t"}}},
			task.Store{Service: task.ServiceS3, Bucket: "b", Prefix: "p", Region: "r", PathStyle: true, Credentials: true},
			[]corev1.KeyToPath{{Key: "i", Path: task.AccessKeyID}, {Key: "k", Path: task.SecretAccessKey},
				{Key: "t", Path: task.SessionToken}}, false},
		"S3 by identity": {v1alpha1.GaleraBackupStoreSpec{S3: &v1alpha1.S3Store{Bucket: "b"}},
			task.Store{Service: task.ServiceS3, Bucket: "b"}, nil, false},
		"S3 with settings": {v1alpha1.GaleraBackupStoreSpec{S3: &v1alpha1.S3Store{Bucket: "b", StorageClass: "STANDARD_IA",
			ServerSideEncryption: &v1alpha1.S3Encryption{Type: v1alpha1.EncryptionSSEKMS, KMSKeyID: "k"},
			Tags:                 map[string]string{"team": "shop"}}},
			task.Store{Service: task.ServiceS3, Bucket: "b", StorageClass: "STANDARD_IA", Encryption: "aws:kms", KMSKey: "k",
				Tags: map[string]string{"team": "shop"}}, nil, false},
		"Google": {v1alpha1.GaleraBackupStoreSpec{GCS: &v1alpha1.GCSStore{Bucket: "b", Prefix: "p", Endpoint: "https://e",
			Credentials: &v1alpha1.GCSCredentials{SecretName: "s", JSONKey: "j"}}},
			task.Store{Service: task.ServiceGCS, Bucket: "b", Prefix: "p", Endpoint: "https://e", Credentials: true},
			[]corev1.KeyToPath{{Key: "j", Path: task.ServiceAccountKey}}, false},
		"Azure": {v1alpha1.GaleraBackupStoreSpec{Azure: &v1alpha1.AzureStore{Account: "a", Container: "c",
			Credentials: &v1alpha1.AzureCredentials{SecretName: "s"}}},
			task.Store{Service: task.ServiceAzure, Account: "a", Bucket: "c", Credentials: true},
			[]corev1.KeyToPath{{Key: "account-key", Path: task.AccountKey}}, false},
		"Azure's other key": {v1alpha1.GaleraBackupStoreSpec{Azure: &v1alpha1.AzureStore{Account: "a", Container: "c",
			Credentials: &v1alpha1.AzureCredentials{SecretName: "s", AccountKeyKey: "k"}}},
			task.Store{Service: task.ServiceAzure, Account: "a", Bucket: "c", Credentials: true},
			[]corev1.KeyToPath{{Key: "k", Path: task.AccountKey}}, false},
		"Azure's token": {v1alpha1.GaleraBackupStoreSpec{Azure: &v1alpha1.AzureStore{Account: "a", Container: "c",
			Credentials: &v1alpha1.AzureCredentials{SecretName: "s", SASTokenKey: "t"}}},
			task.Store{Service: task.ServiceAzure, Account: "a", Bucket: "c", Credentials: true},
			[]corev1.KeyToPath{{Key: "t", Path: task.SASToken}}, false},
		"Azure by identity": {v1alpha1.GaleraBackupStoreSpec{Azure: &v1alpha1.AzureStore{Account: "a", Container: "c"}},
			task.Store{Service: task.ServiceAzure, Account: "a", Bucket: "c"}, nil, true},
		"a volume": {v1alpha1.GaleraBackupStoreSpec{Volume: &v1alpha1.VolumeStore{ClaimName: "c"}}, task.Store{},
			nil, false},
	} {
		s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: c.spec}
		check, err := Check(s, Options{})
		if err != nil || check.Annotations[v1alpha1.AnnotationStoreLocation] != location.Annotation(s) {
			t.Errorf("%s: its Job has %v, %v", name, check.Annotations, err)
		}
		if have := Store(s); !reflect.DeepEqual(have, c.want) {
			t.Errorf("%s: the task has %+v", name, have)
		}
		j := check
		var items []corev1.KeyToPath
		for _, v := range j.Spec.Template.Spec.Volumes {
			if v.Projected != nil {
				items = v.Projected.Sources[0].Secret.Items
			}
		}
		if !slices.Equal(items, c.items) {
			t.Errorf("%s: mounted are %+v", name, items)
		}
		if label := j.Spec.Template.Labels[labelAzureIdentity] == "true"; label != c.identity ||
			j.Labels[labelAzureIdentity] != "" {
			t.Errorf("%s: the identity's label is there: %v", name, label)
		}
	}
}

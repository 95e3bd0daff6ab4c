package job

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// What keeps the webhooks of AWS and of Azure from giving a container the token of its pod's ServiceAccount.
const (
	annotationSkipAWS   = "eks.amazonaws.com/skip-containers"
	annotationSkipAzure = "azure.workload.identity/skip-containers"
)

// withoutIdentity are the annotations of a pod of which one container gets no cloud identity.
func withoutIdentity(container string) map[string]string {
	return map[string]string{annotationSkipAWS: container, annotationSkipAzure: container}
}

// labelAzureIdentity has the webhook of Azure's workload identity give a pod the token of its ServiceAccount.
const labelAzureIdentity = "azure.workload.identity/use"

// encryptions are what S3's protocol calls the kinds of encryption.
var encryptions = map[string]string{v1alpha1.EncryptionSSES3: "AES256", v1alpha1.EncryptionSSEKMS: "aws:kms",
	v1alpha1.EncryptionDSSEKMS: "aws:kms:dsse"}

// Store is a store as a task names it.
func Store(s *v1alpha1.GaleraBackupStore) task.Store {
	credentials := s.Spec.CredentialsSecret() != ""
	switch {
	case s.Spec.S3 != nil:
		b := s.Spec.S3
		out := task.Store{Service: task.ServiceS3, Bucket: b.Bucket, Prefix: b.Prefix, Endpoint: b.Endpoint,
			Region: b.Region, PathStyle: b.ForcePathStyle, Credentials: credentials, StorageClass: b.StorageClass, Tags: b.Tags}
		if e := b.ServerSideEncryption; e != nil {
			out.Encryption, out.KMSKey = encryptions[e.Type], e.KMSKeyID
		}
		return out
	case s.Spec.GCS != nil:
		b := s.Spec.GCS
		return task.Store{Service: task.ServiceGCS, Bucket: b.Bucket, Prefix: b.Prefix, Endpoint: b.Endpoint,
			Credentials: credentials}
	case s.Spec.Azure != nil:
		b := s.Spec.Azure
		return task.Store{Service: task.ServiceAzure, Account: b.Account, Bucket: b.Container, Prefix: b.Prefix,
			Endpoint: b.Endpoint, Credentials: credentials}
	}
	return task.Store{}
}

// credentials are the keys of the Secret with them, and the files that they become.
func credentials(s *v1alpha1.GaleraBackupStore) (items []corev1.KeyToPath) {
	add := func(key, file string) { items = append(items, corev1.KeyToPath{Key: key, Path: file}) }
	switch {
	case s.Spec.S3 != nil:
		c := s.Spec.S3.Credentials
		add(c.AccessKeyIDKey, task.AccessKeyID)
		add(c.SecretAccessKeyKey, task.SecretAccessKey)
		if c.SessionTokenKey != "" {
			add(c.SessionTokenKey, task.SessionToken)
		}
	case s.Spec.GCS != nil:
		add(s.Spec.GCS.Credentials.JSONKey, task.ServiceAccountKey)
	case s.Spec.Azure.Credentials.SASTokenKey != "":
		add(s.Spec.Azure.Credentials.SASTokenKey, task.SASToken)
	case s.Spec.Azure.Credentials.AccountKeyKey != "":
		add(s.Spec.Azure.Credentials.AccountKeyKey, task.AccountKey)
	default:
		add(task.AccountKey, task.AccountKey)
	}
	return items
}

// addStore mounts what the store needs: credentials and a CA, or the volume.
func addStore(p *corev1.PodSpec, s *v1alpha1.GaleraBackupStore) {
	if v := s.Spec.Volume; v != nil {
		p.Volumes = append(p.Volumes, corev1.Volume{Name: volumeStore, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: v.ClaimName}}})
		c := &p.Containers[0]
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volumeStore, MountPath: task.VolumeDir})
		return
	}
	var sources []corev1.VolumeProjection
	if name := s.Spec.CredentialsSecret(); name != "" {
		sources = append(sources,
			corev1.VolumeProjection{Secret: &corev1.SecretProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: credentials(s)}})
	}
	if ca := s.Spec.CA(); ca != nil {
		items := []corev1.KeyToPath{{Key: ca.Key, Path: task.CA}}
		if ca.SecretName != "" {
			sources = append(sources,
				corev1.VolumeProjection{Secret: &corev1.SecretProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: ca.SecretName}, Items: items}})
		} else {
			sources = append(sources,
				corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: ca.ConfigMapName}, Items: items}})
		}
	}
	if len(sources) > 0 {
		mount(p, volumeStore, task.StoreDir, corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: new(
			int32(0o440)), Sources: sources}})
	}
}

// withIdentity are a pod's labels, with the one that Azure's workload identity wants.
func withIdentity(labels map[string]string, s *v1alpha1.GaleraBackupStore) map[string]string {
	if s.Spec.Azure == nil || s.Spec.Azure.Credentials != nil {
		return labels
	}
	out := maps.Clone(labels)
	out[labelAzureIdentity] = "true"
	return out
}

package job

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// sourceUser is the account that the channel logs in to the source with.
const sourceUser = "follower"

// SourceLabels select the pod that serves an archive to a cluster.
func SourceLabels(c *v1alpha1.GaleraCluster) map[string]string {
	return map[string]string{v1alpha1.LabelCluster: c.Name, component: resources.ComponentSource}
}

func ofSource(c *v1alpha1.GaleraCluster) metav1.ObjectMeta {
	return owned(c, "GaleraCluster", resources.SourceName(c), c.Name, resources.ComponentSource)
}

// Source is the Deployment of the one pod that serves the archive that a cluster follows. It alone has the private key
// and the credentials of the store: database pods log in to it.
func Source(c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore, keys v1alpha1.SecretKey, t task.Serve,
	o Options) (*appsv1.Deployment, error) {
	d, err := lasting(ofSource(c), SourceLabels(c), "serve", c, s, task.Task{Serve: &t}, o)
	if err != nil {
		return nil, err
	}
	pod := &d.Spec.Template.Spec
	pod.Containers[0].Ports = []corev1.ContainerPort{
		{Name: "mysql", ContainerPort: task.ServePort, Protocol: corev1.ProtocolTCP},
		{Name: "served", ContainerPort: task.ServedPort, Protocol: corev1.ProtocolTCP}}
	pod.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
		Path: task.PathServed, Port: intstr.FromInt32(task.ServedPort), Scheme: corev1.URISchemeHTTPS}}}
	addKeys(pod, keys)
	secret := &corev1.SecretVolumeSource{SecretName: resources.SourceName(c), DefaultMode: new(int32(0o440))}
	for _, key := range []string{task.SourceUser, task.SourcePassword, corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		secret.Items = append(secret.Items, corev1.KeyToPath{Key: key, Path: key})
	}
	mount(pod, volumeSource, task.SourceDir, corev1.VolumeSource{Secret: secret})
	addUpstream(pod, c)
	return d, nil
}

const (
	volumeUpstream       = "upstream"
	volumeUpstreamCA     = "upstream-ca"
	volumeUpstreamClient = "upstream-client"
)

// Upstream is what the pod streams from, nil for nothing.
func Upstream(c *v1alpha1.GaleraCluster) *task.Stream {
	r := c.Spec.ReplicaOf
	if r == nil || len(r.Endpoints) == 0 || r.TLS == nil {
		return nil
	}
	return &task.Stream{Endpoints: r.Endpoints, AnyName: r.TLS.Verify == v1alpha1.VerifyCA,
		Client: r.TLS.CertificateSecretRef != nil}
}

// addUpstream mounts what the pod logs in to the cluster with that is followed. Without it there is no stream, and the
// archive is served all the same.
func addUpstream(pod *corev1.PodSpec, c *v1alpha1.GaleraCluster) {
	if Upstream(c) == nil {
		return
	}
	add := func(name, path, secret string, keys ...string) {
		source := &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: new(int32(0o440)), Optional: new(true)}
		for _, key := range keys {
			source.Items = append(source.Items, corev1.KeyToPath{Key: key, Path: key})
		}
		mount(pod, name, path, corev1.VolumeSource{Secret: source})
	}
	r := c.Spec.ReplicaOf
	if r.CredentialsSecretRef != nil {
		add(volumeUpstream, task.UpstreamDir, r.CredentialsSecretRef.Name, task.SourceUser, task.SourcePassword)
	}
	add(volumeUpstreamCA, task.UpstreamCADir, r.TLS.CASecretRef.Name, task.CA)
	if of := r.TLS.CertificateSecretRef; of != nil {
		add(volumeUpstreamClient, task.UpstreamClientDir, of.Name, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	}
}

// SourceService leads to that pod.
func SourceService(c *v1alpha1.GaleraCluster) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: ofSource(c),
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Selector: SourceLabels(c),
			Ports: []corev1.ServicePort{{Name: "mysql", Port: task.ServePort, Protocol: corev1.ProtocolTCP,
				TargetPort: intstr.FromInt32(task.ServePort)}}},
	}
}

// SourceSecret is what the channel and the pod prove to each other: the account, and a certificate that names the
// Service and is its own CA (pki.SelfSign). Database pods mount the account and ca.crt, and not the key.
func SourceSecret(c *v1alpha1.GaleraCluster, password string, cert, key []byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: ofSource(c),
		Data: map[string][]byte{task.SourceUser: []byte(sourceUser), task.SourcePassword: []byte(password),
			corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key, task.CA: cert},
	}
}

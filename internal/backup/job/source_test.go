package job

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestSource: the pod that serves an archive has the private key, the store's credentials and the account, and no
// token; its Service leads to it alone.
func TestSource(t *testing.T) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "demo", UID: "a54080f9-1111"}}
	s := &v1alpha1.GaleraBackupStore{Spec: v1alpha1.GaleraBackupStoreSpec{S3: &v1alpha1.S3Store{Bucket: "backups",
		Credentials: &v1alpha1.S3Credentials{SecretName: "s3", AccessKeyIDKey: "a", SecretAccessKeyKey: "b"}}}}
	d, err := Source(c, s, v1alpha1.SecretKey{Name: "key", Key: "identity"}, task.Serve{Dir: "prod/shop/1", Chain: 7},
		Options{Image: "operator"})
	if err != nil {
		t.Fatal(err)
	}
	p := d.Spec.Template.Spec
	container := p.Containers[0]
	var at []string
	for _, m := range container.VolumeMounts {
		at = append(at, m.MountPath)
		if m.MountPath != "/tmp" && !m.ReadOnly {
			t.Errorf("%s can be written", m.MountPath)
		}
	}
	slices.Sort(at)
	if want := []string{task.KeysDir, task.SourceDir, task.StoreDir, "/tmp"}; !slices.Equal(at, want) {
		t.Errorf("%q instead of %q", at, want)
	}
	if *p.AutomountServiceAccountToken || !*p.SecurityContext.RunAsNonRoot || len(p.Containers) != 1 ||
		len(p.InitContainers) > 0 || !*container.SecurityContext.ReadOnlyRootFilesystem ||
		*container.SecurityContext.AllowPrivilegeEscalation ||
		container.Image != "operator" || *d.Spec.Replicas != 1 {
		t.Errorf("%+v", p)
	}
	var reported task.Task
	if err := json.Unmarshal([]byte(container.Env[0].Value), &reported); err != nil || reported.Serve == nil ||
		!reflect.DeepEqual(*reported.Serve, task.Serve{Dir: "prod/shop/1", Chain: 7}) || reported.Store.Bucket != "backups" {
		t.Errorf("%s: %v", container.Env[0].Value, err)
	}
	service := SourceService(c)
	if !maps.Equal(service.Spec.Selector, d.Spec.Selector.MatchLabels) || service.Name != "shop-source" ||
		service.Spec.Ports[0].Port != 3306 {
		t.Errorf("%+v", service.Spec)
	}
	for name, value := range service.Spec.Selector {
		if d.Spec.Template.Labels[name] != value {
			t.Errorf("the pod is not selected by %s", name)
		}
	}
	// What the pod is given of the Secret is there, and database pods have what they mount of it.
	secret := SourceSecret(c, "secret", []byte("cert"), []byte("key"))
	for _, v := range p.Volumes {
		if v.Secret != nil && v.Secret.SecretName == secret.Name {
			for _, item := range v.Secret.Items {
				if len(secret.Data[item.Key]) == 0 {
					t.Errorf("the Secret has no %s", item.Key)
				}
			}
		}
	}
	if string(secret.Data[task.CA]) != "cert" {
		t.Errorf("%s", secret.Data[task.CA])
	}
}

// TestUpstream: the pod of a cluster that streams gets the account and the CA for that, and serves the archive without
// them, too.
func TestUpstream(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	c.Name, c.Namespace = "shop", "site"
	for name, tc := range map[string]struct {
		of   *v1alpha1.ReplicaOf
		want []string
		task *task.Stream
	}{
		"the archive alone": {of: &v1alpha1.ReplicaOf{}},
		"a stream": {of: &v1alpha1.ReplicaOf{Endpoints: []string{"a:3306"},
			CredentialsSecretRef: &v1alpha1.LocalName{Name: "account"},
			TLS:                  &v1alpha1.EndpointTLS{CASecretRef: v1alpha1.LocalName{Name: "ca"}, Verify: "Identity"}},
			want: []string{"account [username password]", "ca [ca.crt]"}, task: &task.Stream{Endpoints: []string{"a:3306"}}},
		"with a certificate": {of: &v1alpha1.ReplicaOf{Endpoints: []string{"a:3306", "b:1"},
			CredentialsSecretRef: &v1alpha1.LocalName{Name: "account"},
			TLS: &v1alpha1.EndpointTLS{CASecretRef: v1alpha1.LocalName{Name: "ca"}, Verify: "CA",
				CertificateSecretRef: &v1alpha1.LocalName{Name: "pair"}}},
			want: []string{"account [username password]", "ca [ca.crt]", "pair [tls.crt tls.key]"},
			task: &task.Stream{Endpoints: []string{"a:3306", "b:1"}, AnyName: true, Client: true}},
	} {
		c.Spec.ReplicaOf = tc.of
		pod := &corev1.PodSpec{Containers: []corev1.Container{{}}}
		addUpstream(pod, c)
		var got []string
		for i, v := range pod.Volumes {
			keys := []string{}
			for _, item := range v.Secret.Items {
				keys = append(keys, item.Key)
			}
			got = append(got, fmt.Sprintf("%s %v", v.Secret.SecretName, keys))
			if !*v.Secret.Optional || !pod.Containers[0].VolumeMounts[i].ReadOnly {
				t.Errorf("%s: %+v", name, v)
			}
		}
		if !slices.Equal(got, tc.want) || !reflect.DeepEqual(Upstream(c), tc.task) {
			t.Errorf("%s: %q, %+v", name, got, Upstream(c))
		}
	}
}

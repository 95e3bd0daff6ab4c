package harness

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

const (
	// StorePort is the one an ObjectStore listens on.
	StorePort = 9000
	// Bucket is the one bucket of an ObjectStore.
	Bucket = "backups"
)

// ObjectStore is a real S3 server in a namespace of its own, with TLS by a CA that only it has.
type ObjectStore struct {
	Kube           *Kube
	Namespace      string
	access, secret string
	ca             []byte
	client         *s3.Client
	podIP          string
	serverName     string
}

// StartObjectStore starts one in a namespace that admits restricted pods only.
func StartObjectStore(ctx context.Context, k *Kube, namespace string) (*ObjectStore, error) {
	s := &ObjectStore{Kube: k, Namespace: namespace, access: "test" + strings.ToLower(rand.Text()[:8]),
		secret:     rand.Text(),
		serverName: "s3." + namespace + ".svc"}
	image, err := pinned("OBJECT_STORE_IMAGE")
	if err == nil {
		err = manifests(ctx, k, "object-store.yaml", namespace, map[string]string{"NAMESPACE": namespace, "IMAGE": image,
			"ACCESS_KEY": s.access, "SECRET_KEY": s.secret})
	}
	if err == nil {
		s.podIP, err = readyPod(ctx, k, "the object store", namespace, "s3")
	}
	if err != nil {
		return nil, err
	}
	return s, s.connect(ctx)
}

// Environment is what a person sets to use the store from a shell, with its CA in a file.
func (s *ObjectStore) Environment(caFile string) string {
	return fmt.Sprintf(
		"export AWS_ACCESS_KEY_ID=%s AWS_SECRET_ACCESS_KEY=%s AWS_CA_BUNDLE=%s "+
			"BUCKET='s3://%s?region=us-east-1&use_path_style=true&endpoint=https://%s:%d'\n",
		s.access, s.secret, caFile, Bucket, s.serverName, StorePort)
}

// From is the store as another Kubernetes uses it, which finds it under the same name: Publish.
func (s *ObjectStore) From(k *Kube) *ObjectStore {
	out := *s
	out.Kube = k
	return &out
}

// PodIP is the address of the store's pod.
func (s *ObjectStore) PodIP() string { return s.podIP }

// CA is the certificate the store's is verified by, in PEM.
func (s *ObjectStore) CA() string { return string(s.ca) }

// repositoryFile reads a file of the repository, wherever in it the program was started.
func repositoryFile(name ...string) ([]byte, error) {
	dir, err := repository()
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(append([]string{dir}, name...)...))
}

// pinned is what hack/versions.env says of an image.
func pinned(name string) (string, error) {
	text, err := repositoryFile("hack", "versions.env")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return v, nil
		}
	}
	return "", fmt.Errorf("hack/versions.env names no %s", name)
}

// manifests makes the objects of a file in hack/manifests in a namespace, with the values of its ${NAMES} filled in.
func manifests(ctx context.Context, k *Kube, file, namespace string, values map[string]string) error {
	text, err := repositoryFile("hack", "manifests", file)
	if err != nil {
		return err
	}
	filled := os.Expand(string(text), func(name string) string { return values[name] })
	for document := range strings.SplitSeq(filled, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), o); err != nil {
			return err
		}
		o.SetNamespace(namespace)
		if err := k.Create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// readyPod waits for a pod, and returns its address.
func readyPod(ctx context.Context, k *Kube, what, namespace, name string) (ip string, err error) {
	err = k.Until(ctx, what, 2*time.Minute, func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		if err := k.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, p); err != nil {
			return false, "", err
		}
		ip = p.Status.PodIP
		return PodReady(p), string(p.Status.Phase), nil
	})
	return ip, err
}

// connect makes a client of this machine, which reaches pods.
func (s *ObjectStore) connect(ctx context.Context) error {
	tlsSecret := &corev1.Secret{}
	if err := s.Kube.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: "s3-tls"}, tlsSecret); err != nil {
		return err
	}
	s.ca = tlsSecret.Data["tls.crt"]
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.ca)
	s.client = s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(fmt.Sprintf("https://%s:%d", s.podIP, StorePort)), UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(s.access, s.secret, ""),
		HTTPClient: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots,
			ServerName: s.serverName, MinVersion: tls.VersionTLS12}}},
	})
	return nil
}

// Place makes what a GaleraBackupStore in a namespace needs: credentials and CA. It returns the store, which is not
// created yet.
func (s *ObjectStore) Place(ctx context.Context, namespace string, recipients ...string) (*v1alpha1.GaleraBackupStore,
	error) {
	err := s.Kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s3"},
		Data: map[string][]byte{"access-key-id": []byte(s.access), "secret-access-key": []byte(s.secret), "ca.crt": s.ca}})
	return &v1alpha1.GaleraBackupStore{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "offsite"},
		Spec: v1alpha1.GaleraBackupStoreSpec{
			S3: &v1alpha1.S3Store{Bucket: Bucket, Endpoint: fmt.Sprintf("https://%s:%d", s.serverName, StorePort),
				ForcePathStyle: true,
				Credentials:    &v1alpha1.S3Credentials{SecretName: "s3"}, CABundle: &v1alpha1.CABundle{SecretName: "s3"}},
			Encryption: v1alpha1.BackupEncryption{Recipients: recipients},
		},
	}, err
}

// Keys lists the names of all objects.
func (s *ObjectStore) Keys(ctx context.Context) ([]string, error) {
	out, err := s.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: aws.String(Bucket)})
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, o := range out.Contents {
		keys = append(keys, aws.ToString(o.Key))
	}
	return keys, nil
}

// Read returns an object.
func (s *ObjectStore) Read(ctx context.Context, key string) ([]byte, error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(Bucket), Key: aws.String(key)})
	if err != nil {
		return nil, err
	}
	defer out.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(out.Body)
	return b.Bytes(), err
}

// Write replaces an object.
func (s *ObjectStore) Write(ctx context.Context, key string, data []byte) error {
	_, err := s.client.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: aws.String(key),
		Body: bytes.NewReader(data)})
	return err
}

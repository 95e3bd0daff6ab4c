package harness

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	storetest "github.com/galera-operator/galera-operator/internal/backup/store/storetest/google"
)

// GoogleStore is an emulator of Google Cloud Storage in a namespace of its own, with TLS by a CA that only it has.
type GoogleStore struct {
	Kube *Kube
	// Endpoint is its address for pods.
	Endpoint string
	key      string
	ca       []byte
	client   *http.Client
}

// StartGoogleStore starts one in a namespace that admits restricted pods only.
func StartGoogleStore(ctx context.Context, k *Kube, namespace string) (*GoogleStore, error) {
	image, err := pinned("GOOGLE_STORE_IMAGE")
	if err == nil {
		err = made(ctx, "google-store", image)
	}
	if err != nil {
		return nil, err
	}
	host := "google." + namespace + ".svc"
	s := &GoogleStore{Kube: k, Endpoint: fmt.Sprintf("https://%s:%d", host, StorePort)}
	if s.key, _, err = storetest.NewKey(s.Endpoint); err != nil {
		return nil, err
	}
	err = manifests(ctx, k, "google-store.yaml", namespace, map[string]string{"NAMESPACE": namespace, "IMAGE": image,
		"KEY": base64.StdEncoding.EncodeToString([]byte(s.key))})
	if err != nil {
		return nil, err
	}
	ip, err := readyPod(ctx, k, "the emulator of Google Cloud Storage", namespace, "google")
	if err != nil {
		return nil, err
	}
	return s, s.connect(ctx, namespace, ip)
}

// connect makes a client with the credentials of the store.
func (s *GoogleStore) connect(ctx context.Context, namespace, ip string) error {
	var plain *http.Client
	var err error
	if plain, s.ca, err = emulatorClient(ctx, s.Kube, namespace, "google-tls", ip); err != nil {
		return err
	}
	conf, err := google.JWTConfigFromJSON([]byte(s.key), "https://www.googleapis.com/auth/devstorage.read_write")
	if err != nil {
		return err
	}
	s.client = conf.Client(context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, plain))
	return nil
}

// Place makes what a GaleraBackupStore in a namespace needs: credentials and CA. It returns the store, which is not
// created yet.
func (s *GoogleStore) Place(ctx context.Context, namespace string, recipients ...string) (*v1alpha1.GaleraBackupStore,
	error) {
	other, _, err := storetest.NewKey(s.Endpoint)
	if err != nil {
		return nil, err
	}
	err = s.Kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "google"},
		Data: map[string][]byte{"key.json": []byte(s.key), "other.json": []byte(other), "ca.crt": s.ca}})
	return &v1alpha1.GaleraBackupStore{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "offsite"},
		Spec: v1alpha1.GaleraBackupStoreSpec{
			GCS: &v1alpha1.GCSStore{Bucket: Bucket, Endpoint: s.Endpoint,
				Credentials: &v1alpha1.GCSCredentials{SecretName: "google"}, CABundle: &v1alpha1.CABundle{SecretName: "google"}},
			Encryption: v1alpha1.BackupEncryption{Recipients: recipients},
		},
	}, err
}

// Keys lists the names of all objects.
func (s *GoogleStore) Keys(ctx context.Context) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Endpoint+"/storage/v1/b/"+Bucket+"/o", nil)
	if err != nil {
		return nil, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var found struct {
		Items []struct{ Name string }
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(&found); err != nil {
		return nil, err
	}
	var keys []string
	for _, o := range found.Items {
		keys = append(keys, o.Name)
	}
	return keys, nil
}

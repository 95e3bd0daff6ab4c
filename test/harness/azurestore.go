package harness

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// azureAccount is the storage account, and the first word of the address, as Azure has it.
const azureAccount = "azure"

// AzureStore is an emulator of Azure Blob Storage in a namespace of its own, with TLS by a CA that only it has.
type AzureStore struct {
	// Endpoint is its address for pods.
	Endpoint  string
	kube      *Kube
	key       string
	ca        []byte
	container *container.Client
}

// StartAzureStore starts one in a namespace that admits restricted pods only.
func StartAzureStore(ctx context.Context, k *Kube, namespace string) (*AzureStore, error) {
	image, err := pinned("AZURITE_IMAGE")
	if err == nil {
		err = made(ctx, "azurite", image)
	}
	if err != nil {
		return nil, err
	}
	s := &AzureStore{kube: k, Endpoint: fmt.Sprintf("https://%s.%s.svc:%d", azureAccount, namespace, StorePort),
		key: accountKey()}
	if err := manifests(ctx, k, "azurite.yaml", namespace, map[string]string{"NAMESPACE": namespace, "IMAGE": image,
		"KEY": s.key}); err != nil {
		return nil, err
	}
	ip, err := readyPod(ctx, k, "the emulator of Azure Blob Storage", namespace, "azure")
	if err != nil {
		return nil, err
	}
	if err := s.connect(ctx, namespace, ip); err != nil {
		return nil, err
	}
	_, err = s.container.Create(ctx, nil)
	return s, err
}

// accountKey is a new key of a storage account.
func accountKey() string { return base64.StdEncoding.EncodeToString([]byte(rand.Text())) }

// connect makes a client with the credentials of the store.
func (s *AzureStore) connect(ctx context.Context, namespace, ip string) error {
	var plain *http.Client
	var err error
	if plain, s.ca, err = emulatorClient(ctx, s.kube, namespace, "azure-tls", ip); err != nil {
		return err
	}
	key, err := container.NewSharedKeyCredential(azureAccount, s.key)
	if err != nil {
		return err
	}
	s.container, err = container.NewClientWithSharedKeyCredential(s.Endpoint+"/"+Bucket, key,
		&container.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: plain}})
	return err
}

// Place makes what a GaleraBackupStore in a namespace needs: credentials and CA. It returns the store, which is not
// created yet.
func (s *AzureStore) Place(ctx context.Context, namespace string, recipients ...string) (*v1alpha1.GaleraBackupStore,
	error) {
	err := s.kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "azure"},
		StringData: map[string]string{"account-key": s.key, "other-key": accountKey(), "ca.crt": string(s.ca)}})
	return &v1alpha1.GaleraBackupStore{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "offsite"},
		Spec: v1alpha1.GaleraBackupStoreSpec{
			Azure: &v1alpha1.AzureStore{Account: azureAccount, Container: Bucket, Endpoint: s.Endpoint,
				Credentials: &v1alpha1.AzureCredentials{SecretName: "azure"},
				CABundle:    &v1alpha1.CABundle{SecretName: "azure"}},
			Encryption: v1alpha1.BackupEncryption{Recipients: recipients},
		},
	}, err
}

// Keys lists the names of all objects.
func (s *AzureStore) Keys(ctx context.Context) ([]string, error) {
	var keys []string
	for pages := s.container.NewListBlobsFlatPager(nil); pages.More(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, o := range page.Segment.BlobItems {
			keys = append(keys, *o.Name)
		}
	}
	return keys, nil
}

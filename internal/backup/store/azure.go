package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob/azureblob"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

func (p place) azure(ctx context.Context) (*Bucket, error) {
	client, err := p.container()
	if err != nil {
		return nil, err
	}
	return azureblob.OpenBucket(ctx, client, nil)
}

func (p place) container() (*container.Client, error) {
	endpoint := p.Endpoint
	if endpoint == "" {
		endpoint = "https://" + p.Account + ".blob.core.windows.net"
	}
	url := strings.TrimSuffix(endpoint, "/") + "/" + p.Bucket
	hc := p.client()
	options := &container.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: hc,
		Retry: policy.RetryOptions{MaxRetries: tries - 1}, PerCallPolicies: []policy.Policy{azureComplete{p}}}}
	if err := p.identityAllowed(); err != nil {
		return nil, err
	}
	if !p.Credentials {
		identity, err := podIdentity()
		if err != nil {
			return nil, fmt.Errorf("the store names no credentials, and the pod has no identity at Azure: %w", err)
		}
		return container.NewClient(url, identity, options)
	}
	if _, err := p.read(task.SASToken); err == nil {
		hc.Transport = &sasTransport{p, hc.Transport}
		return container.NewClientWithNoCredential(url, options)
	}
	key, err := container.NewSharedKeyCredential(p.Account, "")
	if err != nil {
		return nil, err
	}
	options.PerCallPolicies = append(options.PerCallPolicies, &accountKey{place: p, key: key})
	return container.NewClientWithSharedKeyCredential(url, key, options)
}

// podIdentity is that of the pod's ServiceAccount, to which the webhook of Azure's workload identity has given a token.
// The identity of the host, which every pod there could use, is not used.
func podIdentity() (azcore.TokenCredential, error) {
	if os.Getenv("AZURE_FEDERATED_TOKEN_FILE") == "" {
		return nil,
			refused{errors.New(
				"its ServiceAccount has no workload identity: name credentials, or a serviceAccountName with one")}
	}
	options := azcore.ClientOptions{Transport: &http.Client{Transport: public(), Timeout: answerTime}}
	return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{ClientOptions: options})
}

// accountKey has requests signed with the key in the Secret, which may be renewed.
type accountKey struct {
	place
	key *container.SharedKeyCredential
}

// Do implements policy.Policy.
func (a *accountKey) Do(req *policy.Request) (*http.Response, error) {
	word, err := a.word(task.AccountKey)
	if err != nil {
		return nil, err
	}
	if word == "" || a.key.SetAccountKey(word) != nil {
		return nil, refused{errors.New("the store's Secret holds no key of a storage account (base64)")}
	}
	return req.Next()
}

// sasTransport adds the token to requests, after everything that could determine their URLs.
type sasTransport struct {
	place
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *sasTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	word, err := t.word(task.SASToken)
	if word = strings.TrimPrefix(word, "?"); err == nil && word == "" {
		err = refused{errors.New("the store's Secret holds an empty SAS token")}
	}
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	signed := req.Clone(req.Context())
	if signed.URL.RawQuery != "" {
		word = signed.URL.RawQuery + "&" + word
	}
	signed.URL.RawQuery = word
	return t.next.RoundTrip(signed)
}

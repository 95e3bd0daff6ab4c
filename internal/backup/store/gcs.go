package store

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"
	"sync"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob/gcsblob"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/option"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

func (p place) gcs(ctx context.Context) (*Bucket, error) {
	if err := p.identityAllowed(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx) // tokens are asked for as long as the bucket is used
	source := &tokens{place: p, ctx: context.WithValue(ctx, oauth2.HTTPClient,
		&http.Client{Transport: p.forTokens(), Timeout: answerTime})}
	hc := p.client()
	hc.Transport = &oauth2.Transport{Source: source, Base: hc.Transport}
	options := []option.ClientOption{option.WithHTTPClient(hc), storage.WithJSONReads()}
	if p.Endpoint != "" {
		options = append(options, option.WithEndpoint(strings.TrimSuffix(p.Endpoint, "/")+"/storage/v1/"))
	}
	client, err := storage.NewClient(ctx, options...)
	if err != nil {
		return nil, err
	}
	client.SetRetry(storage.WithMaxAttempts(tries))
	return gcsblob.OpenBucket(ctx, nil, p.Bucket, &gcsblob.Options{Client: client})
}

// forTokens reaches the service that gives tokens: Google's own, or one alongside a private endpoint. It gets no key,
// only what is signed by it.
func (p place) forTokens() *http.Transport {
	t := public()
	if ca, err := p.read(task.CA); err == nil {
		if t.TLSClientConfig.RootCAs, err = x509.SystemCertPool(); err != nil {
			t.TLSClientConfig.RootCAs = x509.NewCertPool()
		}
		t.TLSClientConfig.RootCAs.AppendCertsFromPEM(ca)
	}
	return t
}

// tokens are those for the key in the Secret, which may be renewed, or for the pod's identity.
type tokens struct {
	place
	ctx context.Context // has the HTTP client, as oauth2 wants it
	mu  sync.Mutex
	key []byte
	now oauth2.TokenSource
}

// Token implements oauth2.TokenSource.
func (t *tokens) Token() (*oauth2.Token, error) {
	var key []byte
	if t.Credentials {
		var err error
		if key, err = t.read(task.ServiceAccountKey); err != nil {
			return nil, err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil || !bytes.Equal(key, t.key) {
		found, err := t.find(key)
		if err != nil {
			return nil, err
		}
		t.key, t.now = key, found.TokenSource
	}
	return t.now.Token()
}

func (t *tokens) find(key []byte) (*google.Credentials, error) {
	if !t.Credentials {
		found, err := google.FindDefaultCredentials(t.ctx, storage.ScopeReadWrite)
		if err != nil {
			err = refused{errors.New(
				"the store names no credentials, and the pod has no identity at Google: name credentials, or a " +
					"serviceAccountName with workload identity")}
		}
		return found, err
	}
	if err := t.keyAllowed(key); err != nil {
		return nil, err
	}
	// Of this type alone: others name programs to run, or files to send.
	found, err := google.CredentialsFromJSONWithType(t.ctx, key, google.ServiceAccount, storage.ScopeReadWrite)
	if err != nil {
		err = refused{errors.New("the store's Secret holds no key of a service account, as Google makes it (JSON)")}
	}
	return found, err
}

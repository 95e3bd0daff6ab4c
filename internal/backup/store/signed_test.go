package store

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// signature is what a request is signed with if a secret is right.
func signature(r *http.Request, region, id, secret, token string) (string, error) {
	_, of, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
	of, _, _ = strings.Cut(of, ",")
	again, err := http.NewRequestWithContext(r.Context(), r.Method, "https://"+r.Host+r.URL.RequestURI(), nil)
	if err != nil {
		return "", err
	}
	for _, name := range strings.Split(of, ";") {
		if value := r.Header.Get(name); value != "" {
			again.Header.Set(name, value)
		}
	}
	again.ContentLength = max(r.ContentLength, 0)
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return "", err
	}
	err = v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).SignHTTP(r.Context(),
		aws.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: token}, again,
		r.Header.Get("X-Amz-Content-Sha256"), "s3", region, at)
	return again.Header.Get("Authorization"), err
}

// TestRenewedSecret: a secret that is replaced under the same ID signs the next request, and so does a key that is
// replaced, or the token of a session that is added.
func TestRenewedSecret(t *testing.T) {
	var mu sync.Mutex
	var id, secret, token string
	f := storetest.NewFake(t, func(r *http.Request, _ []byte, _ bool) (int, string) {
		mu.Lock()
		defer mu.Unlock()
		if want, err := signature(r, "us-east-1", id, secret, token); err != nil || want != r.Header.Get("Authorization") {
			return http.StatusForbidden, "SignatureDoesNotMatch"
		}
		return 0, ""
	})
	b, err := OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	for _, c := range []struct{ id, secret, token string }{{"key", "secret", ""}, {"key", "another", ""},
		{"other", "another", ""}, {"other", "another", "of a session"}} {
		mu.Lock()
		id, secret, token = c.id, c.secret, c.token
		mu.Unlock()
		f.Credential(t, task.AccessKeyID, c.id)
		f.Credential(t, task.SecretAccessKey, c.secret)
		if c.token != "" {
			f.Credential(t, task.SessionToken, c.token)
		}
		if err := Write(t.Context(), b, "a key/+k", []byte("x")); err != nil {
			t.Errorf("%v: %s", c, Explain(err))
		}
	}
	f.Credential(t, task.SecretAccessKey, "wrong")
	if err := Write(t.Context(), b, "k", []byte("x")); err == nil {
		t.Error("a wrong secret signs as well")
	}
}

// TestBucketInPath: the bucket is in the path, or in the name of the host, as the store asks for.
func TestBucketInPath(t *testing.T) {
	for inPath, want := range map[bool]string{true: "https://store.example/" + storetest.Bucket + "/k?",
		false: "https://" + storetest.Bucket + ".store.example/k?"} {
		f := storetest.NewFake(t, nil)
		f.Endpoint, f.PathStyle = "https://store.example", inPath
		b, err := OpenWith(t.Context(), f.Store, f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if have, err := b.SignedURL(t.Context(), "k", nil); err != nil || !strings.HasPrefix(have, want) {
			t.Errorf("%s, %v", have, err)
		}
		_ = b.Close()
	}
}

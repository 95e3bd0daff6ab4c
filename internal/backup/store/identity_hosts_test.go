package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestTokensOfIdentitiesStayAtTheProvider: the endpoint is a user's choice, and a token opens all that its identity may
// do.
func TestTokensOfIdentitiesStayAtTheProvider(t *testing.T) {
	for endpoint, allowed := range map[string]bool{
		"": true, "https://storage.googleapis.com": true, "https://storage.europe-west3.rep.googleapis.com/": true,
		"http://storage.googleapis.com": false, "https://evil.example.com": false,
		"https://googleapis.com.example.com": false,
		"https://evilgoogleapis.com":         false, "https://storage.googleapis.com@example.com": false,
		"https://account.blob.core.windows.net": false,
		"%":                                     false,
	} {
		p := place{Store: task.Store{Service: task.ServiceGCS, Endpoint: endpoint}}
		if err := p.identityAllowed(); (err == nil) != allowed {
			t.Errorf("%q: %v", endpoint, err)
		}
		p.Credentials = true
		if err := p.identityAllowed(); err != nil {
			t.Errorf("%q, with credentials of its own: %v", endpoint, err)
		}
	}
	azure := place{Store: task.Store{Service: task.ServiceAzure, Account: "a", Bucket: "b",
		Endpoint: "https://evil.example.com"}}
	t.Setenv("AZURE_FEDERATED_TOKEN_FILE", "/token")
	if _, err := azure.container(); err == nil {
		t.Error("Azure's token goes to a user's endpoint")
	}
	gcs := place{Store: task.Store{Service: task.ServiceGCS, Bucket: "b", Endpoint: "https://evil.example.com"}}
	if _, err := gcs.gcs(t.Context()); err == nil {
		t.Error("Google's token goes to a user's endpoint")
	}
}

// TestTokensOfGooglesKeysStayAtGoogle: who names the endpoint may not be allowed to read the key.
func TestTokensOfGooglesKeysStayAtGoogle(t *testing.T) {
	const google, own = `{"token_uri":"https://oauth2.googleapis.com/token"}`, `{"token_uri":"https://gcs.demo.svc/token"}`
	for name, tc := range map[string]struct {
		endpoint, key string
		allowed       bool
	}{
		"Google's own":       {"", google, true},
		"a host of Google's": {"https://storage.europe-west3.rep.googleapis.com", google, true},
		"another one":        {"https://evil.example.com", google, false},
		"without TLS":        {"http://storage.googleapis.com", google, false},
		"Google's earlier service": {"https://evil.example.com", `{"token_uri":"https://ACCOUNTS.google.com/o/oauth2/token"}`,
			false},
		"by default":                {"https://evil.example.com", `{}`, false},
		"of a service of its own":   {"https://gcs.demo.svc", own, true},
		"of a service named alike":  {"https://gcs.demo.svc", `{"token_uri":"https://evilgoogleapis.com"}`, true},
		"an endpoint without sense": {"%", google, false},
	} {
		p := place{Store: task.Store{Service: task.ServiceGCS, Endpoint: tc.endpoint, Credentials: true}}
		if err := p.keyAllowed([]byte(tc.key)); (err == nil) != tc.allowed {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, task.ServiceAccountKey), []byte(google), 0o600); err != nil {
		t.Fatal(err)
	}
	p := place{dir: dir,
		Store: task.Store{Service: task.ServiceGCS, Endpoint: "https://evil.example.com", Credentials: true}}
	if _, err := (&tokens{place: p, ctx: t.Context()}).Token(); err == nil ||
		!strings.Contains(err.Error(), "Google's own hosts") {
		t.Errorf("a token for the key: %v", err)
	}
}

// TestTheHostsIdentityIsNotUsed: what every pod on a host could use is no identity of a store's.
func TestTheHostsIdentityIsNotUsed(t *testing.T) {
	t.Setenv("AZURE_FEDERATED_TOKEN_FILE", "")
	azure := place{Store: task.Store{Service: task.ServiceAzure, Account: "a", Bucket: "b"}}
	if _, err := azure.container(); err == nil {
		t.Error("that of a host at Azure is used")
	}
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "")
	amazon := place{Store: task.Store{Service: task.ServiceS3, Bucket: "b", Region: "us-east-1"}}
	if _, err := amazon.s3(t.Context()); err == nil || !strings.Contains(err.Error(), "serviceAccountName") {
		t.Errorf("that of a host at Amazon is used: %v", err)
	}
	t.Setenv("AWS_CA_BUNDLE", "") // a machine's own
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "/token")
	t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/backups")
	if _, err := amazon.s3(t.Context()); err != nil {
		t.Errorf("with an identity of the pod: %v", err)
	}
}

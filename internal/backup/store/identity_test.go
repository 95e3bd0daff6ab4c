//go:build integration

package store

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// trustEndpoint has an emulator count as the provider's host.
func trustEndpoint(t *testing.T, endpoint string) {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" {
		t.Fatalf("%s: %v", endpoint, err)
	}
	before := providerHosts[task.ServiceGCS]
	providerHosts[task.ServiceGCS] = []string{u.Hostname()}
	t.Cleanup(func() { providerHosts[task.ServiceGCS] = before })
}

// TestIdentity: without credentials a bucket of Google's is used with the token of the pod, which the metadata server
// of its host gives.
func TestIdentity(t *testing.T) {
	s := storetest.Start(t, task.ServiceGCS)
	s.Credentials = false
	trustEndpoint(t, s.Endpoint)
	answer := http.StatusOK
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Metadata-Flavor", "Google")
		if !strings.HasSuffix(r.URL.Path, "/token") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.WriteHeader(answer)
		_, _ = fmt.Fprintf(w, `{"access_token": %q, "token_type": "Bearer", "expires_in": 3600}`, s.Token)
	}))
	defer host.Close()
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(host.URL, "http://"))
	answer = http.StatusForbidden
	if err := Write(t.Context(), open(t, s), "k", []byte("x")); err == nil || !strings.Contains(Explain(err), "403") {
		t.Errorf("without a token: %v", err)
	}
	answer = http.StatusOK
	if err := Write(t.Context(), open(t, s), "k", []byte("x")); err != nil {
		t.Error(Explain(err))
	}
}

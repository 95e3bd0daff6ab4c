package storetest

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// tokenPath is where the front gives tokens, which fake-gcs-server knows nothing of.
const tokenPath = "/token"

func (s *Service) gcs(t *testing.T) {
	t.Helper()
	s.program(t, nil, "fake-gcs-server", func(port, cert, key, _ string) []string {
		return []string{"-scheme", "https", "-host", "localhost", "-port", port, "-cert-location", cert, "-private-key-location", key, "-backend", "memory", "-external-url", s.Endpoint, "-log-level", "error"}
	})
	known, token := newRSA(t), rand.Text()
	s.Good = map[string]string{task.ServiceAccountKey: serviceAccount(t, known, s.Endpoint)}
	s.Wrong = map[string]string{task.ServiceAccountKey: serviceAccount(t, newRSA(t), s.Endpoint)}
	s.Refusal = "invalid_grant"
	s.front.admit = func(r *http.Request) (int, string) {
		switch {
		case r.URL.Path == tokenPath && signedBy(r, &known.PublicKey):
			return http.StatusOK, fmt.Sprintf(`{"access_token": %q, "token_type": "Bearer", "expires_in": 3600}`, token)
		case r.URL.Path == tokenPath:
			return http.StatusBadRequest, `{"error": "invalid_grant", "error_description": "Invalid JWT Signature."}`
		case r.Header.Get("Authorization") != "Bearer "+token:
			return http.StatusUnauthorized, `{"error": {"code": 401, "message": "Invalid Credentials", "errors": [{"reason": "authError", "message": "Invalid Credentials"}]}}`
		}
		return 0, ""
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Endpoint+"/storage/v1/b?project=p", strings.NewReader(`{"name": "`+Bucket+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
}

func newRSA(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// serviceAccount is the file that Google makes for one.
func serviceAccount(t *testing.T, key *rsa.PrivateKey, endpoint string) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]string{"type": "service_account", "project_id": "p", "private_key_id": "1", "client_email": "backups@p.iam.gserviceaccount.com",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": endpoint + tokenPath})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// signedBy says whether the assertion (RFC 7523) of a request for a token is signed by a key.
func signedBy(r *http.Request, key *rsa.PublicKey) bool {
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	_, assertion, _ := strings.Cut(body.String(), "assertion=")
	assertion, _, _ = strings.Cut(assertion, "&")
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		return false
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	return err == nil && rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) == nil
}

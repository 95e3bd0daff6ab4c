// Package google does for tests what fake-gcs-server leaves out: it gives tokens for the key of a service account, and
// refuses requests without one.
package google

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// TokenPath is where tokens are given.
const TokenPath = "/token"

// Judge admits requests with the token that it gives.
type Judge struct {
	// Token is the one.
	Token string
	key   *rsa.PublicKey
}

// NewJudge gives tokens to who signs with a key.
func NewJudge(key *rsa.PublicKey) *Judge { return &Judge{rand.Text(), key} }

// Admit answers requests for tokens, and refuses others that show none; status 0 is for those it admits.
func (j *Judge) Admit(r *http.Request) (status int, body string) {
	switch {
	case r.URL.Path == TokenPath && j.signed(r):
		return http.StatusOK, fmt.Sprintf(`{"access_token": %q, "token_type": "Bearer", "expires_in": 3600}`, j.Token)
	case r.URL.Path == TokenPath:
		return http.StatusBadRequest, `{"error": "invalid_grant", "error_description": "Invalid JWT Signature."}`
	case r.Header.Get("Authorization") != "Bearer "+j.Token:
		return http.StatusUnauthorized,
			`{"error": {"code": 401, "message": "Invalid Credentials", "errors": [{"reason": "authError", "message": "Invalid Credentials"}]}}`
	}
	return 0, ""
}

// CreateBucket makes one of a server that the judge stands before, or that stands alone.
func (j *Judge) CreateBucket(ctx context.Context, client *http.Client, endpoint, name string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint+"/storage/v1/b?project=p",
		strings.NewReader(`{"name": "`+name+`"}`))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+j.Token)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// signed reports whether the assertion (RFC 7523) of a request for a token is signed by the key.
func (j *Judge) signed(r *http.Request) bool {
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
	return err == nil && rsa.VerifyPKCS1v15(j.key, crypto.SHA256, sum[:], signature) == nil
}

// file is the part that matters of the file that Google makes for a service account.
type file struct {
	Type     string `json:"type"`
	Email    string `json:"client_email"`
	ID       string `json:"private_key_id"`
	Key      string `json:"private_key"`
	TokenURI string `json:"token_uri"`
}

// NewKey makes the file of a service account's key, whose tokens are given at an endpoint.
func NewKey(endpoint string) (text string, public *rsa.PublicKey, err error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", nil, err
	}
	out, err := json.Marshal(file{"service_account", "backups@p.iam.gserviceaccount.com", "1",
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), endpoint + TokenPath})
	return string(out), &key.PublicKey, err
}

// PublicKey is that of such a file.
func PublicKey(text []byte) (*rsa.PublicKey, error) {
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	block, _ := pem.Decode([]byte(f.Key))
	if block == nil {
		return nil, errors.New("it has no private key in PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	out, ok := key.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New("its key is not RSA")
	}
	return &out.PublicKey, nil
}

package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// providerHosts are the domains that get tokens of a pod's identity, by service. A token works for everything the
// identity may do, so that a store's endpoint, which a user chooses, gets it only if it is the provider's own.
var providerHosts = map[string][]string{
	task.ServiceGCS: {".googleapis.com"},
	task.ServiceAzure: {".blob.core.windows.net", ".blob.storage.azure.net", ".blob.core.usgovcloudapi.net",
		".blob.core.chinacloudapi.cn"},
}

// identityAllowed reports why the pod's identity is not used at the store's endpoint.
func (p place) identityAllowed() error {
	if p.Credentials {
		return nil
	}
	at, err := p.atProvider()
	if err != nil || at {
		return err
	}
	return refused{errors.New(
		"the pod's cloud identity is for the provider's own hosts (https): name credentials for this endpoint")}
}

// atProvider reports whether the endpoint is the provider's own.
func (p place) atProvider() (bool, error) {
	if p.Endpoint == "" {
		return true, nil
	}
	u, err := url.Parse(p.Endpoint)
	if err != nil {
		return false, refused{fmt.Errorf("the endpoint cannot be read: %w", err)}
	}
	return u.Scheme == "https" && isBelow(u, providerHosts[p.Service]), nil
}

func isBelow(u *url.URL, domains []string) bool {
	return slices.ContainsFunc(domains, func(domain string) bool {
		return strings.HasSuffix(strings.ToLower(u.Hostname()), domain)
	})
}

// googleTokens are the domains of the services that give Google's tokens.
var googleTokens = []string{".googleapis.com", ".google.com"}

// keyAllowed reports why tokens for a service account's key are not used at the store's endpoint: one that Google gives
// opens all that the account may do there, and the user who names the endpoint may have no right to read the key.
func (p place) keyAllowed(key []byte) error {
	at, err := p.atProvider()
	if err != nil || at {
		return err
	}
	uri, isKey := tokenURI(key)
	if !isKey {
		return nil // there will be no token
	}
	u, err := url.Parse(uri)
	if err != nil {
		return refused{errors.New("the token_uri of the key in the store's Secret cannot be read")}
	}
	if uri != "" && !isBelow(u, googleTokens) {
		return nil
	}
	return refused{errors.New("the store's Secret holds a key of Google's, whose tokens are for Google's own hosts " +
		"(https): remove the endpoint, or name a key whose token_uri is a service of this endpoint")}
}

// tokenURI returns where a service account's key gets its tokens, and whether it is such a key.
func tokenURI(key []byte) (uri string, isKey bool) {
	var of struct {
		TokenURI string `json:"token_uri"`
	}
	err := json.Unmarshal(key, &of)
	return of.TokenURI, err == nil
}

package store

import (
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
	if p.Credentials || p.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(p.Endpoint)
	if err != nil {
		return refused{fmt.Errorf("the endpoint cannot be read: %w", err)}
	}
	ours := func(domain string) bool { return strings.HasSuffix(strings.ToLower(u.Hostname()), domain) }
	if u.Scheme == "https" && slices.ContainsFunc(providerHosts[p.Service], ours) {
		return nil
	}
	return refused{errors.New(
		"the pod's cloud identity is for the provider's own hosts (https): name credentials for this endpoint")}
}

package resources

import (
	"slices"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// maxCommonName is X.509's limit; a longer name makes the request invalid.
const maxCommonName = 64

// commonName is for people to read: programs check the DNS names. That of the clients' CA is also what accounts
// require of an issuer.
func commonName(c *v1alpha1.GaleraCluster, suffix string) string {
	name := c.Name + "." + c.Namespace + suffix
	if len(name) > maxCommonName {
		return c.Name + suffix
	}
	return name
}

// dnsNames lists every name a client or a node may dial: the four Services, and every pod by itself, for as many nodes
// as a cluster can have, so that scaling asks for no new certificate. There is no wildcard: it would add nothing to the
// list, and some issuers refuse one. The names that the spec adds come last.
func dnsNames(c *v1alpha1.GaleraCluster, opts Options) []string {
	short := []string{ServiceName(c), PrimaryServiceName(c), ReadOnlyServiceName(c), NodesServiceName(c)}
	for i := range MaxReplicas {
		short = append(short, PodName(c, i)+"."+NodesServiceName(c))
	}
	names := make([]string, 0, 4*len(short)+1)
	for _, name := range short {
		namespaced := name + "." + c.Namespace
		names = append(names, name, namespaced, namespaced+".svc", namespaced+".svc."+opts.clusterDomain())
	}
	return withNew(append(names, "localhost"), c.Spec.TLS.Certificate.DNSNames)
}

// ipAddresses are the pod's own, for clients within it, and those that the spec adds.
func ipAddresses(c *v1alpha1.GaleraCluster) []string {
	return withNew([]string{"127.0.0.1", "::1"}, c.Spec.TLS.Certificate.IPAddresses)
}

func withNew(names, more []string) []string {
	for _, name := range more {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

package resources

import (
	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// maxCommonName is X.509's limit; a longer name makes the request invalid.
const maxCommonName = 64

// commonName is for people to read: programs look at the DNS names.
func commonName(c *v1alpha1.GaleraCluster, suffix string) string {
	name := c.Name + "." + c.Namespace + suffix
	if len(name) > maxCommonName {
		return c.Name + suffix
	}
	return name
}

// dnsNames lists every name a client or a node may dial: the three Services, and every pod by
// itself, for as many nodes as a cluster can have, so that scaling asks for no new certificate.
// There is no wildcard: it would add nothing to the list, and some issuers refuse one.
func dnsNames(c *v1alpha1.GaleraCluster, opts Options) []string {
	short := []string{ServiceName(c), PrimaryServiceName(c), NodesServiceName(c)}
	for i := range MaxReplicas {
		short = append(short, PodName(c, i)+"."+NodesServiceName(c))
	}
	names := make([]string, 0, 4*len(short)+1)
	for _, name := range short {
		namespaced := name + "." + c.Namespace
		names = append(names, name, namespaced, namespaced+".svc", namespaced+".svc."+opts.clusterDomain())
	}
	return append(names, "localhost")
}

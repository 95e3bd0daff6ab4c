package resources

import (
	"github.com/google/uuid"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// identities is the name space of the identities of clusters that have begun anew.
var identities = uuid.MustParse("8f0f7c8e-9a0e-4a55-9c39-3f6a8f8a2d11")

// IdentityAfter returns the identity of a cluster that was emptied after a promotion, with the id of its record, to
// follow the one that had taken over. It is always the same one.
func IdentityAfter(c *v1alpha1.GaleraCluster, record string) string {
	return uuid.NewSHA1(identities, []byte(string(c.UID)+"/"+record)).String()
}

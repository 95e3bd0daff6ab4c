package proxy

import (
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/pki"
)

// Trusted returns the CAs that pods have to be made anew for, as fingerprints, from those that they are recorded with
// and the bundle that they are to trust. ProxySQL adds a CA while it runs, and forgets none before it ends: the record
// changes once one of it is trusted no longer.
func Trusted(recorded, bundle string) string {
	now := pki.Fingerprints([]byte(bundle))
	forgotten := func(f string) bool { return !slices.Contains(now, f) }
	if len(now) == 0 || !slices.ContainsFunc(strings.Split(recorded, ","), forgotten) {
		return recorded
	}
	slices.Sort(now)
	return strings.Join(now, ",")
}

package proxy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/pki"
)

// Trust is what is recorded of the CAs that the pods trust. ProxySQL adds a CA while it runs, and forgets none before
// it ends.
type Trust struct {
	// Pods is recorded at the template of the pods, which are made anew when it changes: the CAs of the time, as
	// fingerprints, and how often it has changed before.
	Pods string
	// Given are the CAs that the pods were given since, as fingerprints; "" where they are not recorded.
	Given string
}

// Trusted returns what follows a record when pods are to trust a bundle. They are made anew once a CA is gone that they
// were given, by the record or by the state that was published last: also one that was given for a while only.
func Trusted(recorded Trust, published, bundle string) Trust {
	now := pki.Fingerprints([]byte(bundle))
	if len(now) == 0 {
		return recorded
	}
	slices.Sort(now)
	made, count, _ := strings.Cut(recorded.Pods, "#")
	next := Trust{Pods: recorded.Pods, Given: strings.Join(slices.Compact(now), ",")}
	if made == "" {
		next.Pods = next.Given
		return next
	}
	given := append(pki.Fingerprints([]byte(published)), strings.Split(cmp.Or(recorded.Given, made), ",")...)
	if slices.ContainsFunc(given, func(f string) bool { return !slices.Contains(now, f) }) {
		changes := 0
		_, _ = fmt.Sscan(count, &changes) // none so far where there is no number
		next.Pods = fmt.Sprintf("%s#%d", next.Given, changes+1)
	}
	return next
}

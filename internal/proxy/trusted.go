package proxy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

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

// OfAnotherCA reports whether a proxy's leaf is to be replaced: it does not verify by a trusted CA by which the nodes'
// leaf does, and is the older one. A younger leaf is what the issuer gives now, and would give again.
func OfAnotherCA(own, nodes, trusted []byte, now time.Time) bool {
	cas, mine, theirs := pki.Parse(trusted), pki.Parse(own), pki.Parse(nodes)
	if len(mine) == 0 || len(theirs) == 0 || !mine[0].NotBefore.Before(theirs[0].NotBefore) {
		return false
	}
	of := pki.Anchors(own, cas, now)
	return slices.ContainsFunc(pki.Anchors(nodes, cas, now), func(fp string) bool { return !slices.Contains(of, fp) })
}

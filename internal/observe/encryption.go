package observe

import (
	"slices"
	"strings"
	"time"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// linkEvidenceTTL is how long it counts that a member has verified another.
const linkEvidenceTTL = 3 * time.Minute

// firstDynamic is the first provider with socket.dynamic, and wsrepAPI the number of the interface that
// the provider's version begins with in some builds.
var (
	firstDynamic = utilversion.MustParseGeneric("26.4.8")
	wsrepAPI     = "26."
)

// observeEncryption fills in what a switch of the encryption of replication is decided by.
func observeEncryption(s *galera.Snapshot, f Facts, seen map[string]Seen, config agentapi.NodeConfig, now time.Time) {
	if config.Revision == "" {
		return // nothing is published yet
	}
	s.Published = resources.Encryption(config.TLS)
	s.Wanted = resources.Encryption(resources.TLSConfig(f.Cluster))
	for i := range s.Members {
		m := &s.Members[i]
		if !m.Known {
			continue
		}
		r := seen[m.Name].Report
		if r.Config.Socket != "" {
			m.Running = galera.NewEncryption(r.Config.Socket, r.Config.Suites)
		}
		m.DynamicSockets = hasDynamicSockets(r.Image.ProviderVersion)
		if r.Cache != nil {
			m.CacheWindow = time.Duration(r.Cache.WindowSeconds) * time.Second
		}
		m.TLSProblem = tlsProblem(r.TLS)
		m.LinksVerified = !slices.ContainsFunc(s.Members, func(peer galera.Member) bool {
			return peer.Name != m.Name && !verified(r.TLS.Peers[peer.Name], now)
		})
		if a := s.Arbitrator; a != nil && a.Scheduled {
			m.LinksVerified = m.LinksVerified && verified(r.TLS.Peers[a.Name], now)
		}
	}
}

// verified reports whether the peer answered with TLS and a trusted certificate, a short while ago.
func verified(f agentapi.ChannelFact, now time.Time) bool {
	return f.Verified && (f.Observed == agentapi.ObservedTLS || f.Observed == agentapi.ObservedMixed) &&
		now.Sub(f.CheckedAt) < linkEvidenceTTL
}

func tlsProblem(t agentapi.TLSReport) string {
	if t.Problem == "" && t.PublishedSerial == "" {
		return "it has not read a certificate yet"
	}
	return t.Problem
}

// hasDynamicSockets reads wsrep_provider_version: 26.4.23(r4a5e1b9c), or, from MariaDB's own builds, 4.23(r4a5e1b9c).
func hasDynamicSockets(version string) bool {
	number, _, _ := strings.Cut(version, "(")
	if strings.HasPrefix(number, "4.") {
		number = wsrepAPI + number
	}
	v, err := utilversion.ParseGeneric(number)
	return err == nil && v.AtLeast(firstDynamic)
}

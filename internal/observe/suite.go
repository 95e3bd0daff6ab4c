package observe

import (
	"slices"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// PreferredSuite is the preferred TLS 1.3 suite if the policy leaves the choice: AES-128-GCM if the CPUs of
// all members have AES instructions, and ChaCha20-Poly1305 otherwise, which is fast without them. It does not
// change until every member has reported its CPU flags.
func PreferredSuite(f Facts, seen map[string]Seen, before string) string {
	suite := galera.SuiteAES128
	for i := range Size(f) {
		s, ok := seen[resources.PodName(f.Cluster, i)]
		switch {
		case !ok || s.Report.AgentVersion == "":
			return before
		case !slices.Contains(s.Report.Image.CPUFlags, "aes"):
			suite = galera.SuiteChaCha20
		}
	}
	return suite
}

package observe

import (
	"slices"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// PreferredSuite is the TLS 1.3 suite that comes first where the policy leaves the choice:
// AES-128-GCM if the CPUs of all members have instructions for it, else ChaCha20-Poly1305, which is quick
// without. Until every member has told its CPU's flags it stays what it was.
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

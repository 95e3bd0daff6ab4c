package observe

import (
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestPreferredSuite(t *testing.T) {
	with := func(flags ...string) Seen {
		return Seen{Report: agentapi.Report{AgentVersion: "v1", Image: agentapi.ImageReport{CPUFlags: flags}}}
	}
	for name, tc := range map[string]struct {
		seen map[string]Seen
		want string
	}{
		"all accelerate AES": {map[string]Seen{"shop-0": with("aes"), "shop-1": with("avx2", "aes")},
			galera.SuiteAES128},
		"one does not":            {map[string]Seen{"shop-0": with("aes"), "shop-1": with()}, galera.SuiteChaCha20},
		"one is not known yet":    {map[string]Seen{"shop-0": with()}, "before"},
		"one has never been read": {map[string]Seen{"shop-0": with(), "shop-1": {}}, "before"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &v1alpha1.GaleraCluster{}
			c.Name, c.Spec.Replicas = "shop", 2
			if got := PreferredSuite(Facts{Cluster: c}, tc.seen, "before"); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

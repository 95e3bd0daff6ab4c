package config

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestSuitesComeInOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		tls   agentapi.TLSConfig
		flags []string
		first string
		count int
	}{
		"this CPU's, as long as the others' are not known": {agentapi.TLSConfig{}, []string{"aes"}, galera.SuiteAES128, 3},
		"this CPU has no AES":                              {agentapi.TLSConfig{}, nil, galera.SuiteChaCha20, 3},
		"another one has none": {agentapi.TLSConfig{PreferredSuite: galera.SuiteChaCha20},
			[]string{"aes"}, galera.SuiteChaCha20, 3},
		"all have it": {agentapi.TLSConfig{PreferredSuite: galera.SuiteAES128}, nil,
			galera.SuiteAES128, 3},
		"one that is named": {agentapi.TLSConfig{CipherSuites: []string{"TLS_AES_256_GCM_SHA384"},
			PreferredSuite: galera.SuiteAES128},
			[]string{"aes"}, "TLS_AES_256_GCM_SHA384", 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := suites(tc.tls, tc.flags); got[0] != tc.first || len(got) != tc.count {
				t.Errorf("%v", got)
			}
		})
	}
}

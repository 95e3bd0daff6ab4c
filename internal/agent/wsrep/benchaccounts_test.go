package wsrep

import (
	"context"
	"log/slog"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestAccountsAreKeptByPrimaryMembers, and there only those of benchmarks.
func TestAccountsAreKeptByPrimaryMembers(t *testing.T) {
	good := agentapi.BenchAccount{Suffix: "abcdefghij", Hash: agentapi.NativeHash("word"), Present: true}
	gone, other := good, good
	gone.Present, other.Suffix = false, "root"
	serving := agentapi.Server{Component: galera.ComponentPrimary, Ready: true}
	for name, tc := range map[string]struct {
		server agentapi.Server
		ask    agentapi.BenchAccount
		did    string
	}{
		"made":          {serving, good, "make"},
		"dropped":       {serving, gone, "drop"},
		"another's":     {serving, other, ""},
		"no quorum":     {agentapi.Server{Component: galera.ComponentNonPrimary, Ready: true}, good, ""},
		"not ready":     {agentapi.Server{Component: galera.ComponentPrimary}, good, ""},
		"drop, no view": {agentapi.Server{}, gone, ""},
	} {
		did := ""
		note := func(what string) func(context.Context, agentapi.BenchAccount) (bool, error) {
			return func(context.Context, agentapi.BenchAccount) (bool, error) { did = what; return true, nil }
		}
		s := BenchAccounts{Logger: slog.New(slog.DiscardHandler), Make: note("make"), Drop: note("drop"),
			Status: func(context.Context) (Status, error) { return Status{Server: tc.server}, nil }}
		if err := s.Keep(t.Context(), tc.ask); did != tc.did || (err == nil) != (tc.did != "") {
			t.Errorf("%s: did %q, %v", name, did, err)
		}
	}
}

package wsrep

import (
	"context"
	"errors"
	"log/slog"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// BenchAccounts makes and drops benchmarks' accounts, for the operator alone.
type BenchAccounts struct {
	Logger *slog.Logger
	// Status, Make and Drop use the member's own server.
	Status     func(context.Context) (Status, error)
	Make, Drop func(context.Context, agentapi.BenchAccount) (changed bool, err error)
}

// Keep does so only on a member that is Primary and takes queries: elsewhere nothing would be replicated.
func (s BenchAccounts) Keep(ctx context.Context, a agentapi.BenchAccount) error {
	if err := a.Check(); err != nil {
		return err
	}
	st, err := s.Status(ctx)
	if err != nil {
		return err
	}
	if st.Server.Component != galera.ComponentPrimary || !st.Server.Ready {
		return errors.New("this member is not Primary, or takes no queries")
	}
	do := s.Drop
	if a.Present {
		do = s.Make
	}
	changed, err := do(ctx, a)
	if changed {
		s.Logger.Info("a benchmark's account", "name", a.Name(), "present", a.Present)
	}
	return err
}

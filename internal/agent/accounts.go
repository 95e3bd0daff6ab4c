package agent

import (
	"context"
	"errors"
	"log/slog"

	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// accounts makes and drops benchmarks' accounts, for the operator alone.
type accounts struct {
	logger *slog.Logger
	// status, make and drop ask and tell the member's own server.
	status     func(context.Context) (wsrep.Status, error)
	make, drop func(context.Context, agentapi.BenchAccount) (changed bool, err error)
}

// keep does so only on a member that is Primary and takes queries: elsewhere nothing would be replicated.
func (s accounts) keep(ctx context.Context, a agentapi.BenchAccount) error {
	if err := a.Check(); err != nil {
		return err
	}
	st, err := s.status(ctx)
	if err != nil {
		return err
	}
	if st.Server.Component != galera.ComponentPrimary || !st.Server.Ready {
		return errors.New("this member is not Primary, or takes no queries")
	}
	do := s.drop
	if a.Present {
		do = s.make
	}
	changed, err := do(ctx, a)
	if changed {
		s.logger.Info("a benchmark's account", "name", a.Name(), "present", a.Present)
	}
	return err
}

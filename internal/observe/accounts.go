package observe

import (
	"context"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// KeepAccount asks an agent to make or to drop a benchmark's account.
func (c *AgentClient) KeepAccount(ctx context.Context, t Target, a agentapi.BenchAccount) error {
	client, err := c.to(t)
	if err != nil {
		return err
	}
	return client.KeepAccount(ctx, t.Address, a)
}

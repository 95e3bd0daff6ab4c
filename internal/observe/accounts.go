package observe

import (
	"context"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// AdmitBackup lets the holder of a key take a backup of an agent.
func (c *AgentClient) AdmitBackup(ctx context.Context, t Target, a agentapi.BackupAdmission) error {
	client, err := c.to(t)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return client.AdmitBackup(ctx, t.Address, a)
}

// KeepAccount asks an agent to make or to drop a benchmark's account.
func (c *AgentClient) KeepAccount(ctx context.Context, t Target, a agentapi.BenchAccount) error {
	client, err := c.to(t)
	if err != nil {
		return err
	}
	return client.KeepAccount(ctx, t.Address, a)
}

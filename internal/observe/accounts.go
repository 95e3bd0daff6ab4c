package observe

import (
	"context"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// AdmitBackup lets the holder of a key take a backup of an agent.
func (c *AgentClient) AdmitBackup(ctx context.Context, t Target, a agentapi.BackupAdmission) (struct{}, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return struct{}{}, c.do(t, "backup", func(agent *agentapi.Client) error {
		return agent.AdmitBackup(ctx, t.Address, a)
	})
}

// AlignNumbers asks an agent to have all nodes count GTIDs from one number on.
func (c *AgentClient) AlignNumbers(ctx context.Context, t Target, a agentapi.Alignment) (
	agentapi.AlignmentResult, error) {
	return ask(c, t, "numbers", 0, func(agent *agentapi.Client) (agentapi.AlignmentResult, error) {
		return agent.AlignNumbers(ctx, t.Address, a)
	})
}

// KeepUsers asks an agent to have accounts as they are to be.
func (c *AgentClient) KeepUsers(ctx context.Context, t Target, users []agentapi.SQLUser) ([]agentapi.SQLResult, error) {
	return ask(c, t, "users", 0, func(agent *agentapi.Client) ([]agentapi.SQLResult, error) {
		return agent.KeepUsers(ctx, t.Address, users)
	})
}

// KeepDatabase asks an agent to have a database as it is to be.
func (c *AgentClient) KeepDatabase(ctx context.Context, t Target, d agentapi.SQLDatabase) (agentapi.SQLResult, error) {
	return ask(c, t, "database", 0, func(agent *agentapi.Client) (agentapi.SQLResult, error) {
		return agent.KeepDatabase(ctx, t.Address, d)
	})
}

// SetProxy sends the pod of a proxy its state, and returns what it has observed.
func (c *AgentClient) SetProxy(ctx context.Context, t Target, s *agentapi.ProxyState) (agentapi.ProxyReport, error) {
	return ask(c, t, "proxy", 0, func(agent *agentapi.Client) (agentapi.ProxyReport, error) {
		return agent.SetProxy(ctx, t.Address, *s)
	})
}

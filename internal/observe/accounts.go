package observe

import (
	"context"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// AdmitBackup lets the holder of a key take a backup of an agent.
func (c *AgentClient) AdmitBackup(ctx context.Context, t Target, a agentapi.BackupAdmission) (_ struct{}, err error) {
	defer func(began time.Time) { c.Requests.end("backup", began, 0, err) }(time.Now())
	client, err := c.to(t)
	if err != nil {
		return struct{}{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return struct{}{}, client.AdmitBackup(ctx, t.Address, a)
}

// AlignNumbers asks an agent to have all nodes count GTIDs from one number on.
func (c *AgentClient) AlignNumbers(ctx context.Context, t Target, a agentapi.Alignment) (r agentapi.AlignmentResult,
	err error) {
	defer func(began time.Time) { c.Requests.end("numbers", began, 0, err) }(time.Now())
	client, err := c.to(t)
	if err != nil {
		return r, err
	}
	return client.AlignNumbers(ctx, t.Address, a)
}

// KeepUsers asks an agent to have accounts as they are to be.
func (c *AgentClient) KeepUsers(ctx context.Context, t Target, users []agentapi.SQLUser) (results []agentapi.SQLResult,
	err error) {
	defer func(began time.Time) { c.Requests.end("users", began, 0, err) }(time.Now())
	client, err := c.to(t)
	if err != nil {
		return nil, err
	}
	return client.KeepUsers(ctx, t.Address, users)
}

// KeepDatabase asks an agent to have a database as it is to be.
func (c *AgentClient) KeepDatabase(ctx context.Context, t Target, d agentapi.SQLDatabase) (result agentapi.SQLResult,
	err error) {
	defer func(began time.Time) { c.Requests.end("database", began, 0, err) }(time.Now())
	client, err := c.to(t)
	if err != nil {
		return agentapi.SQLResult{}, err
	}
	return client.KeepDatabase(ctx, t.Address, d)
}

// SetProxy sends the pod of a proxy its state, and returns what it has observed.
func (c *AgentClient) SetProxy(ctx context.Context, t Target, s *agentapi.ProxyState) (report agentapi.ProxyReport,
	err error) {
	defer func(began time.Time) { c.Requests.end("proxy", began, 0, err) }(time.Now())
	client, err := c.to(t)
	if err != nil {
		return agentapi.ProxyReport{}, err
	}
	return client.SetProxy(ctx, t.Address, *s)
}

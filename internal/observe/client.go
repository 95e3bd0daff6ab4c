package observe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// AgentClient asks agents over mTLS with the operator's client certificate. It keeps one
// connection pool per agent, and makes it anew when the certificate was renewed.
type AgentClient struct {
	// Requests are the metrics of what is asked.
	Requests requests

	certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

	mu    sync.Mutex
	pools map[Target]pool
}

// pool is the connections to one agent, and what they were made with.
type pool struct {
	client      *agentapi.Client
	certificate *tls.Certificate
	roots       *x509.CertPool
}

// NewAgentClient returns a client that takes its certificate from certificate each time.
func NewAgentClient(certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) *AgentClient {
	return &AgentClient{Requests: newRequests(), certificate: certificate, pools: map[Target]pool{}}
}

// Status implements Client.
func (c *AgentClient) Status(ctx context.Context, t Target, since int64, wait time.Duration) (agentapi.Report, error) {
	return ask(c, t, "status", wait, func(a *agentapi.Client) (agentapi.Report, error) {
		return a.Status(ctx, t.Address, since, wait)
	})
}

// Order implements Client.
func (c *AgentClient) Order(ctx context.Context, t Target, o agentapi.Order) (agentapi.OrderResult, error) {
	return ask(c, t, "order", 0, func(a *agentapi.Client) (agentapi.OrderResult, error) {
		return a.Order(ctx, t.Address, o)
	})
}

// ReportPrimary implements Client.
func (c *AgentClient) ReportPrimary(ctx context.Context, t Target, p agentapi.Primary) error {
	return c.do(t, "primary", func(a *agentapi.Client) error { return a.ReportPrimary(ctx, t.Address, p) })
}

// ChangeEvents implements Client.
func (c *AgentClient) ChangeEvents(ctx context.Context, t Target, changes []agentapi.EventChange) error {
	return c.do(t, "scheduled", func(a *agentapi.Client) error { return a.ChangeEvents(ctx, t.Address, changes) })
}

// Evict implements Client.
func (c *AgentClient) Evict(ctx context.Context, t Target, e agentapi.Eviction) error {
	return c.do(t, "evict", func(a *agentapi.Client) error { return a.Evict(ctx, t.Address, e) })
}

// Replace implements Client.
func (c *AgentClient) Replace(ctx context.Context, t Target, p *agentapi.Program) error {
	return c.do(t, "replace", func(a *agentapi.Client) error { return a.Replace(ctx, t.Address, p) })
}

// ask asks an agent a question, and counts that under a name. The agent may hold the answer back for wait.
func ask[T any](c *AgentClient, t Target, name string, wait time.Duration, question func(*agentapi.Client) (T, error)) (
	answer T, err error) {
	defer func(began time.Time) { c.Requests.end(name, began, wait, err) }(time.Now())
	client, err := c.to(t)
	if err != nil {
		return answer, err
	}
	return question(client)
}

// do asks an agent to act, and counts that under a name.
func (c *AgentClient) do(t Target, name string, act func(*agentapi.Client) error) error {
	_, err := ask(c, t, name, 0, func(a *agentapi.Client) (struct{}, error) { return struct{}{}, act(a) })
	return err
}

// Forget closes the connections to an agent that is gone.
func (c *AgentClient) Forget(t Target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.pools[t]; ok {
		p.client.Close()
		delete(c.pools, t)
	}
}

func (c *AgentClient) to(t Target) (*agentapi.Client, error) {
	cert, err := c.certificate(nil)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.pools[t]
	if ok && p.certificate == cert {
		return p.client, nil
	}
	if ok {
		p.client.Close()
	}
	roots, err := c.roots(t.CA)
	if err != nil {
		return nil, err
	}
	p = pool{client: agentapi.NewClient(*cert, roots, t.ServerName), certificate: cert, roots: roots}
	c.pools[t] = p
	return p.client, nil
}

// roots are the same for all agents of a cluster: parsed CAs are large.
func (c *AgentClient) roots(ca string) (*x509.CertPool, error) {
	for t, p := range c.pools {
		if t.CA == ca {
			return p.roots, nil
		}
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(ca)) {
		return nil, errors.New("no CA to verify the agent with")
	}
	return roots, nil
}

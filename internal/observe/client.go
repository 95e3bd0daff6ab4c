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
func (c *AgentClient) Status(ctx context.Context, t Target, since int64, wait time.Duration) (result agentapi.Report,
	err error) {
	defer func(began time.Time) { c.Requests.end("status", began, wait, err) }(time.Now())
	client, err := c.to(t)
	if err != nil {
		return agentapi.Report{}, err
	}
	return client.Status(ctx, t.Address, since, wait)
}

// Order implements Client.
func (c *AgentClient) Order(ctx context.Context, t Target, o agentapi.Order) (result agentapi.OrderResult, err error) {
	defer func(began time.Time) { c.Requests.end("order", began, 0, err) }(time.Now())
	client, err := c.to(t)
	if err != nil {
		return agentapi.OrderResult{}, err
	}
	return client.Order(ctx, t.Address, o)
}

// ReportPrimary implements Client.
func (c *AgentClient) ReportPrimary(ctx context.Context, t Target, name string) (err error) {
	defer func(began time.Time) { c.Requests.end("primary", began, 0, err) }(time.Now())
	client, err := c.to(t)
	if err != nil {
		return err
	}
	return client.ReportPrimary(ctx, t.Address, name)
}

// ChangeEvents implements Client.
func (c *AgentClient) ChangeEvents(ctx context.Context, t Target, changes []agentapi.EventChange) (err error) {
	defer func(began time.Time) { c.Requests.end("scheduled", began, 0, err) }(time.Now())
	client, err := c.to(t)
	if err != nil {
		return err
	}
	return client.ChangeEvents(ctx, t.Address, changes)
}

// Evict implements Client.
func (c *AgentClient) Evict(ctx context.Context, t Target, e agentapi.Eviction) (err error) {
	defer func(began time.Time) { c.Requests.end("evict", began, 0, err) }(time.Now())
	client, err := c.to(t)
	if err != nil {
		return err
	}
	return client.Evict(ctx, t.Address, e)
}

// Replace implements Client.
func (c *AgentClient) Replace(ctx context.Context, t Target, p *agentapi.Program) (err error) {
	defer func(began time.Time) { c.Requests.end("replace", began, 0, err) }(time.Now())
	client, err := c.to(t)
	if err != nil {
		return err
	}
	return client.Replace(ctx, t.Address, p)
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

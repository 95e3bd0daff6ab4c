package agentapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// errBusy is returned by Client.Order when the agent is in the middle of another order.
// Nothing was recorded: the same order may be sent again.
var errBusy = errors.New("the agent is busy with another order")

const (
	dialTimeout = 3 * time.Second
	// maxReport and maxAnswer limit the answer of an agent: any holder of the cluster's pair may answer in its place. A
	// report has about ten KiB, most of it evidence about channels and peers.
	maxReport = 256 << 10
	maxAnswer = 64 << 10
	maxHeader = 16 << 10
	// maxWait is the longest that an agent keeps a question, and answerTime what is allowed on top of it, and for any
	// other question; callers have shorter deadlines of their own.
	maxWait       = time.Minute
	answerTimeout = 30 * time.Second
	// idleTimeout is longer than any pause between two questions.
	idleTimeout = 15 * time.Second
	// bufferSize is enough for a question, and for the head of an answer; longer bodies pass the buffer.
	bufferSize = 1 << 10
)

// Client talks to agents over mTLS. It is safe for concurrent use and keeps connections open.
type Client struct {
	http *http.Client
}

// NewClient returns a client that presents certificate and accepts an agent only when its chain
// leads to roots and its certificate carries serverName. One client serves all members of a
// cluster, as they share the names; make a new one, and Close the old one, when either changes.
func NewClient(certificate tls.Certificate, roots *x509.CertPool, serverName string) *Client {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}
	return &Client{http: &http.Client{
		// An agent answers from its own knowledge, and never redirects.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext,
			TLSClientConfig: &tls.Config{
				MinVersion:   tls.VersionTLS13,
				Certificates: []tls.Certificate{certificate},
				RootCAs:      roots,
				ServerName:   serverName,
			},
			TLSHandshakeTimeout:    dialTimeout,
			ResponseHeaderTimeout:  maxWait + answerTimeout,
			MaxResponseHeaderBytes: maxHeader,
			DisableCompression:     true, // a small body is not to become a large one
			// An agent is asked again and again over one connection. A request sent meanwhile needs another one, which then
			// takes over. Of hundreds of clusters, each connection and each buffer counts.
			MaxIdleConnsPerHost: 1,
			IdleConnTimeout:     idleTimeout,
			ReadBufferSize:      bufferSize,
			WriteBufferSize:     bufferSize,
		},
	}}
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status asks the agent at host (a name or an address, with or without a port) for its Report. With since ≥ 0 and wait
// > 0 the agent answers when Report.Generation differs from since, at the latest after wait.
func (c *Client) Status(ctx context.Context, host string, since int64, wait time.Duration) (Report, error) {
	query := url.Values{}
	if wait > 0 && since >= 0 {
		query.Set("since", strconv.FormatInt(since, 10))
		query.Set("wait", wait.String())
	}
	ctx, cancel := context.WithTimeout(ctx, min(wait, maxWait)+answerTimeout)
	defer cancel()
	var report Report
	ask := request{method: http.MethodGet, host: host, path: PathStatus, query: query, maxBytes: maxReport,
		check: countable}
	status, err := c.do(ctx, ask, &report)
	if err == nil {
		err = report.bound()
	}
	if err != nil {
		return Report{}, err
	}
	if status != http.StatusOK {
		return Report{}, fmt.Errorf("agent at %s: HTTP %d", host, status)
	}
	return report, nil
}

// Order sends an order. A refusal is a result, not an error; errBusy means "send it again".
func (c *Client) Order(ctx context.Context, host string, order Order) (OrderResult, error) {
	var result OrderResult
	status, err := c.post(ctx, host, PathOrders, order, &result)
	switch {
	case err != nil:
		return OrderResult{}, err
	case status == http.StatusServiceUnavailable:
		return OrderResult{}, fmt.Errorf("%w: %s", errBusy, result.Message)
	case status == http.StatusOK, status == http.StatusConflict:
		return result, nil
	}
	return OrderResult{}, fmt.Errorf("agent at %s: HTTP %d: %s", host, status, result.Message)
}

// ReportPrimary reports to an agent which member clients are sent to.
func (c *Client) ReportPrimary(ctx context.Context, host string, p Primary) error {
	return c.ask(ctx, host, PathPrimary, p, &Primary{}, new(string))
}

// Evict asks an agent to evict a terminated server from its group. An error explains why it did not.
func (c *Client) Evict(ctx context.Context, host string, e Eviction) error {
	var result EvictionResult
	return c.ask(ctx, host, PathEvictions, e, &result, &result.Message)
}

// ask posts a question whose answer is an error unless its status is 200. message is the part of the answer that
// explains why.
func (c *Client) ask(ctx context.Context, host, path string, question, answer any, message *string) error {
	status, err := c.post(ctx, host, path, question, answer)
	if err != nil || status == http.StatusOK {
		return err
	}
	return fmt.Errorf("agent at %s: %s", host, strings.TrimSuffix(fmt.Sprintf("HTTP %d: %s", status, *message), ": "))
}

// request is one question; most bounds the answer.
type request struct {
	method, host, path string
	query              url.Values
	body               []byte
	maxBytes           int64
	// check is what an answer has to pass before it is decoded, if it is not nil.
	check func([]byte) error
}

// post sends a question as JSON, decodes the answer, and returns its status.
func (c *Client) post(ctx context.Context, host, path string, question, into any) (int, error) {
	body, err := json.Marshal(question)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return c.do(ctx, request{method: http.MethodPost, host: host, path: path, body: body, maxBytes: maxAnswer}, into)
}

// do sends one request and decodes a JSON answer, whatever the status.
func (c *Client) do(ctx context.Context, r request, into any) (int, error) {
	u := url.URL{Scheme: "https", Host: withPort(r.host), Path: r.path, RawQuery: r.query.Encode()}
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), bytes.NewReader(r.body))
	if err != nil {
		return 0, err
	}
	req.Header.Set(ProtocolHeader, strconv.Itoa(Protocol))
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode/100 == 3 {
		return resp.StatusCode,
			fmt.Errorf("agent at %s: HTTP %d: redirects are never followed; check which process answers at this address", r.host,
				resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, r.maxBytes+1))
	if err != nil {
		return 0, fmt.Errorf("agent at %s: %w", r.host, err)
	}
	if int64(len(data)) > r.maxBytes {
		return resp.StatusCode,
			fmt.Errorf("agent at %s: HTTP %d: the answer is longer than %d KiB; check which process answers at this address",
				r.host, resp.StatusCode, r.maxBytes>>10)
	}
	if r.check != nil {
		if err := r.check(data); err != nil {
			return resp.StatusCode, fmt.Errorf("agent at %s: %w; check which process answers at this address", r.host, err)
		}
	}
	if err := json.Unmarshal(data, into); err != nil {
		return resp.StatusCode, fmt.Errorf("agent at %s: HTTP %d: %w", r.host, resp.StatusCode, err)
	}
	stripControls(into)
	return resp.StatusCode, nil
}

func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(ControlPort))
}

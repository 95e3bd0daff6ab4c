package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// maxHeader and maxAnswer bound what a member may send.
const (
	maxHeader = 16 << 10
	maxAnswer = 64 << 10
)

// timeout is for one member whose address is known, and for a handshake with it: one that does not answer within it is
// not known.
const timeout = 1200 * time.Millisecond

// Asker asks members' agents on their peer ports. Both sides present the nodes' certificate. It is safe for concurrent
// use.
type Asker struct {
	client      *http.Client
	names       *names
	port        int
	credentials func() Credentials
	others      *atomic.Pointer[map[string]agentapi.Identity]
	refused     *atomic.Pointer[map[string]string]
}

// NewAsker returns an asker. credentials are asked with every question.
func NewAsker(credentials func() Credentials) *Asker {
	a := &Asker{port: agentapi.PeerPort, names: newNames(), credentials: credentials,
		others:  &atomic.Pointer[map[string]agentapi.Identity]{},
		refused: &atomic.Pointer[map[string]string]{}}
	a.client = &http.Client{
		Timeout: timeout,
		// An agent answers from its own knowledge, and never redirects.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialTLSContext: a.dialTLS, MaxIdleConnsPerHost: 1, IdleConnTimeout: 30 * time.Second,
			MaxResponseHeaderBytes: maxHeader,
		},
	}
	return a
}

// Others returns the clusters that answered the last question at the address of a member of this one, by that member.
func (a *Asker) Others() map[string]agentapi.Identity { return loaded(a.others) }

// Refused returns why the certificate of a member was refused at the last question, or by it, by member.
func (a *Asker) Refused() map[string]string { return loaded(a.refused) }

func loaded[V any](from *atomic.Pointer[map[string]V]) map[string]V {
	if from == nil {
		return nil
	}
	if p := from.Load(); p != nil {
		return *p
	}
	return nil
}

// Ask asks all members but self at once and returns the answers of those that gave one, by name. A peer that answers
// without the certificate of that member, with another's name, or as a member of another cluster, does not count: an
// address may have passed to another pod.
func (a *Asker) Ask(ctx context.Context, of agentapi.Identity, members []agentapi.Peer,
	self string) map[string]agentapi.PeerView {
	var mu sync.Mutex
	var wg sync.WaitGroup
	out, others, refused := map[string]agentapi.PeerView{}, map[string]agentapi.Identity{}, map[string]string{}
	for _, m := range members {
		if m.Name == self {
			continue
		}
		wg.Go(func() {
			view, err := a.one(ctx, m)
			mu.Lock()
			defer mu.Unlock()
			var stranger *Stranger
			switch {
			case errors.As(err, &stranger) && stranger.Of.Cluster != "" && !stranger.Of.Named(of):
				others[m.Name] = stranger.Of
			case err != nil:
				if why := refusal(err); why != "" {
					refused[m.Name] = why
				}
			case !of.Peer(view.Cluster):
				others[m.Name] = view.Cluster
			case Believe(of, m.Name, view):
				out[m.Name] = view
			}
		})
	}
	wg.Wait()
	a.others.Store(&others)
	a.refused.Store(&refused)
	return out
}

// Believe reports whether an answer at the address of a member is that member's.
func Believe(of agentapi.Identity, name string, view agentapi.PeerView) bool {
	return view.Name == name && of.Peer(view.Cluster)
}

func (a *Asker) one(ctx context.Context, m agentapi.Peer) (agentapi.PeerView, error) {
	if _, err := a.names.find(ctx, m.Host); err != nil { // before the client's time begins
		return agentapi.PeerView{}, err
	}
	url := "https://" + net.JoinHostPort(m.Host, strconv.Itoa(a.port)) + agentapi.PathPeer
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return agentapi.PeerView{}, err
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return agentapi.PeerView{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	var view agentapi.PeerView
	if resp.StatusCode != http.StatusOK {
		return view, fmt.Errorf("%s: HTTP %d", m.Name, resp.StatusCode)
	}
	// The connection may be older than what is trusted now.
	if err := a.credentials().verify(*resp.TLS, m.CertificateName()); err != nil {
		defer a.client.CloseIdleConnections()
		return view, err
	}
	return view, json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&view)
}

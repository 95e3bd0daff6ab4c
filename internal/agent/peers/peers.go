// Package peers asks the other members what they are.
package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// timeout is for one member: one that does not answer within it is not known.
const timeout = 800 * time.Millisecond

// Asker asks members' agents. It is safe for concurrent use.
type Asker struct {
	client *http.Client
	port   int
}

// New returns an asker.
func New() *Asker {
	dialer := &net.Dialer{Timeout: timeout}
	return &Asker{port: agentapi.ProbePort, client: &http.Client{Timeout: timeout, Transport: &http.Transport{
		DialContext: dialer.DialContext, MaxIdleConnsPerHost: 1, IdleConnTimeout: 30 * time.Second,
	}}}
}

// Ask asks all members but self at once and returns the answers of those that gave one, by name. A peer that
// answers with another's name is not who it should be, and does not count.
func (a *Asker) Ask(ctx context.Context, members []agentapi.Peer, self string) map[string]agentapi.PeerView {
	var mu sync.Mutex
	var wg sync.WaitGroup
	out := map[string]agentapi.PeerView{}
	for _, m := range members {
		if m.Name == self {
			continue
		}
		wg.Go(func() {
			view, err := a.one(ctx, m)
			if err != nil || view.Name != m.Name {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			out[m.Name] = view
		})
	}
	wg.Wait()
	return out
}

func (a *Asker) one(ctx context.Context, m agentapi.Peer) (agentapi.PeerView, error) {
	url := "http://" + net.JoinHostPort(m.Host, strconv.Itoa(a.port)) + agentapi.PathPeer
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
	return view, json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&view)
}

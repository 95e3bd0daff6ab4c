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
	"sync/atomic"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// timeout is for one member whose address is known: one that does not answer within it is not known.
const timeout = 800 * time.Millisecond

// Asker asks members' agents. It is safe for concurrent use.
type Asker struct {
	client *http.Client
	names  *names
	port   int
	others *atomic.Pointer[map[string]agentapi.Identity]
}

// New returns an asker.
func New() *Asker {
	names := newNames()
	return &Asker{port: agentapi.ProbePort, names: names, others: &atomic.Pointer[map[string]agentapi.Identity]{},
		client: &http.Client{Timeout: timeout, Transport: &http.Transport{
			DialContext: names.dial, MaxIdleConnsPerHost: 1, IdleConnTimeout: 30 * time.Second,
		}}}
}

// Others returns the clusters whose agents answered the last question at the address of a member of this one, by that
// member.
func (a *Asker) Others() map[string]agentapi.Identity {
	if a.others == nil {
		return nil
	}
	if p := a.others.Load(); p != nil {
		return *p
	}
	return nil
}

// Ask asks all members but self at once and returns the answers of those that gave one, by name. A peer that answers
// with another's name, or as a member of another cluster, does not count: an address may have passed to another pod.
func (a *Asker) Ask(ctx context.Context, of agentapi.Identity, members []agentapi.Peer,
	self string) map[string]agentapi.PeerView {
	var mu sync.Mutex
	var wg sync.WaitGroup
	out, others := map[string]agentapi.PeerView{}, map[string]agentapi.Identity{}
	for _, m := range members {
		if m.Name == self {
			continue
		}
		wg.Go(func() {
			view, err := a.one(ctx, m)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
			case !of.Peer(view.Cluster):
				others[m.Name] = view.Cluster
			case Believe(of, m.Name, view):
				out[m.Name] = view
			}
		})
	}
	wg.Wait()
	a.others.Store(&others)
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

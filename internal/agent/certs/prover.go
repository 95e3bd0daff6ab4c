package certs

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	groupPort  = "4567"
	clientPort = "3306"

	// probeInterval is the pace of the dials with TLS. They leave no trace on the other side, but for a warning where a
	// node speaks plaintext that did not the last time.
	probeInterval = 30 * time.Second
	// retryInterval is the pause after a check that was not complete: a member that is starting, mostly.
	retryInterval = 4 * time.Second
	// plainProbeInterval is the pace of the dials without, each of which leaves one line in the other
	// side's log.
	plainProbeInterval = 5 * time.Minute
	// settled is how long after a change the other members are tried without TLS.
	settled = 2 * time.Minute
)

// AfterReload is how long after a reload of its certificate a member dials no server: the others are reloading theirs
// meanwhile.
const AfterReload = 3 * time.Second

// ProofSubject is what there is to prove about.
type ProofSubject struct {
	// Running reports whether mariadbd answers.
	Running bool
	// Key changes with every start and every change: what was refused before is no evidence about
	// now. Since is when it changed.
	Key   int64
	Since time.Time
	// NotBefore is when servers may be dialled again: a handshake in the moment in which Galera replaces its certificate
	// ends mariadbd (SIGSEGV in SSL_set_fd, 11.8.9), and the other members replace theirs at about the same time. Zero: at
	// once.
	NotBefore time.Time
	// Mode is how group communication was started.
	Socket galera.SocketMode
	// Clients is the policy in force for port 3306; "" when there is no such port.
	Clients galera.ChannelPolicy
	// TransferEncrypted reports whether the rendered [sst] section demands verified TLS.
	TransferEncrypted bool
	// Address is this member's own; Peers are the others, and Cluster is whose members they are.
	Address string
	Peers   []agentapi.Peer
	Cluster agentapi.Identity
	// Arbitrator is dialled like them; nil when there is none.
	Arbitrator *agentapi.Peer
	Credentials
	// Password returns root's, nil where no login is to be tried.
	Password func() string
}

// ProofResult is what was seen.
type ProofResult struct {
	Channels map[string]agentapi.ChannelFact
	Peers    map[string]agentapi.ChannelFact
}

// complete reports whether every dial showed something, and whether plaintext was tried where that matters.
func (r ProofResult) complete(s ProofSubject) bool {
	group, clients := r.Channels[agentapi.ChannelReplication], r.Channels[agentapi.ChannelClients]
	if s.Socket == galera.SocketStrict && group.Observed == agentapi.ObservedTLS && !group.PlaintextRefused ||
		s.Clients == galera.PolicyRequired && clients.Observed == agentapi.ObservedTLS && !clients.PlaintextRefused {
		return false
	}
	for _, facts := range []map[string]agentapi.ChannelFact{r.Channels, r.Peers} {
		for _, f := range facts {
			if f.Observed == agentapi.ObservedUnknown {
				return false
			}
		}
	}
	return true
}

// Prover checks TLS on every channel until its context is done.
type Prover struct {
	// Subject returns the present subject.
	Subject func() ProofSubject
	// Seen gets every result.
	Seen func(ProofResult)

	kick    chan struct{}
	mu      sync.Mutex
	refused map[string]refusal
	// spoke are the addresses that spoke plaintext when they were dialled last.
	spoke map[string]bool
}

// refusal remembers an attempt without TLS.
type refusal struct {
	key     int64
	at      time.Time
	refused bool
}

// NewProver returns a prover.
func NewProver(subject func() ProofSubject, seen func(ProofResult)) *Prover {
	return &Prover{Subject: subject, Seen: seen, kick: make(chan struct{}, 1), refused: map[string]refusal{},
		spoke: map[string]bool{}}
}

// Kick makes the prover check again at once.
func (p *Prover) Kick() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// Run proves until ctx ends.
func (p *Prover) Run(ctx context.Context) {
	for ctx.Err() == nil {
		p.wait(ctx)
		s := p.Subject()
		r := p.probe(ctx, s)
		// What was begun before a change is no evidence about what is after it, and nothing is known before the first
		// configuration.
		if s.Key != 0 && p.Subject().Key == s.Key {
			p.Seen(r)
		}
		next := probeInterval*3/4 + rand.N(probeInterval/2)
		if s.Running && !r.complete(s) {
			next = retryInterval
		}
		pause := time.NewTimer(next)
		select {
		case <-ctx.Done():
		case <-p.kick:
		case <-pause.C:
		}
		pause.Stop()
	}
}

// wait returns when servers may be dialled.
func (p *Prover) wait(ctx context.Context) {
	for ctx.Err() == nil {
		left := time.Until(p.Subject().NotBefore)
		if left <= 0 {
			return
		}
		pause := time.NewTimer(left)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
}

// probe dials everything once. The dials do not wait for each other: the slow ones wait for silence.
func (p *Prover) probe(ctx context.Context, s ProofSubject) ProofResult {
	r := ProofResult{Channels: map[string]agentapi.ChannelFact{
		agentapi.ChannelStateTransfer: transferFact(s.TransferEncrypted, time.Now()),
	}}
	if !s.Running {
		return r
	}
	var wg sync.WaitGroup
	var group, clients agentapi.ChannelFact
	wg.Go(func() {
		addr := net.JoinHostPort(s.Address, groupPort)
		group = judgeGroup(groupTLS(ctx, addr, s.Credentials, s.Socket == galera.SocketPlain), s.Socket,
			p.plain(ctx, s, addr, s.Socket == galera.SocketStrict, groupPlain))
	})
	wg.Go(func() {
		if s.Clients == "" {
			return
		}
		addr := net.JoinHostPort(s.Address, clientPort)
		clients = judgeClients(clientsTLS(ctx, addr, s.Credentials), s.Clients,
			p.plain(ctx, s, addr, s.Clients == galera.PolicyRequired, func(ctx context.Context, addr string) (bool, error) {
				return clientsPlain(ctx, addr, s)
			}))
	})
	wg.Go(func() { r.Peers = p.peers(ctx, s) })
	wg.Wait()
	r.Channels[agentapi.ChannelReplication] = group
	if s.Clients != "" {
		r.Channels[agentapi.ChannelClients] = clients
	}
	return r
}

func (p *Prover) peers(ctx context.Context, s ProofSubject) map[string]agentapi.ChannelFact {
	var mu sync.Mutex
	var wg sync.WaitGroup
	out := map[string]agentapi.ChannelFact{}
	peers := s.Peers
	if s.Arbitrator != nil {
		peers = append(slices.Clip(peers), *s.Arbitrator)
	}
	for _, peer := range peers {
		wg.Go(func() {
			fact := p.peer(ctx, s, net.JoinHostPort(peer.Host, groupPort))
			mu.Lock()
			defer mu.Unlock()
			out[peer.Name] = fact
		})
	}
	wg.Wait()
	return out
}

// peer dials another member. Silence holds up a dynamic one, for up to 750 ms, until it makes out whether a connection
// is TLS; so only one that spoke plaintext the last time is waited for, and it is tried without TLS later and rarely:
// each node tries itself.
func (p *Prover) peer(ctx context.Context, s ProofSubject, addr string) agentapi.ChannelFact {
	p.mu.Lock()
	listen := s.Socket == galera.SocketPlain && p.spoke[addr]
	p.mu.Unlock()
	fact := groupTLS(ctx, addr, s.Credentials, listen)
	p.mu.Lock()
	p.spoke[addr] = fact.Observed == agentapi.ObservedPlaintext
	p.mu.Unlock()
	wanted := s.Socket == galera.SocketStrict && fact.Observed == agentapi.ObservedTLS && time.Since(s.Since) > settled
	return judgeGroup(fact, s.Socket, p.plain(ctx, s, addr, wanted, groupPlain))
}

// plain reports whether an attempt without TLS was refused. It makes one only when it is wanted and the
// last one is old, about something else, or was not refused: an alarm is not repeated from memory.
func (p *Prover) plain(ctx context.Context, s ProofSubject, addr string, wanted bool,
	try func(context.Context, string) (bool, error)) PlainRefusal {
	if !wanted {
		return RefusedUnknown
	}
	p.mu.Lock()
	last, ok := p.refused[addr]
	p.mu.Unlock()
	if !ok || !last.refused || last.key != s.Key || time.Since(last.at) > plainProbeInterval {
		accepted, err := try(ctx, addr)
		if err != nil || p.Subject().Key != s.Key {
			return RefusedUnknown
		}
		last = refusal{key: s.Key, at: time.Now(), refused: !accepted}
		p.mu.Lock()
		p.refused[addr] = last
		p.mu.Unlock()
	}
	if last.refused {
		return RefusedYes
	}
	return RefusedNo
}

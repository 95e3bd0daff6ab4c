package prove

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/cluster"
)

const (
	groupPort  = "4567"
	clientPort = "3306"

	// every is the pace of the dials with TLS, which leave no trace on the other side.
	every = 30 * time.Second
	// everyPlain is the pace of the dials without, each of which leaves one line in the other
	// side's log.
	everyPlain = 5 * time.Minute
)

// Subject is what there is to prove about.
type Subject struct {
	// Running says that mariadbd answers.
	Running bool
	// Key changes with every start and every configuration: what was refused before says
	// nothing about now.
	Key string
	// Mode is how group communication was started.
	Mode cluster.SocketMode
	// Clients is the policy in force for port 3306.
	Clients cluster.ChannelPolicy
	// TransferEncrypted says that the rendered [sst] section demands verified TLS.
	TransferEncrypted bool
	// Address is this member's own; Peers are the others.
	Address string
	Peers   []agentapi.Peer
	Credentials
}

// Result is what was seen.
type Result struct {
	Channels map[string]agentapi.ChannelFact
	Peers    map[string]agentapi.ChannelFact
}

// Prover dials for ever.
type Prover struct {
	// Subject returns the present subject.
	Subject func() Subject
	// Seen gets every result.
	Seen func(Result)

	kick    chan struct{}
	refused map[string]refusal
}

// refusal remembers an attempt without TLS.
type refusal struct {
	key     string
	at      time.Time
	refused bool
}

// New returns a prover.
func New(subject func() Subject, seen func(Result)) *Prover {
	return &Prover{Subject: subject, Seen: seen, kick: make(chan struct{}, 1), refused: map[string]refusal{}}
}

// Kick makes the prover look again at once.
func (p *Prover) Kick() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// Run proves until ctx ends.
func (p *Prover) Run(ctx context.Context) {
	for ctx.Err() == nil {
		p.Seen(p.look(ctx, p.Subject()))
		pause := time.NewTimer(every*3/4 + rand.N(every/2))
		select {
		case <-ctx.Done():
		case <-p.kick:
		case <-pause.C:
		}
		pause.Stop()
	}
}

func (p *Prover) look(ctx context.Context, s Subject) Result {
	now := time.Now()
	r := Result{Channels: map[string]agentapi.ChannelFact{
		agentapi.ChannelStateTransfer: transferFact(s.TransferEncrypted, now),
	}}
	if !s.Running {
		return r
	}
	own := net.JoinHostPort(s.Address, groupPort)
	r.Channels[agentapi.ChannelReplication] = JudgeGroup(GroupTLS(ctx, own, s.Credentials), s.Mode,
		p.plain(ctx, s, own, s.Mode == cluster.SocketStrict, GroupPlain))
	clients := net.JoinHostPort(s.Address, clientPort)
	r.Channels[agentapi.ChannelClients] = JudgeClients(ClientsTLS(ctx, clients, s.Credentials), s.Clients,
		p.plain(ctx, s, clients, s.Clients == cluster.PolicyRequired, ClientsPlain))
	r.Peers = p.peers(ctx, s)
	return r
}

func (p *Prover) peers(ctx context.Context, s Subject) map[string]agentapi.ChannelFact {
	var mu sync.Mutex
	var wg sync.WaitGroup
	out := map[string]agentapi.ChannelFact{}
	for _, peer := range s.Peers {
		wg.Go(func() {
			addr := net.JoinHostPort(peer.Host, groupPort)
			fact := GroupTLS(ctx, addr, s.Credentials)
			mu.Lock()
			defer mu.Unlock()
			out[peer.Name] = fact
		})
	}
	wg.Wait()
	if s.Mode != cluster.SocketStrict {
		return out
	}
	// One after another, and only where TLS works: a dynamic node holds everything up for 750 ms
	// while it makes out that a connection is not TLS.
	for _, peer := range s.Peers {
		if out[peer.Name].Observed == agentapi.ObservedTLS {
			addr := net.JoinHostPort(peer.Host, groupPort)
			out[peer.Name] = JudgeGroup(out[peer.Name], cluster.SocketStrict, p.plain(ctx, s, addr, true, GroupPlain))
		}
	}
	return out
}

// plain says whether an attempt without TLS was refused: Yes, No, or Unknown when none was made. It makes
// one only when it is wanted and the last one is old or about something else.
func (p *Prover) plain(ctx context.Context, s Subject, addr string, wanted bool, try func(context.Context, string) (bool, error)) Refused {
	if !wanted {
		return RefusedUnknown
	}
	last, ok := p.refused[addr]
	if !ok || last.key != s.Key || time.Since(last.at) > everyPlain {
		accepted, err := try(ctx, addr)
		if err != nil {
			return RefusedUnknown
		}
		last = refusal{key: s.Key, at: time.Now(), refused: !accepted}
		p.refused[addr] = last
	}
	if last.refused {
		return RefusedYes
	}
	return RefusedNo
}

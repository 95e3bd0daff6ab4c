package api

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Paces of asking the other members.
const (
	PaceWaiting = 500 * time.Millisecond
	PaceJoining = time.Second
	paceIdle    = 15 * time.Second
)

// Polling asks the other members over and over: quickly while that decides something. Safe for concurrent use; the zero
// value asks no peer.
type Polling struct {
	Asker
	self      string
	members   atomic.Pointer[membership]
	onAnswers func(asked time.Time, views map[string]agentapi.PeerView)
	pace      atomic.Int64
	kick      chan struct{} // the others are to be asked now
}

// membership is a cluster and its members, by one configuration.
type membership struct {
	of      agentapi.Identity
	members []agentapi.Peer
}

// Open sets who asks, with which credentials. reported is called with the answers to a question that was asked at a
// time.
func (a *Polling) Open(self string, credentials func() Credentials,
	reported func(asked time.Time, views map[string]agentapi.PeerView)) {
	a.Asker, a.self, a.onAnswers, a.kick = *NewAsker(credentials), self, reported, make(chan struct{}, 1)
}

// SetMembers sets who is asked. members must not be changed afterwards.
func (a *Polling) SetMembers(of agentapi.Identity, members []agentapi.Peer) {
	a.members.Store(&membership{of, members})
}

// Members returns the cluster and all of its members; nothing before the first configuration.
func (a *Polling) Members() (of agentapi.Identity, members []agentapi.Peer) {
	if m := a.members.Load(); m != nil {
		return m.of, m.members
	}
	return of, nil
}

// Run asks until ctx ends.
func (a *Polling) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if of, members := a.Members(); len(members) > 1 {
			asked := time.Now()
			a.onAnswers(asked, a.Ask(ctx, of, members, a.self))
		}
		pause := time.NewTimer(time.Duration(a.pace.Load()))
		select {
		case <-ctx.Done():
		case <-a.kick:
		case <-pause.C:
		}
		pause.Stop()
	}
}

// Set sets the pace. A quicker one begins with a question at once.
func (a *Polling) Set(pace time.Duration) {
	if time.Duration(a.pace.Swap(int64(pace))) > pace {
		a.Now()
	}
}

// Now asks at once.
func (a *Polling) Now() {
	select {
	case a.kick <- struct{}{}:
	default:
	}
}

// AskOnce asks all others now and returns their answers.
func (a *Polling) AskOnce(ctx context.Context) map[string]agentapi.PeerView {
	of, members := a.Members()
	return a.Ask(ctx, of, members, a.self)
}

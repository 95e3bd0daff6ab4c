package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// scripted answers each question from a channel and remembers who was forgotten.
type scripted struct {
	answers   chan any // agentapi.Report or error
	mu        sync.Mutex
	forgotten []string
}

func (s *scripted) Status(ctx context.Context, _ Target, _ int64, _ time.Duration) (agentapi.Report, error) {
	select {
	case a := <-s.answers:
		if err, bad := a.(error); bad {
			return agentapi.Report{}, err
		}
		return a.(agentapi.Report), nil
	case <-ctx.Done():
		return agentapi.Report{}, ctx.Err()
	}
}

func (s *scripted) Order(context.Context, Target, agentapi.Order) (agentapi.OrderResult, error) {
	return agentapi.OrderResult{}, nil
}

func (s *scripted) Evict(context.Context, Target, agentapi.Eviction) error { return nil }

func (s *scripted) ReportPrimary(context.Context, Target, agentapi.Primary) error      { return nil }
func (s *scripted) ChangeEvents(context.Context, Target, []agentapi.EventChange) error { return nil }
func (s *scripted) Replace(context.Context, Target, *agentapi.Program) error           { return nil }

func (s *scripted) Forget(t Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten = append(s.forgotten, string(t.UID))
}

func TestFollow(t *testing.T) {
	client := &scripted{answers: make(chan any)}
	changed := make(chan types.NamespacedName, 10)
	a := &Agents{Client: client, Changed: func(k types.NamespacedName) { changed <- k }}
	key := types.NamespacedName{Namespace: "demo", Name: "shop"}
	target := Target{Pod: "shop-0", UID: "1"}
	a.Follow(key, []Target{target})
	a.Follow(key, []Target{target}) // the same again starts nothing
	if a.Asked(key) {
		t.Fatal("asked before the first answer")
	}

	client.answers <- agentapi.Report{Generation: 1}
	if got := <-changed; got != key {
		t.Fatalf("news of %v", got)
	}
	if !a.Asked(key) {
		t.Fatal("the first answer is not noticed")
	}
	if s := a.Seen(key)["shop-0"]; !s.Live || s.Report.Generation != 1 {
		t.Fatalf("seen %+v", s)
	}
	client.answers <- agentapi.Report{Generation: 1} // no news
	client.answers <- errors.New("gone")
	<-changed
	if s := a.Seen(key)["shop-0"]; s.Live || s.Report.Generation != 1 || s.Err == nil {
		t.Fatalf("a silent agent is seen as %+v", s)
	}
	client.answers <- errors.New("still gone") // no news either
	client.answers <- agentapi.Report{Generation: 1}
	<-changed
	if len(changed) != 0 {
		t.Errorf("%d notices too many", len(changed))
	}
}

// TestUnknownPeersAreDropped: what an agent reports about peers that are no members of its cluster is not kept.
func TestUnknownPeersAreDropped(t *testing.T) {
	client := &scripted{answers: make(chan any)}
	changed := make(chan types.NamespacedName, 10)
	a := &Agents{Client: client, Changed: func(k types.NamespacedName) { changed <- k }}
	key := types.NamespacedName{Namespace: "demo", Name: "shop"}
	a.Follow(key, []Target{{Pod: "shop-0", UID: "1"}})
	defer a.Follow(key, nil)
	sent := agentapi.Report{Generation: 1, OtherPeers: map[string]agentapi.Identity{},
		TLS: agentapi.TLSReport{Peers: map[string]agentapi.ChannelFact{}}}
	known := []string{"shop-arbitrator", "shop-1", "shop-12"}
	for _, name := range append([]string{"shop", "shop-", "shop-x", "shop-01", "shop-+1", "shop--1", "shop-1-2",
		"shop-999", "other-1", "xshop-1", "shop-arbitrator-1", "", "1"}, known...) {
		sent.OtherPeers[name], sent.TLS.Peers[name] = agentapi.Identity{}, agentapi.ChannelFact{}
	}
	client.answers <- sent
	<-changed
	got := a.Seen(key)["shop-0"].Report
	if peers := slices.Sorted(maps.Keys(got.TLS.Peers)); !slices.Equal(peers, slices.Sorted(slices.Values(known))) {
		t.Errorf("peers: %v", peers)
	}
	if others := slices.Sorted(maps.Keys(got.OtherPeers)); !slices.Equal(others, slices.Sorted(slices.Values(known))) {
		t.Errorf("other peers: %v", others)
	}
}

// TestLateAnswer: one does not make an agent silent, a second does, and so does one that refuses.
func TestLateAnswer(t *testing.T) {
	late, broken := fmt.Errorf("asking: %w", context.DeadlineExceeded), fmt.Errorf("asking: %w", io.EOF)
	f := &follower{}
	for i, step := range []struct {
		err        error
		news, live bool
	}{
		{nil, true, true}, {late, false, true}, {nil, false, true}, {late, false, true}, {late, true, false},
		{late, false, false},
		{nil, true, true}, {late, false, true}, {errors.New("refused"), true, false}, {nil, true, true},
		{errors.New("refused"), true, false},
		{nil, true, true}, {broken, false, true}, {nil, false, true}, {broken, false, true},
		{errors.New("refused"), true, false},
	} {
		if news := f.set(agentapi.Report{Generation: 1}, step.err); news != step.news || f.get().Live != step.live {
			t.Errorf("step %d, %v: news %v, live %v", i, step.err, news, f.get().Live)
		}
	}
	if f = (&follower{}); !f.set(agentapi.Report{}, late) || f.get().Err == nil {
		t.Error("one that was never heard is waited for")
	}
}

// TestSuccessorIsAnotherAgent: a new pod of the same name starts from nothing.
func TestSuccessorIsAnotherAgent(t *testing.T) {
	client := &scripted{answers: make(chan any)}
	changed := make(chan types.NamespacedName, 10)
	a := &Agents{Client: client, Changed: func(k types.NamespacedName) { changed <- k }}
	key := types.NamespacedName{Name: "shop"}
	a.Follow(key, []Target{{Pod: "shop-0", UID: "1"}})
	client.answers <- agentapi.Report{Generation: 5}
	<-changed
	a.Follow(key, []Target{{Pod: "shop-0", UID: "2"}})
	if s := a.Seen(key)["shop-0"]; s.Live {
		t.Errorf("the successor is taken for its predecessor: %+v", s)
	}
	a.Follow(key, nil)
	if _, ok := a.Target(key, "shop-0"); ok {
		t.Error("still followed")
	}
}

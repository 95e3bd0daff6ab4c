package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// TestWeights: a long wish goes alone, and none is left out.
func TestWeights(t *testing.T) {
	heavy := agentapi.SQLUser{Grants: make([]agentapi.SQLGrant, maxWeight+1)}
	to := observe.Target{Pod: "a"}
	b := &Batches{}
	for _, u := range []agentapi.SQLUser{heavy, {}, {}, heavy, {}} {
		b.add(to, &wish{user: u})
	}
	var got []int
	for next := b.next(to); len(next) > 0; next = b.next(to) {
		got = append(got, len(next))
	}
	if !slices.Equal(got, []int{1, 2, 1, 1}) {
		t.Errorf("%v", got)
	}
}

// TestBatches: 500 wishes at once cost as many requests as they fill, each gets its own answer, and agents do not wait for each other.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 500
		var requests, most atomic.Int32
		gate, silent := make(chan struct{}), observe.Target{Pod: "silent"}
		b := &Batches{Keep: func(_ context.Context, to observe.Target, users []agentapi.SQLUser) ([]agentapi.SQLResult, error) {
			if to == silent {
				return nil, errors.New("no answer")
			}
			requests.Add(1)
			most.Store(max(most.Load(), int32(len(users))))
			<-gate
			out := make([]agentapi.SQLResult, len(users))
			for i, u := range users {
				out[i].Message = u.Name
			}
			return out, nil
		}}
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() {
				name := fmt.Sprint(i)
				if r, err := b.User(t.Context(), observe.Target{Pod: "a"}, agentapi.SQLUser{Name: name}); err != nil || r.Message != name {
					t.Errorf("%s: %+v, %v", name, r, err)
				}
			})
		}
		synctest.Wait()
		if _, err := b.User(t.Context(), silent, agentapi.SQLUser{}); err == nil || err.Error() != "no answer" {
			t.Error(err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.User(gone, observe.Target{Pod: "a"}, agentapi.SQLUser{Name: "late"}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		close(gate)
		all.Wait()
		synctest.Wait()
		if got, want := requests.Load(), int32(1+(many+agentapi.MaxUsers-1)/agentapi.MaxUsers); got > want || most.Load() != agentapi.MaxUsers {
			t.Errorf("%d requests of at most %d, want %d", got, most.Load(), want)
		}
		if len(b.waiting)+len(b.asking) > 0 {
			t.Errorf("left: %v, %v", b.waiting, b.asking)
		}
	})
}

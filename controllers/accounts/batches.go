package accounts

import (
	"context"
	"sync"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// Batches asks an agent for several accounts at once: what is wished while a request is on its way goes together in the next one. So the
// users of a new cluster come in batches, and a single one waits for nothing.
type Batches struct {
	// Keep asks an agent to have accounts as they are to be.
	Keep func(ctx context.Context, t observe.Target, users []agentapi.SQLUser) ([]agentapi.SQLResult, error)

	mu      sync.Mutex
	waiting map[observe.Target][]*wish
	// asking are the agents with a request on its way.
	asking map[observe.Target]bool
}

// maxWeight bounds a request of several users: no one's long list keeps the others' short ones waiting.
const maxWeight = 1000

// weight is how many names and privileges a wish has.
func weight(u agentapi.SQLUser) int {
	n := 1 + len(u.Roles)
	for _, g := range u.Grants {
		n += 1 + len(g.Privileges) + len(g.Columns)
	}
	return n
}

type wish struct {
	user   agentapi.SQLUser
	done   chan struct{}
	result agentapi.SQLResult
	err    error
}

// User asks an agent to have an account as it is to be.
func (b *Batches) User(ctx context.Context, t observe.Target, u agentapi.SQLUser) (agentapi.SQLResult, error) {
	w := &wish{user: u, done: make(chan struct{})}
	if b.add(t, w) {
		go b.ask(context.WithoutCancel(ctx), t) // for the others, too; the client bounds each request
	}
	select {
	case <-w.done:
		return w.result, w.err
	case <-ctx.Done():
		return agentapi.SQLResult{}, ctx.Err()
	}
}

// add says whether nothing asks the agent yet.
func (b *Batches) add(t observe.Target, w *wish) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting, b.asking = map[observe.Target][]*wish{}, map[observe.Target]bool{}
	}
	b.waiting[t] = append(b.waiting[t], w)
	first := !b.asking[t]
	b.asking[t] = true
	return first
}

// next takes the next request's wishes, and ends the asking when there are none.
func (b *Batches) next(t observe.Target) []*wish {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, size := 0, 0
	for _, w := range b.waiting[t][:min(len(b.waiting[t]), agentapi.MaxUsers)] {
		if size += weight(w.user); n > 0 && size > maxWeight {
			break
		}
		n++
	}
	out := b.waiting[t][:n:n]
	b.waiting[t] = b.waiting[t][n:]
	if n == 0 {
		delete(b.waiting, t)
		delete(b.asking, t)
	}
	return out
}

func (b *Batches) ask(ctx context.Context, t observe.Target) {
	for wishes := b.next(t); len(wishes) > 0; wishes = b.next(t) {
		users := make([]agentapi.SQLUser, len(wishes))
		for i, w := range wishes {
			users[i] = w.user
		}
		results, err := b.Keep(ctx, t, users)
		for i, w := range wishes {
			if w.err = err; err == nil {
				w.result = results[i]
			}
			close(w.done)
		}
	}
}

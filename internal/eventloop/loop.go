// Package eventloop is the interface between the agent's event loop and its components.
//
// A component owns a part of the agent's state. It is used by the loop's goroutine only; what is slow it lets a worker
// do, which hands the result back as an event. No component imports package agent.
package eventloop

import (
	"context"
	"log/slog"
	"time"
)

// Loop is the agent's event loop, as components use it.
type Loop struct {
	// Post hands an event to the loop. Workers call it, never the loop itself.
	Post func(event func())
	// Work returns a context for a worker, which ends after limit, or when the pod is drained. Cancel must be called.
	Work func(limit time.Duration) (ctx context.Context, cancel context.CancelFunc)
	// Draining reports whether the pod is terminating.
	Draining func() bool
	Logger   *slog.Logger
}

package wsrep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// evictionInterval is how long after an eviction the next one is refused: the view has changed by then, and the status
// has followed.
const evictionInterval = 10 * time.Second

// Evictions evicts terminated servers from the group. It is asked by the operator alone, which has it from the agent
// that saw its child end. Safe for concurrent use.
type Evictions struct {
	Logger *slog.Logger
	// Status and EvictServer use the member's own server.
	Status      func(context.Context) (Status, error)
	EvictServer func(ctx context.Context, nodeUUID string) error
	// Settling is called before: see Forgetting.
	Settling func()

	mu     sync.Mutex
	lastAt time.Time
	viewID int64
}

// Evict evicts a terminated server from the group, or explains why not. See plan.Evictions for the rule: one in each
// view, and in no other view than the one both were in.
func (e *Evictions) Evict(ctx context.Context, v agentapi.Eviction) error {
	id, err := uuid.Parse(v.NodeUUID)
	if err != nil {
		return fmt.Errorf("nodeUUID: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s, err := e.Status(ctx)
	if err != nil {
		return err
	}
	if err := mayEvict(s.Server, v); err != nil {
		return err
	}
	if e.viewID == v.ViewID || time.Since(e.lastAt) < evictionInterval {
		return fmt.Errorf(
			"a server was evicted from this view, or from one just before it: the group has to find out about %s by itself",
			v.NodeUUID)
	}
	e.viewID, e.lastAt = v.ViewID, time.Now()
	e.Settling()
	e.Logger.Info("evicting a terminated server from the group", "uuid", v.NodeUUID, "view", v.ViewID)
	return e.EvictServer(ctx, id.String())
}

func mayEvict(s agentapi.Server, v agentapi.Eviction) error {
	switch {
	case s.Component != galera.ComponentPrimary:
		return errors.New("this member is not Primary")
	case s.ViewID != v.ViewID:
		return fmt.Errorf("this member is in view %d", s.ViewID)
	case s.NodeUUID == v.NodeUUID:
		return errors.New("this is the member itself")
	}
	return nil
}

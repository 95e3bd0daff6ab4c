package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// evictAgain is how long after an eviction the next one is refused: the view has changed by then, and the status
// has followed.
const evictAgain = 10 * time.Second

// evictions tells the group of servers that have ended. What it is asked comes from the operator alone, who has
// it from the agent that saw its child end.
type evictions struct {
	logger *slog.Logger
	// status and tell ask and tell the member's own server.
	status func(context.Context) (wsrep.Status, error)
	tell   func(ctx context.Context, nodeUUID string) error
	// settling is called before: see forgetting.
	settling func()

	mu     sync.Mutex
	lastAt time.Time
	viewID int64
}

// evict tells the group that a server has ended, or says why not. See plan.Evictions for the rule: one in each
// view, and in no other view than the one both were in.
func (e *evictions) evict(ctx context.Context, v agentapi.Eviction) error {
	id, err := uuid.Parse(v.NodeUUID)
	if err != nil {
		return fmt.Errorf("nodeUUID: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s, err := e.status(ctx)
	if err != nil {
		return err
	}
	if err := mayEvict(s.Server, v); err != nil {
		return err
	}
	if e.viewID == v.ViewID || time.Since(e.lastAt) < evictAgain {
		return fmt.Errorf("a server was evicted from this view, or from one just before it: the group has to find out about %s by itself", v.NodeUUID)
	}
	e.viewID, e.lastAt = v.ViewID, time.Now()
	e.settling()
	e.logger.Info("telling the group that a server has ended", "uuid", v.NodeUUID, "view", v.ViewID)
	return e.tell(ctx, id.String())
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

// endedAs is what is told of a server that has ended: nil when it had left its component in good order, and
// when what is known of its last view does not fit together. It may have been in a later one: the status follows
// what was applied. Then it has acknowledged nothing there.
func (a *agent) endedAs(orderly bool) *agentapi.Ended {
	s := a.status
	if orderly || s == nil || s.Component != galera.ComponentPrimary || s.NodeUUID == "" || a.view.ID != s.ViewID {
		return nil
	}
	return &agentapi.Ended{NodeUUID: s.NodeUUID, ViewID: s.ViewID}
}

package harness

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// WaitApplied waits until every Synced node of c has committed all that any of them has committed now. Data of a node
// that is killed while it applies a statement that changes tables are marked (docs/design/marked-data.md): it gets a full copy.
func WaitApplied(ctx context.Context, c *Cluster, timeout time.Duration) error {
	cl, err := c.Client(ctx)
	if err != nil {
		return err
	}
	pods, err := c.PodNames(ctx)
	if err != nil {
		return err
	}
	var until int64
	for _, s := range cl.NodeStates(ctx, pods) {
		until = max(until, s.Committed)
	}
	return c.Kube.Until(ctx, fmt.Sprintf("all Synced nodes at %d", until), timeout,
		func(ctx context.Context) (bool, string, error) {
			return applied(cl.NodeStates(ctx, pods), until)
		})
}

// applied reports whether all Synced nodes, of which there is at least one, have committed the seqno.
func applied(states []NodeState, seqno int64) (bool, string, error) {
	var behind []string
	synced := 0
	for _, s := range states {
		if s.State != "Synced" {
			continue
		}
		synced++
		if s.Committed < seqno {
			behind = append(behind, fmt.Sprintf("%s is at %d", s.Pod, s.Committed))
		}
	}
	return synced > 0 && len(behind) == 0, strings.Join(behind, ", "), nil
}

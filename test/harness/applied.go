package harness

import (
	"context"
	"errors"
	"strings"
	"time"
)

// silentTime is how long a node that does not answer is waited for: a busy one may be the very one that is behind.
const silentTime = 15 * time.Second

// WaitApplied waits until every Synced node of c has committed all that any of them has committed now. Data of a node
// that is killed while it applies a statement that changes tables are marked (docs/design/marked-data.md): it gets a
// full copy. A node that is down does not count, after a while.
func WaitApplied(ctx context.Context, c *Cluster, timeout time.Duration) error {
	cl, err := c.Client(ctx)
	if err != nil {
		return err
	}
	pods, err := c.PodNames(ctx)
	if err != nil {
		return err
	}
	a, begun := applying{until: -1}, time.Now()
	return c.Kube.Until(ctx, "what is committed now, on all Synced nodes", timeout,
		func(ctx context.Context) (bool, string, error) {
			return a.done(cl.NodeStates(ctx, pods), time.Since(begun) < silentTime)
		})
}

// applying waits for a seqno, which is not known before any Synced node has answered: -1.
type applying struct{ until int64 }

// done reports whether all Synced nodes, of which there is at least one, have committed the seqno. A patient caller
// waits for nodes that do not answer, too.
func (a *applying) done(states []NodeState, patient bool) (bool, string, error) {
	var words []string
	var errs []error
	synced, behind := 0, 0
	last := int64(-1)
	for _, s := range states {
		words, errs = append(words, s.String()), append(errs, s.Err)
		if s.serves() {
			synced, last = synced+1, max(last, s.Committed)
			if s.Committed < a.until {
				behind++
			}
		}
	}
	err := errors.Join(errs...)
	if synced == 0 || patient && err != nil {
		return false, strings.Join(words, ", "), err
	}
	if a.until < 0 { // those that are behind the last are seen the next time
		a.until = last
		return false, strings.Join(words, ", "), nil
	}
	return behind == 0, strings.Join(words, ", "), err
}

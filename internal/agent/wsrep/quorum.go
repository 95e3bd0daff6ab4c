package wsrep

import (
	"context"
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// quorumTimeout is how long a rebuilt quorum may take to show.
const quorumTimeout = 15 * time.Second

// RebuildQuorum makes the server's non-Primary component Primary, and waits until the status shows it. A worker calls
// it.
func (c *Conn) RebuildQuorum(ctx context.Context) error {
	if err := c.Bootstrap(ctx); err != nil {
		return err
	}
	deadline := time.Now().Add(quorumTimeout)
	for {
		s, err := c.Status(ctx)
		if err == nil && s.Server.Component == galera.ComponentPrimary {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the component did not become Primary within %s", quorumTimeout)
		}
		time.Sleep(pollFast)
	}
}

//go:build integration

package wsrep

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestSetEventTwice: the gate of the scheduler and the operator change events at once, while accounts.Own has its
// connection. Neither waits for one that the other has.
func TestSetEventTwice(t *testing.T) {
	c := Scheduler{realServer(t, serverImages[0])}
	own, err := c.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = own.Close() }()
	c.must(t, "CREATE DATABASE app", "CREATE EVENT app.e ON SCHEDULE EVERY 1 DAY DO SELECT 1",
		"CREATE EVENT app.f ON SCHEDULE EVERY 1 DAY DO SELECT 1")
	for _, status := range []string{agentapi.EventDisabled, agentapi.EventEnabled, agentapi.EventDisabled} {
		rows, err := c.eventRows(t.Context(), c.db, "TRUE")
		if err != nil || len(rows) != 2 {
			t.Fatal(rows, err)
		}
		began, results := time.Now(), make(chan error, len(rows))
		for _, e := range rows {
			go func() {
				done, err := c.setEvent(t.Context(), e, status)
				if !done {
					t.Errorf("%s was not made %s: %v", e.name, status, err)
				}
				results <- err
			}()
		}
		for range rows {
			if err := <-results; err != nil {
				t.Log(err) // done reports whether it counts
			}
		}
		t.Log(time.Since(began))
	}
}

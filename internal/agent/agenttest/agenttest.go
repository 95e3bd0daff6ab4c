// Package agenttest holds what the tests of the agent's packages have in common.
package agenttest

import (
	"log/slog"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// The UUIDs of two histories.
const (
	UUID  = "90e0b86f-e577-11f1-b9b1-fa90d5744545"
	Other = "11111111-2222-3333-4444-555555555555"
)

// At is a position in the first history.
func At(seqno int64) galera.Position { return galera.Position{UUID: UUID, Seqno: seqno} }

// Primary is what is known of the others when one of them answers, which is Primary and Synced but for what edit
// changes.
func Primary(name string, edit func(*agentapi.PeerView)) map[string]agentapi.PeerView {
	p := agentapi.PeerView{Name: name, Component: galera.ComponentPrimary, State: galera.NodeSynced, ClusterUUID: UUID,
		Position: At(100)}
	if edit != nil {
		edit(&p)
	}
	return map[string]agentapi.PeerView{name: p}
}

// Server is a process that runs until the end of the test, in place of mariadbd.
func Server(t *testing.T) *mariadbd.Process {
	t.Helper()
	proc, err := mariadbd.Start(&platform.ProcessTable{}, mariadbd.Command{Path: "/bin/sleep", Args: []string{"60"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proc.Kill)
	return proc
}

// Runs reports whether a process has not ended.
func Runs(p *mariadbd.Process) bool {
	select {
	case <-p.Done():
		return false
	default:
		return true
	}
}

// Loop is a queue nothing is taken from but by Next.
func Loop() (*eventloop.Queue, eventloop.Loop) {
	q := eventloop.NewQueue()
	return q, q.Loop(slog.New(slog.DiscardHandler))
}

// Next handles the next event of a queue.
func Next(t *testing.T, q *eventloop.Queue) {
	t.Helper()
	select {
	case event := <-q.Events:
		event()
	case <-time.After(time.Minute):
		t.Fatal("nothing happens")
	}
}

// Until waits for a condition.
func Until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(90 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

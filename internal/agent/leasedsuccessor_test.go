package agent

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/agenttest"
	"github.com/galera-operator/galera-operator/internal/agent/handover"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// TestASuccessorGuardsTheServerFirst: a server that accepts writes though its lease has ended is killed by a successor
// that gets no further than that, here because a socket was not handed over.
func TestASuccessorGuardsTheServerFirst(t *testing.T) {
	dir := t.TempDir()
	server := agenttest.Server(t)
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(pipe[1]) })
	before := &handover.State{Format: handover.Format, Components: map[string]json.RawMessage{
		"sockets":   json.RawMessage(fmt.Sprintf(`{":%d":%d}`, agentapi.ProbePort, pipe[0])),
		runningName: json.RawMessage(fmt.Sprintf(`{"process":{"pid":%d}}`, server.PID)),
		leaseName:   json.RawMessage(`{"needed":true,"open":true}`)}}
	o := Options{Name: "shop-0", Namespace: "prod", Address: "10.0.0.7", Logger: slog.New(slog.DiscardHandler),
		Output: func(string) {}, Places: platform.Places{Volume: dir, Data: filepath.Join(dir, "data"),
			State: filepath.Join(dir, "state"), Run: filepath.Join(dir, "run"), Tmp: filepath.Join(dir, "tmp"),
			Config: filepath.Join(dir, "config"), TLS: filepath.Join(dir, "tls"), Root: filepath.Join(dir, "root")}}
	if _, err := start(t.Context(), o, before); err == nil {
		t.Fatal("a pipe is served on")
	}
	select {
	case <-server.Done():
	case <-time.After(10 * time.Second):
		t.Error("the server goes on")
	}
}

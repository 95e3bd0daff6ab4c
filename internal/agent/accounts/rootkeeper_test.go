package accounts

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// TestRootIsSetAgain: a member that sets root's accounts again, after another one did, does not rely on what it set
// itself: the other may have opened what this one had closed.
func TestRootIsSetAgain(t *testing.T) {
	places := platform.Places{Root: t.TempDir()}
	password := filepath.Join(places.Root, agentapi.RootPasswordKey)
	if err := os.WriteFile(password, []byte("a-long-enough-password"), 0o600); err != nil {
		t.Fatal(err)
	}
	queue, times := eventloop.NewQueue(), 0
	keep := func(context.Context, DesiredRoot) (time.Duration, error) { return 0, nil }
	root := NewRootKeeper(queue.Loop(slog.New(slog.DiscardHandler)), places, keep)
	check := func(what string, want int) {
		t.Helper()
		root.Check(&agentapi.RootAccess{Disabled: true}, func() {})
		if root.Busy() != "" {
			times++
			select {
			case event := <-queue.Events:
				event()
			case <-time.After(time.Minute):
				t.Fatal("nothing happens")
			}
		}
		if times != want {
			t.Errorf("%s: set %d times, want %d", what, times, want)
		}
	}
	check("at first", 1)
	check("it is set", 1)
	root.Yield()
	check("after another member did", 2)
}

//go:build integration

package agent_test

import (
	"os"
	"testing"
)

// TestPlay forms a cluster and leaves it running (GAGENT_KEEP=1), for experiments by hand.
func TestPlay(t *testing.T) {
	if os.Getenv("GAGENT_KEEP") == "" {
		t.Skip("only for experiments by hand: GAGENT_KEEP=1")
	}
	w := newWorld(t, 3, nil)
	s := &scenario{T: t, world: w}
	s.wait()
	s.form()
	t.Fatal("left running")
}

package measure

import (
	"context"
	"path/filepath"
	"testing"
	"time"
)

func TestSidecar(t *testing.T) {
	socket := filepath.Join(shortDir(t), "u.sock")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- RunSidecar(ctx, socket, []string{"sleep", "60"}) }()
	answered := func() (string, error) {
		_, err := sidecarUsage(t.Context(), socket)
		return inWords(err), nil
	}
	if err := await(t.Context(), 10*time.Millisecond, answered); err != nil {
		t.Fatal(err)
	}
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("an end that was asked for: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the program was not ended")
	}
	if err := RunSidecar(t.Context(), filepath.Join(shortDir(t), "u.sock"), []string{"false"}); err == nil {
		t.Error("a program that failed")
	}
	if _, err := sidecarUsage(t.Context(), socket); err == nil {
		t.Error("there is no answer any more")
	}
}

package agent

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

func TestNotStarted(t *testing.T) {
	full := fmt.Errorf("a note: %w", &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
	if f := notStarted(full); f.Reason != agentapi.FailureDiskFull || !strings.Contains(f.Message,
		"could not be started: a note: write x: no space") {
		t.Errorf("%+v", f)
	}
	if f := notStarted(os.ErrPermission); f.Reason != agentapi.FailureStart {
		t.Errorf("%+v", f)
	}
}

// TestPluginArgs: only a plugin that the image has is loaded.
func TestPluginArgs(t *testing.T) {
	for _, has := range []bool{true, false} {
		args := pluginArgs(func(name string) bool { return has && name == "metadata_lock_info" })
		if got := strings.Join(args, " "); got != map[bool]string{true: "--plugin-load-add=metadata_lock_info"}[has] {
			t.Errorf("%v: %q", has, got)
		}
	}
}

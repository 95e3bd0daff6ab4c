package starting

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

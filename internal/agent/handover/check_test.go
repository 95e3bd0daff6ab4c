package handover

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/platform"
)

// TestMain is also the other agent: one that takes its time to answer.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == CheckCommand {
		time.Sleep(200 * time.Millisecond)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestCheckKeepsItsProgram asks programs while the agent's loop reaps and kills what it takes for orphans.
func TestCheckKeepsItsProgram(t *testing.T) {
	var table platform.ProcessTable
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				table.Reap()
				table.KillOrphans()
			}
		}
	}()
	defer func() { close(stop); <-stopped }()

	agent, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := check(t, &table, agent); err != nil {
		t.Errorf("an agent that can take over: %v", err)
	}
	var exit *exec.ExitError
	if err := check(t, &table, "/bin/false"); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("a program that cannot: %v", err)
	}
}

func check(t *testing.T, table *platform.ProcessTable, path string) error {
	t.Helper()
	program, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = program.Close() }()
	binary, err := Binary(program)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = binary.Close() }()
	return Check(t.Context(), table, binary, State{Format: Format})
}

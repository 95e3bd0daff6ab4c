//go:build integration

package wsrep

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// killedBefore names the statement before which the process is killed, and killedSocket the server's socket.
const killedBefore, killedSocket = "KILLED_BEFORE", "KILLED_SOCKET"

// anothersEvent is an event whose definer a later statement replaces.
const anothersEvent = "CREATE OR REPLACE DEFINER = a@h EVENT app.e ON SCHEDULE EVERY 1 DAY DISABLE ON SLAVE DO SELECT 1"

// TestSetEventKilled: an agent that is killed before any of its statements leaves an event as a later statement made
// it. The server sees the ends of its connections in any order.
func TestSetEventKilled(t *testing.T) {
	if socket := os.Getenv(killedSocket); socket != "" {
		setEventAndDie(t, socket, os.Getenv(killedBefore))
		return
	}
	for _, image := range serverImages {
		t.Run(image, func(t *testing.T) {
			t.Parallel()
			server, socket := startServer(t, image)
			c := Scheduler{server}
			c.must(t, "CREATE DATABASE app", "CREATE USER a@h, b@h", "GRANT ALL ON app.* TO a@h, b@h")
			for _, before := range []string{"LOCK TABLES", "DO SLEEP", "ALTER", "SELECT COALESCE(STATE", "SELECT db", "KILL"} {
				agent := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSetEventKilled$")
				agent.Env = append(os.Environ(), killedSocket+"="+socket, killedBefore+"="+before)
				out, err := agent.CombinedOutput()
				if state, ok := agent.ProcessState.Sys().(syscall.WaitStatus); !ok || !state.Signaled() {
					t.Fatalf("%s: it was not killed: %v, %s", before, err, out)
				}
				c.must(t, "ALTER DEFINER = b@h EVENT app.e COMMENT 'after it'") // it is behind what was in progress
				if got := c.event(t); got != "SLAVESIDE_DISABLED b@h after it" {
					t.Errorf("killed before %s: %s", before, got)
				}
			}
		})
	}
}

// setEventAndDie changes an event that has got another definer since it was read, and is killed before a statement.
func setEventAndDie(t *testing.T, socket, before string) {
	plain, err := Open(socket, "root")
	if err != nil {
		t.Fatal(err)
	}
	plain.must(t, anothersEvent)
	rows, err := Scheduler{plain}.eventRows(t.Context(), plain.db, "TRUE")
	if err != nil {
		t.Fatal(err)
	}
	plain.must(t, strings.Replace(anothersEvent, "a@h", "b@h", 1))
	c := Scheduler{plain.through(func(statement string) error {
		if strings.HasPrefix(statement, before) {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return nil
	})}
	_, err = c.setEvent(context.Background(), rows[0], agentapi.EventEnabled)
	t.Log(err)
}

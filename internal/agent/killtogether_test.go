//go:build integration

package agent_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// killTogether kills an agent with its server, as the kernel does with a control group that is out of memory. The next
// agent of the pod reports the end of that server, so that the group can evict it. The report shows it only until the
// next server starts: who asks too late tries again.
func (s *scenario) killTogether() {
	n := s.node(1)
	var ended *agentapi.Ended
	for try := 0; ended == nil && try < 4; try++ {
		server := n.noted(s.T)
		n.kill()
		s.world.run(exec.Command("docker", "start", n.container()))
		r := n.until("started again", 90*time.Second, func(r agentapi.Report) bool {
			return r.Ended != nil || synced(3)(r)
		})
		if ended = r.Ended; ended == nil {
			continue
		}
		if ended.NodeUUID != server {
			s.Errorf("the server %s has ended, not %s", ended.NodeUUID, server)
		}
		n.until("back", 90*time.Second, synced(3))
	}
	if ended == nil {
		s.Error("the next agent does not report the end of the server before")
	}
	s.intact()
}

// noted waits until the agent has noted which view its server is in, and returns the server's UUID in the group.
func (n *node) noted(t *testing.T) (server string) {
	t.Helper()
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		r, err := n.report()
		note, _ := os.ReadFile(filepath.Join(n.base, "run", "last-run.json"))
		if err == nil && synced(3)(r) && strings.Contains(string(note), r.Server.NodeUUID) {
			return r.Server.NodeUUID
		}
	}
	t.Fatal("the view is not noted")
	return ""
}

// runDir mounts what the containers of a pod share.
func (n *node) runDir() []string {
	n.w.t.Helper()
	if !n.keepsRun {
		return []string{"--tmpfs", fmt.Sprintf("%s:uid=%d,mode=750", agentapi.RunDir, mysqlUID)}
	}
	dir := filepath.Join(n.base, "run")
	check(n.w.t, os.RemoveAll(dir))
	check(n.w.t, os.MkdirAll(dir, 0o750))
	check(n.w.t, os.Chown(dir, mysqlUID, mysqlUID))
	return []string{"-v", dir + ":" + agentapi.RunDir}
}

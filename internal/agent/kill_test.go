//go:build integration

package agent_test

import (
	"os/exec"
	"strings"
	"time"
)

// kill ends the container by SIGKILL.
func (n *node) kill() {
	n.w.t.Helper()
	n.untilDone("kill", n.container())
}

// untilDone runs a command of Docker that ends a container. Docker waits 10 s for the end of the processes and then
// reports an error, which a busy host needs: the command is run again until the container has ended.
func (n *node) untilDone(args ...string) {
	n.w.t.Helper()
	for again, end := false, time.Now().Add(time.Minute); ; again = true {
		out, err := exec.Command("docker", args...).CombinedOutput()
		text := string(out)
		ended := strings.Contains(text, "is not running") || strings.Contains(text, "No such container")
		if err == nil || again && ended {
			return
		}
		if ended || time.Now().After(end) {
			n.w.t.Fatalf("docker %v: %v\n%s", args, err, text)
		}
	}
}

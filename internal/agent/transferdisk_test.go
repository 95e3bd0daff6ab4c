//go:build integration

package agent_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// small puts a file system of limited size where a member's volume is.
func (n *node) small(mebibytes int) {
	n.w.t.Helper()
	volume := filepath.Join(n.base, "volume")
	check(n.w.t, os.MkdirAll(volume, 0o770))
	n.w.run(exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm,uid=%d,gid=%d,mode=0770", mebibytes, mysqlUID,
		mysqlUID), "tmpfs", volume))
	n.w.t.Cleanup(func() { _ = exec.Command("umount", "-l", volume).Run() })
}

func (n *node) resize(mebibytes int) {
	n.w.t.Helper()
	n.w.run(exec.Command("mount", "-o", fmt.Sprintf("remount,size=%dm", mebibytes), filepath.Join(n.base, "volume")))
}

func (s *scenario) noSpace() {
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.StateTransfer.StallSeconds = 60 })
	n := s.node(2)
	n.stop(true)
	n.wipe()
	n.small(150)
	before := s.given(1)
	n.start()
	f := s.failing(n, agentapi.FailureDiskFull, 60*time.Second)
	if !strings.Contains(f.Message, "MiB") || s.given(1)["SST"] != before["SST"] {
		s.Errorf("%s; given %v, before %v", f.Message, s.given(1), before)
	}
	n.resize(800)
	s.followJoin(n, 60*time.Second, nil)
	s.intact()
	n.stop(true)
	s.world.run(exec.Command("umount", filepath.Join(n.base, "volume")))
	n.wipe()
	n.start()
	s.all(60 * time.Second)
}

func (s *scenario) fillUp() {
	n := s.node(2)
	n.stop(true)
	n.wipe()
	n.small(800)
	n.start()
	n.until("in a transfer", 60*time.Second,
		func(r agentapi.Report) bool { return r.Join != nil && r.Join.Phase == agentapi.JoinTransferring })
	filler := filepath.Join(n.base, "volume", "filler")
	_ = exec.Command("dd", "if=/dev/zero", "of="+filler, "bs=1M").Run()
	f := s.failing(n, agentapi.FailureDiskFull, 60*time.Second)
	if !strings.Contains(f.Message, "No space left on device") && !strings.Contains(f.Message, "space for") {
		s.Errorf("%s", f.Message)
	}
	s.node(0).until("undisturbed", 20*time.Second, func(r agentapi.Report) bool { return synced(2)(r) })
	s.write2(0)
	check(s.T, os.Remove(filler))
	s.followJoin(n, 90*time.Second, nil)
	s.intact()
	n.stop(true)
	s.world.run(exec.Command("umount", filepath.Join(n.base, "volume")))
	n.wipe()
	n.start()
	s.all(90 * time.Second)
}

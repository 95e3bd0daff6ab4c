package join

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/agenttest"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// donor is an agent whose server gives to 10.0.0.9 by a script that holds on to a connection; the script's note is
// returned.
func donor(t *testing.T, script string) (*DonorTracker, config.TransferNote) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	_, loop := agenttest.Loop()
	a := &DonorTracker{loop: loop, run: &process.Supervisor{Proc: agenttest.Server(t)},
		config: &config.Manager{Node: &agentapi.NodeConfig{}}}
	a.run.Status = &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeDonor}
	dir := t.TempDir()
	a.places = platform.Places{Run: dir, Data: dir}
	path := filepath.Join(dir, "wsrep_sst_test")
	text := "echo donor $$ SST 10.0.0.9 >" + a.places.TransferNotes() + "\n" + script
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bash, path)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = cmd.Wait() }()
	t.Cleanup(func() { platform.KillProcess(cmd.Process.Pid); <-done })
	agenttest.Until(t, "both programs run", func() bool { return len(platform.Descendants(cmd.Process.Pid)) >= 2 })
	return a, config.TransferNotes(a.places.TransferNotes())[0]
}

// gone reports whether a process has ended, whether it was noticed or not.
func gone(pid int) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err != nil || len(line) == 0
}

const gives = "trap 'touch cleaned' EXIT\nsleep 1000 | sleep 1000\nsleep 1000\n"

// TestLostJoinerTransferIsTerminated: the script goes with all it has started, and cleans up; mariadbd goes on.
func TestLostJoinerTransferIsTerminated(t *testing.T) {
	a, n := donor(t, gives)
	below := platform.Descendants(n.PID)
	a.peerAnswer = func(host net.IP, port uint16) (platform.StreamAnswer, bool) {
		return platform.StreamAnswer{Silent: time.Hour, Owed: true}, host.String() == "10.0.0.9" && port == 4444
	}
	a.Tick()
	if a.current == nil || !n.Running() {
		t.Fatal("ended at the first check")
	}
	then := a.joinerWatch.at.Add(-agentapi.DefaultStall - time.Second)
	a.joinerWatch.at, a.joinerWatch.watch = then, lifecycle.JoinerWatch{}
	a.joinerWatch.watch.See(then, lifecycle.JoinerObservation{Connected: true, OwesACK: true}, agentapi.DefaultStall)
	a.Tick()
	agenttest.Until(t, "the script ends", func() bool { return !n.Running() })
	for _, pid := range below {
		agenttest.Until(t, "its programs end", func() bool { return gone(pid) })
	}
	if _, err := os.Stat(filepath.Join(a.places.Data, "cleaned")); err != nil {
		t.Error("it could not clean up: ", err)
	}
	a.Tick()
	if g := a.last; g == nil || g.To != "10.0.0.9" {
		t.Errorf("it has given %+v", g)
	}
	if a.current != nil || platform.ProcessName(a.run.Proc.PID) != "sleep" || a.run.Attempts.Failure != nil {
		t.Errorf("gives %+v, server %q, %+v", a.current, platform.ProcessName(a.run.Proc.PID), a.run.Attempts.Failure)
	}
}

// TestFrozenJoinerTransferIsTerminated: its kernel answers, and takes nothing.
func TestFrozenJoinerTransferIsTerminated(t *testing.T) {
	a, n := donor(t, gives)
	taken := uint64(1)
	a.peerAnswer = func(net.IP, uint16) (platform.StreamAnswer, bool) {
		return platform.StreamAnswer{Queued: true, Taken: taken}, true
	}
	start := time.Unix(100000, 0)
	a.endLostJoiner(n, start)
	taken++
	a.endLostJoiner(n, start.Add(12*time.Minute))
	if a.joinerWatch.ended {
		t.Fatal("ended, and it has taken something")
	}
	a.endLostJoiner(n, start.Add(24*time.Minute))
	agenttest.Until(t, "the script ends", func() bool { return !n.Running() })
}

// TestTransferThatIgnoresTerminationIsKilled is killed at the next check.
func TestTransferThatIgnoresTerminationIsKilled(t *testing.T) {
	a, n := donor(t, "trap '' TERM\nwhile :; do sleep 1000 | sleep 1000; done\n")
	a.peerAnswer = func(net.IP, uint16) (platform.StreamAnswer, bool) {
		return platform.StreamAnswer{Silent: time.Hour, Owed: true}, true
	}
	start := time.Unix(100000, 0)
	a.endLostJoiner(n, start)
	a.endLostJoiner(n, start.Add(11*time.Minute))
	agenttest.Until(t, "it goes on", func() bool { return n.Running() && len(platform.Descendants(n.PID)) >= 2 })
	a.peerAnswer = func(net.IP, uint16) (platform.StreamAnswer, bool) { return platform.StreamAnswer{}, false }
	a.endLostJoiner(n, start.Add(11*time.Minute+time.Second))
	if !n.Running() {
		t.Fatal("it had no time")
	}
	a.endLostJoiner(n, start.Add(12*time.Minute))
	agenttest.Until(t, "it ends", func() bool { return !n.Running() })
}

// TestHarmlessLostJoinerTransferContinues where ending it would do harm, or it is another one.
func TestHarmlessLostJoinerTransferContinues(t *testing.T) {
	for name, edit := range map[string]func(*DonorTracker, *config.TransferNote){
		"without a quorum": func(a *DonorTracker,
			_ *config.TransferNote) {
			a.run.Status.Component = galera.ComponentNonPrimary
		},
		"without a configuration": func(a *DonorTracker, _ *config.TransferNote) { a.config.Node = nil },
		"a long timeout": func(a *DonorTracker,
			_ *config.TransferNote) {
			a.config.Node.StateTransfer.StallSeconds = 1300
		},
		"another one since": func(a *DonorTracker, _ *config.TransferNote) { a.joinerWatch.script = 1 },
		"checked a moment ago": func(a *DonorTracker, _ *config.TransferNote) {
			a.joinerWatch.at = time.Unix(100000, 0).Add(11*time.Minute - time.Second)
		},
		"to a host that is no member": func(_ *DonorTracker, n *config.TransferNote) { n.Host = "shop-2" },
	} {
		t.Run(name, func(t *testing.T) {
			a, n := donor(t, gives)
			a.peerAnswer = func(host net.IP, _ uint16) (platform.StreamAnswer, bool) {
				return platform.StreamAnswer{Silent: time.Hour, Owed: true}, host != nil
			}
			a.endLostJoiner(n, time.Unix(100000, 0))
			edit(a, &n)
			a.endLostJoiner(n, time.Unix(100000, 0).Add(11*time.Minute))
			if a.joinerWatch.ended || !n.Running() {
				t.Error("ended")
			}
		})
	}
}

// TestFailedBackup: a donor reports why its backup failed, of the transfer that failed and no other one.
func TestFailedBackup(t *testing.T) {
	for name, c := range map[string]struct {
		log       string
		next, why bool
	}{
		"overtaken":     {"Was only able to copy log from 1 to 2, not 3\n", false, true},
		"complete":      {"completed OK!\n", false, false},
		"another began": {"Was only able to copy log from 1 to 2, not 3\n", true, false},
	} {
		q, loop := agenttest.Loop()
		dir := t.TempDir()
		a := &DonorTracker{loop: loop, run: &process.Supervisor{Proc: agenttest.Server(t)},
			config: &config.Manager{Node: &agentapi.NodeConfig{}}, places: platform.Places{Run: dir, Data: dir}}
		given := &agentapi.Donation{Kind: agentapi.JoinSST, To: "10.0.0.9", Since: time.Now().Add(-time.Minute)}
		a.current, a.last, a.notes = given, given, 1
		for path, text := range map[string]string{a.places.TransferNotes(): "donor 0 SST 10.0.0.9\n", // no process
			filepath.Join(dir, "mariabackup.backup.log"): c.log} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		a.Tick()
		if c.next {
			a.last = &agentapi.Donation{Kind: agentapi.JoinSST, To: "10.0.0.8", Since: time.Now()}
		}
		agenttest.Next(t, q)
		var r agentapi.Report
		if a.Report(&r); r.Donation != nil || r.LastDonation == nil || (r.LastDonation.Failure != "") != c.why {
			t.Errorf("%s: %+v, %+v", name, r.Donation, r.LastDonation)
		}
		if given.Failure != "" {
			t.Errorf("%s: a report that was made before has changed", name)
		}
	}
}

package platform

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	for line, want := range map[string]process{
		"12 (bash) S 3 12 12":           {12, 3, 'S'},
		"7 (a) b) (c) Z 1 7":            {7, 1, 'Z'},
		"9 (with space and ) x) R 44 1": {9, 44, 'R'},
		"":                              {},
		"x (y) S 1":                     {},
		"5 (y)":                         {},
	} {
		got, ok := parseStat(line)
		if got != want || ok != (want != process{}) {
			t.Errorf("parseStat(%q) = %v, %v, want %v", line, got, ok, want)
		}
	}
}

// TestReapTakesOrphansOnly lets a child leave an orphan behind and checks that Reap collects the
// orphan while the child's own exit status stays for Wait.
func TestReapTakesOrphansOnly(t *testing.T) {
	if err := AdoptOrphans(); err != nil {
		t.Skip("cannot become a subreaper: ", err)
	}
	var table ProcessTable
	cmd := exec.Command("sh", "-c", "sh -c 'exit 3' & exit 7")
	if err := table.Start(cmd); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(5 * time.Second)
	reaped := 0
	for reaped == 0 && time.Now().Before(deadline) {
		reaped += table.Reap()
		time.Sleep(5 * time.Millisecond)
	}
	err := table.Wait(cmd)
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit code of the known child is %d (%v), want 7", code, err)
	}
	// The shell may have reaped its own child before it went; then there was no orphan.
	t.Logf("reaped %d", reaped)
}

func TestKillOrphansSparesKnownChildren(t *testing.T) {
	if err := AdoptOrphans(); err != nil {
		t.Skip("cannot become a subreaper: ", err)
	}
	var table ProcessTable
	known := exec.Command("sleep", "60")
	if err := table.Start(known); err != nil {
		t.Fatal(err)
	}
	started, line, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command("sh", "-c", "(sh -c 'sleep 60 & echo; wait' &) ")
	parent.Stdout = line
	if err := table.Start(parent); err != nil {
		t.Fatal(err)
	}
	if err := table.Wait(parent); err != nil {
		t.Fatal(err)
	}
	// Only then are there two: a shell that is killed before it forks leaves one.
	if _, err := started.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(5 * time.Second)
	killed := 0
	for killed < 2 && time.Now().Before(deadline) {
		killed += table.KillOrphans()
		time.Sleep(5 * time.Millisecond)
	}
	if killed < 2 {
		t.Errorf("killed %d processes of the orphaned tree, want 2", killed)
	}
	if err := known.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the known child is gone: %v", err)
	}
	_ = known.Process.Kill()
	_ = table.Wait(known)
	for table.Reap() > 0 {
		continue
	}
}

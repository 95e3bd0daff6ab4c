package platform

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// ProcessTable knows which children are waited for. The zero value is ready.
type ProcessTable struct {
	mu    sync.Mutex
	known map[int]bool
}

// AdoptOrphans makes this process the parent of its descendants' orphans, also when it is not PID 1.
func AdoptOrphans() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// Start starts a command. Wait must be called for it afterwards, and nothing else.
func (t *ProcessTable) Start(cmd *exec.Cmd) error {
	// The lock keeps Reap away from the moment in which the child exists and is not known.
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	if t.known == nil {
		t.known = map[int]bool{}
	}
	t.known[cmd.Process.Pid] = true
	return nil
}

// Wait waits for a command that Start started.
func (t *ProcessTable) Wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	t.mu.Lock()
	delete(t.known, cmd.Process.Pid)
	t.mu.Unlock()
	return err
}

// Take makes a child known that an agent before this one has started. WaitFor must be called for it afterwards.
func (t *ProcessTable) Take(pid int) (*os.Process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, err := os.FindProcess(pid)
	if err != nil {
		return nil, err
	}
	if t.known == nil {
		t.known = map[int]bool{}
	}
	t.known[pid] = true
	return p, nil
}

// WaitFor waits for a child that Take has made known.
func (t *ProcessTable) WaitFor(p *os.Process) (*os.ProcessState, error) {
	state, err := p.Wait()
	t.mu.Lock()
	delete(t.known, p.Pid)
	t.mu.Unlock()
	return state, err
}

// Reap collects the exit status of every dead child that is not waited for, and returns how many there were. While a
// child is being started, which takes as long as its directory does, it leaves that for the next time.
func (t *ProcessTable) Reap() int {
	if !t.mu.TryLock() {
		return 0
	}
	defer t.mu.Unlock()
	n := 0
	for _, p := range children(os.Getpid()) {
		if p.state != 'Z' || t.known[p.pid] {
			continue
		}
		var status syscall.WaitStatus
		if got, err := syscall.Wait4(p.pid, &status, syscall.WNOHANG, nil); err == nil && got == p.pid {
			n++
		}
	}
	return n
}

// KillOrphans kills every descendant of this process that no known child leads to: what a dead
// server left behind (transfer scripts and their pipelines). It returns how many it has killed.
func (t *ProcessTable) KillOrphans() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := list()
	n := 0
	for _, p := range all {
		if p.parent == os.Getpid() && !t.known[p.pid] && p.state != 'Z' {
			n += killTree(all, p.pid)
		}
	}
	return n
}

// killTree kills pid and its descendants, parents first, so that none can start another.
func killTree(all []process, pid int) int {
	n := 0
	if syscall.Kill(pid, syscall.SIGKILL) == nil {
		n++
	}
	for _, p := range all {
		if p.parent == pid {
			n += killTree(all, p.pid)
		}
	}
	return n
}

// process is one line of /proc.
type process struct {
	pid, parent int
	state       byte
}

func children(of int) []process {
	var out []process
	for _, p := range list() {
		if p.parent == of {
			out = append(out, p)
		}
	}
	return out
}

func list() []process {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	out := make([]process, 0, len(paths))
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has just gone
		}
		if p, ok := parseStat(string(data)); ok {
			out = append(out, p)
		}
	}
	return out
}

// parseStat reads "pid (name) state ppid …"; the name may hold spaces and parentheses.
func parseStat(line string) (process, bool) {
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 1 || end < open {
		return process{}, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line[:open]))
	rest := strings.Fields(line[end+1:])
	if err != nil || len(rest) < 2 || len(rest[0]) != 1 {
		return process{}, false
	}
	parent, err := strconv.Atoi(rest[1])
	if err != nil {
		return process{}, false
	}
	return process{pid: pid, parent: parent, state: rest[0][0]}, true
}

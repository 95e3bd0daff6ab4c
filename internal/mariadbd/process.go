package mariadbd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/galera-operator/galera-operator/internal/platform"
)

// drainTimeout is how long the last lines of a dead server are waited for: an orphaned script may
// hold the pipe open.
const drainTimeout = 500 * time.Millisecond

// Exit is how a process ended.
type Exit struct {
	// Code is the exit code, -1 for a signal.
	Code int
	// Signal is the signal that ended it, 0 when none did.
	Signal syscall.Signal
	// Lines are its last log lines.
	Lines []string
}

// Process is a running mariadbd.
type Process struct {
	PID       int
	StartedAt time.Time
	ended     atomic.Bool
	killed    atomic.Bool
	done      chan struct{}
	exit      Exit
	log       *os.File
}

// Command is what to run.
type Command struct {
	Path string
	Args []string
	Env  []string
	Dir  string
	// Stdin is given to the process; nil for none.
	Stdin io.Reader
	// Stdout gets what the process prints there; nil for Log.
	Stdout *os.File
	// Log gets every line the process prints.
	Log func(line string)
}

// Start starts a process in its own process group, as transfer scripts kill their parent's group.
func Start(table *platform.ProcessTable, c Command) (*Process, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env, cmd.Dir, cmd.Stdin = c.Env, c.Dir, c.Stdin
	cmd.Stdout, cmd.Stderr = w, w
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = table.Start(cmd)
	_ = w.Close()
	if err != nil {
		_ = r.Close()
		return nil, err
	}
	p := newProcess(cmd.Process.Pid, time.Now(), r)
	p.follow(c.Log, func() *os.ProcessState {
		_ = table.Wait(cmd)
		return cmd.ProcessState
	})
	return p, nil
}

// Handed is what an agent leaves to its successor of a process that goes on.
type Handed struct {
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"startedAt"`
	// Log is the descriptor the process's lines come from.
	Log int `json:"log"`
}

// Hand returns what a successor needs.
func (p *Process) Hand() (Handed, error) {
	h := Handed{PID: p.PID, StartedAt: p.StartedAt}
	raw, err := p.log.SyscallConn() // Fd would make it block
	if err != nil {
		return h, err
	}
	return h, raw.Control(func(fd uintptr) { h.Log = int(fd) })
}

// Take continues with a process that an agent before this one has started. log gets its lines.
func Take(table *platform.ProcessTable, h Handed, log func(line string)) (*Process, error) {
	child, err := table.Take(h.PID)
	if err != nil {
		return nil, err
	}
	p := newProcess(h.PID, h.StartedAt, os.NewFile(uintptr(h.Log), "log"))
	p.follow(log, func() *os.ProcessState {
		state, _ := table.WaitFor(child)
		return state
	})
	return p, nil
}

func newProcess(pid int, started time.Time, log *os.File) *Process {
	return &Process{PID: pid, StartedAt: started, done: make(chan struct{}), log: log}
}

// follow reads the lines of the process, and waits for its end.
func (p *Process) follow(log func(line string), wait func() *os.ProcessState) {
	ring := &Ring{}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		defer func() { _ = p.log.Close() }()
		forward(p.log, func(line string) {
			if !Chatter(line) {
				ring.Add(line)
			}
			if log != nil {
				log(line)
			}
		})
	}()
	go p.end(wait, ring, drained)
}

func (p *Process) end(wait func() *os.ProcessState, ring *Ring, drained <-chan struct{}) {
	state := wait()
	p.ended.Store(true)
	select {
	case <-drained:
	case <-time.After(drainTimeout):
	}
	p.exit = Exit{Code: -1, Lines: ring.Lines()}
	if state != nil {
		p.exit.Code = state.ExitCode()
		if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			p.exit.Signal = ws.Signal()
		}
	}
	close(p.done)
}

// forward calls f for every line; a line longer than the buffer comes in pieces.
func forward(r io.Reader, f func(string)) {
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if text := bytes.TrimRight(line, "\r\n"); len(text) > 0 {
			f(string(text))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit returns how the process ended; only after Done.
func (p *Process) Exit() Exit { return p.exit }

// Terminate asks the process to stop.
func (p *Process) Terminate() { p.signal(p.PID, syscall.SIGTERM) }

// Kill ends the process and its group at once.
func (p *Process) Kill() {
	if p.signal(-p.PID, syscall.SIGKILL) {
		p.killed.Store(true)
	}
}

// Killed reports whether SIGKILL was sent: the process never runs another instruction, however long its end takes.
func (p *Process) Killed() bool { return p.killed.Load() }

// signal does nothing once the process has ended: its number may be another's by then.
func (p *Process) signal(pid int, sig syscall.Signal) (sent bool) {
	return !p.ended.Load() && syscall.Kill(pid, sig) == nil
}

// Run starts a process, waits for it and returns how it ended. It is killed when ctx ends first.
func Run(ctx context.Context, table *platform.ProcessTable, c Command) (Exit, error) {
	p, err := Start(table, c)
	if err != nil {
		return Exit{}, err
	}
	select {
	case <-p.Done():
		return p.Exit(), nil
	case <-ctx.Done():
		p.Kill()
		<-p.Done()
		return p.Exit(), ctx.Err()
	}
}

// String returns how a process ended, in words. One that got SIGKILL could not log why: its last lines are about
// something else.
func (e Exit) String() string {
	text := fmt.Sprintf("exit code %d", e.Code)
	if e.Signal != 0 {
		text = "killed by signal " + signalName(e.Signal)
	}
	if why := Why(e.Lines); why != "" && e.Signal != syscall.SIGKILL {
		text += ": " + why
	}
	return text
}

func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGKILL:
		return "SIGKILL (sent by a user, or by the kernel when memory ran out)"
	case syscall.SIGSEGV:
		return "SIGSEGV"
	case syscall.SIGABRT:
		return "SIGABRT"
	}
	return fmt.Sprint(int(s))
}

// Package handover lets an agent replace itself by another binary while mariadbd stays its child: execve keeps the
// process, its children and the descriptors it is asked to keep. The agent's components write down what must outlive
// it, the successor reads that before its loop begins.
//
// Nothing is lost when the other binary is unusable: it is asked first whether it can take over (Check), and when it
// ends its start with an error it goes back to the binary it came from (Return).
package handover

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// Format is the version of State. A change that an agent of the version before cannot ignore raises it; Check then
// refuses, and the agent is replaced with its pod.
const Format = 1

const (
	// env names the descriptor that holds the State.
	env = "GALERA_AGENT_HANDOVER"
	// CheckCommand is the agent's command that reads a State from its standard input and checks whether it could take
	// over.
	CheckCommand = "check-handover"
	// checkTimeout bounds that.
	checkTimeout = 20 * time.Second
	// programName is what the process is called, as the file is in the pod.
	programName = "agent"
)

// State is what an agent leaves to its successor.
type State struct {
	// Format is of this type, From the version of the agent that wrote it.
	Format int    `json:"format"`
	From   string `json:"from"`
	// Report is the last one that was sent: until the successor knows more, it continues to report it.
	Report agentapi.Report `json:"report"`
	// Primary is the member clients are sent to.
	Primary string `json:"primary,omitempty"`
	// Components holds what each component has written down, by its name.
	Components map[string]json.RawMessage `json:"components"`
	// Descriptors are what stays open: listening sockets and the pipe of mariadbd's log. Which is which, their owners
	// know.
	Descriptors []int `json:"descriptors,omitempty"`
	// Before is the descriptor of the binary that wrote this, 0 in a state that goes back to it.
	Before int `json:"before,omitempty"`
	// Refused is why the successor went back, "" when this goes forward.
	Refused string `json:"refused,omitempty"`
}

// Usable returns the reason why a state cannot be taken over, nil when it can.
func (s State) Usable() error {
	if s.Format != Format {
		return fmt.Errorf("the agent %s hands over in format %d, this one takes %d", s.From, s.Format, Format)
	}
	return nil
}

// Binary is a sealed copy of a program in memory: it cannot be changed, and it needs no volume that may be written and
// executed.
func Binary(r io.Reader) (*os.File, error) {
	return sealed(programName, 0o500, io.LimitReader(r, agentapi.LargestProgram+1))
}

func sealed(name string, mode uint32, r io.Reader) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("memory for the program: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	n, err := io.Copy(f, r)
	switch {
	case err == nil && n > agentapi.LargestProgram:
		err = fmt.Errorf("more than %d MiB", agentapi.LargestProgram>>20)
	case err == nil:
		if err = f.Chmod(os.FileMode(mode)); err == nil {
			_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS,
				unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func path(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// Check asks a binary whether it can take over a state. It runs next to mariadbd and touches nothing. The table knows
// it, or the agent would take it for an orphan and reap or kill it.
func Check(ctx context.Context, table *platform.ProcessTable, binary *os.File, s State) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, path(binary), CheckCommand)
	cmd.ExtraFiles = nil
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(data), &output, &output
	if err = table.Start(cmd); err == nil {
		err = table.Wait(cmd)
	}
	if err != nil {
		return fmt.Errorf("the other agent cannot take over: %w: %s", err, bytes.TrimSpace(output.Bytes()))
	}
	return nil
}

// Exec replaces this process by binary, which finds s and its descriptors. It returns only when that fails; everything
// is as before then.
func Exec(binary *os.File, s State) error {
	before, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer func() { _ = before.Close() }()
	s.Before = int(before.Fd())
	return run(path(binary), s)
}

// Return goes back to the agent that handed s over, which continues with it. It returns only when that fails.
func Return(s State, why error) error {
	if s.Before == 0 {
		return errors.New("there is no agent to go back to")
	}
	exe := "/proc/self/fd/" + strconv.Itoa(s.Before)
	s.Before, s.Refused = 0, why.Error()
	return run(exe, s)
}

func run(exe string, s State) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	state, err := sealed("handover", 0o400, bytes.NewReader(data))
	if err != nil {
		return err
	}
	defer func() { _ = state.Close() }()
	keep := append(slices.Clone(s.Descriptors), int(state.Fd()))
	if s.Before != 0 {
		keep = append(keep, s.Before)
	}
	for _, fd := range keep {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return fmt.Errorf("descriptor %d: %w", fd, err)
		}
	}
	defer func() {
		for _, fd := range keep { // no child of an agent that goes on gets them
			_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC)
		}
	}()
	environ := append(without(os.Environ()), env+"="+strconv.Itoa(int(state.Fd())))
	return fmt.Errorf("execve: %w", syscall.Exec(exe, os.Args, environ))
}

func without(environ []string) []string {
	var out []string
	for _, e := range environ {
		if len(e) <= len(env) || e[:len(env)+1] != env+"=" {
			out = append(out, e)
		}
	}
	return out
}

// Taken returns the state this process was started with, nil when it was not started by an agent. Its descriptors are
// closed in children from now on.
func Taken() (*State, error) {
	word, ok := os.LookupEnv(env)
	if !ok {
		return nil, nil
	}
	if err := os.Unsetenv(env); err != nil {
		return nil, err
	}
	fd, err := strconv.Atoi(word)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", env, err)
	}
	f := os.NewFile(uintptr(fd), "handover")
	defer func() { _ = f.Close() }()
	s, err := Read(io.NewSectionReader(f, 0, agentapi.LargestProgram))
	if err != nil {
		return nil, err
	}
	keep := slices.Clone(s.Descriptors)
	if s.Before != 0 {
		keep = append(keep, s.Before)
	}
	for _, fd := range keep {
		unix.CloseOnExec(fd)
	}
	rename()
	return s, nil
}

// rename gives the process its name again: execve of a descriptor names it after the descriptor's number in ps and top.
// A failure harms nothing.
func rename() { _ = os.WriteFile("/proc/self/comm", []byte(programName), 0) }

// Read reads a state.
func Read(r io.Reader) (*State, error) {
	var s State
	if err := json.NewDecoder(r).Decode(&s); err != nil {
		return nil, fmt.Errorf("the state of the agent before: %w", err)
	}
	return &s, nil
}

// Digest is the SHA-256 of this program, in hexadecimal.
func Digest() (string, error) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

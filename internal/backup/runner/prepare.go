package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// prepare makes a database of the copy: mariadb-backup applies the log it has taken along.
func prepare(ctx context.Context, p places, more ...string) error {
	limit, _ := os.ReadFile(memoryLimit) // without one, or with another version of cgroups, the program's default
	var files syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) // the program's default then, too
	args := append(prepareArgs(p.work, p.Tmp, string(limit), files.Max), more...)
	return runTool(ctx, p, mariadbd.Command{Path: mariadbd.FindProgram("mariadb-backup"), Args: args})
}

// prepareArgs are those of the program, in a container with a limit of memory, and a hard limit of open files. It opens
// all tables that the log changes at once, and does not raise the soft limit by itself, 1,024 by default on many hosts.
func prepareArgs(dir, tmp, memory string, files uint64) []string {
	args := []string{"--prepare", "--target-dir=" + dir, "--tmpdir=" + tmp}
	if use := prepareMemory(memory); use > 0 {
		args = append(args, fmt.Sprintf("--use-memory=%dM", use>>20))
	}
	if files > 0 {
		args = append(args, fmt.Sprintf("--open-files-limit=%d", min(files, mostFiles)))
	}
	return args
}

const (
	// memoryLimit is the file with the container's limit in bytes, or "max".
	memoryLimit = "/sys/fs/cgroup/memory.max"
	// leastMemory is mariadb-backup's default for --prepare, and mostMemory the most that applying a log is given.
	leastMemory, mostMemory = 96 << 20, 8 << 30
	// mostFiles is what the kernel allows a process at most, unless it is configured otherwise (fs.nr_open).
	mostFiles = 1 << 20
)

// prepareMemory returns the memory for applying the log: half of the container's limit, 0 for the default. With more of
// it pages are read and written less often.
func prepareMemory(limit string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(limit), 10, 64)
	if err != nil || n/2 < leastMemory {
		return 0
	}
	return min(n/2, mostMemory)
}

// runTool runs a program to its end.
func runTool(ctx context.Context, p places, c mariadbd.Command) error {
	proc, err := startTool(p, c)
	if err != nil {
		return err
	}
	return endOfTool(ctx, proc, filepath.Base(c.Path))
}

func startTool(p places, c mariadbd.Command) (*mariadbd.Process, error) {
	c.Env, c.Dir = mariadbd.Env(p.Places), p.Tmp
	proc, err := mariadbd.Start(p.table, c)
	if err != nil {
		return nil, because(task.ReasonToolFailed, err)
	}
	return proc, nil
}

// errKilled is in the error of a program that a signal has ended.
var errKilled = errors.New("was killed")

// endOfTool waits for the end of a program, which it ends itself when there is no time left.
func endOfTool(ctx context.Context, proc *mariadbd.Process, name string) error {
	select {
	case <-proc.Done():
	case <-ctx.Done():
		proc.Kill()
		<-proc.Done()
		return because(task.ReasonToolFailed, ctx.Err())
	}
	exit := proc.Exit()
	if exit.Code == 0 {
		return nil
	}
	err := fmt.Errorf("%s ended with exit code %d: %s", name, exit.Code, mariadbd.ToolWhy(exit.Lines))
	if exit.Signal != 0 {
		err = fmt.Errorf("%s %w (%s): %s", name, errKilled, exit.Signal, mariadbd.ToolWhy(exit.Lines))
	}
	if mariadbd.Classify(exit.Lines) == agentapi.FailureDiskFull {
		return because(task.ReasonDiskFull, err)
	}
	return because(task.ReasonToolFailed, err)
}

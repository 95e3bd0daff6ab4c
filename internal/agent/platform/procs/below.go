package procs

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Below returns the processes a process has started, and those they have started, by id.
func Below(pid int) []int {
	all := list()
	out := []int{pid}
	for i := 0; i < len(out); i++ {
		for _, p := range all {
			if p.parent == out[i] && !slices.Contains(out, p.pid) {
				out = append(out, p.pid)
			}
		}
	}
	return out[1:]
}

// Kill kills a process and all it has started.
func Kill(pid int) { killTree(list(), pid) }

// End asks a process to end, which may have something to clean up, and kills what it has started: what it waits for.
func End(pid int) {
	all := list() // before it ends, and they are another process's
	_ = syscall.Kill(pid, syscall.SIGTERM)
	for _, p := range all {
		if p.parent == pid {
			killTree(all, p.pid)
		}
	}
}

// Name returns what a process is called, "" when it has gone.
func Name(pid int) string {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

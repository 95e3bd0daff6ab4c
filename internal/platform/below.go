package platform

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Descendants returns the processes a process has started, and those they have started, by id.
func Descendants(pid int) []int {
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

// KillProcess kills a process and all it has started.
func KillProcess(pid int) { killTree(list(), pid) }

// EndProcess asks a process to end, which may have something to clean up, and kills what it has started: what it waits
// for.
func EndProcess(pid int) {
	all := list() // before it ends, and they are another process's
	_ = syscall.Kill(pid, syscall.SIGTERM)
	for _, p := range all {
		if p.parent == pid {
			killTree(all, p.pid)
		}
	}
}

// ProcessName returns what a process is called, "" when it has gone.
func ProcessName(pid int) string {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

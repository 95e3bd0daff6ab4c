package procs

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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

// Name returns what a process is called, "" when it has gone.
func Name(pid int) string {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// Package usage reads what this container has used of its host, and what the host is, from the
// kernel's own counters. What cannot be read is not there.
package usage

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Counters grow from the start of the container.
type Counters struct {
	// CPUSeconds is the processor time of all processes.
	CPUSeconds float64
	// Throttled is the number of scheduling periods that were cut short by the CPU limit.
	Throttled float64
}

// cgroupRoot is where the container sees its own control group.
const cgroupRoot = "/sys/fs/cgroup"

// CPU returns this container's counters; ok is false where there are none.
func CPU() (Counters, bool) { return cpu(cgroupRoot) }

func cpu(root string) (Counters, bool) {
	if stat := pairs(filepath.Join(root, "cpu.stat")); stat["usage_usec"] > 0 {
		return Counters{CPUSeconds: stat["usage_usec"] / 1e6, Throttled: stat["nr_throttled"]}, true
	}
	// Version 1 of control groups has a folder for every controller.
	for _, dir := range []string{"cpu,cpuacct", "cpuacct"} {
		text, err := os.ReadFile(filepath.Join(root, dir, "cpuacct.usage"))
		if err != nil {
			continue
		}
		ns, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		if err != nil {
			continue
		}
		stat := pairs(filepath.Join(root, dir, "cpu.stat"))
		if len(stat) == 0 {
			stat = pairs(filepath.Join(root, "cpu", "cpu.stat"))
		}
		return Counters{CPUSeconds: ns / 1e9, Throttled: stat["nr_throttled"]}, true
	}
	return Counters{}, false
}

// Memory returns the bytes that this container uses, without files that the kernel can drop at once: what kubelet calls
// its working set. ok is false where there are no counters.
func Memory() (bytes float64, ok bool) { return memory(cgroupRoot) }

func memory(root string) (float64, bool) {
	dir := root
	text, err := os.ReadFile(filepath.Join(dir, "memory.current"))
	if err != nil { // version 1 of control groups
		dir = filepath.Join(root, "memory")
		if text, err = os.ReadFile(filepath.Join(dir, "memory.usage_in_bytes")); err != nil {
			return 0, false
		}
	}
	used, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	return max(0, used-pairs(filepath.Join(dir, "memory.stat"))["inactive_file"]), err == nil
}

// pairs reads a file of names and numbers.
func pairs(path string) map[string]float64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	out := map[string]float64{}
	for line := range strings.SplitSeq(string(text), "\n") {
		if f := strings.Fields(line); len(f) == 2 {
			if v, err := strconv.ParseFloat(f[1], 64); err == nil {
				out[f[0]] = v
			}
		}
	}
	return out
}

// SentBytes returns what all network interfaces of this network namespace but the loopback have sent, headers included.
// ok is false where there are none.
func SentBytes() (bytes float64, ok bool) {
	text, err := os.ReadFile("/proc/net/dev")
	if err != nil {
		return 0, false
	}
	return sentBytes(string(text))
}

// sentField is the ninth number of an interface: the first of those that determine what was sent.
const sentField = 8

func sentBytes(text string) (sum float64, ok bool) {
	for line := range strings.SplitSeq(text, "\n") {
		name, counters, found := strings.Cut(line, ":")
		f := strings.Fields(counters)
		if !found || strings.TrimSpace(name) == "lo" || len(f) <= sentField {
			continue
		}
		if v, err := strconv.ParseFloat(f[sentField], 64); err == nil {
			sum, ok = sum+v, true
		}
	}
	return sum, ok
}

// Space returns how many bytes a process without privileges may still write under a path, and of how many in all.
func Space(path string) (free, size float64, ok bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, 0, false
	}
	reserved := s.Bfree - s.Bavail
	return float64(s.Bavail) * float64(s.Bsize), float64(s.Blocks-reserved) * float64(s.Bsize), true
}

// Processor describes the host's processors.
type Processor struct {
	Model string
	Count int
	// Flags are those that matter for ciphers.
	Flags []string
}

// flagsThatMatter speed up ciphers.
var flagsThatMatter = []string{"aes", "vaes", "pclmulqdq", "vpclmulqdq", "avx2", "avx512f", "sha_ni", "asimd", "pmull",
	"sha2"}

// Host reads /proc/cpuinfo.
func Host() Processor {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return Processor{}
	}
	return processor(string(text))
}

func processor(text string) Processor {
	var p Processor
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(name) {
		case "processor":
			p.Count++
		case "model name":
			p.Model = strings.TrimSpace(value)
		case "flags", "Features":
			all := strings.Fields(value)
			p.Flags = nil
			for _, f := range flagsThatMatter {
				if slices.Contains(all, f) {
					p.Flags = append(p.Flags, f)
				}
			}
		}
	}
	return p
}

// Kernel returns the release of the host's kernel.
func Kernel() string {
	text, _ := os.ReadFile("/proc/sys/kernel/osrelease") // unknown is ""
	return strings.TrimSpace(string(text))
}

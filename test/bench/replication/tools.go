package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/test/harness"
)

// pids are the numbers of the nodes' mariadbds on this host.
func (c *cluster) pids(ctx context.Context) ([]int, error) {
	var out []int
	for _, name := range c.names {
		text, err := harness.Docker(ctx, "top", name, "-eo", "pid,comm")
		if err != nil {
			return nil, err
		}
		for line := range strings.SplitSeq(text, "\n") {
			if f := strings.Fields(line); len(f) == 2 && f[1] == "mariadbd" {
				pid, err := strconv.Atoi(f[0])
				if err != nil {
					return nil, err
				}
				out = append(out, pid)
			}
		}
	}
	if len(out) != len(c.names) {
		return nil, fmt.Errorf("%d of %d mariadbds run", len(out), len(c.names))
	}
	return out, nil
}

// tick is how the kernel counts processor time in /proc, in microseconds.
const tick = 10_000

// spentBy returns the processor time in microseconds of processes so far, their context switches, and what their
// containers have sent.
func spentBy(pids []int) (u usage, err error) {
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return u, err
		}
		f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+2:]))
		u.user += number(f[11]) * tick
		u.system += number(f[12]) * tick
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		if err != nil {
			return u, err
		}
		for _, path := range tasks {
			status, err := os.ReadFile(path)
			if err != nil {
				continue // the thread has ended
			}
			for line := range strings.SplitSeq(string(status), "\n") {
				switch name, value, _ := strings.Cut(line, ":"); name {
				case "voluntary_ctxt_switches":
					u.waits += number(strings.TrimSpace(value))
				case "nonvoluntary_ctxt_switches":
					u.preempted += number(strings.TrimSpace(value))
				}
			}
		}
		sent, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", pid))
		if err != nil {
			return u, err
		}
		for line := range strings.SplitSeq(string(sent), "\n") {
			// eight columns of what was received come first
			if f := strings.Fields(line); len(f) > 10 && f[0] == "eth0:" {
				u.sentBytes += number(f[9])
				u.sentPackets += number(f[10])
			}
		}
	}
	return u, nil
}

func number(s string) float64 {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return n
}

// callsOf counts the calls of the kernel that processes make in a time, by name, and the bytes of one that moves some.
func callsOf(ctx context.Context, pids []int, d time.Duration) (calls, sizes map[string]float64, err error) {
	dir, err := os.MkdirTemp("", "galera-calls-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	trace := filepath.Join(dir, "trace")
	args := []string{"-s", "INT", strconv.Itoa(int(d.Seconds())), "strace", "-f", "-qq", "-s", "0", "-e", "signal=none",
		"-o", trace}
	for _, pid := range pids {
		args = append(args, "-p", strconv.Itoa(pid))
	}
	// timeout ends strace, so that both report a failure
	out, err := exec.CommandContext(ctx, "timeout", args...).CombinedOutput()
	text, readErr := os.ReadFile(trace)
	if calls, sizes = parseCalls(string(text)); len(calls) == 0 {
		return nil, nil, fmt.Errorf("strace: %w: %s", errors.Join(err, readErr), out)
	}
	return calls, sizes, nil
}

var (
	// called and returned are the two halves of a line of strace; a call during which another thread makes one has a line
	// for each.
	called   = regexp.MustCompile(`^\d+ +(\w+)\((?:[^,]*, (FUTEX_\w+))?`)
	returned = regexp.MustCompile(`^\d+ +(?:<\.\.\. )?(\w+)(?:\(| resumed>).* = (\d+)(?: |$)`)
	moves    = regexp.MustCompile(`^(p?(read|write)(v|64|v2)?|recv(from|msg|mmsg)?|send(to|msg|mmsg)?)$`)
)

func parseCalls(trace string) (calls, sizes map[string]float64) {
	calls, sizes = map[string]float64{}, map[string]float64{}
	ended := map[string]float64{}
	for line := range strings.SplitSeq(trace, "\n") {
		if m := called.FindStringSubmatch(line); m != nil {
			name := m[1]
			switch {
			case strings.HasPrefix(m[2], "FUTEX_WAKE"):
				name += " to wake"
			case m[2] != "":
				name += " to wait"
			}
			calls[name]++
		}
		if m := returned.FindStringSubmatch(line); m != nil && moves.MatchString(m[1]) && m[2] != "0" {
			ended[m[1]]++
			sizes[m[1]] += number(m[2])
		}
	}
	for name := range sizes {
		sizes[name] /= ended[name]
	}
	return calls, sizes
}

var reported = regexp.MustCompile(`^\s*([0-9.]+)%\s+(\S+)\s+\[.\]\s+(.+?)(?:\s+-\s+-)?\s*$`)

// sharesOf samples where the processor time of processes goes in a time: the share of each function of each program
// file.
func sharesOf(ctx context.Context, pids []int, d time.Duration) (map[string]float64, error) {
	dir, err := os.MkdirTemp("", "galera-cost-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var list []string
	for _, pid := range pids {
		list = append(list, strconv.Itoa(pid))
	}
	file := filepath.Join(dir, "perf.data")
	out, err := exec.CommandContext(ctx, "perf", "record", "-q", "-e", "cpu-clock", "-F", "997", "-o", file, "-p",
		strings.Join(list, ","), "--", "sleep", strconv.Itoa(int(d.Seconds()))).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("perf record: %w: %s", err, out)
	}
	text, err := exec.CommandContext(ctx, "perf", "report", "-i", file, "--stdio", "--sort", "dso,symbol").Output()
	if err != nil {
		return nil, fmt.Errorf("perf report: %w", err)
	}
	shares := map[string]float64{}
	for line := range strings.SplitSeq(string(text), "\n") {
		if m := reported.FindStringSubmatch(line); m != nil {
			shares[m[2]+"\x00"+m[3]] += number(m[1]) / 100
		}
	}
	if len(shares) == 0 {
		return nil, fmt.Errorf("perf has sampled nothing: %s", text)
	}
	return shares, nil
}

func splitSymbol(name string) (part, function string) {
	part, function, _ = strings.Cut(name, "\x00")
	if strings.HasPrefix(part, "[kernel") {
		part = "kernel"
	}
	return part, function
}

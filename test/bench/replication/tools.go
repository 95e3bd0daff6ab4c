package main

import (
	"bufio"
	"context"
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

// spentBy returns the processor time, in microseconds, and the context switches of processes so far.
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
				if name, value, ok := strings.Cut(line, ":"); ok && strings.HasSuffix(name, "voluntary_ctxt_switches") {
					u.switches += number(strings.TrimSpace(value))
				}
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

// callsOf counts the calls of the kernel that processes make in a time, by name.
func callsOf(ctx context.Context, pids []int, d time.Duration) (map[string]float64, error) {
	args := []string{"-s", "INT", strconv.Itoa(int(d.Seconds())), "strace", "-f", "-c"}
	for _, pid := range pids {
		args = append(args, "-p", strconv.Itoa(pid))
	}
	out, err := exec.CommandContext(ctx, "timeout", args...).CombinedOutput()
	calls := map[string]float64{}
	scan := bufio.NewScanner(strings.NewReader(string(out)))
	for scan.Scan() {
		// % time, seconds, usecs/call, calls, errors if any, name
		if f := strings.Fields(scan.Text()); len(f) >= 5 && f[len(f)-1] != "total" && number(f[3]) > 0 {
			calls[f[len(f)-1]] = number(f[3])
		}
	}
	if len(calls) == 0 {
		return nil, fmt.Errorf("strace: %w: %s", err, out)
	}
	return calls, nil
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

package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// requestsMetric counts the requests of a Kubernetes client, by client-go itself.
	requestsMetric = "rest_client_requests_total"
	clockTicks     = 100 // of /proc, on every platform Kubernetes runs on
)

// Usage is what the operator's process has used so far, and what it holds now.
type Usage struct {
	At time.Time
	// CPU since its start.
	CPU time.Duration
	// Resident memory in bytes.
	Resident int64
	// WorkingSet in bytes as Kubernetes counts it for the container, 0 when it cannot be read.
	WorkingSet int64
	// Requests to the API server since its start.
	Requests float64
}

// Usage reads the usage of the running operator.
func (k Operator) Usage(ctx context.Context) (Usage, error) {
	p, err := k.Pod(ctx)
	if err != nil {
		return Usage{}, err
	}
	pids := processes(p, operatorProgram)
	if len(pids) != 1 {
		return Usage{}, fmt.Errorf("%d processes of the operator, want one", len(pids))
	}
	u := Usage{At: time.Now()}
	var errs [3]error
	u.CPU, errs[0] = ProcessorTime(pids[0])
	u.Resident, errs[1] = residentMemory(pids[0])
	u.Requests, errs[2] = k.requests(ctx, p)
	u.WorkingSet = workingSet(pids[0])
	return u, errors.Join(errs[:]...)
}

// Scrape scrapes the operator that acts.
func (k Operator) Scrape(ctx context.Context) (Scrape, error) {
	p, err := k.Pod(ctx)
	if err != nil {
		return Scrape{}, err
	}
	return k.scrape(ctx, p)
}

// ProcessorTime returns the processor time that a process of this machine has used, with all its threads.
func ProcessorTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), ") ") // the name may contain blanks
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("the statistics of process %d cannot be read", pid)
	}
	return ticks(fields[11], fields[12]) // utime and stime
}

// MachineTime returns the processor time that all processes of this machine have used since it started.
func MachineTime() (time.Duration, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	fields := strings.Fields(line) // cpu user nice system idle iowait irq softirq ...
	if len(fields) < 8 || fields[0] != "cpu" {
		return 0, fmt.Errorf("/proc/stat begins with %q", line)
	}
	return ticks(fields[1], fields[2], fields[3], fields[6], fields[7])
}

func ticks(fields ...string) (time.Duration, error) {
	var sum int64
	for _, f := range fields {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return time.Duration(sum) * time.Second / clockTicks, nil
}

func residentMemory(pid int) (int64, error) {
	b, err := os.ReadFile(procFile(pid, "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("the memory of process %d cannot be read", pid)
}

// workingSet is the memory of the control group without the file cache that can be dropped.
func workingSet(pid int) int64 {
	b, err := os.ReadFile(procFile(pid, "cgroup"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch parts[1] {
		case "memory":
			dir := filepath.Join("/sys/fs/cgroup/memory", parts[2])
			return readNumber(dir, "memory.usage_in_bytes") - readStat(dir, "total_inactive_file")
		case "":
			dir := filepath.Join("/sys/fs/cgroup", parts[2])
			if n := readNumber(dir, "memory.current"); n > 0 {
				return n - readStat(dir, "inactive_file")
			}
		}
	}
	return 0
}

func readNumber(dir, file string) int64 {
	b, _ := os.ReadFile(filepath.Join(dir, file)) // 0 stands for "cannot be read"
	n, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n
}

func readStat(dir, key string) int64 {
	b, _ := os.ReadFile(filepath.Join(dir, "memory.stat")) // see readNumber
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == key {
			n, _ := strconv.ParseInt(value, 10, 64)
			return n
		}
	}
	return 0
}

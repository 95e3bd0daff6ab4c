package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
)

// serverProgram is the database server's process; the agent above it is PID 1 of its container.
const serverProgram = "mariadbd"

// agentProgram is that agent.
const agentProgram = "agent"

// signalProgram sends a signal to the processes of one program in a pod, where there has to be one.
func signalProgram(ctx context.Context, c *Cluster, pod, program string, signal syscall.Signal) error {
	p, err := c.Pod(ctx, pod)
	if err != nil {
		return err
	}
	n, err := killInPod(p, program, signal)
	if err == nil && n == 0 {
		err = fmt.Errorf("no %s runs in %s", program, pod)
	}
	return err
}

// hasProcess reports whether a process whose command line contains text runs in a pod.
func hasProcess(ctx context.Context, c *Cluster, pod, text string) (bool, error) {
	p, err := c.Pod(ctx, pod)
	if err != nil {
		return false, err
	}
	for _, pid := range podProcesses(p) {
		cmdline, _ := os.ReadFile(procFile(pid, "cmdline")) // the process may just have ended
		if strings.Contains(strings.ReplaceAll(string(cmdline), "\x00", " "), text) {
			return true, nil
		}
	}
	return false, nil
}

func killInPod(p *corev1.Pod, program string, signal syscall.Signal) (int, error) {
	pids := processes(p, program)
	for _, pid := range pids {
		if err := syscall.Kill(pid, signal); err != nil {
			return 0, fmt.Errorf("sending %s to %d in %s: %w", signal, pid, p.Name, err)
		}
	}
	return len(pids), nil
}

// processes finds the processes of one program in a pod, by their numbers on this machine.
func processes(p *corev1.Pod, program string) []int {
	var out []int
	for _, pid := range podProcesses(p) {
		comm, err := os.ReadFile(procFile(pid, "comm"))
		if err == nil && strings.TrimSpace(string(comm)) == program {
			out = append(out, pid)
		}
	}
	return out
}

// podProcesses finds a pod's processes by their control group, whose name carries the pod's UID.
// The nodes are containers of this machine, so their processes are visible here.
func podProcesses(p *corev1.Pod) []int {
	marks := []string{"pod" + string(p.UID), "pod" + strings.ReplaceAll(string(p.UID), "-", "_")}
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	var out []int
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		group, err := os.ReadFile(procFile(pid, "cgroup"))
		if err != nil {
			continue // ended meanwhile
		}
		if strings.Contains(string(group), marks[0]) || strings.Contains(string(group), marks[1]) {
			out = append(out, pid)
		}
	}
	return out
}

func procFile(pid int, name string) string {
	return fmt.Sprintf("/proc/%d/%s", pid, name)
}

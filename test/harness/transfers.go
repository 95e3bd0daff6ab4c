package harness

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// backupProcess is how the donor's backup is called: the program itself, not the script, which waits first.
const backupProcess = "mariadb-backup --defaults-file"

// Transfers are the state transfers among a cluster's nodes.
type Transfers struct{ cluster *Cluster }

// Transfers returns the handle of the state transfers among the cluster's nodes.
func (c *Cluster) Transfers() Transfers { return Transfers{c} }

// Full names the pods whose transfer script says, in the log since a moment, that it takes
// a full copy. ("SST received" is logged before an incremental transfer, too.)
func (c Transfers) Full(ctx context.Context, since time.Time) ([]string, error) {
	pods, err := c.cluster.Pods().List(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range pods {
		text, err := c.cluster.Pods().LogsSince(ctx, p.Name, since)
		if err != nil {
			return nil, err
		}
		if strings.Contains(text, "Proceeding with SST") {
			out = append(out, p.Name)
		}
	}
	return out, nil
}

// Given counts the state transfers of a kind, IST or SST, each node says it has given.
func (c Transfers) Given(ctx context.Context, kind string) (map[string]int, error) {
	pods, err := c.cluster.PodNames(ctx)
	if err != nil {
		return nil, err
	}
	return c.GivenBy(ctx, kind, pods...)
}

// GivenBy is Given of some nodes; the others need not have a pod.
func (c Transfers) GivenBy(ctx context.Context, kind string, pods ...string) (map[string]int, error) {
	out := map[string]int{}
	for _, pod := range pods {
		m, err := c.cluster.Agents().Scrape(ctx, pod)
		if err != nil {
			return nil, err
		}
		n, _ := m.Value("galera_transfers_given_total", "kind", kind)
		out[pod] = int(n)
	}
	return out, nil
}

// Gives reports whether a node is giving a full copy of its data right now.
func (c Transfers) Gives(ctx context.Context, pod string) (bool, error) {
	return hasProcess(ctx, c.cluster, pod, backupProcess)
}

// fetchProcess is the program of a restore's pod that reads the store.
const fetchProcess = "/backup fetch"

// KillFetch sends SIGKILL to the program of a restore's pod that reads the store, and reports whether it ran. kubelet
// starts it again.
func KillFetch(p *corev1.Pod) (killed bool, err error) {
	for _, pid := range podProcesses(p) {
		cmdline, _ := os.ReadFile(procFile(pid, "cmdline")) // the process may just have ended
		if strings.HasPrefix(strings.ReplaceAll(string(cmdline), "\x00", " "), fetchProcess) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				return false, err
			}
			killed = true
		}
	}
	return killed, nil
}

// KillBackup sends SIGKILL to the backup a donor gives its data with, and to nothing else: its server goes on.
func (c Transfers) KillBackup(ctx context.Context, donor string) error {
	p, err := c.cluster.Pod(ctx, donor)
	if err != nil {
		return err
	}
	killed, err := killInPod(p, "mariadb-backup", syscall.SIGKILL)
	if err == nil && killed == 0 {
		err = fmt.Errorf("%s makes no backup", donor)
	}
	return err
}

package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/galera-operator/galera-operator/internal/platform"
	"github.com/galera-operator/galera-operator/test/harness"
)

// handPort is not one of the cluster's, which go on meanwhile.
const handPort = 5555

// byHand runs the pipe a person would: mariadb-backup into socat in one pod, socat into mbstream in
// another, with the same certificates, threads and TLS policy as the operator's transfers.
func (b *bench) byHand(ctx context.Context, w method) (result, error) {
	p := platform.DefaultPlaces()
	joiner, err := b.cluster.Pod(ctx, b.joiner)
	if err != nil {
		return result{}, err
	}
	listen := fmt.Sprintf("tcp-listen:%d,reuseaddr", handPort)
	connect := fmt.Sprintf("tcp:%s:%d", joiner.Status.PodIP, handPort)
	if w == handTLS {
		keys := fmt.Sprintf(",cert=%s,key=%s,cafile=%s,commonname=''", p.Cert(), p.Key(), p.TransferCA())
		listen = fmt.Sprintf("openssl-listen:%d,reuseaddr%s", handPort, keys)
		connect = fmt.Sprintf("openssl-connect:%s:%d,no-sni=1%s", joiner.Status.PodIP, handPort, keys)
	}
	dir := p.Volume + "/byhand"
	receive := fmt.Sprintf(`set -e -o pipefail; rm -rf %[1]s; mkdir %[1]s; cd %[1]s; export OPENSSL_CONF=%[2]s
		socat -u %[3]s stdio | mbstream -x; date +%%s%%N; du -sb %[1]s | cut -f1; rm -rf %[1]s`, dir, p.OpenSSLCnf(), listen)
	send := fmt.Sprintf(`set -e -o pipefail; export OPENSSL_CONF=%[1]s; date +%%s%%N; t=$(mktemp -d)
		mariadb-backup --defaults-file=%[2]s --backup --stream=mbstream --parallel=4 --user=mysql --socket=%[3]s --target-dir=$t 2>/dev/null |
		socat -u stdio %[4]s,retry=50,interval=0.2; rm -rf $t`, p.OpenSSLCnf(), p.MyCnf(), p.Socket(), connect)

	var received, sent []int64
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { received, err = b.exec(ctx, b.joiner, receive); return err })
	group.Go(func() (err error) { sent, err = b.exec(ctx, b.donor, send); return err })
	if err := group.Wait(); err != nil {
		return result{}, err
	}
	if len(received) != 2 || len(sent) != 1 {
		return result{}, fmt.Errorf("the scripts printed %v and %v", sent, received)
	}
	return result{method: w, bytes: received[1], took: time.Duration(received[0] - sent[0])}, nil
}

// exec runs a script in a pod, and returns the numbers it printed.
func (b *bench) exec(ctx context.Context, pod, script string) ([]int64, error) {
	cmd := exec.CommandContext(ctx, "kubectl", "--context", b.options.context, "exec", "-n", b.cluster.Namespace, pod,
		"-c", harness.DatabaseContainer, "--", "bash", "-c", script)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("in %s: %w: %s", pod, err, out)
	}
	var numbers []int64
	for _, field := range strings.Fields(string(out)) {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("in %s: %w", pod, err)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// knockTime is how long a connection is waited for. Between pods of one machine it takes less than a millisecond; a
// packet that is lost is sent again after a second.
const knockTime = 2500 * time.Millisecond

// Connects dials ports of an address from inside a pod's network, all at the same time, and reports which let it in. A
// port on which nothing listens lets in, too, when its host says so: what a network plug-in forbids is never answered.
func Connects(ctx context.Context, from *corev1.Pod, address string, ports ...uint16) (map[uint16]bool, error) {
	pids := podProcesses(from)
	if len(pids) == 0 {
		return nil, fmt.Errorf("no process of %s/%s runs on this machine", from.Namespace, from.Name)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var errs []error
	out := map[uint16]bool{}
	for _, port := range ports {
		wg.Go(func() {
			open, err := knock(ctx, pids[0], net.JoinHostPort(address, strconv.Itoa(int(port))))
			mu.Lock()
			defer mu.Unlock()
			out[port] = open
			errs = append(errs, err)
		})
	}
	wg.Wait()
	return out, errors.Join(errs...)
}

// knock dials from the network of a process.
func knock(ctx context.Context, pid int, address string) (open bool, err error) {
	var conn net.Conn
	_, err = inNetwork(pid, func() (int, error) {
		dialer := net.Dialer{Timeout: knockTime}
		var dialErr error
		conn, dialErr = dialer.DialContext(ctx, "tcp4", address)
		return -1, dialErr
	})
	switch {
	case err == nil:
		return true, conn.Close()
	case errors.Is(err, syscall.ECONNREFUSED):
		return true, nil
	}
	var failure net.Error
	if ctx.Err() == nil && errors.As(err, &failure) && failure.Timeout() {
		return false, nil
	}
	return false, fmt.Errorf("dialling %s: %w", address, err)
}

// Listens returns the ports on which anything in a pod's network listens, loopback addresses aside.
func Listens(pod *corev1.Pod) ([]uint16, error) {
	pids := podProcesses(pod)
	if len(pids) == 0 {
		return nil, fmt.Errorf("no process of %s/%s runs on this machine", pod.Namespace, pod.Name)
	}
	var out []uint16
	for _, file := range []string{"net/tcp", "net/tcp6"} {
		text, err := os.ReadFile(procFile(pids[0], file))
		if errors.Is(err, os.ErrNotExist) {
			continue // no IPv6 here
		}
		if err != nil {
			return nil, err
		}
		out = append(out, parseListeners(string(text))...)
	}
	return out, nil
}

// parseListeners reads a table like /proc/net/tcp, where addresses are in hexadecimal digits, the least byte of each
// word first.
func parseListeners(text string) []uint16 {
	const listening, loopback4, loopback6 = "0A", "7F", "00000000000000000000000001000000"
	var out []uint16
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[3] != listening {
			continue
		}
		address, port, _ := strings.Cut(fields[1], ":")
		if address == loopback6 || len(address) == 8 && strings.HasSuffix(address, loopback4) {
			continue
		}
		if n, err := strconv.ParseUint(port, 16, 16); err == nil {
			out = append(out, uint16(n))
		}
	}
	return out
}

// StartBystander runs a pod that does nothing and belongs to nothing, to dial from. It goes with its namespace.
func StartBystander(ctx context.Context, k *Kube, namespace, name string) (*corev1.Pod, error) {
	image, err := k.Operator().DefaultImage(ctx)
	if err != nil {
		return nil, err
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(false), TerminationGracePeriodSeconds: new(int64(0)),
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: new(int64(65532)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{Name: "idle", Image: image, Command: []string{"sleep", "infinity"},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}}},
		},
	}
	if err := k.Create(ctx, p); err != nil {
		return nil, err
	}
	return p, k.Until(ctx, namespace+"/"+name+" runs", time.Minute, func(ctx context.Context) (bool, string, error) {
		err := k.Get(ctx, client.ObjectKeyFromObject(p), p)
		return err == nil && p.Status.Phase == corev1.PodRunning && p.Status.PodIP != "", string(p.Status.Phase), err
	})
}

// ThisMachine returns the networks from which the nodes see this machine, and each other: connections to a Service go
// through a node, which puts its own address in the place of this machine's.
func ThisMachine(ctx context.Context) ([]string, error) {
	out, err := Docker(ctx, "network", "inspect", "kind", "--format", "{{range .IPAM.Config}}{{.Subnet}} {{end}}")
	if err != nil {
		return nil, err
	}
	var networks []string
	for network := range strings.FieldsSeq(out) {
		if !strings.Contains(network, ":") { // IPv4
			networks = append(networks, network)
		}
	}
	return networks, nil
}

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/test/harness"
)

// byHand is a cluster of encrypted nodes in plain containers, without Kubernetes, as a
// person would run it. It is what the operator's speed is compared with.
type byHand struct {
	kube  *harness.Kube
	nodes []handNode
	certs string
}

// recoverByHand makes such a cluster, kills it, and recovers it by the book, as fast as a script
// can: recover every position, start the most advanced node as a new component, then the others.
func recoverByHand(ctx context.Context, b *bench) (out crash, err error) {
	h := &byHand{kube: b.kube}
	defer func() { err = errors.Join(err, h.remove(ctx)) }()
	if err := h.create(ctx, b, 3); err != nil {
		return out, fmt.Errorf("making the cluster by hand: %w", err)
	}
	for range b.options.rounds {
		first, all, err := h.crashAndRecover(ctx)
		if err != nil {
			return out, fmt.Errorf("recovering by hand: %w", err)
		}
		out.firstWrite = append(out.firstWrite, seconds(first))
		out.synced = append(out.synced, seconds(all))
	}
	return out, nil
}

// restartByHand returns, in seconds, how long a lone node takes no writes while a person restarts it as a new
// component, as fast as a script can.
func restartByHand(ctx context.Context, b *bench) (out []float64, err error) {
	h := &byHand{kube: b.kube}
	defer func() { err = errors.Join(err, h.remove(ctx)) }()
	if err := h.create(ctx, b, 1); err != nil {
		return nil, fmt.Errorf("making a node by hand: %w", err)
	}
	n := h.nodes[0]
	for range b.options.rounds {
		if err := n.write(ctx, 200); err != nil {
			return nil, err
		}
		start := time.Now()
		if err := n.stop(); err != nil {
			return nil, err
		}
		if err := n.start("--wsrep-new-cluster"); err != nil {
			return nil, err
		}
		if err := h.firstWrite(ctx, n); err != nil {
			return nil, err
		}
		out = append(out, seconds(time.Since(start)))
	}
	return out, nil
}

// create starts that many containers of the same image with the same certificate.
func (h *byHand) create(ctx context.Context, b *bench, count int) error {
	image, err := b.kube.Operator().DefaultImage(ctx)
	if err != nil {
		return err
	}
	if err := h.writeCertificate(ctx, b.cluster); err != nil {
		return err
	}
	suffix := strings.ToLower(rand.Text()[:8])
	var addresses []string
	for i := range count {
		n := handNode{name: fmt.Sprintf("galera-hand-%s-%d", suffix, i)}
		if _, err := harness.Docker(ctx, "run", "-d", "--name", n.name, "--user", "root", "-v", "/var/lib/mysql", "-v",
			h.certs+":/certs:ro", image, "sleep", "infinity"); err != nil {
			return err
		}
		h.nodes = append(h.nodes, n)
		address, err := harness.Docker(ctx, "inspect", "--format", "{{.NetworkSettings.IPAddress}}", n.name)
		if err != nil {
			return err
		}
		h.nodes[i].address = strings.TrimSpace(address)
		addresses = append(addresses, h.nodes[i].address)
	}
	for i, n := range h.nodes {
		if err := n.configure(ctx, addresses); err != nil {
			return err
		}
		if h.nodes[i].sh, err = openShell(ctx, n.name); err != nil {
			return err
		}
	}
	return h.firstStart(ctx)
}

func (h *byHand) writeCertificate(ctx context.Context, c *harness.Cluster) error {
	pair, err := c.Certificates().Genuine(ctx)
	if err != nil {
		return err
	}
	if h.certs, err = os.MkdirTemp("", "galera-hand-"); err != nil {
		return err
	}
	if err := os.Chmod(h.certs, 0o755); err != nil { // the database's user reads it, too
		return err
	}
	for name, data := range map[string][]byte{"tls.crt": pair.Certificate, "tls.key": pair.Key, "ca.crt": pair.CA} {
		if err := os.WriteFile(filepath.Join(h.certs, name), data,
			0o644); err != nil { //nolint:gosec // a throw-away key on this machine
			return err
		}
	}
	return nil
}

// firstStart initialises one node; the others get full copies of it.
func (h *byHand) firstStart(ctx context.Context) error {
	first := h.nodes[0]
	if err := first.initialise(ctx); err != nil {
		return err
	}
	if err := first.start("--wsrep-new-cluster"); err != nil {
		return err
	}
	if err := h.waitSynced(ctx, h.nodes[:1]); err != nil {
		return err
	}
	if err := first.prepareTable(ctx); err != nil {
		return err
	}
	for i, n := range h.nodes[1:] {
		if err := n.start(); err != nil {
			return err
		}
		if err := h.waitSynced(ctx, h.nodes[:i+2]); err != nil {
			return err
		}
	}
	return nil
}

// crashAndRecover returns how long it takes from the SIGKILL to the first write and to all Synced.
func (h *byHand) crashAndRecover(ctx context.Context) (first, all time.Duration, err error) {
	if err := h.nodes[0].write(ctx, 200); err != nil {
		return 0, 0, err
	}
	start := time.Now()
	if err := h.each(func(n handNode) error { return n.kill() }); err != nil {
		return 0, 0, err
	}
	positions := make([]galera.Position, len(h.nodes))
	var group errgroup.Group
	for i, n := range h.nodes {
		group.Go(func() (err error) {
			positions[i], err = n.recover()
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return 0, 0, err
	}
	best := 0
	for i, p := range positions {
		if p.Seqno > positions[best].Seqno {
			best = i
		}
	}
	if err := h.nodes[best].startAsNew(positions[best]); err != nil {
		return 0, 0, err
	}
	if err := h.firstWrite(ctx, h.nodes[best]); err != nil {
		return 0, 0, err
	}
	first = time.Since(start)
	for i, n := range h.nodes {
		if i == best {
			continue
		}
		if err := n.start("--wsrep-start-position=" + positions[i].String()); err != nil {
			return 0, 0, err
		}
	}
	err = h.waitSynced(ctx, h.nodes)
	return first, time.Since(start), err
}

func (h *byHand) each(do func(handNode) error) error {
	var group errgroup.Group
	for _, n := range h.nodes {
		group.Go(func() error { return do(n) })
	}
	return group.Wait()
}

// firstWrite tries as often as a writer that connects anew at once.
func (h *byHand) firstWrite(ctx context.Context, n handNode) error {
	ctx, cancel := context.WithTimeout(ctx, recoverTime)
	defer cancel()
	for {
		err := n.write(ctx, 1)
		if err == nil {
			return nil
		}
		if wait(ctx, 20*time.Millisecond) != nil {
			return fmt.Errorf("%s takes no write: %w", n.name, err)
		}
	}
}

func (h *byHand) waitSynced(ctx context.Context, nodes []handNode) error {
	return h.kube.Until(ctx, fmt.Sprintf("%d nodes by hand Synced", len(nodes)), recoverTime,
		func(context.Context) (bool, string, error) {
			for _, n := range nodes {
				if err := n.synced(len(nodes)); err != nil {
					return false, n.name + " is not", err
				}
			}
			return true, "", nil
		})
}

func (h *byHand) remove(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, n := range h.nodes {
		if n.sh != nil {
			n.sh.close()
		}
		_, err := harness.Docker(ctx, "rm", "-f", "-v", n.name)
		errs = append(errs, err)
	}
	if h.certs != "" {
		errs = append(errs, os.RemoveAll(h.certs))
	}
	return errors.Join(errs...)
}

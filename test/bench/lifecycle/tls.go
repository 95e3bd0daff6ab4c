package main

import (
	"context"
	"strconv"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// switchTime is what six restarts may take at most.
const switchTime = 5 * time.Minute

// measureSwitches switches the encryption of replication off and on by both strategies, alongside an
// ordinary rolling restart, and one node's restart by hand, in the same run.
func measureSwitches(ctx context.Context, b *bench) ([]Figure, error) {
	var restart, took, gaps, outages []float64
	for i := range b.options.rounds {
		seen, err := b.underWriter(ctx, func(ctx context.Context) error { return b.restartAll(ctx, i) })
		if err != nil {
			return nil, err
		}
		restart = append(restart, seen.gap)
		for _, to := range []v1alpha1.ReplicationTLS{v1alpha1.TLSDisabled, v1alpha1.TLSRequired} {
			seen, err := b.underWriter(ctx, func(ctx context.Context) error {
				return b.switchTo(ctx, to,
					v1alpha1.SwitchRolling)
			})
			if err != nil {
				return nil, err
			}
			gaps, took = append(gaps, seen.gap), append(took, seen.took)
		}
		for _, to := range []v1alpha1.ReplicationTLS{v1alpha1.TLSDisabled, v1alpha1.TLSRequired} {
			if _, err := b.underWriter(ctx, func(ctx context.Context) error {
				return b.switchTo(ctx, to,
					v1alpha1.SwitchRebootstrap)
			}); err != nil {
				return nil, err
			}
			c, err := b.cluster.Get(ctx)
			if err != nil {
				return nil, err
			}
			outages = append(outages, c.Status.TLS.LastSwitch.Outage.Seconds())
		}
	}
	byHand, err := restartByHand(ctx, b)
	if err != nil {
		return nil, err
	}
	return []Figure{
		figure("rolling restart of all: longest write gap", "s", 0, 0, "to compare with", restart...),
		figure("TLS off and on, rolling: longest write gap", "s", 4.6, 0, "1.2 × a rolling restart", gaps...),
		figure("TLS off and on, rolling: spec to all Synced", "s", 195, 0, "six restarts", took...),
		figure("TLS off and on, re-bootstrap: outage", "s", 0, 0, "as the agents saw it; 1.3 × by hand", outages...),
		figure("– one node restarted by hand as a new component", "s", 0, 0, "to compare with", byHand...),
	}, nil
}

// byWriter is what a writer saw of something that was done meanwhile.
type byWriter struct {
	// gap is the longest interval without a write, and took the time it all took, in seconds.
	gap, took float64
	// failed counts refused writes and dropped connections, most those of the connection that had the most.
	failed, most float64
}

// underWriter does something while a writer writes.
func (b *bench) underWriter(ctx context.Context, do func(context.Context) error) (byWriter, error) {
	var seen byWriter
	if err := b.prepare(ctx); err != nil {
		return seen, err
	}
	w, err := b.writer(ctx)
	if err != nil {
		return seen, err
	}
	defer w.Stop()
	start := time.Now()
	if err := do(ctx); err != nil {
		return seen, err
	}
	seen.took = seconds(time.Since(start))
	for text, n := range w.Errors() {
		seen.failed += float64(n)
		b.kube.Log("the writer saw %d times: %s", n, text)
	}
	seen.most = float64(w.MostFailed())
	if err := check(ctx, w); err != nil {
		return seen, err
	}
	seen.gap = seconds(w.LongestGap(start).Length)
	return seen, nil
}

// restartAll changes a setting that needs a restart of every node.
func (b *bench) restartAll(ctx context.Context, i int) error {
	start := time.Now()
	err := b.cluster.Change(ctx, func(c *v1alpha1.GaleraCluster) {
		c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{"back_log": {Text: strconv.Itoa(100 + i), Number: true}}
	})
	if err != nil {
		return err
	}
	pods, err := b.cluster.PodNames(ctx)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if _, err := b.cluster.Joins().Wait(ctx, pod, start, switchTime); err != nil {
			return err
		}
	}
	return b.cluster.WaitHealthy(ctx, switchTime)
}

func (b *bench) switchTo(ctx context.Context, to v1alpha1.ReplicationTLS, strategy string) error {
	start := time.Now().Truncate(time.Second)
	err := b.cluster.Change(ctx, func(c *v1alpha1.GaleraCluster) {
		c.Spec.TLS.Replication, c.Spec.TLS.SwitchStrategy = to, strategy
	})
	if err != nil {
		return err
	}
	return b.kube.Until(ctx, strategy+" switch to "+string(to), switchTime, func(ctx context.Context) (bool, string,
		error) {
		c, err := b.cluster.Get(ctx)
		if err != nil {
			return false, "", err
		}
		t := c.Status.TLS
		done := t != nil && t.Switch == nil && t.LastSwitch != nil && !t.LastSwitch.CompletedAt.Time.Before(start)
		return done && harness.Ready(c), harness.Summary(c), nil
	})
}

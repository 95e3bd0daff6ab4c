package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/galera-operator/galera-operator/test/harness"
)

const (
	nextImage   = "galera-operator:bench-next"
	nextVersion = "v0.0.0-bench"
	// upgradeTime is how long all agents may take to be new.
	upgradeTime = 3 * time.Minute
)

// measureUpgrade rolls the operator to another build, and back, while three clusters are written to.
func measureUpgrade(ctx context.Context, b *bench) ([]Figure, error) {
	u := &upgrade{kube: b.kube, clusters: []*harness.Cluster{b.cluster}}
	defer u.stop()
	if err := u.begin(ctx, b.namespace); err != nil {
		return nil, err
	}
	old, versions := "", []string{nextVersion, u.version}
	defer func() {
		if old != "" {
			_, _ = b.kube.Operator().SetImage(context.WithoutCancel(ctx), old)
		}
	}()
	for round := range 2 * b.options.rounds {
		image := nextImage
		if round%2 == 1 {
			image = old
		}
		was, err := u.roll(ctx, image, versions[round%2])
		if err != nil {
			return nil, err
		}
		if round == 0 {
			old = was
		}
	}
	return u.figures(ctx)
}

// upgrade is what is followed meanwhile.
type upgrade struct {
	kube     *harness.Kube
	clusters []*harness.Cluster
	writers  []*harness.Writer
	version  string // of the agents before
	began    time.Time
	servers  []map[string]string
	// operator and agents are the seconds of each round.
	operator, agents []float64
}

// begin makes the other clusters, writes to all, and builds another operator.
func (u *upgrade) begin(ctx context.Context, namespace string) error {
	for _, name := range []string{"second", "third"} {
		c, err := u.kube.CreateCluster(ctx, harness.Build(namespace, name))
		if err != nil {
			return err
		}
		if err := c.WaitReady(ctx, startTime); err != nil {
			return err
		}
		u.clusters = append(u.clusters, c)
	}
	c, err := u.clusters[0].Get(ctx)
	if err != nil {
		return err
	}
	u.version = c.Status.Members[0].Agent.Version
	if err := harness.BuildOperator(ctx, ".", nextImage, nextVersion); err != nil {
		return err
	}
	for _, c := range u.clusters {
		runs, err := c.Servers().Runs(ctx)
		if err != nil {
			return err
		}
		w, err := harness.StartWriter(ctx, c, harness.WriterOptions{Connections: 2, Interval: 10 * time.Millisecond})
		if err != nil {
			return err
		}
		u.servers, u.writers = append(u.servers, runs), append(u.writers, w)
		if err := w.WaitForMore(ctx, 100, time.Minute); err != nil {
			return err
		}
	}
	u.began = time.Now()
	return nil
}

// roll rolls the operator to an image, waits until all agents are of a version, and returns the image before.
func (u *upgrade) roll(ctx context.Context, image, version string) (was string, err error) {
	start := time.Now()
	if was, err = u.kube.Operator().SetImage(ctx, image); err != nil {
		return "", err
	}
	operator := time.Now()
	err = u.kube.Until(ctx, "all agents are "+version, upgradeTime, func(ctx context.Context) (bool, string, error) {
		left := 0
		for _, c := range u.clusters {
			got, err := c.Get(ctx)
			if err != nil {
				return false, "", err
			}
			for _, m := range got.Status.Members {
				if m.Agent == nil || m.Agent.Version != version {
					left++
				}
			}
		}
		return left == 0, fmt.Sprintf("%d to go", left), nil
	})
	u.operator, u.agents = append(u.operator, seconds(operator.Sub(start))),
		append(u.agents, seconds(time.Since(operator)))
	return was, err
}

func (u *upgrade) figures(ctx context.Context) ([]Figure, error) {
	restarted, failed, gap := 0, 0, time.Duration(0)
	var errs []error
	for i, c := range u.clusters {
		runs, err := c.Servers().Runs(ctx)
		errs = append(errs, err)
		if !maps.Equal(runs, u.servers[i]) {
			restarted++
		}
		for _, n := range u.writers[i].Errors() {
			failed += n
		}
		gap = max(gap, u.writers[i].LongestGap(u.began).Length)
		errs = append(errs, check(ctx, u.writers[i]))
	}
	return []Figure{
		figure("upgrade of the operator, three clusters: operator rolled out", "s", 0, 0, "two replicas", u.operator...),
		figure("upgrade of the operator: all nine agents new after that", "s", 0, 60, "replaced in place, forwards and back",
			u.agents...),
		figure("upgrade of the operator: clusters with a restarted mariadbd", "", 3, 0, "goal: 0", float64(restarted)),
		figure("upgrade of the operator: failed writes", "", 0, 0, "goal: 0", float64(failed)),
		figure("upgrade of the operator: longest interval without a write", "s", 0, 0, "of all rounds and clusters",
			seconds(gap)),
	}, errors.Join(errs...)
}

func (u *upgrade) stop() {
	for _, w := range u.writers {
		w.Stop()
	}
}

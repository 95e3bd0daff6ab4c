package harness

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Joins are the ways a cluster's nodes came into it.
type Joins struct{ cluster *Cluster }

// Joins returns the handle of how the cluster's nodes came into it.
func (c *Cluster) Joins() Joins { return Joins{c} }

// Since returns how each node came into the cluster since a moment: IST, SST or None. Nodes that
// have not joined anew are not in it.
func (c Joins) Since(ctx context.Context, since time.Time) (map[string]string, error) {
	have, err := c.cluster.Get(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, m := range have.Status.Members {
		if joinedSince(m, since) {
			out[m.Name] = m.Join.Kind
		}
	}
	return out, nil
}

// joinedSince compares whole seconds, because that is what the API stores.
func joinedSince(m v1alpha1.MemberStatus, since time.Time) bool {
	return m.Join != nil && m.Join.EndedAt != nil && m.Join.StartedAt != nil &&
		!m.Join.StartedAt.Time.Before(since.Truncate(time.Second))
}

// Wait waits until a node has joined after a moment, and returns how.
func (c Joins) Wait(ctx context.Context, pod string, since time.Time, timeout time.Duration) (kind string, err error) {
	err = c.cluster.Kube.Until(ctx, pod+" joins", timeout, func(ctx context.Context) (bool, string, error) {
		m, err := c.cluster.Member(ctx, pod)
		if err != nil || m == nil {
			return false, "not in the status", err
		}
		progress := fmt.Sprintf("%s %s/%s %s", m.Phase, m.ComponentState, m.NodeState, m.Message)
		if !joinedSince(*m, since) || m.NodeState != "Synced" {
			return false, progress, nil
		}
		kind = m.Join.Kind
		return true, progress, nil
	})
	return kind, err
}

// Bootstraps counts in the servers' logs how often a node was started as a new component. A pod's
// log reaches back to its creation when its container was never restarted, and one container
// further otherwise.
func (c Joins) Bootstraps(ctx context.Context) (int, error) {
	const sign = "Connecting with bootstrap option: 1"
	pods, err := c.cluster.Pods().List(ctx)
	if err != nil {
		return 0, err
	}
	total := 0
	for _, p := range pods {
		text, err := c.cluster.Pods().Logs(ctx, p.Name, 0, false)
		if err != nil {
			return 0, err
		}
		if restarts(&p) > 0 {
			before, err := c.cluster.Pods().Logs(ctx, p.Name, 0, true)
			if err != nil {
				return 0, err
			}
			text += before
		}
		total += strings.Count(text, sign)
	}
	return total, nil
}

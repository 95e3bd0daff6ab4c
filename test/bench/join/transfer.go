package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// method is how a copy is made.
type method string

const (
	operatorTLS   method = "operator, TLS"
	operatorPlain method = "operator, plaintext"
	handTLS       method = "by hand, TLS"
	handPlain     method = "by hand, plaintext"
)

var allMethods = []method{operatorTLS, operatorPlain, handTLS, handPlain}

const patience = 10 * time.Minute

type bench struct {
	kube    *harness.Kube
	options options
	// namespace is where everything is made, and cluster the one whose data are copied.
	namespace string
	cluster   *harness.Cluster
	// donor and joiner are the two nodes clients are not sent to.
	donor, joiner string
}

// prepare makes a cluster with the data in it.
func (b *bench) prepare(ctx context.Context) (err error) {
	size := fmt.Sprintf("%dMi", 4*b.options.mebibytes+512)
	b.cluster, err = b.kube.CreateCluster(ctx, harness.Build(b.namespace, "join", harness.Size(size)))
	if err != nil {
		return err
	}
	if err := b.cluster.WaitReady(ctx, patience); err != nil {
		return err
	}
	primary, err := b.cluster.Primary(ctx)
	if err != nil {
		return err
	}
	names, err := b.cluster.PodNames(ctx)
	if err != nil {
		return err
	}
	for _, n := range names {
		switch {
		case n == primary:
		case b.donor == "":
			b.donor = n
		default:
			b.joiner = n
		}
	}
	b.kube.Log("filling in %d MiB", b.options.mebibytes)
	return b.cluster.Data().Grow(ctx, b.options.mebibytes)
}

// measure takes all methods in turns, so that what the machine does alongside strikes all alike.
func (b *bench) measure(ctx context.Context) ([]result, error) {
	var out []result
	for round := range b.options.rounds {
		for _, w := range allMethods {
			measure := b.byOperator
			if w == handTLS || w == handPlain {
				measure = b.byHand
			}
			r, err := measure(ctx, w)
			if err != nil {
				return out, fmt.Errorf("%s: %w", w, err)
			}
			b.kube.Log("round %d: %s: %.0f MiB in %.1f s, %.0f MiB/s; serving %.1f s later", round+1, w,
				float64(r.bytes)/(1<<20), r.took.Seconds(), r.rate(), r.served.Seconds())
			out = append(out, r)
		}
	}
	return out, nil
}

// byOperator takes a node's volume away and watches it join.
func (b *bench) byOperator(ctx context.Context, w method) (result, error) {
	policy := v1alpha1.ReplicationTLS(v1alpha1.TLSRequired)
	if w == operatorPlain {
		policy = v1alpha1.TLSDisabled
	}
	if err := b.cluster.Change(ctx, func(c *v1alpha1.GaleraCluster) { c.Spec.TLS.StateTransfer = policy }); err != nil {
		return result{}, err
	}
	if err := b.cluster.WaitReady(ctx, patience); err != nil {
		return result{}, err
	}
	since := time.Now()
	if err := b.cluster.Volumes().DeleteClaim(ctx, b.joiner); err != nil {
		return result{}, err
	}
	if _, err := b.cluster.Pods().Delete(ctx, b.joiner); err != nil {
		return result{}, err
	}
	kind, err := b.cluster.Joins().Wait(ctx, b.joiner, since, patience)
	if err != nil {
		return result{}, err
	}
	if kind != "SST" {
		return result{}, fmt.Errorf("%s joined by %s", b.joiner, kind)
	}
	r := result{method: w}
	m, err := b.cluster.Member(ctx, b.joiner)
	if err != nil {
		return result{}, err
	}
	if m.Join.BytesDone != nil {
		r.bytes = m.Join.BytesDone.Value()
	}
	began, err := b.logged(ctx, m.Join.Donor, "Streaming the backup to joiner", since)
	if err != nil {
		return result{}, err
	}
	arrived, err := b.logged(ctx, b.joiner, "Preparing the backup at", since)
	if err != nil {
		return result{}, err
	}
	serving, err := b.logged(ctx, b.joiner, "msg=serving", since)
	if err != nil {
		return result{}, err
	}
	r.took, r.served = arrived.Sub(began), serving.Sub(arrived)
	return r, nil
}

// logged returns when a pod has written a line with that text last.
func (b *bench) logged(ctx context.Context, pod, text string, since time.Time) (time.Time, error) {
	lines, err := b.cluster.Pods().TimedLogs(ctx, pod, since)
	if err != nil {
		return time.Time{}, err
	}
	var at time.Time
	for line := range strings.Lines(lines) {
		stamp, rest, _ := strings.Cut(line, " ")
		if strings.Contains(rest, text) {
			if t, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
				at = t
			}
		}
	}
	if at.IsZero() {
		return at, fmt.Errorf("%s has not logged %q since %s", pod, text, since.Format(time.TimeOnly))
	}
	return at, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/deployed"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/test/harness"
)

// sampleEvery is how often the archiver is asked how far it is.
const sampleEvery = 250 * time.Millisecond

// arm is one way to run a cluster.
type arm struct {
	name       string
	cluster    *harness.Cluster
	archived   bool
	syncBinlog int
	tps        []float64
	lag        []time.Duration // under load, all samples
}

// archive compares two clusters, side by side and in turns: without a binary log, and with an archive of it.
func (b *bench) archive(ctx context.Context, to io.Writer) error {
	plain, err := b.loaded(ctx, "plain", false)
	if err != nil {
		return err
	}
	archived, err := b.loaded(ctx, "archived", true)
	if err != nil {
		return err
	}
	arms := []*arm{{name: "no binary log", cluster: plain}, {name: "archived, sync_binlog=1", cluster: archived,
		archived: true, syncBinlog: 1},
		{name: "archived, sync_binlog=0", cluster: archived, archived: true}}
	for range b.options.rounds {
		for _, a := range arms {
			if err := b.turn(ctx, a); err != nil {
				return errors.Join(err, printArms(to, arms, b.options))
			}
		}
	}
	return printArms(to, arms, b.options)
}

// loaded is a cluster with the table of the load.
func (b *bench) loaded(ctx context.Context, name string, archived bool, more ...harness.Option) (*harness.Cluster,
	error) {
	c := harness.Build(b.namespace, name, append(more, harness.Size("2Gi"))...)
	if archived {
		c.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: storeName},
			PointInTime: &v1alpha1.PointInTime{Enabled: true, Interval: &metav1.Duration{Duration: b.options.interval}}}
	}
	cluster, err := b.kube.CreateCluster(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := cluster.WaitReady(ctx, patience); err != nil {
		return nil, err
	}
	if archived {
		err = cluster.WaitCondition(ctx, v1alpha1.ConditionPointInTimeRecoverable, metav1.ConditionTrue,
			v1alpha1.ReasonArchiving, patience)
	}
	return cluster, errors.Join(err, fill(ctx, cluster))
}

// turn loads one arm, and follows how far its archive is meanwhile. It ends when all of it is archived, so that no turn
// pays for another one.
func (b *bench) turn(ctx context.Context, a *arm) error {
	if a.archived {
		if err := setEverywhere(ctx, a.cluster, fmt.Sprintf("SET GLOBAL sync_binlog = %d", a.syncBinlog)); err != nil {
			return err
		}
	}
	sampling, stop := context.WithCancel(ctx)
	defer stop()
	sampled := make(chan error, 1)
	go func() { sampled <- b.follow(sampling, a) }()
	tps, err := load(ctx, a.cluster, b.options.connections, 0, b.options.duration)
	end := time.Now()
	stop()
	if err := errors.Join(err, <-sampled); err != nil {
		return fmt.Errorf("%s: %w", a.name, err)
	}
	a.tps = append(a.tps, tps)
	b.kube.Log("%s: %.0f transactions/s", a.name, tps)
	if !a.archived {
		return nil
	}
	return b.awaitArchived(ctx, a.cluster, end)
}

// awaitArchived waits until all that was committed until a time is archived.
func (b *bench) awaitArchived(ctx context.Context, c *harness.Cluster, until time.Time) error {
	what := "the archiver of " + c.Name + " has stored all of it"
	return b.kube.Until(ctx, what, patience, func(ctx context.Context) (bool, string, error) {
		through, err := b.through(ctx, c)
		return through.After(until), through.String(), err
	})
}

// follow samples how far the archive is behind, until ctx ends.
func (b *bench) follow(ctx context.Context, a *arm) error {
	if !a.archived {
		return nil
	}
	every := time.NewTicker(sampleEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return nil
		}
		through, err := b.through(ctx, a.cluster)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		a.lag = append(a.lag, time.Since(through))
	}
}

// through asks the archiver until when it has stored all that was committed.
func (b *bench) through(ctx context.Context, c *harness.Cluster) (time.Time, error) {
	have, err := c.Get(ctx)
	if err != nil {
		return time.Time{}, err
	}
	binding := &corev1.Secret{}
	if err := b.kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: job.ArchiverUser(have).BindingName()},
		binding); err != nil {
		return time.Time{}, err
	}
	var pods corev1.PodList
	if err := b.kube.List(ctx, &pods, client.InNamespace(c.Namespace),
		client.MatchingLabels(job.ArchiverLabels(have))); err != nil {
		return time.Time{}, err
	}
	for _, p := range pods.Items {
		if p.Status.PodIP != "" && p.DeletionTimestamp == nil {
			reported, err := deployed.Get[task.Archived](ctx, p.Status.PodIP, task.ArchiverPort, task.PathArchived,
				binding.Data[corev1.TLSCertKey], nil)
			return reported.Through, err
		}
	}
	return time.Time{}, errors.New("there is no archiver")
}

func printArms(to io.Writer, arms []*arm, o options) error {
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(t, "WRITE-ONLY\tMEDIAN TPS\tROUNDS\tOF NO BINARY LOG\n")
	base := middle(arms[0].tps)
	for _, a := range arms {
		if len(a.tps) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(t, "%s\t%.0f\t%.0f\t%.2f\n", a.name, middle(a.tps), a.tps, middle(a.tps)/base)
	}
	_, _ = fmt.Fprintf(t, "\nARCHIVE'S LAG UNDER LOAD\tMEDIAN\t95 %%\tMOST\tSAMPLES\n")
	for _, a := range arms {
		if lag := slices.Sorted(slices.Values(a.lag)); len(lag) > 0 {
			_, _ = fmt.Fprintf(t, "%s\t%.1f s\t%.1f s\t%.1f s\t%d\n", a.name, lag[len(lag)/2].Seconds(),
				lag[len(lag)*95/100].Seconds(), lag[len(lag)-1].Seconds(), len(lag))
		}
	}
	_, _ = fmt.Fprintf(t, "\ninterval %s, %d connections to the primary of three nodes for %s, %d rounds in turns\n",
		o.interval, o.connections, o.duration, o.rounds)
	return t.Flush()
}

func middle(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// Command backup measures, on the local Kubernetes, backups and restores: by the operator and by the same programs
// called by hand on the same node, in turns, into a real S3 server; what an archive of the binary log costs, and how
// far it is behind; and how far a second site is behind, and how fast it catches up. It prints rates and ratios; it
// asserts nothing. make bench-backup runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"filippo.io/age"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/test/harness"
)

const (
	// longest bounds each part, patience each wait of it.
	longest  = 40 * time.Minute
	patience = 5 * time.Minute
	// storeName is the GaleraBackupStore of all clusters.
	storeName = "offsite"
)

// The parts.
const (
	partBackups = "backups"
	partArchive = "archive"
	partSite    = "site"
)

type options struct {
	context   string
	mebibytes int
	rounds    int
	only      string

	interval    time.Duration
	duration    time.Duration
	connections int
	rate        float64
}

func (o options) wants(part string) bool { return o.only == "" || o.only == part }

// bench is a run.
type bench struct {
	kube      *harness.Kube
	options   options
	namespace string
	cluster   *harness.Cluster
	objects   *harness.ObjectStore
	identity  *age.X25519Identity
}

func main() {
	o := options{}
	flag.StringVar(&o.context, "context", harness.DefaultContext, "kubectl context")
	flag.IntVar(&o.mebibytes, "size", 512, "MiB of data")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each way is taken, in turns")
	flag.StringVar(&o.only, "only", "", "what to measure: backups, archive or site; empty: everything")
	flag.DurationVar(&o.interval, "interval", 2*time.Second, "archive, site: spec.backup.pointInTime.interval")
	flag.DurationVar(&o.duration, "duration", 30*time.Second, "archive, site: how long a turn's load is")
	flag.IntVar(&o.connections, "connections", 8, "archive, site: how many connections write")
	flag.Float64Var(&o.rate, "rate", 100, "site: transactions per second of the steady load")
	flag.Parse()
	if !o.wants(partBackups) && !o.wants(partArchive) && !o.wants(partSite) {
		fmt.Fprintf(os.Stderr, "error: -only %s is not known: %s, %s or %s\n", o.only, partBackups, partArchive, partSite)
		os.Exit(2)
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(o options) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := harness.CheckRequirements(ctx); err != nil {
		return err
	}
	kube, err := harness.Connect(o.context, func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
	})
	if err != nil {
		return err
	}
	unlock, err := kube.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	namespace, err := kube.Namespaces().Create(ctx, "benchbackup")
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 4*time.Minute)
		defer cancel()
		err = errors.Join(err, kube.Namespaces().Delete(end, namespace))
	}()
	b := &bench{kube: kube, options: o, namespace: namespace}
	if err := b.place(ctx); err != nil {
		return err
	}
	for _, part := range []struct {
		name    string
		measure func(context.Context, io.Writer) error
	}{{partBackups, b.backups}, {partArchive, b.archive}, {partSite, b.site}} {
		if o.wants(part.name) {
			if err := b.part(ctx, part.name, part.measure); err != nil {
				return err
			}
		}
	}
	return nil
}

// part measures one part, within a time of its own.
func (b *bench) part(ctx context.Context, name string, measure func(context.Context, io.Writer) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("%s took longer than %s", name, longest))
	defer cancel()
	start := time.Now()
	if err := measure(ctx, os.Stdout); err != nil {
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	b.kube.Log("%s: measured within %s", name, time.Since(start).Round(time.Second))
	return nil
}

// place makes an object store, a store in it, and its key.
func (b *bench) place(ctx context.Context) (err error) {
	if b.identity, err = age.GenerateX25519Identity(); err != nil {
		return err
	}
	if b.objects, err = harness.StartObjectStore(ctx, b.kube, b.namespace); err != nil {
		return err
	}
	store, err := b.objects.Place(ctx, b.namespace, b.identity.Recipient().String())
	if err != nil {
		return err
	}
	key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "identity"},
		Data: map[string][]byte{"identity": []byte(b.identity.String() + "\n")}}
	return errors.Join(b.kube.Create(ctx, store), b.kube.Create(ctx, key))
}

// backups measures backups and restores of a cluster with data in it.
func (b *bench) backups(ctx context.Context, to io.Writer) (err error) {
	size := fmt.Sprintf("%dMi", 4*b.options.mebibytes+512)
	if b.cluster, err = b.kube.CreateCluster(ctx, harness.Build(b.namespace, "source", harness.Size(size))); err != nil {
		return err
	}
	if err := b.cluster.WaitReady(ctx, patience); err != nil {
		return err
	}
	b.kube.Log("filling in %d MiB", b.options.mebibytes)
	if err := b.cluster.Data().Grow(ctx, b.options.mebibytes); err != nil {
		return err
	}
	results, err := b.measure(ctx)
	return errors.Join(err, results.print(to, b.options))
}

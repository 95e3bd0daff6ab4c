// Command lifecycle measures, on the local Kubernetes, how fast a cluster starts, how it gets over
// losses, and what the idle operator costs. It prints the figures in addition to those of the best known
// operator and alongside the goals; it asserts nothing. make bench-lifecycle runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/test/harness"
)

// longest bounds everything: a machine that needs longer is not worth measuring on.
const longest = time.Hour

// options of a run.
type options struct {
	context string
	output  string
	only    string
	rounds  int
	idle    time.Duration
	keep    bool
}

func main() {
	o := options{}
	flag.StringVar(&o.context, "context", harness.DefaultContext, "kubectl context")
	flag.StringVar(&o.output, "o", "table", "how to print the figures: table or json")
	flag.StringVar(&o.only, "only", "", "comma-separated parts to measure: "+strings.Join(names(), ",")+"; empty: all")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each fault is made")
	flag.DurationVar(&o.idle, "idle", 150*time.Second, "how long the idle operator is watched")
	flag.BoolVar(&o.keep, "keep", false, "leave the namespace for inspection")
	flag.Parse()
	for name := range strings.SplitSeq(o.only, ",") {
		if name != "" && !slices.Contains(names(), name) {
			fmt.Fprintln(os.Stderr, "error: -only: there is no part", name)
			os.Exit(2)
		}
	}

	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// part is one group of figures.
type part struct {
	name    string
	measure func(context.Context, *bench) ([]Figure, error)
}

// parts in the order in which they are measured: what disturbs comes last.
func parts() []part {
	return []part{
		{"start", measureStart},
		{"idle", measureIdle},
		{"delete", measureDeletedPrimary},
		{"planned", measurePlanned},
		{"kill", measureKilledPrimary},
		{"switch", measureSwitches},
		{"renew", measureRenewals},
		{"ca", measureCA},
		{"upgrade", measureUpgrade},
		{"crash", measureFullCrash},
		{"force", measureForceDeletion},
	}
}

func names() []string {
	var out []string
	for _, p := range parts() {
		out = append(out, p.name)
	}
	return out
}

// bench is what the parts share.
type bench struct {
	kube    *harness.Kube
	options options
	// cluster is the one that measureStart, or prepare, has made.
	cluster   *harness.Cluster
	namespace string
}

func run(o options) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
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
	if err := kube.Operator().Wait(ctx, time.Minute); err != nil {
		return err
	}
	b := &bench{kube: kube, options: o}
	if b.namespace, err = kube.Namespaces().Create(ctx, "bench"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.cleanUp(ctx, err)) }()
	figures, err := b.measure(ctx)
	if o.output == "json" {
		return errors.Join(err, printJSON(os.Stdout, figures))
	}
	return errors.Join(err, printTable(os.Stdout, figures))
}

// measure runs the chosen parts. What was measured before something failed is still worth printing.
func (b *bench) measure(ctx context.Context) ([]Figure, error) {
	var out []Figure
	for _, p := range parts() {
		if !b.wanted(p.name) {
			continue
		}
		if p.name != "start" {
			if err := b.prepare(ctx); err != nil {
				return out, err
			}
		}
		b.kube.Log("==== measuring: %s", p.name)
		figures, err := p.measure(ctx, b)
		out = append(out, figures...)
		if err != nil {
			return out, fmt.Errorf("measuring %s: %w", p.name, err)
		}
	}
	return out, nil
}

func (b *bench) wanted(name string) bool {
	return b.options.only == "" || slices.Contains(strings.Split(b.options.only, ","), name)
}

// cleanUp removes the namespace; after a failure it first shows what was in it.
func (b *bench) cleanUp(ctx context.Context, failure error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 4*time.Minute)
	defer cancel()
	if failure != nil {
		b.kube.Dump(ctx, b.namespace, os.Stderr)
	}
	if b.options.keep {
		return nil
	}
	return b.kube.Namespaces().Delete(ctx, b.namespace)
}

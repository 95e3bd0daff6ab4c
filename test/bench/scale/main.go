// Command scale measures one operator with many clusters: a real kube-apiserver and etcd, the operator's own binary,
// and agents that are simulated, each behind an address of its own with its own certificate, over real mTLS. It prints
// a curve; it asserts nothing. make bench-scale runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// options of a run.
type options struct {
	sizes   []int
	crash   int
	idle    time.Duration
	manager string
	longest time.Duration
	limit   int64 // MiB
}

func main() {
	o := options{}
	sizes := flag.String("clusters", "10,50,100,200,500",
		"how many clusters there are at each point of the curve, in ascending order")
	flag.IntVar(&o.crash, "crash", 50, "how many clusters lose all servers at once")
	flag.DurationVar(&o.idle, "idle", time.Minute, "how long the idle operator is watched")
	flag.StringVar(&o.manager, "manager", "bin/manager", "the operator's program")
	flag.Int64Var(&o.limit, "limit", 384, "the operator's limit of memory in MiB, as its Deployment sets it")
	flag.DurationVar(&o.longest, "longest", 10*time.Minute, "how long any one step may take")
	flag.Parse()
	for _, word := range strings.Split(*sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 {
			fmt.Fprintln(os.Stderr, "error: -clusters:", word, "is no number of clusters")
			os.Exit(2)
		}
		o.sizes = append(o.sizes, n)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1) //nolint:gocritic // what is deferred ends with the process
	}
}

func run(ctx context.Context, o options) (err error) {
	b, err := begin(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.end()) }()
	var points []point
	for _, n := range o.sizes {
		p, err := b.measure(ctx, n)
		points = append(points, p)
		if err != nil {
			show(points)
			return fmt.Errorf("%d clusters: %w", n, err)
		}
		progress("%s", p)
	}
	show(points)
	return nil
}

// point is what was measured with so many clusters.
type point struct {
	clusters int
	created  time.Duration // until the new ones were Ready
	added    int
	idle     window
	crashed  window
	crash    int
	back     time.Duration // until the crashed ones were Available
	slow     time.Duration // until one was Available again, alongside clusters whose agents answer slowly
	lead     time.Duration // until the other operator was the leader
	seen     time.Duration // until it had checked every cluster
	resident int64         // bytes at most
}

// window is what the operator did in a span of time.
type window struct {
	span       time.Duration
	p50, p99   float64 // seconds of a pass
	passes     float64
	requests   float64
	processors float64 // seconds
}

func (p point) String() string {
	return fmt.Sprintf(
		"%d clusters: %d new ones Ready in %.0f s; idle: pass p99 %.3f s, %.1f requests per cluster and minute, %.1f %% of "+
			"a processor; "+
			"%d crash: p99 %.3f s, back in %.1f s; one alongside slow agents: %.1f s; take-over: leader in %.1f s, all seen "+
			"in %.1f s; %d MiB",
		p.clusters, p.added, p.created.Seconds(), p.idle.p99, p.perMinute(), p.share(),
		p.crash, p.crashed.p99, p.back.Seconds(), p.slow.Seconds(), p.lead.Seconds(), p.seen.Seconds(), p.resident>>20)
}

// perMinute leaves out what renews the lease.
func (p point) perMinute() float64 {
	lease := p.idle.span.Seconds() / renewal.Seconds()
	return max(0, p.idle.requests-lease) / p.idle.span.Minutes() / float64(p.clusters)
}

func (p point) share() float64 { return 100 * p.idle.processors / p.idle.span.Seconds() }

func show(points []point) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w,
		"clusters\tidle p99 (s)\trequests/cluster/min\tidle CPU (%)\tcrash of\tp99 (s)\tback (s)\tbeside slow agents "+
			"(s)\tleader (s)\tall seen (s)\tMiB")
	for _, p := range points {
		_, _ = fmt.Fprintf(w, "%d\t%.3f\t%.1f\t%.1f\t%d\t%.3f\t%.1f\t%.1f\t%.1f\t%.1f\t%d\n", p.clusters, p.idle.p99,
			p.perMinute(), p.share(),
			p.crash, p.crashed.p99, p.back.Seconds(), p.slow.Seconds(), p.lead.Seconds(), p.seen.Seconds(), p.resident>>20)
	}
	_ = w.Flush()
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

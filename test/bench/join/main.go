// Command join measures, on the local Kubernetes, how fast a node gets a full copy of the data:
// encrypted and in clear, by the operator and by the same programs called by hand, in turns. It prints
// rates and ratios; it asserts nothing. Then it scales a cluster up and down under a writer. make bench-join runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/galera-operator/galera-operator/test/harness"
)

const longest = time.Hour

type options struct {
	context   string
	mebibytes int
	rounds    int
	only      string
}

func main() {
	o := options{}
	flag.StringVar(&o.context, "context", harness.DefaultContext, "kubectl context")
	flag.IntVar(&o.mebibytes, "size", 1024, "MiB of data to transfer")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each method is taken, in turns")
	flag.StringVar(&o.only, "only", "", "what to measure: copies or scale; empty: both")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
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
	namespace, err := kube.Namespaces().Create(ctx, "benchjoin")
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 4*time.Minute)
		defer cancel()
		err = errors.Join(err, kube.Namespaces().Delete(end, namespace))
	}()
	b := &bench{kube: kube, options: o, namespace: namespace}
	if o.only != "scale" {
		if err := b.copies(ctx); err != nil {
			return err
		}
	}
	if o.only != "copies" {
		scaled, err := b.scale(ctx)
		return errors.Join(err, scaled.print(os.Stdout))
	}
	return nil
}

// copies measures copies of all kinds, and leaves no cluster.
func (b *bench) copies(ctx context.Context) error {
	if err := b.prepare(ctx); err != nil {
		return err
	}
	results, err := b.measure(ctx)
	return errors.Join(err, printTable(results, b.options), b.cluster.Delete(ctx))
}

// result is one transfer.
type result struct {
	method method
	// bytes that arrived, and the time from the donor's first byte to the joiner's last.
	bytes int64
	took  time.Duration
	// served is the time from the last byte until the joiner served, 0 by hand.
	served time.Duration
}

func (r result) rate() float64 { return float64(r.bytes) / (1 << 20) / r.took.Seconds() }

// printTable writes the medians of each method, and the ratios the figures are about.
func printTable(results []result, o options) error {
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(t, "METHOD\tMiB/s\tROUNDS\tTRANSFER\tSERVING AFTER ITS END\n")
	rates := map[method]float64{}
	for _, w := range allMethods {
		var rate, took, served []float64
		all := ""
		for _, r := range results {
			if r.method != w {
				continue
			}
			rate, took = append(rate, r.rate()), append(took, r.took.Seconds())
			all += fmt.Sprintf("%.0f ", r.rate())
			if r.served > 0 {
				served = append(served, r.served.Seconds())
			}
		}
		if len(rate) == 0 {
			continue
		}
		rates[w] = median(rate)
		after := "-"
		if len(served) > 0 {
			after = fmt.Sprintf("%.1f s", median(served))
		}
		_, _ = fmt.Fprintf(t, "%s\t%.0f\t%s\t%.1f s\t%s\n", w, rates[w], all, median(took), after)
	}
	_, _ = fmt.Fprintln(t)
	for _, pair := range [][2]method{{operatorTLS, operatorPlain}, {operatorTLS, handTLS}, {operatorTLS, handPlain},
		{handTLS, handPlain}} {
		if rates[pair[1]] > 0 {
			_, _ = fmt.Fprintf(t, "%s / %s\t%.2f\n", pair[0], pair[1], rates[pair[0]]/rates[pair[1]])
		}
	}
	_, _ = fmt.Fprintf(t, "\n%d MiB, %d rounds of each method, in turns\n", o.mebibytes, o.rounds)
	return t.Flush()
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	switch n := len(s); {
	case n == 0:
		return 0
	case n%2 == 0:
		return (s[n/2-1] + s[n/2]) / 2
	default:
		return s[n/2]
	}
}

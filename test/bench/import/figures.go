package main

import (
	"fmt"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/summary"
)

// figures are the values of each round, by what was measured: of the first way, and of the second.
type figures map[string]*[2][]float64

func (f figures) add(name string, arm int, value float64) {
	if f[name] == nil {
		f[name] = &[2][]float64{}
	}
	f[name][arm] = append(f[name][arm], value)
	fmt.Fprintf(os.Stderr, "%s  %s, arm %d: %.4g\n", time.Now().Format(time.TimeOnly), name, arm+1, value)
}

// print writes the medians, and the ratio with its interval: rounds are paired, so that what slows both down cancels
// out.
func (f figures) print(w *world) {
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "WHAT\tBY HAND, OR SOURCE\tBY THE JOB, OR NODE\tRATIO\t95 %\tROUNDS")
	names := make([]string, 0, len(f))
	for name := range f {
		names = append(names, name)
	}
	slices.SortFunc(names, strings.Compare)
	for _, name := range names {
		v := f[name]
		pair := summary.PairOf(v[0], v[1])
		interval := "-"
		if low, high, ok := pair.Interval(0.95); ok {
			interval = fmt.Sprintf("%.2f to %.2f", math.Exp(low), math.Exp(high))
		}
		_, _ = fmt.Fprintf(t, "%s\t%.4g\t%.4g\t%.2f\t%s\t%d\n", name, median(v[0]), median(v[1]), math.Exp(pair.Mean()),
			interval, pair.N())
	}
	_ = t.Flush()
	w.printLoads()
	fmt.Printf("\nmariadb-dump into mariadb alone: %.4g s (median)\n", median(w.dumps))
	fmt.Printf("%d tables of %d rows, %d MiB on the source; buffer pools of %d MiB; the Job reads with %d connections, "+
		"sysbench writes with %d for %s\n", w.tables, w.rows, w.bytes>>20, w.pool, w.connections, w.threads, w.turn)
}

// printLoads writes how many processors each way kept busy, and how many of them the source's server.
func (w *world) printLoads() {
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(t, "\nBY\tSECONDS\tPROCESSORS BUSY, OF %d\tTHE SOURCE'S SERVER\n", runtime.NumCPU())
	for _, name := range slices.Sorted(maps.Keys(w.loads)) {
		var all, machine, source []float64
		for _, turn := range w.loads[name] {
			all = append(all, turn.all.Seconds())
			machine = append(machine, turn.load.machine.Seconds()/turn.all.Seconds())
			source = append(source, turn.load.source.Seconds()/turn.all.Seconds())
		}
		_, _ = fmt.Fprintf(t, "%s\t%.4g\t%.2f\t%.2f\n", name, median(all), median(machine), median(source))
	}
	_ = t.Flush()
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	if len(s) == 0 {
		return 0
	}
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

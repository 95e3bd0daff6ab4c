package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/summary"
)

// figures are the values of each round, by what was measured: in clear, and encrypted.
type figures map[string]*[2][]float64

func (f figures) add(name string, encrypted bool, value float64) {
	if f[name] == nil {
		f[name] = &[2][]float64{}
	}
	arm := 0
	if encrypted {
		arm = 1
	}
	f[name][arm] = append(f[name][arm], value)
	fmt.Fprintf(os.Stderr, "%s  %s, encrypted %v: %.4g\n", time.Now().Format(time.TimeOnly), name, encrypted, value)
}

// print writes the medians, and the ratio with its interval: rounds are paired, so that what slows both down cancels
// out.
func (f figures) print(o options) {
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "WHAT\tIN CLEAR\tENCRYPTED\tRATIO\t95 %\tROUNDS")
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
	fmt.Printf("\nbuffer pool %d MiB; %d rows fit, %d do not; %d connections, turns of %s\n", o.pool, o.fits, o.beyond,
		o.threads, o.turn)
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	if len(s) == 0 {
		return 0
	}
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
	"time"
)

// arm is one cluster whose transactions are priced.
type arm struct {
	name    string
	kind    kind
	cluster *cluster
	db      *sql.DB
	// turns are what its turns took, for each transaction.
	turns []usage
	calls map[string]float64
	parts map[string]float64 // microseconds by part of the program, and by function
	funcs map[string]float64
}

// usage is what one transaction took of all nodes.
type usage struct {
	tps, user, system, switches float64
}

// arms are what is compared; the first one is the base.
func arms() []*arm {
	return []*arm{
		{name: "plain"},
		{name: "TLS", kind: kind{tls: true}},
		// TLS authenticates every record, so that Galera's own checksum finds nothing more.
		{name: "TLS, no checksum", kind: kind{tls: true, options: "socket.checksum=0;"}},
	}
}

func measureCosts(ctx context.Context, o options) (err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	all := arms()
	defer func() {
		for _, a := range all {
			if a.db != nil {
				err = errors.Join(err, a.db.Close())
			}
			if a.cluster != nil {
				err = errors.Join(err, a.cluster.remove())
			}
		}
	}()
	clients := o.clients[0]
	for _, a := range all {
		a.kind.options += "evs.send_window=2;evs.user_send_window=1;"
		if a.cluster, err = newCluster(ctx, o.image, a.kind); err != nil {
			return err
		}
		if a.db, err = a.cluster.open(clients); err != nil {
			return err
		}
	}
	for turn := range o.turns {
		for k := range all {
			if err := all[(turn+k)%len(all)].turn(ctx, clients, o.turn); err != nil {
				return err
			}
		}
	}
	for _, a := range all {
		if err := a.observe(ctx, clients, o.turn); err != nil {
			return err
		}
	}
	printCosts(all)
	return nil
}

// turn measures one turn of the load.
func (a *arm) turn(ctx context.Context, clients int, d time.Duration) error {
	pids, err := a.cluster.pids(ctx)
	if err != nil {
		return err
	}
	before, err := spentBy(pids)
	if err != nil {
		return err
	}
	tps, err := write(ctx, a.db, clients, d)
	if err != nil {
		return err
	}
	after, err := spentBy(pids)
	if err != nil {
		return err
	}
	n := tps * d.Seconds()
	a.turns = append(a.turns, usage{tps, (after.user - before.user) / n, (after.system - before.system) / n,
		(after.switches - before.switches) / n})
	return nil
}

// observe finds out, in turns of their own because it slows everything, which calls of the kernel a transaction makes,
// and where the time goes.
func (a *arm) observe(ctx context.Context, clients int, d time.Duration) error {
	pids, err := a.cluster.pids(ctx)
	if err != nil {
		return err
	}
	during := func(tool func(context.Context, []int, time.Duration) (map[string]float64, error)) (map[string]float64,
		float64, error) {
		type found struct {
			counts map[string]float64
			err    error
		}
		done := make(chan found, 1)
		go func() { counts, err := tool(ctx, pids, d); done <- found{counts, err} }()
		tps, err := write(ctx, a.db, clients, d+time.Second)
		f := <-done
		return f.counts, tps * d.Seconds(), errors.Join(err, f.err)
	}
	calls, n, err := during(callsOf)
	if err != nil {
		return err
	}
	a.calls = map[string]float64{}
	for name, count := range calls {
		a.calls[name] = count / n
	}
	shares, _, err := during(sharesOf)
	if err != nil {
		return err
	}
	a.parts, a.funcs = map[string]float64{}, map[string]float64{}
	cpu := a.median(func(u usage) float64 { return u.user + u.system })
	for name, share := range shares {
		part, function := splitSymbol(name)
		a.parts[part] += share * cpu
		a.funcs[function+" ("+part+")"] += share * cpu
	}
	return nil
}

func (a *arm) median(of func(usage) float64) float64 {
	var v []float64
	for _, u := range a.turns {
		v = append(v, of(u))
	}
	return median(v)
}

func printCosts(all []*arm) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer func() { _ = w.Flush() }()
	base := all[0]
	_, _ = fmt.Fprintln(w, "for each transaction, all nodes together\ttps\tof plain\tµs user\tµs system\tcontext switches")
	for _, a := range all {
		var ratios []float64
		for i, u := range a.turns {
			ratios = append(ratios, u.tps/base.turns[i].tps)
		}
		_, _ = fmt.Fprintf(w, "%s\t%.0f\t%.3f\t%.0f\t%.0f\t%.1f\n", a.name, a.median(func(u usage) float64 { return u.tps }),
			median(ratios),
			a.median(func(u usage) float64 { return u.user }), a.median(func(u usage) float64 { return u.system }),
			a.median(func(u usage) float64 { return u.switches }))
	}
	printMaps(w, "calls of the kernel", all, 10, func(a *arm) map[string]float64 { return a.calls })
	printMaps(w, "µs by part", all, 10, func(a *arm) map[string]float64 { return a.parts })
	printMaps(w, "µs by function, the largest differences", all, 20, func(a *arm) map[string]float64 { return a.funcs })
}

// printMaps prints the entries in which the second arm differs most from the first.
func printMaps(w *tabwriter.Writer, title string, all []*arm, most int, of func(*arm) map[string]float64) {
	names := map[string]bool{}
	for _, a := range all {
		for name := range of(a) {
			names[name] = true
		}
	}
	more := func(name string) float64 { return of(all[1])[name] - of(all[0])[name] }
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.SortFunc(sorted, func(x, y string) int {
		switch dx, dy := max(more(x), -more(x)), max(more(y), -more(y)); {
		case dx > dy:
			return -1
		case dx < dy:
			return 1
		}
		return 0
	})
	_, _ = fmt.Fprintf(w, "\n%s", title)
	for _, a := range all {
		_, _ = fmt.Fprintf(w, "\t%s", a.name)
	}
	_, _ = fmt.Fprintln(w)
	for _, name := range sorted[:min(most, len(sorted))] {
		_, _ = fmt.Fprint(w, name)
		for _, a := range all {
			_, _ = fmt.Fprintf(w, "\t%.2f", of(a)[name])
		}
		_, _ = fmt.Fprintln(w)
	}
}

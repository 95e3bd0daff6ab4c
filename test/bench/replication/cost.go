package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
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
	sizes map[string]float64 // bytes by call that moves some
	parts map[string]float64 // microseconds by part of the program, and by function
	funcs map[string]float64
}

// usage is what one transaction took of all nodes: microseconds, switches to another thread because one waited (each
// ends with a wake-up) or had to give way, and what the containers sent.
type usage struct {
	tps, user, system, waits, preempted, sentBytes, sentPackets float64
}

// perTransaction is what was used between two readings.
func perTransaction(before, after usage, tps float64, d time.Duration) usage {
	n := tps * d.Seconds()
	return usage{tps, (after.user - before.user) / n, (after.system - before.system) / n,
		(after.waits - before.waits) / n, (after.preempted - before.preempted) / n,
		(after.sentBytes - before.sentBytes) / n, (after.sentPackets - before.sentPackets) / n}
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
		a.kind.options += shippedWindows
		if a.cluster, err = newCluster(ctx, o.image, a.kind); err != nil {
			return err
		}
		if a.db, err = a.cluster.open(clients); err != nil {
			return err
		}
	}
	for turn := range o.turns {
		for _, k := range order(turn, len(all)) {
			if err := all[k].turn(ctx, clients, o.turn); err != nil {
				return err
			}
		}
	}
	for _, a := range all {
		if err := a.observe(ctx, clients, o.turn); err != nil {
			return err
		}
	}
	where, err := surroundings(ctx, o.image)
	return errors.Join(err, o.publish(where, costs(all), comparedWithFirst(all)))
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
	a.turns = append(a.turns, perTransaction(before, after, tps, d))
	return nil
}

// observe finds out, in turns of their own because it slows everything, which calls of the kernel a transaction makes,
// and where the time goes.
func (a *arm) observe(ctx context.Context, clients int, d time.Duration) error {
	pids, err := a.cluster.pids(ctx)
	if err != nil {
		return err
	}
	during := func(tool func() error) (transactions float64, err error) {
		done := make(chan error, 1)
		go func() { done <- tool() }()
		tps, err := write(ctx, a.db, clients, d+time.Second)
		return tps * d.Seconds(), errors.Join(err, <-done)
	}
	n, err := during(func() (err error) { a.calls, a.sizes, err = callsOf(ctx, pids, d); return err })
	if err != nil {
		return err
	}
	for name := range a.calls {
		a.calls[name] /= n
	}
	var shares map[string]float64
	if _, err = during(func() (err error) { shares, err = sharesOf(ctx, pids, d); return err }); err != nil {
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

// comparedWithFirst pairs every other arm with the first one.
func comparedWithFirst(all []*arm) (out []tried) {
	for _, a := range all[1:] {
		out = append(out, tried{name: a.name, turns: [2][]usage{all[0].turns, a.turns}})
	}
	return out
}

// costs are the tables of what a transaction costs.
func costs(all []*arm) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "for each transaction, all nodes together\ttps\tµs user\tµs system\t"+
		"waits, each with a wake-up\tpreempted\tbytes sent\tpackets")
	for _, a := range all {
		_, _ = fmt.Fprintf(w, "%s\t%.0f", a.name, a.median(func(u usage) float64 { return u.tps }))
		for _, f := range figures[1:] {
			_, _ = fmt.Fprintf(w, "\t%.1f", a.median(f.of))
		}
		_, _ = fmt.Fprintln(w)
	}
	printMaps(w, "calls of the kernel", all, 12, func(a *arm) map[string]float64 { return a.calls })
	printMaps(w, "bytes by call", all, 12, func(a *arm) map[string]float64 { return a.sizes })
	printMaps(w, "µs by part", all, 10, func(a *arm) map[string]float64 { return a.parts })
	printMaps(w, "µs by function, the largest differences", all, 20, func(a *arm) map[string]float64 { return a.funcs })
	_ = w.Flush() // to memory
	return out.String() + "\n" + table(comparedWithFirst(all))
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
	slices.SortFunc(sorted, func(x, y string) int { return cmp.Compare(math.Abs(more(y)), math.Abs(more(x))) })
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

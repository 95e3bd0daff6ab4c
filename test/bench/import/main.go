// Command import measures how fast another server comes into a cluster, in plain containers. By hand (mariadb-dump
// into mariadb, and mariadb-backup) and with the program of the Job of spec.bootstrapFrom.external, which also
// compares every row, take turns in paired rounds: from an empty volume to a server that has ended well on the data.
// Then a backup in a store is restored, by hand and by the Job of method: Backup, on the source's series. At last a
// node that was copied applies what the source has written meanwhile, in transactions per second, against the rate at
// which they were written there. It asserts nothing. make bench-import runs it.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// longest bounds everything.
const longest = time.Hour

// options of a run.
type options struct {
	image, sourceImage, sysbench, program string
	pool                                  int // MiB
	tables, rows                          int
	rounds, threads, connections          int
	turn                                  time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.image, "image", "galera-mariadb:11.8", "image of the new server")
	flag.StringVar(&o.sourceImage, "source-image", "galera-mariadb:10.11", "image of the source")
	flag.StringVar(&o.sysbench, "sysbench", "galera-sysbench:1.0", "image of sysbench")
	flag.StringVar(&o.program, "program", "bin/backup", "program of the Jobs")
	flag.IntVar(&o.pool, "pool", 256, "size of the buffer pools in MiB")
	flag.IntVar(&o.tables, "tables", 4, "tables of the source")
	flag.IntVar(&o.rows, "rows", 1_000_000, "rows of each")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds; in each, every arm has a turn")
	flag.IntVar(&o.connections, "connections", 4, "tables or parts that the Job reads at the same time, and threads of "+
		"mariadb-backup")
	flag.IntVar(&o.threads, "threads", 4, "connections of sysbench, which writes what is caught up with")
	flag.DurationVar(&o.turn, "turn", 30*time.Second, "how long sysbench writes in a round; 0: nothing is caught up with")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := measure(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// measure makes the source, and measures everything with it.
func measure(ctx context.Context, o options) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("all of it took longer than %s", longest))
	defer cancel()
	w, err := newWorld(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.remove()) }()
	if err := w.createSource(ctx); err != nil {
		return err
	}
	f := figures{}
	for round := range o.rounds {
		if err := w.copyAll(ctx, round, f); err != nil {
			return err
		}
	}
	if err := w.storeBackup(ctx); err != nil {
		return fmt.Errorf("backing the source up: %w", err)
	}
	for round := range o.rounds {
		if err := w.restoreStored(ctx, round, f); err != nil {
			return err
		}
	}
	for round := range o.rounds {
		if err := w.catchUpBoth(ctx, round, f); err != nil {
			return fmt.Errorf("catching up: %w", err)
		}
	}
	f.print(w)
	return nil
}

// parallelAppliers is how many threads apply in the turn that has more than one.
const parallelAppliers = 4

// catchUpBoth has the node catch up with one thread and with several, and begins with the other one in each round.
func (w *world) catchUpBoth(ctx context.Context, round int, f figures) error {
	if w.turn == 0 {
		return nil
	}
	for i := range 2 {
		appliers, name := 0, "written on the source, applied on the node: transactions/s"
		if (i+round)%2 == 1 {
			appliers, name = parallelAppliers, fmt.Sprintf("the same, with %d parallel appliers", parallelAppliers)
		}
		written, applied, err := w.catchUp(ctx, appliers)
		if err != nil {
			return err
		}
		f.add(name, 0, written)
		f.add(name, 1, applied)
	}
	return nil
}

// copyAll gives every method a turn, and begins with another one in each round.
func (w *world) copyAll(ctx context.Context, round int, f figures) error {
	methods := []struct {
		name string
		copy func(context.Context) (turn, error)
	}{{"mariadb-dump", w.byDump}, {"mariadb-backup", w.byBackup}, {"", w.byJob}}
	rates := map[string]float64{}
	for i := range methods {
		method := methods[(round+i)%len(methods)]
		took, err := w.measured(ctx, method.copy)
		if err != nil {
			return fmt.Errorf("%s: %w", cmp.Or(method.name, "the Job"), err)
		}
		w.loads[cmp.Or(method.name, "the Job")] = append(w.loads[cmp.Or(method.name, "the Job")], took)
		rates[method.name] = float64(w.bytes>>20) / took.all.Seconds()
		fmt.Fprintf(os.Stderr, "%s  %s: %.1f s\n", time.Now().Format(time.TimeOnly), cmp.Or(method.name, "the Job"),
			took.all.Seconds())
		if took.dump > 0 {
			w.dumps = append(w.dumps, took.dump.Seconds())
		}
	}
	for _, hand := range []string{"mariadb-dump", "mariadb-backup"} {
		name := "copied, from an empty volume, by " + hand + " and by the Job: MiB/s"
		f.add(name, 0, rates[hand])
		f.add(name, 1, rates[""])
	}
	return nil
}

// Command import measures how fast another server comes into a cluster, in plain containers. By hand (mariadb-dump into
// mariadb) and with the program of the Job of spec.bootstrapFrom.external, which also compares every row, take turns in
// paired rounds: from an empty volume to a server that has ended well on the data. Then a node that was copied so
// applies what the source has written meanwhile, in transactions per second, against the rate at which they were
// written there. It asserts nothing. make bench-import runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
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
	flag.IntVar(&o.rounds, "rounds", 5, "rounds; in each, both arms have a turn")
	flag.IntVar(&o.connections, "connections", 4, "tables or parts that the Job reads at the same time")
	flag.IntVar(&o.threads, "threads", 4, "connections of sysbench, which writes what is caught up with")
	flag.DurationVar(&o.turn, "turn", 30*time.Second, "how long sysbench writes in a round; 0: nothing is caught up with")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := measure(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// measure makes the source, and measures everything with it.
func measure(ctx context.Context, o options) (err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
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
		arms := []func(context.Context) (turn, error){w.byHand, w.byJob}
		for i := range arms {
			arm := (round + i) % len(arms)
			took, err := arms[arm](ctx)
			if err != nil {
				return err
			}
			f.add("from an empty volume to the data: s", arm, took.all.Seconds())
			if took.dump > 0 {
				w.dumps = append(w.dumps, took.dump.Seconds())
			}
		}
	}
	if o.turn > 0 {
		for range o.rounds {
			written, applied, err := w.catchUp(ctx)
			if err != nil {
				return fmt.Errorf("catching up: %w", err)
			}
			f.add("written on the source, applied on the node: transactions/s", 0, written)
			f.add("written on the source, applied on the node: transactions/s", 1, applied)
		}
	}
	f.print(w)
	return nil
}

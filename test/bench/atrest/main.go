// Command atrest measures what encryption at rest costs a database. Two servers in plain containers take turns in
// paired rounds: one in clear, and one that encrypts with the settings of the agents. It measures sysbench's read-only,
// write-only and mixed transactions on data that fit into the buffer pool and on data that do not, with the processor
// time of each; and a full copy (SST), a backup, its restore, and the recovery after a crash. It asserts nothing.
// make bench-atrest runs it.
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
	image, sysbench    string
	pool               int // MiB
	fits, beyond       int // rows
	rounds, operations int
	turn               time.Duration
	threads            int
}

func main() {
	var o options
	flag.StringVar(&o.image, "image", "galera-mariadb:11.8", "image of the database")
	flag.StringVar(&o.sysbench, "sysbench", "galera-sysbench:1.0", "image of sysbench")
	flag.IntVar(&o.pool, "pool", 128, "size of the buffer pool in MiB")
	flag.IntVar(&o.fits, "fits", 200_000, "rows of the data that fit into the buffer pool")
	flag.IntVar(&o.beyond, "beyond", 1_500_000, "rows of the data that do not")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds of each kind of transactions; in each, both servers have a turn")
	flag.IntVar(&o.operations, "operations", 3, "rounds of copy, backup, restore and recovery")
	flag.DurationVar(&o.turn, "turn", 10*time.Second, "how long a turn takes")
	flag.IntVar(&o.threads, "threads", 4, "connections of sysbench")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := measure(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// measure makes both servers, and measures everything on them.
func measure(ctx context.Context, o options) (err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	dir, err := makeFiles()
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err != nil {
		return err
	}
	arms := []*server{newServer(o, dir, false), newServer(o, dir, true)}
	for _, s := range arms {
		defer func() { err = errors.Join(err, s.remove()) }()
		if err := s.create(ctx); err != nil {
			return err
		}
	}
	f := figures{}
	for _, rows := range []int{o.fits, o.beyond} {
		for _, s := range arms {
			if err := s.prepare(ctx, rows); err != nil {
				return err
			}
		}
		if err := f.transactions(ctx, o, arms, rows); err != nil {
			return err
		}
	}
	for round := range o.operations {
		for i := range arms {
			if err := f.operations(ctx, arms[(round+i)%len(arms)]); err != nil {
				return err
			}
		}
	}
	f.print(o)
	return nil
}

// transactions measures sysbench's kinds of transactions on a table of so many rows.
func (f figures) transactions(ctx context.Context, o options, arms []*server, rows int) error {
	size := "fits"
	if rows == o.beyond {
		size = "beyond"
	}
	for round := range o.rounds {
		for _, kind := range []string{"read_only", "write_only", "read_write"} {
			for i := range arms {
				s := arms[(round+i)%len(arms)]
				perSecond, microseconds, err := s.run(ctx, kind, rows)
				if err != nil {
					return err
				}
				f.add(fmt.Sprintf("%s, %s: transactions/s", kind, size), s.encrypted, perSecond)
				f.add(fmt.Sprintf("%s, %s: processor µs/transaction", kind, size), s.encrypted, microseconds)
			}
		}
	}
	return nil
}

// operations measures what is done with all data of a server.
func (f figures) operations(ctx context.Context, s *server) error {
	for _, o := range []struct {
		name string
		do   func(context.Context) (time.Duration, error)
	}{{"backup", s.backup}, {"restore", s.restore}, {"full copy (SST)", s.copyTo}, {"recovery after a crash", s.crash}} {
		took, err := o.do(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		f.add(o.name+": s", s.encrypted, took.Seconds())
	}
	return nil
}

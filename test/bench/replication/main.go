// Command replication measures Galera's replication between three nodes in plain containers, without Kubernetes. It
// asserts nothing.
//
// With -what distance a TUN device in each container delays the packets between the nodes. It prints, for each round
// trip, transactions per second and the time of one large transaction, with the windows that the agents choose and with
// Galera's. make bench-distance runs it.
//
// With -what cost it prints what a transaction costs the three nodes, plain and with TLS: processor time, calls of the
// kernel, and where the time goes, by function. It needs strace and perf. make bench-cost runs it.
//
// With -what settings it compares settings that might make transactions over TLS cheaper with the shipped ones, in
// paired turns of which either leads as many, and corrects for the number of comparisons. It takes 25 minutes.
//
// With -out NAME the last two leave their report in NAME.md, and what each turn found in NAME.csv. -from NAME.csv
// computes the comparisons anew.
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
	"time"
)

// longest bounds everything.
const longest = 2 * time.Hour

// options of a run.
type options struct {
	what       string
	image      string
	roundTrips []time.Duration
	clients    []int
	turns      int
	turn       time.Duration
	large      int
	only       string
	out        string
	from       string
}

func main() {
	var o options
	var trips, clients string
	flag.StringVar(&o.what, "what", "distance", "what to measure: distance, cost or settings")
	flag.StringVar(&o.image, "image", "galera-mariadb:11.8", "image of the database")
	flag.StringVar(&trips, "round-trips", "0s,1ms,4ms,10ms,40ms,80ms", "comma-separated round trips that are added")
	flag.StringVar(&clients, "clients", "8,32", "comma-separated numbers of clients that write at once")
	flag.IntVar(&o.turns, "turns", 6, "how often each pair of windows gets its turn")
	flag.DurationVar(&o.turn, "turn", 5*time.Second, "how long a turn takes")
	flag.IntVar(&o.large, "large", 32, "size of the large transaction in MiB")
	flag.StringVar(&o.only, "only", "", "settings: only those whose name has this in it")
	flag.StringVar(&o.out, "out", "", "cost, settings: leave the report in this file and .md, its raw data in .csv")
	flag.StringVar(&o.from, "from", "", "csv to compute comparisons from, instead of measuring")
	carry := flag.String("carry", "", "carry packets inside a container: ADDRESS,PEER=HOST,...")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := errors.Join(durations(trips, &o.roundTrips), numbers(clients, &o.clients))
	switch {
	case err != nil:
	case *carry != "":
		err = carryPackets(ctx, *carry)
	case o.from != "":
		var all []tried
		if all, err = readTurns(o.from); err == nil {
			fmt.Print(table(all))
		}
	case o.what == "distance":
		err = measureDistances(ctx, o)
	case o.what == "cost":
		err = measureCosts(ctx, o)
	case o.what == "settings":
		err = measureSettings(ctx, o)
	default:
		err = fmt.Errorf("-what: there is no %q", o.what)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func durations(text string, out *[]time.Duration) error {
	for s := range strings.SplitSeq(text, ",") {
		d, err := time.ParseDuration(s)
		if err != nil {
			return fmt.Errorf("-round-trips: %w", err)
		}
		*out = append(*out, d)
	}
	return nil
}

func numbers(text string, out *[]int) error {
	for s := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return fmt.Errorf("-clients: %q is not a number of clients", s)
		}
		*out = append(*out, n)
	}
	return nil
}

func measureDistances(ctx context.Context, o options) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	var all []row
	for _, tls := range []bool{false, true} {
		rows, err := measureCluster(ctx, o, tls)
		if err != nil {
			return err
		}
		all = append(all, rows...)
	}
	printRows(all)
	return nil
}

// measureCluster makes a cluster, with TLS or without, and measures it at every distance.
func measureCluster(ctx context.Context, o options, tls bool) (rows []row, err error) {
	c, err := newCluster(ctx, o.image, kind{tls: tls, far: true})
	defer func() { err = errors.Join(err, c.remove()) }()
	if err != nil {
		return nil, err
	}
	for _, trip := range o.roundTrips {
		r, err := c.measure(ctx, o, trip)
		if err != nil {
			return nil, fmt.Errorf("at a round trip of %s: %w", trip, err)
		}
		rows = append(rows, r)
		fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), strings.ReplaceAll(r.line(), "\t", "  "))
	}
	return rows, nil
}

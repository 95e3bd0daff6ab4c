package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

const (
	shippedWindows = "evs.send_window=2;evs.user_send_window=1;"
	shippedSuite   = "TLS_AES_128_GCM_SHA256"
)

// shipped is what the agents set near by, on processors with AES instructions.
var shipped = kind{tls: true, options: shippedWindows, suite: shippedSuite}

// variant is one change of the shipped settings.
type variant struct {
	name   string
	change func(*kind)
}

// option changes provider options, each with its semicolon.
func option(text string) variant {
	return variant{strings.TrimSuffix(text, ";"), func(k *kind) { k.options += text }}
}

// variants are what is compared with the shipped settings.
//
// Three have no variant, because there is nothing to set. Galera sets TCP_NODELAY on all its connections
// (galerautils/src/gu_asio_socket_util.hpp, set_socket_options). Of its repl.* options
// (galera/src/replicator_smm_params.cpp) only key_format changes what is sent; the others are limits and orders of
// commits. gcs.max_packet_size divides messages of more than 64,500 bytes, and joins none.
var variants = []variant{
	{"the same again", func(*kind) {}},
	{"no TLS", func(k *kind) { k.tls = false }},
	{"Galera's windows, 4 and 2", func(k *kind) { k.options = "" }},
	{"windows of 1 and 1", func(k *kind) { k.options = "evs.send_window=1;evs.user_send_window=1;" }},
	option("evs.use_aggregate=false;"),
	{"evs.keepalive_period=PT1S", func(k *kind) { k.keepalive = "PT1S" }},
	option("repl.key_format=FLAT16;"),
	option("gcs.fc_limit=256;"),
	option("socket.checksum=0;"),
	option("socket.recv_buf_size=1M;socket.send_buf_size=1M;"),
	{"TLS_AES_256_GCM_SHA384", func(k *kind) { k.suite = "TLS_AES_256_GCM_SHA384" }},
	{"TLS_CHACHA20_POLY1305_SHA256", func(k *kind) { k.suite = "TLS_CHACHA20_POLY1305_SHA256" }},
	{"TLS 1.2, AES-128", func(k *kind) { k.suite = "ECDHE-ECDSA-AES128-GCM-SHA256" }},
	{"wsrep_slave_threads=4", func(k *kind) { k.settings = "wsrep_slave_threads=4\n" }},
	{"nodes pinned to a processor each", func(k *kind) { k.pinned = true }},
}

// order is that of n arms in a turn. In 2n turns each is twice at every place, and of two or three each is equally
// often directly after every other one.
func order(turn, n int) []int {
	out := make([]int, n)
	for i := range out {
		at := i
		if turn%2 == 1 {
			at = n - 1 - i
		}
		out[at] = (turn/2 + i) % n
	}
	return out
}

// measureSettings compares all variants, or those whose name has a part in it. One that cannot be measured does not end
// it.
func measureSettings(ctx context.Context, o options) (err error) {
	if o.turns%2 != 0 {
		return errors.New("-turns: give an even number, so that neither of two leads more often")
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	base := &arm{kind: shipped}
	defer func() { err = errors.Join(err, base.close()) }()
	if err := base.open(ctx, o); err != nil {
		return err
	}
	var all []tried
	var failed []error
	for _, v := range variants {
		if !strings.Contains(v.name, o.only) {
			continue
		}
		one, err := v.compare(ctx, o, base)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", v.name, err))
			fmt.Fprintln(os.Stderr, "error:", failed[len(failed)-1])
			continue
		}
		all = append(all, one)
		fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), one.line(false))
	}
	where, err := surroundings(ctx, o.image)
	return errors.Join(append(failed, err, o.publish(where, table(all), all))...)
}

// compare lets a cluster with the change, and the shipped one, have their turns.
func (v variant) compare(ctx context.Context, o options, base *arm) (out tried, err error) {
	changed := &arm{kind: shipped}
	v.change(&changed.kind)
	defer func() { err = errors.Join(err, changed.close()) }()
	if err := changed.open(ctx, o); err != nil {
		return out, err
	}
	if err := base.warmUp(ctx, o); err != nil {
		return out, err
	}
	arms := [2]*arm{base, changed}
	base.turns = nil
	for turn := range o.turns {
		for _, k := range order(turn, len(arms)) {
			if err := arms[k].turn(ctx, o.clients[0], o.turn); err != nil {
				return out, err
			}
		}
	}
	return tried{v.name, [2][]usage{base.turns, changed.turns}}, nil
}

// open makes the arm's cluster, and proves that it has the arm's settings.
func (a *arm) open(ctx context.Context, o options) (err error) {
	if a.cluster, err = newCluster(ctx, o.image, a.kind); err != nil {
		return err
	}
	if err := a.cluster.prove(ctx); err != nil {
		return err
	}
	if a.db, err = a.cluster.open(o.clients[0]); err != nil {
		return err
	}
	return a.warmUp(ctx, o)
}

// warmUp empties the table, so that no cluster has more rows than another, and lets it be written for a turn that does
// not count.
func (a *arm) warmUp(ctx context.Context, o options) error {
	if _, err := a.db.ExecContext(ctx, "TRUNCATE TABLE small"); err != nil {
		return err
	}
	_, err := write(ctx, a.db, o.clients[0], o.turn)
	return err
}

func (a *arm) close() (err error) {
	if a.db != nil {
		err = a.db.Close()
	}
	if a.cluster != nil {
		err = errors.Join(err, a.cluster.remove())
	}
	return err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"text/tabwriter"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/summary"
)

const (
	shippedWindows = "evs.send_window=2;evs.user_send_window=1;"
	shippedSuites  = "Ciphersuites = TLS_AES_128_GCM_SHA256\n"
)

// shipped is what the agents set near by, on processors with AES instructions.
var shipped = kind{tls: true, options: shippedWindows, tlsSettings: shippedSuites}

// variant is one change of the shipped settings.
type variant struct {
	name   string
	change func(*kind)
}

// variants are what is compared with the shipped settings. Galera sets TCP_NODELAY on all its connections by itself.
var variants = []variant{
	{"the same again", func(*kind) {}},
	{"no TLS", func(k *kind) { k.tls = false }},
	{"Galera's windows, 4 and 2", func(k *kind) { k.options = "" }},
	{"TLS_AES_256_GCM_SHA384", func(k *kind) { k.tlsSettings = "Ciphersuites = TLS_AES_256_GCM_SHA384\n" }},
	{"TLS_CHACHA20_POLY1305_SHA256", func(k *kind) { k.tlsSettings = "Ciphersuites = TLS_CHACHA20_POLY1305_SHA256\n" }},
	{"TLS 1.2, AES-128", func(k *kind) {
		k.tlsSettings = "MaxProtocol = TLSv1.2\nCipherString = ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256\n"
	}},
	{"socket.checksum=0", func(k *kind) { k.options += "socket.checksum=0;" }},
	{"socket buffers of 1 MiB", func(k *kind) { k.options += "socket.recv_buf_size=1M;socket.send_buf_size=1M;" }},
	{"evs.keepalive_period=PT1S", func(k *kind) { k.keepalive = "PT1S" }},
	{"gcs.fc_limit=256", func(k *kind) { k.options += "gcs.fc_limit=256;gcs.fc_single_primary=yes;" }},
	{"wsrep_slave_threads=4", func(k *kind) { k.settings = "wsrep_slave_threads=4\n" }},
	{"nodes pinned to a processor each", func(k *kind) { k.pinned = true }},
}

func measureSettings(ctx context.Context, o options) (err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	base := &arm{kind: shipped}
	defer func() { err = errors.Join(err, base.close()) }()
	if err := base.open(ctx, o); err != nil {
		return err
	}
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer func() { _ = t.Flush() }()
	_, _ = fmt.Fprintln(t, "CHANGE\tSHIPPED, TPS\tCHANGED, TPS\tRATIO\t95 %\tTURNS\tµS OF PROCESSOR, SHIPPED\tCHANGED")
	for _, v := range variants {
		line, err := v.compare(ctx, o, base)
		if err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), line)
		_, _ = fmt.Fprintln(t, line)
	}
	return nil
}

// compare lets a cluster with the change, and the shipped one, have their turns. The one that begins alternates.
func (v variant) compare(ctx context.Context, o options, base *arm) (line string, err error) {
	changed := &arm{kind: shipped}
	v.change(&changed.kind)
	defer func() { err = errors.Join(err, changed.close()) }()
	if err := changed.open(ctx, o); err != nil {
		return "", err
	}
	arms := [2]*arm{base, changed}
	base.turns = nil
	for turn := range o.turns {
		for k := range arms {
			if err := arms[(turn+k)%2].turn(ctx, o.clients[0], o.turn); err != nil {
				return "", err
			}
		}
	}
	pair := summary.PairOf(base.rates(), changed.rates())
	interval := "-"
	if low, high, ok := pair.Interval(0.95); ok {
		interval = fmt.Sprintf("%.3f to %.3f", math.Exp(low), math.Exp(high))
	}
	tps := func(u usage) float64 { return u.tps }
	processor := func(u usage) float64 { return u.user + u.system }
	return fmt.Sprintf("%s\t%.0f\t%.0f\t%.3f\t%s\t%d\t%.0f\t%.0f", v.name, base.median(tps), changed.median(tps),
		math.Exp(pair.Mean()), interval, pair.N(), base.median(processor), changed.median(processor)), nil
}

// open makes the arm's cluster, and lets it work for a turn that does not count.
func (a *arm) open(ctx context.Context, o options) (err error) {
	if a.cluster, err = newCluster(ctx, o.image, a.kind); err != nil {
		return err
	}
	if a.db, err = a.cluster.open(o.clients[0]); err != nil {
		return err
	}
	_, err = write(ctx, a.db, o.clients[0], o.turn)
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

func (a *arm) rates() (out []float64) {
	for _, u := range a.turns {
		out = append(out, u.tps)
	}
	return out
}

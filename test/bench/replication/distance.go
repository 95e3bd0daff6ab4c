package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// galeras are Galera's default windows.
var galeras = agentapi.SendWindows{UserSendWindow: 2, SendWindow: 4}

// row is what one distance showed: of the windows by distance first, then of Galera's.
type row struct {
	tls     bool
	trip    time.Duration
	windows agentapi.SendWindows
	clients []int
	// tps and large are medians of the turns; ratios those of the turns' ratios, which noise that lasts longer than a turn
	// disturbs less.
	tps    [][2]float64
	ratios []float64
	large  [2]time.Duration
}

func (c *cluster) measure(ctx context.Context, o options, trip time.Duration) (row, error) {
	if err := c.setRoundTrip(ctx, trip); err != nil {
		return row{}, err
	}
	db, err := c.open(max(slices.Max(o.clients), 1))
	if err != nil {
		return row{}, err
	}
	defer func() { _ = db.Close() }()
	r := row{tls: c.tls, trip: trip, windows: wsrep.SendWindows(max(trip, 100*time.Microsecond), agentapi.SendWindows{}),
		clients: o.clients}
	arms := [2]agentapi.SendWindows{r.windows, galeras}
	for _, clients := range o.clients {
		var tps [2][]float64
		for turn := range o.turns {
			for k := range arms {
				arm := (turn + k) % 2 // the order changes with every turn
				if err := c.setWindows(ctx, arms[arm]); err != nil {
					return row{}, err
				}
				n, err := write(ctx, db, clients, o.turn)
				if err != nil {
					return row{}, err
				}
				tps[arm] = append(tps[arm], n)
			}
		}
		var ratios []float64
		for i := range o.turns {
			ratios = append(ratios, tps[0][i]/tps[1][i])
		}
		r.tps = append(r.tps, [2]float64{median(tps[0]), median(tps[1])})
		r.ratios = append(r.ratios, median(ratios))
	}
	r.large, err = c.measureLarge(ctx, o, db, arms)
	return r, err
}

// measureLarge returns how long one large transaction takes to commit.
func (c *cluster) measureLarge(ctx context.Context, o options, db *sql.DB, arms [2]agentapi.SendWindows) (
	out [2]time.Duration, err error) {
	var took [2][]float64
	for turn := range max(o.turns/2, 1) {
		for k := range arms {
			arm := (turn + k) % 2
			if err := c.setWindows(ctx, arms[arm]); err != nil {
				return out, err
			}
			d, err := commitLarge(ctx, db, o.large)
			if err != nil {
				return out, err
			}
			took[arm] = append(took[arm], d.Seconds())
		}
	}
	for i := range out {
		out[i] = time.Duration(median(took[i]) * float64(time.Second))
	}
	return out, nil
}

// setWindows sets the windows of every node. Galera refuses a user's window above the other one.
func (c *cluster) setWindows(ctx context.Context, w agentapi.SendWindows) error {
	set := func(name string, n int) string { return fmt.Sprintf("SET GLOBAL wsrep_provider_evs_%s = %d;", name, n) }
	for i := range c.names {
		if _, err := c.query(ctx, i, set("user_send_window", 1)+set("send_window", w.SendWindow)+set("user_send_window",
			w.UserSendWindow)); err != nil {
			return err
		}
	}
	return nil
}

// commitLarge returns how long the commit of a transaction of so many MiB takes.
func commitLarge(ctx context.Context, db *sql.DB, mib int) (took time.Duration, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	if _, err := tx.ExecContext(ctx, "INSERT INTO large (payload) SELECT RANDOM_BYTES(1000) FROM seq_1_to_"+
		fmt.Sprint(mib<<20/1024)); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := tx.Commit(); err != nil {
		return 0, err
	}
	took = time.Since(start)
	_, err = db.ExecContext(ctx, "TRUNCATE TABLE large")
	return took, err
}

func (r row) line() string {
	var b strings.Builder
	channel := "plain"
	if r.tls {
		channel = "TLS"
	}
	fmt.Fprintf(&b, "%s\t%s\t%d, %d", channel, r.trip, r.windows.UserSendWindow, r.windows.SendWindow)
	for i := range r.clients {
		fmt.Fprintf(&b, "\t%.0f\t%.0f\t%.2f", r.tps[i][0], r.tps[i][1], r.ratios[i])
	}
	fmt.Fprintf(&b, "\t%.2f\t%.2f\t%.2f", r.large[0].Seconds(), r.large[1].Seconds(),
		r.large[0].Seconds()/max(r.large[1].Seconds(), 0.001))
	return b.String()
}

func printRows(rows []row) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer func() { _ = w.Flush() }()
	_, _ = fmt.Fprint(w, "replication\tround trip\twindows by distance")
	for _, n := range rows[0].clients {
		_, _ = fmt.Fprintf(w, "\ttps, %d clients\tGalera's 2, 4\tratio", n)
	}
	_, _ = fmt.Fprintln(w, "\tlarge commit, s\tGalera's 2, 4\tratio")
	for _, r := range rows {
		_, _ = fmt.Fprintln(w, r.line())
	}
}

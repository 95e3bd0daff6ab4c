package measure

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// answers asks for values of one size on connections that stay open.
func (r *runner) answers(ctx context.Context) error {
	spec := r.plan.ResultSize
	a := &asker{loop: loop{threads: spec.Threads, seconds: spec.Seconds}, size: spec.Size, query: "SELECT REPEAT('x', " +
		strconv.Itoa(spec.Size) + ")"}
	defer a.close()
	if err := a.open(ctx, r); err != nil {
		return err
	}
	err := r.measure(ctx, func(ctx context.Context) error {
		a.run(ctx, func(ctx context.Context, _ int64, thread int) error { return a.ask(ctx, thread) })
		return nil
	})
	// Our own client is the load here.
	r.out.Client.CPUSeconds, r.out.Runner.CPUSeconds = r.out.Runner.CPUSeconds, 0
	wall := r.out.EndedAt.Sub(r.out.StartedAt)
	r.out.Answers = &result.AnswersResult{Paced: a.paced(wall), Presented: presented(a.seen), Answers: int64(len(a.took)),
		Size: spec.Size}
	return err
}

// asker has a connection for each thread.
type asker struct {
	loop
	size  int
	query string
	conns []driver.Conn

	observing sync.Mutex
	seen      tls.ConnectionState
}

// open connects all threads, to the hosts in turn, and asks once on each: what a first answer takes is not measured.
func (a *asker) open(ctx context.Context, r *runner) error {
	for thread := range a.threads {
		host := r.plan.Hosts[thread%len(r.plan.Hosts)]
		cfg, err := r.mysqlConfig(host)
		if err != nil {
			return err
		}
		if cfg.TLS != nil {
			cfg.TLS.VerifyConnection = a.observe
		}
		connector, err := mysql.NewConnector(cfg)
		if err != nil {
			return err
		}
		conn, err := connector.Connect(ctx)
		if err != nil {
			return fmt.Errorf("connecting to %s: %w", host, err)
		}
		a.conns = append(a.conns, conn)
		if err := a.ask(ctx, thread); err != nil {
			return fmt.Errorf("asking %s: %w", host, err)
		}
	}
	if r.plan.TLS && len(a.seen.PeerCertificates) == 0 {
		return errors.New("the arm wants TLS and none was spoken")
	}
	return nil
}

func (a *asker) close() {
	for _, c := range a.conns {
		_ = c.Close()
	}
}

// observe notes what the server presented.
func (a *asker) observe(s tls.ConnectionState) error {
	a.observing.Lock()
	defer a.observing.Unlock()
	a.seen = s
	return nil
}

// ask gets one answer, all of it.
func (a *asker) ask(ctx context.Context, thread int) error {
	rows, err := a.conns[thread].(driver.QueryerContext).QueryContext(ctx, a.query, nil)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	row := make([]driver.Value, 1)
	if err := rows.Next(row); err != nil {
		return err
	}
	if got, _ := row[0].([]byte); len(got) != a.size {
		return fmt.Errorf("an answer of %d bytes instead of %d: is the cluster's max_allowed_packet below it?", len(got),
			a.size)
	}
	switch err := rows.Next(row); {
	case err == nil:
		return errors.New("the answer has more than one row")
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

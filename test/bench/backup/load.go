package main

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/test/harness"
)

// loadRows is how many rows the load's table has.
const loadRows = 20000

// again reports whether a transaction has met another one, and is not counted: sysbench goes on after the same errors.
func again(err error) bool {
	const recordChanged, lockTimeout, deadlock = 1020, 1205, 1213
	var answer *mysql.MySQLError
	return errors.As(err, &answer) && (answer.Number == recordChanged || answer.Number == lockTimeout ||
		answer.Number == deadlock)
}

// fill makes the load's table: that of sysbench's oltp_write_only.
func fill(ctx context.Context, c *harness.Cluster) error {
	cl, err := c.Client(ctx)
	if err != nil {
		return err
	}
	return cl.Exec(ctx, c.Name+"-primary", "CREATE DATABASE load_test", "USE load_test",
		"CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, "+
			"KEY (k))",
		"INSERT INTO t (id, k, c, pad) SELECT seq, seq, REPEAT(SHA1(seq), 3), SHA1(seq) FROM seq_1_to_20000")
}

// setEverywhere runs a statement on every node.
func setEverywhere(ctx context.Context, c *harness.Cluster, statement string) error {
	cl, err := c.Client(ctx)
	if err != nil {
		return err
	}
	pods, err := c.PodNames(ctx)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		db, err := cl.OpenPod(ctx, pod)
		if err != nil {
			return err
		}
		_, err = db.ExecContext(ctx, statement)
		if err := errors.Join(err, db.Close()); err != nil {
			return err
		}
	}
	return nil
}

// load has connections write to the primary, rate transactions a second or, with 0, as fast as they can, and returns
// how many were committed in a second.
func load(ctx context.Context, c *harness.Cluster, connections int, rate float64, duration time.Duration) (float64,
	error) {
	cl, err := c.Client(ctx)
	if err != nil {
		return 0, err
	}
	db, err := cl.OpenService(ctx, c.Name+"-primary")
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	var committed atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, connections)
	start := time.Now()
	for i := range connections {
		all.Go(func() {
			for n := 0; time.Since(start) < duration && errs[i] == nil; n++ {
				if rate > 0 {
					due := time.Duration(float64(n*connections+i) / rate * float64(time.Second))
					wait(ctx, start.Add(due))
				}
				if err := transaction(ctx, db); err == nil {
					committed.Add(1)
				} else if !again(err) {
					errs[i] = err
				}
			}
		})
	}
	all.Wait()
	return float64(committed.Load()) / time.Since(start).Seconds(), errors.Join(errs...)
}

// wait returns at a time, or when ctx ends.
func wait(ctx context.Context, until time.Time) {
	select {
	case <-time.After(time.Until(until)):
	case <-ctx.Done():
	}
}

// transaction is one of oltp_write_only: two updates, and a row that is deleted and inserted again.
func transaction(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	id := func() int { return 1 + rand.IntN(loadRows) } //nolint:gosec // rows of a benchmark
	replaced := id()
	for _, s := range []struct {
		text string
		args []any
	}{
		{"UPDATE load_test.t SET k = k + 1 WHERE id = ?", []any{id()}},
		{"UPDATE load_test.t SET c = REPEAT(SHA1(RAND()), 3) WHERE id = ?", []any{id()}},
		{"DELETE FROM load_test.t WHERE id = ?", []any{replaced}},
		{"INSERT INTO load_test.t (id, k, c, pad) VALUES (?, ?, REPEAT(SHA1(RAND()), 3), SHA1(RAND()))",
			[]any{replaced, id()}},
	} {
		if _, err := tx.ExecContext(ctx, s.text, s.args...); err != nil {
			_ = tx.Rollback() // the server has done so, or the connection is gone
			return err
		}
	}
	return tx.Commit()
}

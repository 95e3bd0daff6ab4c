package measure

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

const (
	// afterTime is how long the load goes on after an operation: clients may notice its end late.
	afterTime = 5 * time.Second
	// answerTime is what a transaction may take before its connection is given up.
	answerTime = 15 * time.Second
	// connectingTime after its start a load has all of its connections.
	connectingTime = time.Second
	// againTime keeps a client whose connection failed from trying thousands of times.
	againTime = 20 * time.Millisecond
)

// operation watches a load while the operator does something to the cluster, once the load has run for BaseSeconds.
func (r *runner) operation(ctx context.Context) error {
	o := r.plan.Operation
	ctx, cancel := context.WithTimeout(ctx, time.Duration(o.PatienceSeconds)*time.Second)
	defer cancel()
	due := time.Now().Add(time.Duration(o.BaseSeconds) * time.Second)
	facts := &result.OperationFacts{Name: o.Name, Node: o.Node}
	r.out.Operation = facts
	w, err := r.writers()
	if err != nil {
		return err
	}
	before := r.agents.samples(ctx)
	var began, ended time.Time
	err = r.measure(ctx, func(ctx context.Context) (err error) {
		loading, stop := context.WithCancel(ctx)
		var load sync.WaitGroup
		load.Go(func() { w.run(loading, w.write) })
		began, ended, err = r.watchOperation(ctx, due, before, facts)
		if err == nil {
			pause(ctx, afterTime)
		}
		stop()
		load.Wait()
		return err
	})
	w.close()
	if err == nil {
		w.describe(facts, began, ended)
	}
	return err
}

// watchOperation waits until it is over. It begins when it is due, or when its node stops to serve.
func (r *runner) watchOperation(ctx context.Context, due time.Time, before map[string]result.Sample,
	facts *result.OperationFacts) (began, ended time.Time, err error) {
	if result.Absent(facts.Name) {
		node, err := r.member(facts.Node)
		if err != nil {
			return began, ended, err
		}
		seen := &result.TransferFacts{}
		began, ended, err = r.watchTransfer(ctx, node, seen)
		facts.Kind, facts.Seconds = seen.Kind, ended.Sub(began).Seconds()
		return began, ended, err
	}
	half, began := false, due
	err = await(ctx, transferPace, func() (string, error) {
		now := r.agents.samples(ctx)
		if !half {
			if why := halfway(facts, before, now); why != "" {
				return why, nil
			}
			half = true
			if facts.Name == v1alpha1.OperationBackup {
				began = time.Now()
			}
		}
		return unfinished(facts, before, now), nil
	})
	if err != nil {
		return began, ended, fmt.Errorf("the operation %s was not seen to end: %w", facts.Name, err)
	}
	ended = time.Now()
	if facts.Name == v1alpha1.OperationBackup || facts.Name == v1alpha1.OperationSwitch {
		facts.Seconds = ended.Sub(began).Seconds()
	}
	return began, ended, nil
}

// halfway describes what is missing until an operation may end that puts everything back: without having been elsewhere
// it looks over before it begins.
func halfway(facts *result.OperationFacts, before, now map[string]result.Sample) string {
	giving := false
	for name, s := range now {
		if seen := encrypted(s); facts.Name == v1alpha1.OperationSwitch && (seen < 0 || seen == encrypted(before[name])) {
			return name + " has not switched yet"
		}
		giving = giving || s[result.MetricGiving] == 1
	}
	if facts.Name == v1alpha1.OperationBackup && !giving {
		return "no node gives a backup yet"
	}
	return ""
}

// encrypted is what was seen of replication: 0 plaintext, 1 both, 2 TLS only; -1 while nothing is known.
func encrypted(s result.Sample) int {
	only, known := s[result.MetricEncrypted]
	_, spoken := s[result.MetricProtocol]
	switch {
	case !known:
		return -1
	case only == 1:
		return 2
	case spoken:
		return 1
	}
	return 0
}

// unfinished names a node which an operation has yet to reach, "" when it is over.
func unfinished(facts *result.OperationFacts, before, now map[string]result.Sample) string {
	for name, s := range now {
		switch {
		case facts.Name == v1alpha1.OperationPromotion && name == facts.Node && s[result.MetricPrimaryNode] != 1:
			return name + " is not the primary yet"
		case facts.Name == v1alpha1.OperationRenewal &&
			(s == nil || s[result.MetricReloads] <= before[name][result.MetricReloads]):
			return name + " has not loaded a new certificate yet"
		case facts.Name == v1alpha1.OperationSwitch &&
			(s[result.MetricSynced] != 1 || encrypted(s) != encrypted(before[name])):
			return name + " has not switched back yet"
		case facts.Name == v1alpha1.OperationBackup && (s == nil || s[result.MetricGiving] == 1):
			return name + " gives a backup"
		}
	}
	return ""
}

// pause waits for some time, or for the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// writers change one row in each transaction, on connections to the primary that are made anew when they fail, as
// applications' are.
type writers struct {
	loop
	to       driver.Connector
	database string
	tables   int
	rows     int64
	conns    []driver.Conn

	noting  sync.Mutex
	commits []result.Commit
}

func (r *runner) writers() (*writers, error) {
	o := r.plan.Operation
	cfg, err := r.mysqlConfig(o.Primary)
	if err != nil {
		return nil, err
	}
	cfg.ReadTimeout, cfg.WriteTimeout = answerTime, answerTime
	to, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return &writers{loop: loop{threads: o.Threads, seconds: o.PatienceSeconds}, to: to, database: r.plan.Data.Database,
		tables: r.plan.Data.Tables, rows: r.plan.Data.Rows,
		conns: make([]driver.Conn, o.Threads)}, nil
}

// write makes one transaction.
func (w *writers) write(ctx context.Context, _ int64, thread int) error {
	begin := time.Now()
	err := w.change(ctx, thread)
	if over(ctx) {
		return err
	}
	if err != nil {
		w.drop(thread, err)
		pause(ctx, againTime)
		return err
	}
	w.noting.Lock()
	defer w.noting.Unlock()
	now := time.Now()
	w.commits = append(w.commits, result.Commit{At: now.Sub(w.began).Seconds(),
		Milliseconds: float64(now.Sub(begin).Microseconds()) / 1e3})
	return nil
}

func (w *writers) change(ctx context.Context, thread int) (err error) {
	if w.conns[thread] == nil {
		if w.conns[thread], err = w.to.Connect(ctx); err != nil {
			w.conns[thread] = nil
			return err
		}
	}
	statement := fmt.Sprintf("UPDATE %s.sbtest%d SET k = k + 1 WHERE id = %d", quoted(w.database), 1+rand.IntN(w.tables),
		1+rand.Int64N(w.rows)) //nolint:gosec // a load, not a secret
	_, err = w.conns[thread].(driver.ExecerContext).ExecContext(ctx, statement, nil)
	return err
}

// refusedOnly are errors after which the connection is good: a deadlock, a row that was changed, a lock wait, a COMMIT
// that failed.
var refusedOnly = []uint16{1213, 1020, 1205, 1180}

// drop gives a connection up, unless the server has only refused a transaction on it.
func (w *writers) drop(thread int, err error) {
	if known := (*mysql.MySQLError)(nil); errors.As(err, &known) && slices.Contains(refusedOnly, known.Number) ||
		w.conns[thread] == nil {
		return
	}
	_ = w.conns[thread].Close()
	w.conns[thread] = nil
}

func (w *writers) close() {
	for _, c := range w.conns {
		if c != nil {
			_ = c.Close()
		}
	}
}

// describe computes what the load was before and during the operation.
func (w *writers) describe(facts *result.OperationFacts, began, ended time.Time) {
	slices.SortFunc(w.commits, func(a, b result.Commit) int { return cmp.Compare(a.At, b.At) })
	from, to := began.Sub(w.began).Seconds(), ended.Add(afterTime).Sub(w.began).Seconds()
	facts.Before = result.PartOf(w.commits, connectingTime.Seconds(), from)
	facts.During = result.PartOf(w.commits, from, to)
	facts.Transactions, facts.Errors, facts.Series = int64(len(w.commits)), w.failed, w.series.whole(time.Since(w.began))
	if w.last != nil {
		facts.LastError = w.last.Error()
	}
}

package harness

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

const (
	// recordInterval is the pause between two transactions.
	recordInterval = 50 * time.Millisecond
	// resolveTime bounds how long a cluster may be unable to answer whether a transaction was committed.
	resolveTime = 4 * time.Minute
)

// Recorder writes random transactions, one after the other, and records what the cluster holds after each. After an
// error it reads which of the two it is: before, or after the transaction.
type Recorder struct {
	cluster *Cluster
	random  chooser
	history History

	mu        sync.Mutex
	now       Contents
	connector driver.Connector
	alone     bool
	conn      *sql.Conn
	db        *sql.DB
	stop      context.CancelFunc
	done      chan error
}

// NewRecorder makes the recorder's database. What it writes depends on the seed, and on what fails meanwhile.
func NewRecorder(ctx context.Context, c *Cluster, seed uint64) (*Recorder, error) {
	cl, err := c.Client(ctx)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := cl.Exec(ctx, c.Name+"-primary", "CREATE DATABASE "+recordDatabase); err != nil {
		return nil, err
	}
	r := &Recorder{cluster: c, random: chooser{Rand: rand.New(rand.NewPCG(seed, 0))},
		now: Contents{}} //nolint:gosec // a test
	r.history.add(Moment{Begin: begin, End: time.Now(), Contents: r.now})
	return r, nil
}

// Start begins to write through the primary's Service, or on one node if pod is not empty.
func (r *Recorder) Start(ctx context.Context, pod string) error {
	cl, err := r.cluster.Client(ctx)
	if err != nil {
		return err
	}
	if pod == "" {
		r.connector, err = cl.Service(ctx, r.cluster.Name+"-primary", answerTimeout)
	} else {
		r.connector, err = cl.Pod(ctx, pod, answerTimeout)
	}
	if err != nil {
		return err
	}
	r.alone = pod != ""
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop, r.done = stop, make(chan error, 1)
	go func() { r.done <- r.write(running) }()
	return nil
}

// Stop ends the writing once it is known what was committed.
func (r *Recorder) Stop() error {
	if r.stop == nil {
		return nil
	}
	r.stop()
	r.stop = nil
	err := <-r.done
	r.disconnect()
	return err
}

// History is what was recorded. It may be read once the recorder is stopped.
func (r *Recorder) History() *History { return &r.history }

// Moments is how many there are, while the recorder writes.
func (r *Recorder) Moments() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.history.Moments)
}

func (r *Recorder) write(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := r.step(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		pause(ctx, recordInterval)
	}
	return nil
}

// step makes one transaction.
func (r *Recorder) step(ctx context.Context) error {
	o := r.random.choose(r.now, r.alone)
	begin := time.Now()
	err := r.exec(ctx, o.statements)
	var number *mysql.MySQLError
	if o.fails != 0 && errors.As(err, &number) && number.Number == o.fails {
		return nil
	}
	if err == nil && o.fails != 0 {
		return fmt.Errorf("%v was answered without an error", o.statements)
	}
	committed := err == nil
	if err != nil {
		if committed, err = r.resolve(ctx, o, err); err != nil {
			return err
		}
	}
	if !committed || o.after.String() == r.now.String() {
		return nil // the GTID is that of an earlier transaction
	}
	m := Moment{Begin: begin, End: time.Now(), Contents: o.after}
	if !o.unlogged {
		m.GTID = r.position(ctx)
	}
	r.add(m)
	return nil
}

func (r *Recorder) add(m Moment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = m.Contents
	r.history.add(m)
}

// resolve reads whether a transaction was committed whose answer was an error, or was lost.
func (r *Recorder) resolve(ctx context.Context, o operation, cause error) (committed bool, err error) {
	err = r.cluster.Kube.Until(ctx, "what the cluster holds after "+cause.Error(), resolveTime,
		func(ctx context.Context) (bool, string, error) {
			r.disconnect()
			if err := r.connect(ctx); err != nil {
				return false, "", err
			}
			have, err := readContents(ctx, r.conn)
			if err != nil {
				return false, "", err
			}
			committed = have == o.after.String()
			if !committed && have != r.now.String() {
				return false, "it holds neither what it held before, nor what it was to hold afterwards:\n" +
					firstDifference(r.now.String(), have), nil
			}
			return true, "", nil
		})
	return committed, err
}

// Recovered reads what a recovery has left on a pod. It must be a moment of the history, not earlier than the one
// given, as all members had that.
func (r *Recorder) Recovered(ctx context.Context, pod string, since int, lost time.Time) error {
	have, err := r.cluster.Data().Recorded(ctx, pod)
	if err != nil {
		return err
	}
	for i := len(r.history.Moments) - 1; i >= since; i-- {
		if m := r.history.Moments[i]; m.Contents.String() == have {
			r.add(Moment{Begin: lost, End: time.Now(), Contents: m.Contents})
			return nil
		}
	}
	return fmt.Errorf("the recovered cluster holds nothing that was recorded since the moment %d:\n%s", since,
		firstDifference(r.history.Moments[since].Contents.String(), have))
}

func (r *Recorder) exec(ctx context.Context, statements []string) error {
	if err := r.connect(ctx); err != nil {
		return err
	}
	for _, s := range statements {
		if _, err := r.conn.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", firstLine(s), err)
		}
	}
	return nil
}

func (r *Recorder) connect(ctx context.Context) (err error) {
	if r.conn != nil {
		return nil
	}
	r.db = sql.OpenDB(r.connector)
	r.conn, err = r.db.Conn(ctx)
	if err != nil {
		r.disconnect()
	}
	return err
}

func (r *Recorder) disconnect() {
	if r.conn != nil {
		_ = r.conn.Close()
	}
	if r.db != nil {
		_ = r.db.Close()
	}
	r.conn, r.db = nil, nil
}

// position is the GTID of what the node has last, "" when that is not known.
func (r *Recorder) position(ctx context.Context) string {
	var all string
	if err := r.conn.QueryRowContext(ctx, "SELECT @@gtid_binlog_pos").Scan(&all); err != nil {
		return ""
	}
	g, _ := binlog.In(all, 0)
	return g.String()
}

// Recorded is every row of a recorder's tables that a pod has.
func (c Data) Recorded(ctx context.Context, pod string) (text string, err error) {
	cl, err := c.cluster.Client(ctx)
	if err != nil {
		return "", err
	}
	db, err := cl.OpenPod(ctx, pod)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return readContents(ctx, conn)
}

func readContents(ctx context.Context, conn *sql.Conn) (string, error) {
	var tables string
	err := conn.QueryRowContext(ctx, "SET STATEMENT wsrep_sync_wait = 1 FOR SELECT COALESCE(GROUP_CONCAT(table_name "+
		"ORDER BY BINARY table_name), '') FROM information_schema.tables WHERE table_schema = ?", recordDatabase).
		Scan(&tables)
	if err != nil || tables == "" {
		return "", err
	}
	var out strings.Builder
	for table := range strings.SplitSeq(tables, ",") {
		if err := readTable(ctx, conn, table, &out); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}

func readTable(ctx context.Context, conn *sql.Conn, table string, out *strings.Builder) (err error) {
	rows, err := conn.QueryContext(ctx, fmt.Sprintf("SELECT * FROM %s.%s ORDER BY id", recordDatabase, table))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s(%s)\n", table, strings.Join(names, ","))
	values, to := make([]string, len(names)), make([]any, len(names))
	for i := range values {
		to[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		fmt.Fprintln(out, strings.Join(values, "|"))
	}
	return rows.Err()
}

package harness

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// writerDatabase holds the tables of all writers.
	writerDatabase = "e2e"
	// pauseAfterError keeps a refused writer from using up a processor.
	pauseAfterError = 20 * time.Millisecond
	// tableTime is what making the writer's table may take.
	tableTime = time.Minute
	// mostErrors bounds how many kinds of errors are remembered.
	mostErrors = 20
	// perWorker are the bits of the numbers that every connection has for itself.
	perWorker = 40
)

// WriterOptions describe how a Writer writes.
type WriterOptions struct {
	// Connections that write at the same time. Default: 2.
	Connections int
	// Service to write through. Default: NAME-primary.
	Service string
	// Interval between the writes of one connection. Default: 20ms.
	Interval time.Duration
	// Payload of every row.
	Payload string
	// Encryption of the connections. Default: as the policy asks for.
	Encryption *Encryption
	// Patient writers wait for a server that is busy: what they report as an error was said by a server, or was a
	// connection that broke. Others give up after answerTimeout, to find the node that serves.
	Patient bool
}

// Writer inserts rows without a pause, each with a number that is used once, and remembers every
// row that was acknowledged. After a failure it connects anew at once.
type Writer struct {
	cluster *Cluster
	opts    WriterOptions
	table   string
	meter   *gapMeter
	stop    context.CancelFunc
	done    sync.WaitGroup

	mu sync.Mutex
	// acknowledged rows must exist; uncertain ones, whose answer was lost, may.
	acknowledged map[int64]struct{}
	uncertain    map[int64]struct{}
	errors       map[string]int
	// failed counts the errors of each connection's worker.
	failed []int
}

// StartWriter makes a table of its own and starts to write.
func StartWriter(ctx context.Context, c *Cluster, opts WriterOptions) (*Writer, error) {
	opts.setDefaults(c)
	w := &Writer{
		cluster: c, opts: opts, table: writerDatabase + ".w_" + rand.Text()[:10],
		acknowledged: map[int64]struct{}{}, uncertain: map[int64]struct{}{}, errors: map[string]int{},
	}
	cl, err := c.Client(ctx)
	if err != nil {
		return nil, err
	}
	if opts.Encryption != nil {
		cl = cl.With(*opts.Encryption)
	}
	// The key is not the row's number, so that a row that was applied twice would show.
	// The Service may still be moving to another node, from what a test did before.
	err = c.Kube.Until(ctx, "the writer's table", tableTime, func(ctx context.Context) (bool, string, error) {
		err := cl.Exec(ctx, opts.Service, "CREATE DATABASE IF NOT EXISTS "+writerDatabase,
			"CREATE TABLE IF NOT EXISTS "+w.table+
				" (seq BIGINT AUTO_INCREMENT PRIMARY KEY, id BIGINT NOT NULL, payload TEXT, KEY (id)) ENGINE=InnoDB")
		return err == nil, "", err
	})
	if err != nil {
		return nil, err
	}
	timeout := answerTimeout
	if opts.Patient {
		timeout = questionTimeout
	}
	connector, err := cl.Service(ctx, opts.Service, timeout)
	if err != nil {
		return nil, err
	}
	// Detached: the writer ends with Stop, and not with the step that started it.
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.stop, w.meter, w.failed = cancel, newGapMeter(), make([]int, opts.Connections)
	for i := range opts.Connections {
		w.done.Go(func() { w.work(running, connector, int64(i)) })
	}
	return w, nil
}

func (o *WriterOptions) setDefaults(c *Cluster) {
	if o.Connections == 0 {
		o.Connections = 2
	}
	if o.Service == "" {
		o.Service = c.Name + "-primary"
	}
	if o.Interval == 0 {
		o.Interval = 20 * time.Millisecond
	}
}

// work writes over one connection at a time until it is stopped.
func (w *Writer) work(ctx context.Context, connector driver.Connector, worker int64) {
	id := worker << perWorker
	for ctx.Err() == nil {
		db := sql.OpenDB(connector)
		db.SetMaxOpenConns(1)
		var err error
		for ctx.Err() == nil && err == nil {
			id++
			if err = w.write(ctx, db, id); err == nil {
				pause(ctx, w.opts.Interval)
			}
		}
		_ = db.Close() // it is broken, or not needed any more
		pause(ctx, pauseAfterError)
	}
}

// write inserts one row. A statement that was sent and not answered leaves it open whether the row
// exists; that the writer is being stopped cuts no statement off.
func (w *Writer) write(ctx context.Context, db *sql.DB, id int64) error {
	_, err := db.ExecContext(context.WithoutCancel(ctx), "INSERT INTO "+w.table+" (id, payload) VALUES (?, ?)", id,
		w.opts.Payload)
	w.mu.Lock()
	if err == nil {
		w.acknowledged[id] = struct{}{}
	} else {
		w.uncertain[id] = struct{}{}
		w.failed[id>>perWorker]++
		if text := err.Error(); len(w.errors) < mostErrors || w.errors[text] > 0 {
			w.errors[text]++
		}
	}
	w.mu.Unlock()
	if err == nil {
		w.meter.success()
	} else {
		w.meter.failure()
	}
	return err
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Stop ends the writing. It may be called more than once.
func (w *Writer) Stop() {
	w.stop()
	w.meter.end()
	w.done.Wait()
}

// Acknowledged returns the number of rows that were acknowledged.
func (w *Writer) Acknowledged() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acknowledged)
}

// LongestGap returns the longest interval without an acknowledged write, of those that ended after since.
func (w *Writer) LongestGap(since time.Time) Gap { return w.meter.longest(since) }

// FirstWriteAfter returns when the first write was acknowledged after the interruption at or after t.
func (w *Writer) FirstWriteAfter(t time.Time) (time.Time, bool) { return w.meter.firstAfter(t) }

// Errors returns the errors that clients saw, with their number.
func (w *Writer) Errors() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make(map[string]int, len(w.errors))
	for text, n := range w.errors {
		out[text] = n
	}
	return out
}

// MostFailed returns how many statements failed for the connection that had the most of them.
func (w *Writer) MostFailed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Max(w.failed)
}

// WaitForMore waits until that many further rows were acknowledged.
func (w *Writer) WaitForMore(ctx context.Context, rows int, timeout time.Duration) error {
	want := w.Acknowledged() + rows
	start := time.Now()
	for w.Acknowledged() < want {
		if ctx.Err() != nil || time.Since(start) > timeout {
			return errors.Join(fmt.Errorf("%d of %d further writes acknowledged within %s; errors: %v",
				w.Acknowledged()-want+rows, rows, timeout, w.Errors()), ctx.Err())
		}
		pause(ctx, 20*time.Millisecond)
	}
	return nil
}

package e2e

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/galera-operator/galera-operator/test/harness"
)

// pooled is a load of 16 connections, half of them with transactions. Each row is written once, and read by the client
// that wrote it.
type pooled struct {
	db   *sql.DB
	from int64
	end  context.CancelFunc
	done sync.WaitGroup

	mu           sync.Mutex
	acknowledged int
	failed       map[string]int
	// longest is the longest time that a client had no answer to a statement; answered is when each had one last.
	longest  time.Duration
	answered [16]time.Time
	// latest is when each client has written and read a row last.
	latest [16]time.Time
	// slow are the cycles above slowCycle.
	slow []cycle
}

// cycle is a write and a read of a client; written is how long the former took.
type cycle struct {
	began         time.Time
	client        int
	took, written time.Duration
}

const (
	// slowCycle is what a cycle takes at most while all is well.
	slowCycle = 300 * time.Millisecond
	// maxSlow bounds the cycles that are printed.
	maxSlow = 48
)

func startPooled(ctx context.Context, cl *harness.Client, service string) *pooled {
	GinkgoHelper()
	db, err := cl.OpenService(ctx, service)
	Expect(err).NotTo(HaveOccurred())
	db.SetMaxOpenConns(32)
	db.SetMaxIdleConns(32)
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	p := &pooled{db: db, from: time.Now().UnixNano(), end: end, failed: map[string]int{}}
	for w := range p.latest {
		p.done.Go(func() { p.write(running, w) })
	}
	DeferCleanup(func() {
		end()
		p.done.Wait()
		_ = db.Close()
	})
	return p
}

func (p *pooled) write(running context.Context, w int) {
	ctx := context.WithoutCancel(running)
	p.hasAnswer(w)
	for n := p.from; running.Err() == nil; n++ {
		began := time.Now()
		acknowledged, written, err := p.one(ctx, w, n)
		took := time.Since(began)
		p.mu.Lock()
		if acknowledged {
			p.acknowledged++
		}
		if took > slowCycle {
			p.slow = append(p.slow, cycle{began, w, took, written})
		}
		if err != nil {
			p.failed[err.Error()]++
		} else {
			p.latest[w] = time.Now()
		}
		p.mu.Unlock()
	}
}

// hasAnswer notes that a statement of a client was carried out.
func (p *pooled) hasAnswer(w int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if last := p.answered[w]; !last.IsZero() {
		p.longest = max(p.longest, now.Sub(last))
	}
	p.answered[w] = now
}

// one writes a row over a connection of the pool, and reads it. written is how long it took until the former.
func (p *pooled) one(ctx context.Context, w int, n int64) (acknowledged bool, written time.Duration, err error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return false, 0, fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if w%2 == 0 {
		_, err = conn.ExecContext(ctx, "INSERT INTO app.t (w, n) VALUES (?, ?)", w, n)
	} else {
		err = p.transact(ctx, conn, w, n)
	}
	if err != nil {
		return false, 0, fmt.Errorf("write: %w", err)
	}
	p.hasAnswer(w)
	written = time.Since(began)
	var rows int
	if err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM app.t WHERE w = ? AND n = ?", w, n).Scan(&rows); err != nil {
		return true, written, fmt.Errorf("read: %w", err)
	}
	p.hasAnswer(w)
	if rows != 1 {
		return true, written, fmt.Errorf("a client reads its own write as %d rows", rows)
	}
	return true, written, nil
}

func (p *pooled) transact(ctx context.Context, conn *sql.Conn, w int, n int64) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, s := range []string{"INSERT INTO app.t (w, n) VALUES (?, ?)",
		"UPDATE app.t SET v = v + 1 WHERE w = ? AND n = ?"} {
		p.hasAnswer(w)
		if _, err = tx.ExecContext(ctx, s, w, n); err != nil {
			_ = tx.Rollback()
			return err
		}
	}
	p.hasAnswer(w)
	return tx.Commit()
}

func (p *pooled) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acknowledged
}

// until waits for so many acknowledged writes.
func (p *pooled) until(ctx context.Context, writes int) error {
	return kube.Until(ctx, fmt.Sprintf("%d writes", writes), time.Minute, func(context.Context) (bool, string, error) {
		have := p.count()
		return have >= writes, fmt.Sprint(have), nil
	})
}

// stop ends the load, and checks that each acknowledged row is there: those whose answer was lost may be.
func (p *pooled) stop(ctx context.Context, c *harness.Cluster) {
	GinkgoHelper()
	p.end()
	p.done.Wait()
	var rows int
	text, err := client(ctx, c).QueryPod(ctx, status(ctx, c).Primary,
		fmt.Sprintf("SELECT COUNT(*) FROM app.t WHERE n >= %d AND v <= 1", p.from))
	Expect(err).NotTo(HaveOccurred())
	_, err = fmt.Sscan(text, &rows)
	Expect(err).NotTo(HaveOccurred())
	failures := 0
	for _, n := range p.failed {
		failures += n
	}
	progress("%d rows acknowledged, %d there, %d failed, longest gap %s: %v", p.acknowledged, rows, failures,
		p.longest.Round(time.Millisecond), p.failed)
	slices.SortFunc(p.slow, func(a, b cycle) int { return cmp.Compare(b.took, a.took) })
	for _, s := range p.slow[:min(len(p.slow), maxSlow)] {
		progress("%s client %d: %s, of which until it was written %s", s.began.Format("15:04:05.000"), s.client,
			s.took.Round(time.Millisecond), s.written.Round(time.Millisecond))
	}
	AddReportEntry("longest gap of a client", fmt.Sprintf("%s, with %d of %d writes failed",
		p.longest.Round(time.Millisecond), failures, p.acknowledged+failures))
	Expect(rows).To(And(BeNumerically(">=", p.acknowledged), BeNumerically("<=", p.acknowledged+failures)))
}

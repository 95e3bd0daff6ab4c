package serving

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const (
	// lookTime is how often it is read how far the archive is.
	lookTime = 15 * time.Second
	// hangTime is for how long a store is waited for before it is called one that does not answer: a volume may hang.
	hangTime = time.Minute
	// askTimeout bounds a question of the operator.
	askTimeout = 5 * time.Second
)

// board is what the operator asks for.
type board struct {
	mu  sync.Mutex
	now task.Served
	// streams get what is read; nil for none.
	streams *streams
	// since is when the store was asked that has not answered yet, the zero time while it is not asked.
	since time.Time
	// promotion is the one that counts, nil while it is not known, and unrecorded why not.
	promotion  *task.Promotion
	unrecorded string
}

// watch reads how far the archive is until ctx ends, whether or not a replica follows.
func (b *board) watch(ctx context.Context, a *archived) {
	for {
		b.poll(ctx, a)
		select {
		case <-time.After(lookTime):
		case <-ctx.Done():
			return
		}
	}
}

// poll reads it once. What cannot be read keeps what was known before, with the reason.
func (b *board) poll(ctx context.Context, a *archived) {
	began := time.Now()
	b.mu.Lock()
	b.since = began
	b.mu.Unlock()
	h, err := a.last(ctx)
	var through time.Time
	if err == nil {
		through, err = a.through(ctx, h)
	}
	var since binlog.Head
	if err == nil {
		since, err = a.continued(ctx, h)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.since = time.Time{}
	if err != nil {
		b.now.Problem = err.Error()
		return
	}
	b.streams.saw(h, a.chain)
	b.now = task.Served{GTID: h.Last.String(), Segment: h.Number, Chain: h.Chain, Through: through,
		Observed: began}
	if since.Number > 0 {
		b.now.Continues, b.now.Begin = a.chain, since.Last.String()
	}
}

// serve reports it until ctx ends, under the certificate that replicas see. Nothing of it is secret.
func (b *board) serve(ctx context.Context, trust *tls.Config) error {
	mux := http.NewServeMux()
	mux.Handle("GET "+task.PathServed, b)
	s := &http.Server{Addr: ":" + strconv.Itoa(task.ServedPort), Handler: mux, ReadTimeout: askTimeout,
		WriteTimeout: askTimeout, MaxHeaderBytes: 8 << 10, TLSConfig: trust.Clone()}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	return s.ListenAndServeTLS("", "")
}

// ServeHTTP implements http.Handler.
func (b *board) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	b.mu.Lock()
	now := b.now
	if !b.since.IsZero() && time.Since(b.since) > hangTime {
		now.Problem = "the store has not answered since " + b.since.UTC().Format(time.RFC3339)
	}
	now.Promotion, now.Unrecorded = b.promotion, b.unrecorded
	b.mu.Unlock()
	if s := b.streams; s != nil {
		now.Stream, now.Line = s.report()
		now.LineBefore = s.line
	}
	_ = json.NewEncoder(w).Encode(now)
}

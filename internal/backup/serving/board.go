package serving

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const (
	// lookTime is how often it is read how far the archive is.
	lookTime = 15 * time.Second
	// askTimeout bounds a question of the operator.
	askTimeout = 5 * time.Second
)

// board is what the operator asks for.
type board struct {
	mu  sync.Mutex
	now task.Served
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
	h, err := a.last(ctx)
	var through time.Time
	if err == nil {
		through, err = a.through(ctx, h)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.now.Problem = err.Error()
		return
	}
	b.now = task.Served{GTID: h.Last.String(), Segment: h.Number, Chain: h.Chain, Through: through}
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
	b.mu.Unlock()
	_ = json.NewEncoder(w).Encode(now)
}

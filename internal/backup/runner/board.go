package runner

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/external"
)

// askTimeout bounds a question of the operator.
const askTimeout = 5 * time.Second

// board is what the operator asks for while a server is copied.
type board struct {
	mu    sync.Mutex
	began time.Time
	said  time.Time
	now   external.Progress
}

// newBoard begins to count the time.
func newBoard(now time.Time) *board { return &board{began: now, said: now} }

// again counts from now on: another copy begins.
func (b *board) again(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.began, b.now = now, external.Progress{}
}

// set is the progress that is reported from now on, in the log now and then.
func (b *board) set(at external.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = at
	if time.Since(b.said) > tellEvery {
		b.said = time.Now()
		say("%s", at.Describe(time.Since(b.began)))
	}
}

// ServeHTTP implements http.Handler.
func (b *board) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	b.mu.Lock()
	at, took := b.now, time.Since(b.began)
	b.mu.Unlock()
	_ = json.NewEncoder(w).Encode(task.Copied{Rows: at.Rows, Expected: at.ExpectedRows, Bytes: at.Bytes,
		Tables: at.Tables, Compared: at.Compared, RestSeconds: int64(at.Rest(took).Seconds())})
}

// serve reports it until ctx ends. Nothing of it is secret, and the copy needs none of it: what keeps it from being
// reported is written to the log.
func (b *board) serve(ctx context.Context, dir string) {
	certificate := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { // read anew: kubelet may write them later
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
		return &pair, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+task.PathCopied, b)
	s := &http.Server{Addr: ":" + strconv.Itoa(task.CopiedPort), Handler: mux, ReadTimeout: askTimeout,
		WriteTimeout: askTimeout, MaxHeaderBytes: 8 << 10,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: certificate}}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.ListenAndServeTLS("", ""); err != nil && ctx.Err() == nil {
		say("how far the copy is cannot be asked for: %v", err)
	}
}

package archiver

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// board is what the operator asks for.
type board struct {
	mu  sync.Mutex
	now task.Archived
}

func (b *board) set(change func(*task.Archived)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.now)
}

// archived says what the store has.
func (b *board) archived(at place) {
	b.set(func(a *task.Archived) {
		a.GTID, a.Segment, a.Chain, a.Problem, a.Reason = at.Last.String(), at.Number, at.Chain, "", ""
		if at.Through.After(a.Through) {
			a.Through = at.Through
		}
		if at.Begins {
			a.Why, a.Base, a.Surveyed = at.Why, "", false
		}
	})
}

func (b *board) through(t time.Time, last binlog.GTID) {
	b.set(func(a *task.Archived) { a.Through, a.GTID, a.Problem, a.Reason = t, last.String(), "", "" })
}

// follows names the node that is followed. A problem stays until something is archived: while the store is away, nodes are followed in vain.
func (b *board) follows(host string) {
	b.set(func(a *task.Archived) { a.Node = host })
}

func (b *board) problem(err error) {
	b.set(func(a *task.Archived) {
		a.Node, a.Problem, a.Reason = "", err.Error(), ""
		var s storeError
		if errors.As(err, &s) {
			a.Reason = s.reason
		}
	})
}

// surveyed says which base there is.
func (b *board) surveyed(chain uint64, base string, from time.Time) {
	b.set(func(a *task.Archived) {
		if a.Chain == chain {
			a.Surveyed, a.Base, a.From = true, base, from
		}
	})
}

// serve tells it until ctx ends, under the certificate that the archiver logs in with: the operator knows it. Nothing of it is secret.
func (b *board) serve(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+task.PathArchived, func(w http.ResponseWriter, _ *http.Request) {
		b.mu.Lock()
		now := b.now
		b.mu.Unlock()
		_ = json.NewEncoder(w).Encode(now)
	})
	s := &http.Server{Addr: ":" + strconv.Itoa(task.ArchiverPort), Handler: mux, ReadTimeout: askTime, WriteTimeout: askTime, MaxHeaderBytes: 8 << 10,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(filepath.Join(task.ClientDir, "tls.crt"), filepath.Join(task.ClientDir, "tls.key"))
			return &pair, err
		}}}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	return s.ListenAndServeTLS("", "")
}

// domain is that of the archive.
func (b *board) domain() uint32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	g, _ := binlog.Parse(b.now.GTID)
	return g.Domain
}

func (b *board) chain() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now.Chain
}

package serving

import (
	"bytes"
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
	// askTimeout bounds a question of the operator, answerTime how long one waits for what it asks to have recorded.
	askTimeout = 5 * time.Second
	answerTime = 2 * time.Second
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
	// waits is task.Served.Waits.
	waits bool
	// taker belongs to the recorder.
	taker taker
	// asked is what the operator has asked to have recorded, nil for nothing, askedAt when, and heardAt when it asked that
	// last. woken gets a value when it asks for something else.
	asked            *task.Recording
	askedAt, heardAt time.Time
	woken            chan struct{}
	// pair is the certificate that is shown: only who shows it, too, is believed to be the operator.
	pair func(*tls.ClientHelloInfo) (*tls.Certificate, error)
}

// hear takes what the operator asks to have recorded, "" for nothing.
func (b *board) hear(asks string) {
	var of *task.Recording
	if asks != "" {
		of = &task.Recording{}
		if err := json.Unmarshal([]byte(asks), of); err != nil {
			say("the operator asks for something unknown: %v", err)
			return
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heardAt = time.Now()
	if of == nil || b.asked != nil && *b.asked == *of {
		b.asked = of
		return
	}
	b.asked, b.askedAt, b.promotion, b.unrecorded, b.waits = of, b.heardAt, nil, "", false
	select {
	case b.woken <- struct{}{}:
	default:
	}
}

// operator reports whether a question is the operator's: it shows the certificate of the Secret with its key.
func (b *board) operator(r *http.Request) bool {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 || b.pair == nil {
		return false
	}
	own, err := b.pair(nil)
	return err == nil && bytes.Equal(r.TLS.PeerCertificates[0].Raw, own.Certificate[0])
}

// settled waits until what was asked for is recorded, or why it is not is known.
func (b *board) settled(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for {
		b.mu.Lock()
		open := b.asked != nil && b.promotion == nil && b.unrecorded == ""
		b.mu.Unlock()
		if !open {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
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
	shows := trust.Clone()
	shows.ClientAuth = tls.RequestClientCert
	s := &http.Server{Addr: ":" + strconv.Itoa(task.ServedPort), Handler: mux, ReadTimeout: askTimeout,
		WriteTimeout: askTimeout, MaxHeaderBytes: 8 << 10, TLSConfig: shows}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	return s.ListenAndServeTLS("", "")
}

// ServeHTTP implements http.Handler.
func (b *board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if b.operator(r) {
		b.hear(r.Header.Get(task.HeaderAsks))
		b.settled(r.Context())
	}
	b.mu.Lock()
	now := b.now
	if !b.since.IsZero() && time.Since(b.since) > hangTime {
		now.Problem = "the store has not answered since " + b.since.UTC().Format(time.RFC3339)
	}
	now.Promotion, now.Unrecorded, now.Waits = b.promotion, b.unrecorded, b.waits
	b.mu.Unlock()
	if s := b.streams; s != nil {
		now.Stream, now.Line = s.report()
		now.LineBefore = s.line
	}
	_ = json.NewEncoder(w).Encode(now)
}

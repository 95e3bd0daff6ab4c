package store

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/task"
	_ "golang.org/x/crypto/x509roots/fallback" // the public CAs: the images have none
)

// connectTime bounds a connection to the service, answerTime the wait for its answer, and for more of it.
const (
	connectTime = 10 * time.Second
	answerTime  = time.Minute
)

// Parallel is how many requests who reads many objects may have at the same time. So many connections are kept: each
// new one costs several times as long as an answer.
const Parallel = 16

// client speaks to the endpoint. It follows no redirection: credentials are for the endpoint alone.
func (p place) client() *http.Client {
	return &http.Client{Transport: &transport{place: p, silence: answerTime},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// transport believes the store's CA alone, where it has one. A renewed CA is taken when it is there.
type transport struct {
	place
	silence time.Duration // for how long an answer may stall
	mu      sync.Mutex
	ca      []byte
	http    *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	now, err := t.now()
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	ctx, cancel := context.WithCancel(req.Context())
	answer, err := now.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	answer.Body = &watched{ReadCloser: answer.Body, host: req.URL.Host, silence: t.silence, cancel: cancel}
	return answer, nil
}

// now is the transport with the CA of this moment.
func (t *transport) now() (*http.Transport, error) {
	ca, err := t.read(task.CA)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.http != nil && bytes.Equal(ca, t.ca) {
		return t.http, nil
	}
	next := public()
	if ca != nil {
		next.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !next.TLSClientConfig.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("the store's caBundle holds no certificate in PEM")
		}
	}
	if t.http != nil {
		t.http.CloseIdleConnections()
	}
	t.ca, t.http = ca, next
	return next, nil
}

// public believes the public CAs.
func public() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	t.TLSHandshakeTimeout, t.ResponseHeaderTimeout = connectTime, answerTime
	t.MaxIdleConnsPerHost = Parallel
	return t
}

// watched is the body of an answer. One that stalls ends: a connection may be cut without a word, and a service that
// waits for its own disks may never go on. Only reading counts, for who reads may be held up by what it writes to.
type watched struct {
	io.ReadCloser
	host    string
	silence time.Duration
	cancel  context.CancelFunc
	stalled atomic.Bool
}

// Read implements io.Reader.
func (w *watched) Read(to []byte) (int, error) {
	waiting := time.AfterFunc(w.silence, func() {
		w.stalled.Store(true)
		w.cancel()
	})
	n, err := w.ReadCloser.Read(to)
	waiting.Stop()
	if err != nil && !errors.Is(err, io.EOF) && w.stalled.Load() {
		err = stall{w.host, w.silence}
	}
	return n, err
}

// Close implements io.Closer.
func (w *watched) Close() error {
	defer w.cancel()
	return w.ReadCloser.Close()
}

// stall is the error of an answer that has stalled, as the network's are.
type stall struct {
	host string
	time.Duration
}

// Error implements error.
func (s stall) Error() string {
	return fmt.Sprintf("%s has sent nothing more of an answer for %s", s.host, s.Duration)
}

// Timeout implements net.Error.
func (stall) Timeout() bool { return true }

// Temporary implements net.Error.
func (stall) Temporary() bool { return true }

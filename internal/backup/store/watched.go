package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

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

package store

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestStalledAnswer: an answer that stalls ends, and is asked for again. One that goes on slowly does not, nor one that
// is read slowly.
func TestStalledAnswer(t *testing.T) {
	const silence = 300 * time.Millisecond
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 8 {
			_, _ = w.Write([]byte("x"))
			_ = http.NewResponseController(w).Flush()
			switch r.URL.Path {
			case "/stalls":
				<-release
				return
			case "/slow":
				time.Sleep(silence / 6)
			}
		}
	}))
	defer s.Close()
	defer close(release)
	client := &http.Client{Transport: &transport{place: place{task.Store{}, t.TempDir()}, silence: silence}}
	read := func(path string, pause time.Duration) (int, error) {
		r, err := client.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		for n := 0; ; n++ {
			if _, err := io.ReadFull(r.Body, make([]byte, 1)); errors.Is(err, io.EOF) {
				return n, nil
			} else if err != nil {
				return n, err
			}
			time.Sleep(pause)
		}
	}
	for path, pause := range map[string]time.Duration{"/slow": 0, "/fast": silence / 4} {
		if n, err := read(path, pause); n != 8 || err != nil {
			t.Errorf("%s: %d bytes, %v", path, n, err)
		}
	}
	n, err := read("/stalls", 0)
	var network net.Error
	if n != 1 || !errors.As(err, &network) || !network.Timeout() {
		t.Errorf("%d bytes, %v", n, err)
	}
	if reason, final := Reason(err); reason != task.ReasonStoreUnreachable || final {
		t.Errorf("%s, %v", reason, final)
	}
}

// TestConnectionsKept: who reads many objects at the same time does not connect anew for each.
func TestConnectionsKept(t *testing.T) {
	var made, arrived atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		for round := (arrived.Add(1) + Parallel - 1) / Parallel * Parallel; arrived.Load() < round; { // until all are there
			time.Sleep(time.Millisecond)
		}
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			made.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	client := place{task.Store{}, t.TempDir()}.client()
	for range 5 {
		var all sync.WaitGroup
		for range Parallel {
			all.Go(func() {
				r, err := client.Get(s.URL)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				_ = r.Body.Close()
			})
		}
		all.Wait()
	}
	if n := made.Load(); n > Parallel {
		t.Errorf("%d connections for %d requests at a time", n, Parallel)
	}
}

package runner

import (
	"context"
	"database/sql/driver"
	"errors"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/wire"
)

func TestAwait(t *testing.T) {
	looks := 0
	err := await(context.Background(), time.Millisecond, func() (string, error) {
		if looks++; looks < 3 {
			return "the old key", nil
		}
		return "", nil
	})
	if err != nil || looks != 3 {
		t.Errorf("%d looks, %v", looks, err)
	}
	short, stop := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer stop()
	if err := await(short, time.Millisecond, func() (string, error) { return "the old key", nil }); err == nil || err.Error() != "the old key" {
		t.Errorf("got %v", err)
	}
	refused := errors.New("refused")
	if err := await(context.Background(), time.Hour, func() (string, error) { return "", refused }); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}

// refusing fails at once, as a local port nobody listens on any more.
type refusing struct{ driver.Connector }

func (refusing) Connect(context.Context) (driver.Conn, error) { return nil, errors.New("refused") }

func TestConnectionsEndWithTheirWay(t *testing.T) {
	lost := make(chan struct{})
	c := &connector{spec: wire.Connect{Threads: 2, Seconds: 20}, hosts: []driver.Connector{refusing{}}, way: way{lost: lost}}
	time.AfterFunc(20*time.Millisecond, func() { close(lost) })
	begin := time.Now()
	c.run(t.Context())
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("went on for %s", took)
	}
}

// late is a context whose deadline is over, which nobody has told it yet.
type late struct{ context.Context }

// Deadline is over.
func (late) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

// TestTheEndIsNoFailure: what is dialled after the end fails at once, and there may be time for thousands.
func TestTheEndIsNoFailure(t *testing.T) {
	lost := make(chan struct{})
	time.AfterFunc(time.Second, func() { close(lost) })
	c := &connector{spec: wire.Connect{Threads: 2, Seconds: 20}, hosts: []driver.Connector{refusing{}}, way: way{lost: lost}}
	c.run(late{t.Context()})
	if c.failed != 0 {
		t.Errorf("%d connections failed after the end", c.failed)
	}
}

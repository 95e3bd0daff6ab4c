package serving

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
)

// TestAlive: a replica is shown that the connection is alive while a segment is fetched and checked for longer than it
// waits, and while the list of the archive is read.
func TestAlive(t *testing.T) {
	t.Parallel()
	w := newWritten(t, gtid(3))
	w.add(gtid(4), 1, transactions(4)...)
	here, there := net.Pipe()
	t.Cleanup(func() { _, _ = here.Close(), there.Close() })
	beats := make(chan struct{}, 3)
	go func() {
		for p := newPackets(there); ; {
			payload, err := p.read(time.Minute)
			if err != nil {
				return
			}
			if len(payload) > 5 && payload[5] == typeHeartbeat {
				select {
				case beats <- struct{}{}:
				default:
				}
			}
		}
	}()
	right := w.keys
	w.keys = sync.OnceValues(func() ([]age.Identity, error) {
		for range 3 {
			select {
			case <-beats:
			case <-time.After(20 * time.Second):
				return nil, errors.New("there is no heartbeat while a segment is checked")
			}
		}
		return right()
	})
	f := &follower{sender: &sender{packets: newPackets(here), server: 1}, archive: w.archived, from: gtid(3),
		beat: time.Millisecond, poll: testPoll, sent: time.Now()}
	if err := f.send(t.Context(), w.at); err != nil || f.from != gtid(4) {
		t.Fatal(f.from, err)
	}
	// A replica that is gone ends what is done, and nothing of it goes on.
	ended := false
	_ = there.Close()
	err := f.meanwhile(t.Context(), func(ctx context.Context) error {
		<-ctx.Done()
		ended = true
		return ctx.Err()
	})
	if err == nil || errors.Is(err, context.Canceled) || !ended {
		t.Error(err, ended)
	}
}

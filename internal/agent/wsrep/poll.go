package wsrep

import (
	"context"
	"time"
)

const (
	// pollFast and pollSlow are the pauses between two readings of the status.
	pollFast = 200 * time.Millisecond
	pollSlow = 500 * time.Millisecond
	// fastAfterPoke keeps the fast pace for a while after mariadbd has reported a change, as its
	// status variables follow a little later.
	fastAfterPoke = 2 * time.Second
	// statusTimeout bounds one reading: a server that hangs takes the connection and does not answer.
	statusTimeout = 10 * time.Second
)

// Poll reads the status of a running server over and over.
type Poll struct {
	// Status reads it once.
	Status func(ctx context.Context) (Status, error)
	// Serves reports whether a slow pace will do.
	Serves func(s Status) bool
	poke   chan struct{}
}

// NewPoll returns a poll.
func NewPoll(status func(ctx context.Context) (Status, error), serves func(s Status) bool) Poll {
	return Poll{Status: status, Serves: serves, poke: make(chan struct{}, 1)}
}

// Poke makes it read at once, and fast for a while. Safe for concurrent use.
func (p *Poll) Poke() {
	select {
	case p.poke <- struct{}{}:
	default:
	}
}

// Run reads until the run of the server is done; reported is called with every reading, and when it was asked for.
func (p *Poll) Run(done <-chan struct{}, reported func(asked time.Time, s Status, err error)) {
	fastUntil := time.Now()
	behind := lag{pauses: -1}
	pause := time.NewTimer(pollFast)
	defer pause.Stop()
	for {
		select {
		case <-done:
			return
		case <-p.poke:
			fastUntil = time.Now().Add(fastAfterPoke)
		case <-pause.C:
		}
		asked := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), statusTimeout)
		status, err := p.Status(ctx)
		cancel()
		if err == nil {
			status.Server.Lagging = behind.next(status, asked)
		}
		reported(asked, status, err)
		pace := pollSlow
		if err != nil || !p.Serves(status) || behind.asked || time.Now().Before(fastUntil) {
			pace = pollFast
		}
		pause.Reset(pace)
	}
}

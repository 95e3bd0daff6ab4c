// Package distance measures how far the other members are, and sets the send windows that follow from it: how many
// messages of the group may be on their way at once.
package distance

import (
	"context"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/eventloop"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Port is where members reach each other for the group's messages.
const Port = 4567

// measureInterval is the time between two looks. TCP itself remembers its smallest round trip for five minutes.
const measureInterval = 10 * time.Second

// WindowServer is the running mariadbd, as this package uses it.
type WindowServer interface {
	SetSendWindows(context.Context, agentapi.SendWindows) error
}

// WindowTuner is not safe for concurrent use; event loop only.
type WindowTuner struct {
	loop   eventloop.Loop
	server WindowServer
	// measure returns the round trip to the member that is farthest away; false without a connection.
	measure func() (time.Duration, bool)

	measuredAt time.Time
	busy       bool
	run        int // counts the servers that have exited
	roundTrip  time.Duration
	windows    agentapi.SendWindows // in force; zero when not known
	problem    string
}

// NewWindowTuner returns the Tuner of a member that knows no distance.
func NewWindowTuner(loop eventloop.Loop, server WindowServer, measure func() (time.Duration, bool)) WindowTuner {
	return WindowTuner{loop: loop, server: server, measure: measure}
}

// Serving looks how far the others are, now and then, and gives a serving server the windows for that. fixed are those
// of the configuration, nil to follow the distance.
func (r *WindowTuner) Serving(now time.Time, fixed *agentapi.SendWindows) {
	due := now.Sub(r.measuredAt) >= measureInterval || fixed != nil && *fixed != r.windows && r.problem == ""
	if r.busy || !due {
		return
	}
	r.busy, r.measuredAt = true, now
	run, last := r.run, r.windows
	go func() {
		roundTrip, known := r.measure()
		want := last
		switch {
		case fixed != nil:
			want = *fixed
		case known:
			want = SendWindows(roundTrip, last)
		}
		var err error
		if want != last {
			err = r.server.SetSendWindows(context.Background(), want)
		}
		r.loop.Post(func() {
			if r.run == run {
				r.found(roundTrip, known, want, err)
			}
		})
	}()
}

func (r *WindowTuner) found(roundTrip time.Duration, known bool, want agentapi.SendWindows, err error) {
	r.busy = false
	if known {
		r.roundTrip = StableRoundTrip(roundTrip, r.roundTrip)
	}
	if err != nil {
		if r.problem != err.Error() {
			r.loop.Logger.Warn("the send windows could not be set", "error", err)
		}
		r.problem = err.Error()
		return
	}
	r.problem = ""
	if r.windows != want {
		r.loop.Logger.Info("send windows", "roundTrip", r.roundTrip.String(), "evs.user_send_window", want.UserSendWindow,
			"evs.send_window", want.SendWindow)
		r.windows = want
	}
}

// Exited forgets with the server: the next one begins with the windows of its option file.
func (r *WindowTuner) Exited() {
	r.run++
	r.measuredAt, r.busy, r.roundTrip, r.windows, r.problem = time.Time{}, false, 0, agentapi.SendWindows{}, ""
}

// Report adds the distance and the windows of a running server, once they are known.
func (r *WindowTuner) Report(to *agentapi.Report) {
	if r.windows == (agentapi.SendWindows{}) {
		return
	}
	to.Replication = &agentapi.Replication{RoundTripMicroseconds: r.roundTrip.Microseconds(), SendWindows: r.windows}
}

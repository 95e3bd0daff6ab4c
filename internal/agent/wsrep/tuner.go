package wsrep

import (
	"context"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
)

// Port is where members reach each other for the group's messages.
const Port = 4567

// measureInterval is the time between two checks. TCP itself remembers its smallest round trip for five minutes.
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
		r.roundTrip = stableRoundTrip(roundTrip, r.roundTrip)
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

const (
	// near is the round trip below which the members are on one host or in one data centre.
	near = 300 * time.Microsecond
	// far is the round trip from which on Galera's own windows leave a link idle.
	far = 10 * time.Millisecond
	// perMessage is how much of a far round trip one message fills.
	perMessage = 1250 * time.Microsecond
	// maxUserSendWindow bounds evs.user_send_window: it fills 0.6 s.
	maxUserSendWindow = 512
)

var (
	// together lets write-sets that come while one message is in flight share the next one: each record of TLS costs the
	// same, however small.
	together = agentapi.SendWindows{UserSendWindow: 1, SendWindow: 2}
	// galeraDefaults are Galera's defaults.
	galeraDefaults = agentapi.SendWindows{UserSendWindow: 2, SendWindow: 4}
)

// SendWindows returns the send windows for a round trip. It keeps the last ones while they are right for a round trip
// of up to a quarter more or less, so that they do not go back and forth; the zero value of last knows none.
func SendWindows(roundTrip time.Duration, last agentapi.SendWindows) agentapi.SendWindows {
	least, largest := windowSizes(roundTrip*4/5), windowSizes(roundTrip*5/4)
	if least.UserSendWindow <= last.UserSendWindow && last.UserSendWindow <= largest.UserSendWindow {
		return last
	}
	return windowSizes(roundTrip)
}

// windowSizes is the rule. They grow with the round trip.
func windowSizes(roundTrip time.Duration) agentapi.SendWindows {
	switch {
	case roundTrip < near:
		return together
	case roundTrip < far:
		return galeraDefaults
	}
	user := min(step(int((roundTrip+perMessage-1)/perMessage)), maxUserSendWindow)
	return agentapi.SendWindows{UserSendWindow: user, SendWindow: 2 * user}
}

// step rounds up to one of few sizes: 8, 12, 16, 24, 32, 48 ….
func step(need int) int {
	for size := 8; ; size *= 2 {
		switch {
		case need <= size:
			return size
		case need <= size*3/2:
			return size * 3 / 2
		}
	}
}

// stableRoundTrip returns the round trip to report: the one reported last while it is right to a quarter, else the new
// one to two digits. A figure that moved with each measurement would change the report all the time.
func stableRoundTrip(roundTrip, last time.Duration) time.Duration {
	if last*4/5 <= roundTrip && roundTrip <= last*5/4 {
		return last
	}
	unit := time.Microsecond
	for roundTrip >= 100*unit {
		unit *= 10
	}
	return roundTrip.Round(unit)
}

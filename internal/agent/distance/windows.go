package distance

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

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
	// together lets write-sets that come while one message is on its way share the next one: each record of TLS costs the
	// same, however small.
	together = agentapi.SendWindows{UserSendWindow: 1, SendWindow: 2}
	// galeraDefaults are Galera's defaults.
	galeraDefaults = agentapi.SendWindows{UserSendWindow: 2, SendWindow: 4}
)

// SendWindows returns the send windows for a round trip. It keeps the last ones while they are right for a round trip of up
// to a quarter more or less, so that they do not go back and forth; the zero value of last knows none.
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

// StableRoundTrip returns the round trip to report: the one reported last while it is right to a quarter, else the new
// one to two digits. A figure that moved with each measurement would change the report all the time.
func StableRoundTrip(roundTrip, last time.Duration) time.Duration {
	if last*4/5 <= roundTrip && roundTrip <= last*5/4 {
		return last
	}
	unit := time.Microsecond
	for roundTrip >= 100*unit {
		unit *= 10
	}
	return roundTrip.Round(unit)
}

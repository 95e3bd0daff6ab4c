package lifecycle

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	// firstPause is how long no channel is opened at a position where it has ended one server, lastPause at most.
	firstPause = 30 * time.Second
	lastPause  = 30 * time.Minute
)

// ChannelEndsAt returns how often the channel has ended a server of the cluster at a position: the source's next
// transaction may end each server that applies it.
func ChannelEndsAt(position string, own agentapi.ChannelEnds, others map[string]agentapi.PeerView) (ends int) {
	if position == "" {
		return 0
	}
	if own.Position == position {
		ends = own.Ends
	}
	for _, v := range others {
		if v.ChannelEnds.Position == position {
			ends += v.ChannelEnds.Ends
		}
	}
	return ends
}

// ChannelPause returns for how long no channel is opened at a position where it has ended servers.
func ChannelPause(ends int) time.Duration {
	pause := firstPause
	if ends <= 0 {
		return 0
	}
	for range ends - 1 {
		if pause *= 2; pause >= lastPause {
			return lastPause
		}
	}
	return pause
}

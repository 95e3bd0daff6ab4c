package agentapi

import (
	"net"
	"strconv"
	"time"
)

// HoldNow is a Follow.Hold that stops the channel where it is.
const HoldNow = "now"

// Follow is a server whose transactions the cluster applies, the source. No node accepts writes of clients meanwhile.
type Follow struct {
	Host string `json:"host"`
	Port int    `json:"port"`
	// Alternatives are servers that have the same transactions, in the order in which they are tried.
	Alternatives []Endpoint `json:"alternatives,omitempty"`
	// Plain connects without TLS. Otherwise the source's certificate is verified, and names Host.
	Plain bool `json:"plain,omitempty"`
	// ServerID is that of every node: the source's is another one.
	ServerID uint32 `json:"serverID"`
	// Until is the source's last position, as GTIDs. A node that has applied it accepts writes from then on. It is ""
	// while the cluster follows.
	Until string `json:"until,omitempty"`
	// Ended reports whether all nodes have accepted writes after Until: that goes on, also if another server has written
	// it.
	Ended bool `json:"ended,omitempty"`
	// Hold stops the channel for a comparison with the source: HoldNow where it is, a position once that is applied. It
	// counts until HoldEnds, and not together with Until.
	Hold     string    `json:"hold,omitempty"`
	HoldEnds time.Time `json:"holdEnds,omitzero"`
}

// Endpoint is where a source is.
type Endpoint struct {
	Host string `json:"host"`
	Port int    `json:"port"`
}

func (e Endpoint) String() string { return net.JoinHostPort(e.Host, strconv.Itoa(e.Port)) }

// Sources are all servers that can be followed, beginning with the one that was copied.
func (f Follow) Sources() []Endpoint {
	return append([]Endpoint{{Host: f.Host, Port: f.Port}}, f.Alternatives...)
}

// Held is the text of a hold, as the cluster's annotation has it; "" for none.
func (f Follow) Held() string {
	if f.Hold == "" {
		return ""
	}
	return f.Hold + "@" + f.HoldEnds.UTC().Format(time.RFC3339)
}

// Following is how far one member is.
type Following struct {
	// Applied is the member's position in the source's history (gtid_slave_pos): the same on all nodes, but for what they
	// are about to apply.
	Applied string `json:"applied,omitempty"`
	// ReadOnly reports whether the server refuses the writes of clients.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Held is Follow.Held once the channel does not run because of it.
	Held string `json:"held,omitempty"`
	// Reached reports whether Applied includes Follow.Until.
	Reached bool `json:"reached,omitempty"`
	// Waiting is why the member whose task the channel is does not run it yet, "" otherwise.
	Waiting string `json:"waiting,omitempty"`
	// Channel is how the member's channel is; nil on a member without one.
	Channel *ChannelState `json:"channel,omitempty"`
}

// ChannelEnds is how often a member's server has ended shortly after its channel was opened, without having applied
// anything.
type ChannelEnds struct {
	// Position is where the channel was opened.
	Position string `json:"position"`
	Ends     int    `json:"ends"`
}

// ChannelState is what SHOW SLAVE STATUS shows.
type ChannelState struct {
	// Source is HOST:PORT of the server that the channel was opened with.
	Source string `json:"source,omitempty"`
	// Running reports whether any part of it runs: it may be about to connect.
	Running bool `json:"running,omitempty"`
	// Connected reports whether transactions are received, Applying whether they are applied.
	Connected bool `json:"connected,omitempty"`
	Applying  bool `json:"applying,omitempty"`
	// Received is the position of what was received.
	Received string `json:"received,omitempty"`
	// SecondsBehind is the age of the transaction that is applied; nil while it is not known.
	SecondsBehind *int64 `json:"secondsBehind,omitempty"`
	// Error is the last error, "" for none, and ErrorNumber its number.
	Error       string `json:"error,omitempty"`
	ErrorNumber int    `json:"errorNumber,omitempty"`
}

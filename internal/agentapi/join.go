package agentapi

import "time"

// Kinds of a Join.
const (
	JoinIST  = "IST"  // only what was missing
	JoinSST  = "SST"  // a full copy
	JoinNone = "None" // nothing was missing
)

// Phases of a Join.
const (
	JoinWaiting      = "Waiting"      // for a donor, or for its first byte
	JoinTransferring = "Transferring" // the data arrive
	JoinPreparing    = "Preparing"    // the copy is made consistent
	JoinApplying     = "Applying"     // the database starts and catches up
)

// Join is the last, or the running, way of this member into the component. The numbers of a running
// one are renewed every ten seconds and with every change of the phase.
type Join struct {
	Kind      string    `json:"kind"`
	Donor     string    `json:"donor,omitempty"`
	Phase     string    `json:"phase,omitempty"`
	StartedAt time.Time `json:"startedAt"`
	// AgeSeconds is how long ago the join was started when the report was sent; nil when StartedAt is zero.
	AgeSeconds *float64 `json:"ageSeconds,omitempty"`
	// EndedAt is nil during the join.
	EndedAt *time.Time `json:"endedAt,omitempty"`
	// Bytes received so far, measured on the data directory, and the size of the donor's data.
	Bytes int64 `json:"bytes,omitempty"`
	Total int64 `json:"total,omitempty"`
	// Rate is the recent rate, in bytes per second.
	Rate int64 `json:"rate,omitempty"`
	// ETA is when the transfer will end at this rate, nil when unknown.
	ETA *time.Time `json:"eta,omitempty"`
	// Protocol and Cipher are the observed TLS version and suite of the transfer, "" if none was observed.
	Protocol string `json:"protocol,omitempty"`
	Cipher   string `json:"cipher,omitempty"`
	// WriteSets is the number of write-sets received by IST.
	WriteSets int64 `json:"writeSets,omitempty"`
	// Behind is the number of write-sets the member has yet to apply to catch up.
	Behind int64 `json:"behind,omitempty"`
	// MovedAt is when the join made progress last, zero before it did. It is internal to the agent, and not reported: it
	// changes all the time.
	MovedAt time.Time `json:"-"`
}

// Progress is when the join made progress last.
func (j *Join) Progress() time.Time {
	if j.MovedAt.Before(j.StartedAt) {
		return j.StartedAt
	}
	return j.MovedAt
}

// Primary announces to an agent which member clients are sent to: it gives its data to others last.
type Primary struct {
	Name string `json:"primary"`
	// Proxied reports whether a proxy may still send statements to the member that is asked.
	Proxied bool `json:"proxied,omitempty"`
}

// Donation is a state transfer as its donor knows it.
type Donation struct {
	// Kind is JoinIST or JoinSST.
	Kind string `json:"kind"`
	// To is the joiner's address.
	To    string    `json:"to"`
	Since time.Time `json:"since"`
	// Failure is why the donor's backup failed, with what can be done about it; "" if it did not fail, or if nothing is
	// known to do.
	Failure string `json:"failure,omitempty"`
}

// Cache is a member's store of past write-sets (gcache).
type Cache struct {
	// Size in bytes.
	Size int64 `json:"size"`
	// Oldest is the seqno of the oldest write-set in it, 0 for none.
	Oldest int64 `json:"oldest,omitempty"`
	// WindowSeconds is about how long a member may be away and still catch up, at the rate of writes
	// seen so far; 0 when nothing was written. It is rounded down to one of few steps.
	WindowSeconds int64 `json:"windowSeconds,omitempty"`
}

package lifecycle

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// SourceTime is for how long a source is tried without a connection before the next one is.
const SourceTime = 30 * time.Second

// SourceFacts are what a member knows when it decides which of several sources it follows.
type SourceFacts struct {
	// Sources are those that can be followed, at least one, in their order.
	Sources []agentapi.Endpoint
	// Own is HOST:PORT of the one that this member has followed last, or has known the cluster to follow; "" for none.
	Own string
	// Others are the last answers of the other members.
	Others map[string]agentapi.PeerView
	// Opens reports whether this member runs the channel, or tries to. Lost is for how long it has had no connection.
	Opens bool
	Lost  time.Duration
}

// Source returns the source to follow: the one that the cluster follows already, so that a channel which moves to
// another member, or whose agent is replaced, stays where it was. Only without a connection the next one is tried.
func (f SourceFacts) Source() agentapi.Endpoint {
	at := f.current()
	if f.Opens && f.Lost >= SourceTime {
		at = (at + 1) % len(f.Sources)
	}
	return f.Sources[at]
}

// current is the source of the member that runs the channel, else the one that this member knows of, else one that
// another member knows of.
func (f SourceFacts) current() int {
	own, heard := f.index(f.Own), -1
	for _, name := range slices.Sorted(maps.Keys(f.Others)) {
		v := f.Others[name]
		at := f.index(v.ChannelSource)
		switch {
		case at < 0:
		case v.Channel == agentapi.TaskOn && !f.Opens:
			return at
		case heard < 0:
			heard = at
		}
	}
	if own < 0 {
		own = heard
	}
	return max(0, own)
}

func (f SourceFacts) index(name string) int {
	return slices.IndexFunc(f.Sources, func(e agentapi.Endpoint) bool { return name != "" && e.String() == name })
}

// Lacks returns the GTIDs of positions that a server does not have whose gtid_binlog_state is state, "" for none. A
// server that has the transaction with a number of a domain has another one if another server has written it. A
// position that cannot be read is lacked.
func Lacks(state string, positions ...string) string {
	have := map[origin]uint64{}
	for gtid := range strings.SplitSeq(state, ",") {
		if of, seqno, ok := parseGTID(gtid); ok {
			have[of] = max(have[of], seqno)
		}
	}
	var out []string
	for _, position := range positions {
		for gtid := range strings.SplitSeq(position, ",") {
			gtid = strings.TrimSpace(gtid)
			of, seqno, ok := parseGTID(gtid)
			if got, known := have[of]; ok && known && got >= seqno || slices.Contains(out, gtid) {
				continue
			}
			out = append(out, cmp.Or(gtid, "an unknown position"))
		}
	}
	return strings.Join(out, ", ")
}

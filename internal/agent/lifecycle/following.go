package lifecycle

import (
	"strconv"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// ChannelFacts are what a member knows when it decides whether the channel of a source is its task.
type ChannelFacts struct {
	// Self is the member, Primary the primary as the operator has reported it to this member, "" when it has not.
	Self, Primary string
	// Server is the own server, nil while it does not answer.
	Server *agentapi.Server
	// Others are the last answers of the other members.
	Others map[string]agentapi.PeerView
	// Runs reports whether this member runs the channel.
	Runs bool
}

// Here reports whether the channel is this member's task: the primary's, and that of the component's first member while
// no member of it is the primary. One that runs it gives it up when the primary knows that it is the primary: without
// an operator a restarted primary does not, and the first member runs it when no other one does. However wrong a member
// is, no two run it: Exclusive sees to that. confirm asks for newer answers.
func (f ChannelFacts) Here() (here, confirm bool) {
	if f.Server == nil {
		return false, false
	}
	first, primary := "", ""
	for _, m := range f.Server.Group {
		view, answers := f.Others[m.Name]
		switch {
		case agentapi.IsArbitrator(m.Name):
			continue
		case m.Name == f.Primary && (m.Name == f.Self || !answers || view.Primary),
			primary == "" && view.Primary && m.Name != f.Self:
			primary = m.Name
		}
		if first == "" || m.Name < first {
			first = m.Name
		}
	}
	switch {
	case first == "": // the members are not known: nothing changes
		return f.Runs, true
	case primary == f.Self:
		return true, false
	case f.Runs && primary == "":
		return true, false
	case f.Runs:
		return !f.Others[primary].Primary, true
	}
	return primary == "" && first == f.Self, false
}

// Includes reports whether a position of a source, its GTIDs separated by commas, includes another one. An unknown
// position includes nothing, and none includes an unknown one.
func Includes(position, of string) bool {
	have, ok := domains(position)
	want, known := domains(of)
	if !ok || !known {
		return false
	}
	for domain, last := range want {
		if got, there := have[domain]; !there || got.seqno < last.seqno {
			return false
		}
	}
	return true
}

// Diverged reports whether a position that has the number of another one, or a higher one, in a domain has it from
// another server: whether it has the transaction with that number is not known then. A server that was promoted without
// the last transactions of the one before numbers its own as these were.
func Diverged(position, of string) bool {
	have, _ := domains(position)
	want, _ := domains(of)
	for domain, last := range want {
		if got, there := have[domain]; there && got.seqno >= last.seqno && got.server != last.server {
			return true
		}
	}
	return false
}

// transaction is the last one of a domain.
type transaction struct{ server, seqno uint64 }

// domains returns the last transaction of each domain; ok is false for what is no position, or an empty one.
func domains(position string) (map[uint64]transaction, bool) {
	out := map[uint64]transaction{}
	for gtid := range strings.SplitSeq(position, ",") {
		origin, seqno, ok := parseGTID(gtid)
		if _, twice := out[origin.domain]; !ok || twice {
			return nil, false
		}
		out[origin.domain] = transaction{origin.server, seqno}
	}
	return out, true
}

// origin is what numbers transactions: a server, within a domain.
type origin struct{ domain, server uint64 }

func parseGTID(gtid string) (of origin, seqno uint64, ok bool) {
	parts := strings.Split(strings.TrimSpace(gtid), "-")
	if len(parts) != 3 {
		return of, 0, false
	}
	domain, err := strconv.ParseUint(parts[0], 10, 32)
	if err != nil {
		return of, 0, false
	}
	server, err := strconv.ParseUint(parts[1], 10, 32)
	if err != nil {
		return of, 0, false
	}
	seqno, err = strconv.ParseUint(parts[2], 10, 64)
	return origin{domain, server}, seqno, err == nil
}

// FollowAct is what is done next about the writes of clients.
type FollowAct int

// What follows from a FollowState.
const (
	// FollowStay: nothing.
	FollowStay FollowAct = iota
	// FollowRefuse: refuse the writes of clients.
	FollowRefuse
	// FollowAccept: accept them.
	FollowAccept
	// FollowAsk: ask the other members whether their channel ends.
	FollowAsk
	// FollowDiverged: a person decides, as another server has written what was applied last.
	FollowDiverged
)

// FollowState is what a member knows of its own server.
type FollowState struct {
	// Until is the source's last position, "" while the cluster follows; Applied the member's, "" while it is not known.
	Until, Applied string
	// Ended reports whether all members have accepted writes after Until.
	Ended bool
	// ReadOnly is what the server has.
	ReadOnly bool
	// Refuse reports whether clients are refused whatever was applied: another cluster has taken over.
	Refuse bool
	// ChannelOff reports whether this server's channel is known not to run.
	ChannelOff bool
	// Unfenced are the other members of the component whose channel may apply what the source writes after Until. Known
	// is false while the members are not known.
	Unfenced []string
	Known    bool
}

// Next returns what follows. Only a member that has applied everything accepts writes, once its own channel has ended,
// and no other one's goes on.
func (f FollowState) Next() FollowAct {
	switch reached := Includes(f.Applied, f.Until); {
	case (!reached || f.Refuse) && !f.ReadOnly:
		return FollowRefuse
	case f.Refuse:
		return FollowStay
	case reached && f.ReadOnly && !f.Ended && Diverged(f.Applied, f.Until):
		return FollowDiverged
	case reached && f.ReadOnly && f.ChannelOff && (!f.Known || len(f.Unfenced) > 0):
		return FollowAsk
	case reached && f.ReadOnly && f.ChannelOff:
		return FollowAccept
	}
	return FollowStay
}

// Unfenced returns the other members of the component that have not reported that their channel ends at a position.
// Once reported that stays true, so that an earlier answer will do. known is false while the members are not known.
func Unfenced(self string, server *agentapi.Server, others map[string]agentapi.PeerView, until string) (
	names []string, known bool) {
	if server == nil || len(server.Group) == 0 {
		return nil, false
	}
	for _, m := range server.Group {
		if m.Name == self || agentapi.IsArbitrator(m.Name) {
			continue
		}
		if v := others[m.Name]; !v.ChannelFenced || v.ChannelUntil != until {
			names = append(names, m.Name)
		}
	}
	return names, true
}

// ChannelEnd returns the position after which a channel applies nothing, "" for none. stop reports whether it applies
// nothing at all.
func ChannelEnd(f agentapi.Follow, now time.Time) (end string, stop bool) {
	switch {
	case f.Until != "":
		return f.Until, false
	case f.Hold == "" || !now.Before(f.HoldEnds):
		return "", false
	case f.Hold == agentapi.HoldNow:
		return "", true
	}
	return f.Hold, false
}

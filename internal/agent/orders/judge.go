package orders

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Facts are what a member knows of itself and of the others at the moment of an order.
type Facts struct {
	// Examined reports whether data and position are known as far as they can be.
	Examined bool
	Data     galera.DataState
	Position galera.Position
	// Alive reports whether a mariadbd process exists; Server is what it answers, if it does.
	Alive  bool
	Server *agentapi.Server
	// Blocked explains why mariadbd could not be started at all (no configuration, no provider, …).
	Blocked string
	// CrashedIn is how long a bootstrap has to wait after servers that crashed shortly after they had begun to serve.
	CrashedIn time.Duration
	// Draining reports whether the pod is terminating.
	Draining bool
	// Current is the order being carried out, nil when there is none; Cut reports whether it may be
	// ended by another one without harm.
	Current *agentapi.Order
	Cut     bool
	// Peers are the other members that answered just now.
	Peers []agentapi.PeerView
}

// Decision is what becomes of an order.
type Decision int

const (
	// Repeat means that it is known; Judgement.Record has the answer.
	Repeat Decision = iota
	// Busy means not now; nothing is recorded.
	Busy
	// RefuseUnrecorded means no, and nothing is recorded, because the book holds something better already.
	RefuseUnrecorded
	// Refuse means that the order is refused for good.
	Refuse
	// Accept means to record it, then carry it out.
	Accept
)

// Judgement is a decision with its reason.
type Judgement struct {
	Decision Decision
	Message  string
	Record   *agentapi.OrderRecord
}

// Judge decides on an order. It is the only place where that is decided.
func Judge(o agentapi.Order, book Content, damaged error, f Facts) Judgement {
	if v, done := judgeForm(o, book, damaged, f); done {
		return v
	}
	if Forms(o.Kind) {
		if v, done := judgeForming(o, book, f); done {
			return v
		}
	}
	switch o.Kind {
	case agentapi.OrderInitialise:
		return judgeInitialise(o, f)
	case agentapi.OrderBootstrap:
		return judgeBootstrap(o, f)
	case agentapi.OrderRebuildQuorum:
		return judgeRebuild(o, f)
	case agentapi.OrderRestart:
		if book.Held {
			return refuse("the member was stopped by order; a Start lifts that")
		}
	}
	return Judgement{Decision: Accept}
}

func refuse(format string, args ...any) Judgement {
	return Judgement{Decision: Refuse, Message: fmt.Sprintf(format, args...)}
}

func busy(format string, args ...any) Judgement {
	return Judgement{Decision: Busy, Message: fmt.Sprintf(format, args...)}
}

var kinds = []agentapi.OrderKind{
	agentapi.OrderInitialise, agentapi.OrderBootstrap, agentapi.OrderRebuildQuorum,
	agentapi.OrderRestart, agentapi.OrderStop, agentapi.OrderStart,
}

// judgeForm judges the order itself, the book and whether this is the moment.
func judgeForm(o agentapi.Order, book Content, damaged error, f Facts) (Judgement, bool) {
	switch {
	case o.ID == "" || o.Epoch < 1 || !slices.Contains(kinds, o.Kind):
		return Judgement{Decision: RefuseUnrecorded, Message: "an order needs an id, an epoch of 1 or more and a known kind"},
			true
	case damaged != nil:
		return Judgement{Decision: RefuseUnrecorded, Message: "what this member was ordered before cannot be read: " +
			damaged.Error()}, true
	}
	if known := book.Find(o.ID); known != nil {
		if !known.Same(o) {
			return Judgement{Decision: RefuseUnrecorded, Message: fmt.Sprintf("order %s is known with other content", o.ID)},
				true
		}
		return Judgement{Decision: Repeat, Record: known}, true
	}
	if o.Epoch < book.HighestEpoch {
		return Judgement{Decision: RefuseUnrecorded, Message: fmt.Sprintf("epoch %d is over: this member has seen epoch %d",
			o.Epoch, book.HighestEpoch)}, true
	}
	if f.Draining {
		return busy("the pod is being shut down"), true
	}
	if f.Current != nil && !f.Cut && o.Kind != agentapi.OrderStop {
		return busy("order %s (%s) is being carried out", f.Current.ID, f.Current.Kind), true
	}
	return Judgement{}, false
}

// judgeForming holds what Initialise and Bootstrap have in common.
func judgeForming(o agentapi.Order, book Content, f Facts) (Judgement, bool) {
	if book.Formed.Epoch == o.Epoch && book.Formed.ID != "" {
		return refuse("epoch %d has had its bootstrap already, by order %s", o.Epoch, book.Formed.ID), true
	}
	if f.Alive {
		return refuse("mariadbd is running on this member"), true
	}
	if v, bad := judgePeers(f.Peers); bad {
		return v, true
	}
	if f.Blocked != "" {
		return refuse("mariadbd cannot be started here: %s", f.Blocked), true
	}
	if !f.Examined {
		return busy("the data directory is still being examined"), true
	}
	if o.Kind == agentapi.OrderBootstrap && f.CrashedIn > 0 {
		// Not accepted yet: an order that waits for long is out of date when it is carried out.
		return busy("the last servers crashed shortly after they had begun to serve: the next attempt to start is in %s",
			f.CrashedIn.Round(time.Second)), true
	}
	return Judgement{}, false
}

func judgeInitialise(o agentapi.Order, f Facts) Judgement {
	if f.Data != galera.DataEmpty {
		return refuse("the data directory is %s, not Empty", f.Data)
	}
	if o.ClusterUUID != "" {
		return refuse("the cluster has a history already (%s): an empty member can only join it", o.ClusterUUID)
	}
	if why := NotAlone(f.Peers); why != "" {
		return refuse("%s", why)
	}
	return Judgement{Decision: Accept}
}

// NotAlone returns why no new database may become the first component, by what the other members answered, "" when it
// may. It is asked when an Initialise is judged, and again when its database is made, which takes a while.
func NotAlone(peers []agentapi.PeerView) string {
	if v, bad := judgePeers(peers); bad {
		return v.Message
	}
	for _, p := range peers {
		if p.Data != galera.DataEmpty && p.Data != galera.DataUnknown || p.Position.Known() {
			return fmt.Sprintf("%s holds data (%s, position %s)", p.Name, p.Data, p.Position)
		}
	}
	return ""
}

func judgeBootstrap(o agentapi.Order, f Facts) Judgement {
	switch {
	case f.Data != galera.DataPresent:
		return refuse("the data directory is %s: there is no complete database to start from", f.Data)
	case !f.Position.Known():
		return refuse("this member's position is not known")
	case !o.Position.Known():
		return refuse("the order names no position")
	case o.Position != f.Position:
		return refuse("the order was decided for position %s, this member is at %s", o.Position, f.Position)
	case o.ClusterUUID != "" && o.ClusterUUID != f.Position.UUID:
		return refuse("the cluster's UUID is %s, this member's data belong to %s", o.ClusterUUID, f.Position.UUID)
	}
	for _, p := range f.Peers {
		if slices.Contains(o.GivenUp, p.Name) {
			continue // a user has accepted to lose what only it knows
		}
		if p.Position.UUID == f.Position.UUID && p.Position.Seqno > f.Position.Seqno && p.Data == galera.DataPresent {
			return refuse("%s is ahead: %s, this member is at %s", p.Name, p.Position, f.Position)
		}
	}
	return Judgement{Decision: Accept}
}

func judgeRebuild(o agentapi.Order, f Facts) Judgement {
	if f.Server == nil {
		return refuse("mariadbd does not answer on this member")
	}
	if f.Server.Component != galera.ComponentNonPrimary {
		return refuse("the member's component is %q, not non-Primary", f.Server.Component)
	}
	if v, bad := judgePeers(f.Peers); bad {
		return v
	}
	switch {
	case !f.Position.Known():
		return refuse("this member's position is not known")
	case o.ClusterUUID != "" && o.ClusterUUID != f.Position.UUID:
		return refuse("the cluster's UUID is %s, this member's data belong to %s", o.ClusterUUID, f.Position.UUID)
	case !o.Position.Known():
		return refuse("the order names no position")
	case o.Position.UUID != f.Position.UUID || f.Position.Seqno < o.Position.Seqno:
		return refuse("the order was decided for position %s, this member is at %s", o.Position, f.Position)
	}
	return Judgement{Decision: Accept}
}

// judgePeers refuses to make a member Primary next to one that is, or is being made so.
func judgePeers(peers []agentapi.PeerView) (Judgement, bool) {
	byName := slices.SortedFunc(slices.Values(peers),
		func(x, y agentapi.PeerView) int { return strings.Compare(x.Name, y.Name) })
	for _, p := range byName {
		switch {
		case p.Component == galera.ComponentPrimary:
			return refuse("%s is in a Primary component: join it, never form a second one", p.Name), true
		case p.Forming:
			return refuse("%s is being made Primary by an order", p.Name), true
		}
	}
	return Judgement{}, false
}

// String returns the decision in a word, for the log.
func (d Decision) String() string {
	switch d {
	case Repeat:
		return "known already"
	case Busy:
		return "not now"
	case Accept:
		return "accepted"
	}
	return "refused"
}

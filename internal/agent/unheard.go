package agent

import (
	"net"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/procs"
	"github.com/galera-operator/galera-operator/internal/agent/streams"
	"github.com/galera-operator/galera-operator/internal/agent/transfer"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	// transferPort is where a joiner takes the stream of a transfer script.
	transferPort = 4444
	// stillLonger is how much longer than the patience with a transfer a joiner may be silent that owes no answer: one that
	// lives has ended the transfer by then.
	stillLonger = time.Minute
	// leastStill is how long it may be in any case. The kernel asks a joiner that has no room whether it has some every two
	// minutes, in the end, and one answer may be lost.
	leastStill = 4 * time.Minute
)

// hearing is what is known of the joiner a script of this member gives to.
type hearing struct {
	script int // its process
	at     time.Time
	// silentSince is the first of the looks since which nothing has come from the joiner, owedSince the first of those at
	// which it has owed an answer, too.
	silentSince, owedSince time.Time
	ended                  bool
}

// look takes one look; ok is false when there is no connection.
func (h *hearing) look(now time.Time, a streams.Answer, ok bool) {
	if !ok {
		h.silentSince, h.owedSince = time.Time{}, time.Time{}
	} else if h.silentSince.IsZero() || a.Silent < now.Sub(h.at) {
		h.silentSince, h.owedSince = now, time.Time{}
	}
	if !ok || !a.Owed {
		h.owedSince = time.Time{}
	} else if h.owedSince.IsZero() {
		h.owedSince = now
	}
	h.at = now
}

// lost is for how long the joiner has been silent when that is too long, 0 otherwise.
func (h *hearing) lost(limit time.Duration) time.Duration {
	if h.silentSince.IsZero() {
		return 0
	}
	silent := h.at.Sub(h.silentSince)
	if silent > max(limit+stillLonger, leastStill) || !h.owedSince.IsZero() && h.at.Sub(h.owedSince) > limit {
		return silent
	}
	return 0
}

// endUnheard ends the script of a transfer this member gives when its joiner has gone without a word: its host has lost
// power, or the network swallows everything. The script would wait until the kernel gives up, a quarter of an hour, or for ever
// while it has nothing to send; by rsync the member refuses all writes meanwhile. mariadbd goes on, and serves again.
//
// Only silence counts, not how far the copy comes: a joiner that is slow tells at least that it has no room, and one that
// lives judges that itself. It is none without a quorum, either: the group would never hear that the transfer has ended (Donation),
// and nobody can write.
func (a *agent) endUnheard(n transfer.Note, now time.Time) {
	h := &a.own.hearing
	if h.script != n.PID {
		*h = hearing{script: n.PID}
	}
	if a.config.Node == nil || now.Sub(h.at) < showEvery {
		return
	}
	if h.ended {
		h.at = now
		procs.Kill(n.PID) // it has not heard
		return
	}
	answer, ok := a.answers(net.ParseIP(n.Host), transferPort)
	h.look(now, answer, ok && !a.withoutQuorum())
	silent := h.lost(a.config.Node.StateTransfer.Stall())
	if silent == 0 {
		return
	}
	h.ended = true
	a.Logger.Warn("nothing comes from the joiner any more: ending the transfer to it", "kind", n.Kind, "to", n.Host,
		"silent", silent.Round(time.Second).String())
	procs.End(n.PID)
}

// withoutQuorum says that the server is known to be in no Primary component.
func (a *agent) withoutQuorum() bool {
	return a.status != nil && a.status.Component != galera.ComponentPrimary
}

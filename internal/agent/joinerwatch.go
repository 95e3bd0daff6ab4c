package agent

import (
	"net"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/procs"
	"github.com/galera-operator/galera-operator/internal/agent/sst"
	"github.com/galera-operator/galera-operator/internal/agent/transfer"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// transferPort is where a joiner takes the stream of a transfer script.
const transferPort = 4444

// hearing is what is known of the joiner a script of this member gives to.
type hearing struct {
	script int // its process
	at     time.Time
	watch  sst.JoinerWatch
	ended  bool
}

// endLostJoiner ends the script of a transfer this member gives when its joiner has gone without a word: its host has lost
// power, or the network swallows everything (sst.JoinerWatch). The script would wait until the kernel gives up, a quarter of an hour, or for ever
// while it has nothing to send; by rsync the member refuses all writes meanwhile. mariadbd goes on, and serves again.
//
// Only silence counts, not how far the copy comes: a joiner that is slow tells at least that it has no room, and one that
// lives judges that itself. It is none without a quorum, either: the group would never hear that the transfer has ended (Donation),
// and nobody can write.
func (a *agent) endLostJoiner(n transfer.Note, now time.Time) {
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
	h.at = now
	silent := h.watch.See(now, sst.JoinerLook{Connected: ok && !a.withoutQuorum(), Silent: answer.Silent, OwesACK: answer.Owed},
		a.config.Node.StateTransfer.Stall())
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

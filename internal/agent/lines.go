package agent

import (
	"cmp"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// serverLine passes on a line of mariadbd's log. Two things are told nowhere else: the TLS a transfer's program has spoken,
// as its port takes one connection only, and that the group does not count a transfer.
func (a *agent) serverLine(line string) {
	if !server.Chatter(line) {
		a.Output(line)
	}
	if h, ok := server.ParseHandshake(line); ok {
		a.post(func() { a.onHandshake(h) })
	}
	if name := server.RejectedJoiner(line); name == agentapi.GroupName(a.Name) {
		a.post(a.onRejected)
	}
}

// onHandshake notes the TLS of the copy that comes. That of one that goes is in its joiner's report.
func (a *agent) onHandshake(h server.Handshake) {
	if a.join == nil || a.join.EndedAt != nil || a.run.note == nil {
		return
	}
	a.join.Protocol, a.join.Cipher = cmp.Or(h.Protocol, a.join.Protocol), cmp.Or(h.Cipher, a.join.Cipher)
}

// onRejected ends a server that the group will never let in. It was lost to the group while its data came, and to the
// group it is somebody new since; its own Galera goes on as if nothing had been, and waits for ever.
func (a *agent) onRejected() {
	if a.proc == nil || a.run.note == nil || a.run.stopping || a.run.condemned {
		return
	}
	a.endTransfer(&agentapi.Failure{Reason: agentapi.FailureTransfer, At: time.Now(), Message: "the group lost sight of the node " +
		"while its data came, and wants a new state transfer; this one is begun anew"})
}

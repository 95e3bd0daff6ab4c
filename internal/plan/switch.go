package plan

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// Strategies of a switch, as the step of its operation.
const (
	stepRolling     = "Rolling"
	stepRebootstrap = "Rebootstrap"
)

// publishJoinableEncryption publishes the encryption of the component that serves, if nodes that start now could not
// join it, because a switch by re-bootstrap was abandoned halfway. Only a member that has read the published
// configuration counts: the report of another may be older, even from before a whole switch.
func publishJoinableEncryption(s galera.Snapshot) (Decision, bool) {
	if s.Operation != nil && rebootstrapping(*s.Operation) || len(s.Members) == 1 {
		return Decision{}, false
	}
	for _, m := range s.Members {
		if m.InPrimary() && m.ConfigLoaded == s.ConfigRevision && m.Running != (galera.Encryption{}) &&
			!m.Running.Meets(s.Published) {
			return publish(s, m.Running)
		}
	}
	return Decision{}, false
}

// publishWhileDown publishes the wanted encryption at once when no member runs: then no node can have
// another encryption. The report that a member is down must be newer than the published configuration, too.
func publishWhileDown(s galera.Snapshot) (Decision, bool) {
	if s.Published == s.Wanted || s.Operation != nil || !allDown(s) {
		return Decision{}, false
	}
	for _, m := range s.Members {
		if m.Pod.Exists && m.ConfigLoaded != s.ConfigRevision {
			return Decision{}, false
		}
	}
	return publish(s, s.Wanted)
}

func allDown(s galera.Snapshot) bool {
	for _, m := range s.Members {
		if m.Pod.Exists && !m.Down() {
			return false
		}
	}
	return s.Arbitrator == nil || s.Arbitrator.Process == ""
}

// switchEncryption begins the switch from the published to the wanted encryption of replication.
// Its requirements are checked before any node is changed.
func switchEncryption(s galera.Snapshot) (Decision, bool) {
	if s.Published == s.Wanted {
		return Decision{}, false
	}
	if d, refused := preflight(s); refused {
		return d, len(restartable(s)) == 0 // ordinary restarts continue meanwhile
	}
	op := galera.Operation{Type: galera.OpSwitchTLS, Step: stepRolling}
	if s.Rebootstrap && len(s.Members) > 1 {
		if d, waiting := waitForSynced(s); waiting {
			return d, true
		}
		if d, refused := refuseAgain(s); refused {
			return d, len(restartable(s)) == 0 // as above
		}
		op.Step, op.Target = stepRebootstrap, chooseWriter(s)
	}
	return begin(s, op, ReasonSwitching, fmt.Sprintf("switching replication from %s to %s sockets (%s)",
		s.Published.Socket, s.Wanted.Socket, op.Step))
}

// maxRebootstrapOutage is an upper limit of how long the nodes that stop first are away: they come back when the
// last one has been restarted.
const maxRebootstrapOutage = time.Minute

// preflight refuses a switch that could not be finished.
func preflight(s galera.Snapshot) (Decision, bool) {
	bridge := s.Published.Bridge(s.Wanted)
	for _, m := range s.Members {
		switch {
		case !m.Known:
			return wait(ReasonSwitching, "waiting for the agent of "+m.Name+" before encryption is switched")
		case s.Wanted.Socket != galera.SocketPlain && m.TLSProblem != "":
			return blocked(ReasonSwitchRefused, fmt.Sprintf("encryption is not switched on, and nothing was changed: %s: %s",
				m.Name, m.TLSProblem))
		case !s.Rebootstrap && len(s.Members) > 1 && bridge.Socket == galera.SocketDynamic && m.Server != nil &&
			!m.DynamicSockets:
			return blocked(ReasonRebootstrapRequired,
				m.Name+"'s Galera provider has no dynamic sockets, which a rolling switch needs; "+
					"set spec.tls.switchStrategy to Rebootstrap: the outage is the restart of one node")
		case s.Rebootstrap && m.Name == chooseWriter(s) && m.CacheWindow > 0 && m.CacheWindow < maxRebootstrapOutage:
			return blocked(ReasonSwitchRefused, fmt.Sprintf(
				"encryption is not switched, and nothing was changed: the gcache of %s, the node that serves meanwhile, "+
					"holds the writes of about %s, so the other nodes would need SST when they come back; raise "+
					"spec.stateTransfer.istWindow, "+
					"or switch when less is written", m.Name, m.CacheWindow))
		}
	}
	return arbitratorRefuses(s, bridge)
}

// continueSwitch goes from the published to the wanted encryption, through one compatible with both if
// they are not compatible. Between two publications each node is restarted, one at a time; the journal determines
// which one is next. The spec may change at any time: the next step follows from the facts.
func continueSwitch(s galera.Snapshot, op galera.Operation) (Decision, bool) {
	switch {
	case rebootstrapping(op) && s.Published == s.Wanted && allDown(s):
		return complete("all nodes are stopped and have the new encryption; the recovery bootstraps " + op.Target)
	case !anyPrimary(s) || s.Hibernate:
		return abandon(ReasonRecovering,
			"the switch is abandoned: the Primary component is lost, or the cluster is to hibernate")
	case rebootstrapping(op):
		return continueRebootstrap(s, op)
	}
	if to := s.Published.Bridge(s.Wanted); s.Published != s.Wanted && holdingBack(s, to) == "" {
		return publish(s, to)
	}
	if d, ok := reconcileArbitrator(s); ok {
		return d, true
	}
	if d, ok := finishTurn(s, op); ok {
		return d, true
	}
	if out := outdatedMembers(s); len(out) > 0 {
		return nextTurn(s, out)
	}
	if s.Published == s.Wanted {
		if d, waiting := waitForConfiguration(s); waiting {
			return d, true // only then is it known which nodes need a restart
		}
		return complete(fmt.Sprintf("replication runs with %s sockets on all nodes", s.Wanted.Socket))
	}
	return wait(ReasonSwitching, holdingBack(s, s.Published.Bridge(s.Wanted)))
}

// finishTurn restarts the operation's node, and waits for it.
func finishTurn(s galera.Snapshot, op galera.Operation) (Decision, bool) {
	m, ok := s.Member(op.Target)
	switch {
	case !ok, outdated(m) && restartRecorded(op, m):
		return Decision{}, false // it needs another operation
	case outdated(m) || !m.Synced():
		return restartInTurn(s, op, m)
	default:
		return recordRestart(s, op, m)
	}
}

// holdingBack returns the reason why an encryption cannot be published yet, "" when it can. The bridge is compatible
// with every encryption. The wanted one must be compatible with all that run, and all that could start meanwhile.
func holdingBack(s galera.Snapshot, to galera.Encryption) string {
	if to != s.Wanted || len(s.Members) == 1 {
		return ""
	}
	for _, m := range s.Members {
		switch {
		case !m.Known:
			return "waiting for the agent of " + m.Name
		case m.ConfigLoaded != s.ConfigRevision:
			return "waiting for " + m.Name + " to read the new configuration" + problemSuffix(m)
		case m.Server == nil && m.Running != (galera.Encryption{}):
			return "waiting for " + m.Name + " to start" + problemSuffix(m) // it may start with an older configuration
		case m.Running != (galera.Encryption{}) && !m.Running.Meets(to):
			return fmt.Sprintf("waiting for %s to run with %s sockets", m.Name, s.Published.Socket) + problemSuffix(m)
		case to.Socket == galera.SocketStrict && s.Published.Socket == galera.SocketDynamic && !m.LinksVerified:
			return "waiting for " + m.Name + " to verify every other node's certificate"
		}
	}
	return arbitratorHolds(s, to)
}

func publish(s galera.Snapshot, to galera.Encryption) (Decision, bool) {
	return Decision{Action: PublishEncryption{From: s.Published, To: to}, Reason: ReasonSwitching,
		Message: fmt.Sprintf("publishing %s sockets to the nodes instead of %s ones", to.Socket, s.Published.Socket)}, true
}

// nextTurn journals the restart of the next node. Each restart has an epoch of its own: a node may be
// restarted for the same configuration twice, if the spec is changed back and forth.
func nextTurn(s galera.Snapshot, out []galera.Member) (Decision, bool) {
	next, d, waiting := chooseForRestart(s, out)
	if waiting {
		return d, true
	}
	return begin(s, galera.Operation{Type: galera.OpSwitchTLS, Step: stepRolling, Target: next.Name}, ReasonSwitching,
		fmt.Sprintf("switching to %s sockets: the next node to restart is %s", s.Published.Socket, next.Name))
}

// restartInTurn restarts the operation's node, and waits until it is back.
func restartInTurn(s galera.Snapshot, op galera.Operation, m galera.Member) (Decision, bool) {
	if broken(m) {
		return replace(m, "it does not run, and its pod template has changed")
	}
	if d, waiting := waitForSynced(s); waiting {
		return d, true
	}
	return restart(s, op, m)
}

package lifecycle

import (
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Serves reports whether a server is a full member of a Primary component with a real history.
func Serves(s *agentapi.Server) bool {
	return s != nil && s.Component == galera.ComponentPrimary && s.State == galera.NodeSynced && s.Ready &&
		s.ClusterUUID != "" && s.ClusterUUID != galera.ZeroUUID
}

// HasState reports whether a server's state transfer is over and all of it is there.
func HasState(s *agentapi.Server) bool {
	return s != nil && s.Component == galera.ComponentPrimary && s.ClusterUUID != galera.ZeroUUID &&
		(s.State == galera.NodeJoined || s.State == galera.NodeSynced || s.State == galera.NodeDonor)
}

// ReasonToTerminate returns the reason why a running server must be stopped at once, nil when it may run. formed is the
// UUID it was bootstrapped with, "" when it joined or was initialised.
func ReasonToTerminate(s *agentapi.Server, formed string) *agentapi.Failure {
	if s == nil || s.Component != galera.ComponentPrimary || !s.Ready && s.State != galera.NodeSynced {
		return nil
	}
	switch {
	case s.ClusterUUID == galera.ZeroUUID:
		return &agentapi.Failure{Reason: agentapi.FailureZeroUUID,
			Message: "mariadbd became Primary without a history (zero UUID): what it would accept could never be transferred " +
				"to another node; it was stopped"}
	case formed != "" && s.ClusterUUID != "" && s.ClusterUUID != formed:
		return &agentapi.Failure{Reason: agentapi.FailureForeignUUID,
			Message: "mariadbd was to continue the history " + formed + " and began " + s.ClusterUUID + "; it was stopped"}
	}
	return nil
}

// JoinKind returns how a member came by what it was missing.
func JoinKind(transfer bool, from, to galera.Position) string {
	switch {
	case transfer || from.UUID != to.UUID:
		return agentapi.JoinSST
	case to.Seqno > from.Seqno:
		return agentapi.JoinIST
	}
	return agentapi.JoinNone
}

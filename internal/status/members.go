package status

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const phaseUnknown = "Unknown"

// members describes every node. What changes all the time (positions, the time of a check) is
// updated only together with a change of state, so that an idle cluster writes nothing.
func members(in Input) []v1alpha1.MemberStatus {
	before := map[string]v1alpha1.MemberStatus{}
	for _, m := range in.cluster().Status.Members {
		before[m.Name] = m
	}
	out := make([]v1alpha1.MemberStatus, 0, len(in.Snapshot.Members))
	for _, m := range in.Snapshot.Members {
		out = append(out, memberStatus(in, m, before[m.Name]))
	}
	return out
}

func memberStatus(in Input, m galera.Member, before v1alpha1.MemberStatus) v1alpha1.MemberStatus {
	r := in.report(m.Name)
	if r == nil {
		// The position stays: that a member has held data must never be forgotten.
		out := v1alpha1.MemberStatus{Name: m.Name, Phase: phaseUnknown, Position: before.Position, Version: before.Version,
			Message: "the agent does not answer"}
		if !m.Pod.Exists {
			out.Message = "there is no pod"
		}
		return out
	}
	out := v1alpha1.MemberStatus{
		Name: m.Name, Phase: known(m.Phase, phases, phaseUnknown), Position: position(m, before),
		Version: r.Image.ServerVersion, Join: join(r.Join), TLS: memberTLS(in, r, before.TLS),
	}
	if m.Server != nil {
		out.NodeState, out.ComponentState = known(m.Server.State, nodeStates, ""), known(m.Server.Component, componentStates,
			"")
		out.Lagging = r.Server != nil && r.Server.Lagging
	}
	out.Agent = agent(in, r)
	out.Cache = cache(r.Cache, before, out.NodeState)
	out.Replication = replication(r.Replication)
	if silent(in, m) {
		out.Message = "mariadbd does not answer; when the others go on without it for a minute, its agent ends it and it " +
			"joins again"
	}
	if m.Upgrading && r.Upgrade != nil {
		out.Message = "mariadb-upgrade to " + r.Upgrade.To
	}
	if m.Failure != nil {
		out.Message = clip(m.Failure.Message, 1024)
	}
	return out
}

func agent(in Input, r *agentapi.Report) *v1alpha1.AgentStatus {
	a := &v1alpha1.AgentStatus{Version: clip(r.AgentVersion, 256),
		Message: clip(cmp.Or(in.OutdatedAgents[r.Name], r.HandoverProblem), 1024)}
	if !agentapi.Understands(r.Protocol) {
		a.Message = fmt.Sprintf(
			"the agent speaks version %d of its protocol, this operator %d: upgrade the operator by one minor version at a time",
			r.Protocol, agentapi.Protocol)
	}
	if strings.Contains(a.Message, agentapi.NotNow) {
		a.Message = "" // it is asked again in a moment
	}
	return a
}

// position keeps the old number while nothing else has changed, and keeps the memory of data
// that is gone.
func position(m galera.Member, before v1alpha1.MemberStatus) string {
	old, err := galera.ParsePosition(before.Position)
	hadOld := err == nil && old.UUID != galera.ZeroUUID
	now := m.Position
	if now.UUID == "" || now.UUID == galera.ZeroUUID {
		if hadOld {
			return before.Position
		}
		return now.String()
	}
	quiet := m.Server != nil && string(m.Server.State) == before.NodeState &&
		string(m.Server.Component) == before.ComponentState
	if hadOld && quiet && old.UUID == now.UUID {
		return before.Position
	}
	return now.String()
}

func memberTLS(in Input, r *agentapi.Report, before *v1alpha1.MemberTLSStatus) *v1alpha1.MemberTLSStatus {
	if before == nil {
		before = &v1alpha1.MemberTLSStatus{}
	}
	return &v1alpha1.MemberTLSStatus{
		Replication:   channel(in, r, agentapi.ChannelReplication, before.Replication),
		StateTransfer: channel(in, r, agentapi.ChannelStateTransfer, before.StateTransfer),
		Clients:       channel(in, r, agentapi.ChannelClients, before.Clients),
	}
}

func channel(in Input, r *agentapi.Report, name string, before *v1alpha1.ChannelStatus) *v1alpha1.ChannelStatus {
	f, ok := r.TLS.Channels[name]
	if !ok {
		return &v1alpha1.ChannelStatus{Observed: agentapi.ObservedUnknown}
	}
	if in.Now.Sub(f.CheckedAt) > evidenceLasts {
		f = agentapi.ChannelFact{Observed: agentapi.ObservedUnknown, Problem: "the last check is too old",
			CheckedAt: f.CheckedAt}
	}
	out := &v1alpha1.ChannelStatus{
		Observed: known(f.Observed, observations, agentapi.ObservedUnknown), Protocol: f.Protocol, Cipher: f.Cipher,
		Serial: f.Serial, NotAfter: timeOf(f.NotAfter),
		PlaintextRefused: f.PlaintextRefused, Message: clip(f.Problem, 512), CheckedAt: timeOf(&f.CheckedAt),
	}
	if before != nil && sameEvidence(*before, *out) {
		out.CheckedAt = before.CheckedAt
	}
	return out
}

func sameEvidence(a, b v1alpha1.ChannelStatus) bool {
	return a.Observed == b.Observed && a.Protocol == b.Protocol && a.Cipher == b.Cipher &&
		a.Serial == b.Serial && a.PlaintextRefused == b.PlaintextRefused && a.Message == b.Message
}

// timeOf rounds to what the API stores, so that unchanged times compare equal.
func timeOf(t *time.Time) *metav1.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	out := metav1.NewTime(t.Truncate(time.Second))
	return &out
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most-3] + "..."
}

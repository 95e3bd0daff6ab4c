package observe

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/maintenance"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// Snapshot puts together what the planner needs. config is the published NodeConfig.
func Snapshot(f Facts, seen map[string]Seen, config agentapi.NodeConfig, now time.Time) galera.Snapshot {
	c := f.Cluster
	s := galera.Snapshot{
		Namespace: c.Namespace, Name: c.Name,
		Replicas:       int(c.Spec.Replicas),
		Hibernate:      c.Spec.Hibernate,
		ConfigRevision: config.Revision,
		Rebootstrap:    c.Spec.TLS.SwitchStrategy == v1alpha1.SwitchRebootstrap,
		Publication:    Publication(f.Published),
		Promote:        promoted(c, now),
		Approval:       approval(c),
		ClusterUUID:    c.Status.ClusterUUID,
		Line:           c.Status.Line,
		Epoch:          c.Status.Epoch,
		Operation:      operation(c.Status.Operation),
		Abandoned:      abandoned(c.Status.Abandoned),
		Primary:        c.Status.Primary,
		Hibernated:     Hibernated(c),
		RestartsWait:   restartsWait(f, now),
	}
	for i := range Size(f) {
		s.Members = append(s.Members, member(f, seen, i, now))
	}
	arbitration(&s, f, seen, now)
	observeEncryption(&s, f, seen, config, now)
	return s
}

// restartsWait holds restarts back that no change of the spec asked for.
func restartsWait(f Facts, now time.Time) string {
	c := f.Cluster
	if c.Status.AppliedGeneration != c.Generation {
		return ""
	}
	return maintenance.Restart(c.Spec.Maintenance, now)
}

// Hibernated reports whether the last thing that was done to the cluster is its ordered stop. An
// operation that was given up later has a later epoch, and may have started nodes.
func Hibernated(c *v1alpha1.GaleraCluster) bool {
	last := c.Status.LastOperation
	return c.Status.Operation == nil && last != nil && last.Type == string(galera.OpHibernate) &&
		last.Epoch == c.Status.Epoch
}

func member(f Facts, seen map[string]Seen, ordinal int, now time.Time) galera.Member {
	name := resources.PodName(f.Cluster, ordinal)
	m := galera.Member{Name: name, Ordinal: ordinal, HeldData: heldData(f.Cluster, name)}
	if p := f.Pods[name]; p != nil {
		m.Pod = pod(p, f.StatefulSet, now)
		m.Pod.Role = Role(f, name)
		m.Pod.Cordoned = f.Cordoned[p.Spec.NodeName]
	}
	m.Unplaced = unplaced(f, ordinal)
	s, ok := seen[name]
	if !ok || !s.Live {
		return m
	}
	r := s.Report
	m.Known = true
	m.Phase, m.Data, m.Position = r.Phase, r.Data, r.Position
	m.Line, m.Lines, m.Marked, m.VotedOut = r.Lineage.Epoch, r.Lineage.IDs(), r.Marked, r.VotedOut
	m.SafeToBootstrap, m.Draining = r.SafeToBootstrap, r.Draining
	m.StuckDonor = r.StuckDonor
	if r.Backup != nil && r.Backup.Running {
		m.Backup = r.Backup.ID
	}
	m.ConfigLoaded, m.RestartNeeded = r.Config.Loaded, r.Config.RestartNeeded
	m.Leaseless = leaseless(r.Lease, m.Pod.Role)
	m.Publication, m.StaleTrust, m.KeepsOldKey = r.TLS.Installed, len(staleCAs(f, r, now)) > 0, r.TLS.KeepsOldKey
	m.Server = server(r.Server)
	m.RestartAsked = restartAsked(f.Cluster, name, r.Server, now)
	if e := r.Ended; e != nil {
		m.Ended = &galera.Ended{NodeUUID: e.NodeUUID, ViewID: e.ViewID}
	}
	m.BookDamaged = r.BookDamaged
	m.CannotAct, m.CannotStart = inability(r), cannotStart(r)
	m.LacksTools, m.ServerVersion = len(r.Image.Missing) > 0, r.Image.ServerVersion
	m.Upgrading = r.Upgrade != nil && r.Upgrade.State != agentapi.UpgradeDone
	if r.Order != nil {
		m.Order = &galera.Order{ID: r.Order.ID, Epoch: r.Order.Epoch, Kind: string(r.Order.Kind),
			State: string(r.Order.State), Message: r.Order.Message}
	}
	if r.Failure != nil {
		m.Failure = &galera.Failure{Reason: r.Failure.Reason, Message: r.Failure.Message}
		m.BookDamaged = m.BookDamaged || r.Failure.Reason == agentapi.FailureOrderBook
		m.OtherCluster = r.Failure.Reason == agentapi.FailureOtherCluster && r.Data == galera.DataPresent
		m.LaterData = r.Failure.Reason == agentapi.FailureDowngrade && r.Data == galera.DataPresent
	}
	return m
}

func server(s *agentapi.Server) *galera.Server {
	if s == nil {
		return nil
	}
	return &galera.Server{
		Component: s.Component, State: s.State, ClusterUUID: s.ClusterUUID,
		ViewID: s.ViewID, Size: s.Size, Members: s.Members, ReceiveQueue: s.ReceiveQueue,
	}
}

// outdated compares templates only when the StatefulSet controller has seen the last one. A pod of an operator that
// wrote no hash is compared by its revision.
func outdated(p *corev1.Pod, sts *appsv1.StatefulSet) bool {
	if sts == nil || sts.Status.ObservedGeneration < sts.Generation || sts.Status.UpdateRevision == "" {
		return false
	}
	want, have := sts.Spec.Template.Annotations[v1alpha1.AnnotationPodTemplate],
		p.Annotations[v1alpha1.AnnotationPodTemplate]
	if want != "" && have != "" {
		return have != want
	}
	return p.Labels[appsv1.ControllerRevisionHashLabelKey] != sts.Status.UpdateRevision
}

// heldData is true once a position of the member was recorded.
func heldData(c *v1alpha1.GaleraCluster, name string) bool {
	for _, m := range c.Status.Members {
		if m.Name == name {
			p, err := galera.ParsePosition(m.Position)
			return err == nil && p.UUID != galera.ZeroUUID
		}
	}
	return false
}

// approval is the approval in the spec.
func approval(c *v1alpha1.GaleraCluster) *galera.Approval {
	if c.Spec.Recovery == nil || c.Spec.Recovery.Approval == nil {
		return nil
	}
	a := c.Spec.Recovery.Approval
	t := &galera.Approval{Member: a.Member, Position: galera.Position{UUID: a.History, Seqno: a.Seqno}, Epoch: a.Epoch}
	if !t.Position.Known() {
		return nil
	}
	for _, m := range a.Without {
		switch galera.GivenUpAs(m.As) {
		case galera.StillRunning:
			t.Running = append(t.Running, m.Name)
		case galera.Unable:
			t.Unable = append(t.Unable, m.Name)
		default:
			t.Without = append(t.Without, m.Name)
		}
	}
	return t
}

func operation(o *v1alpha1.OperationStatus) *galera.Operation {
	if o == nil {
		return nil
	}
	p, _ := galera.ParsePosition(o.Position) // "" is the zero Position
	return &galera.Operation{
		ID: o.ID, Type: galera.OperationType(o.Type), Target: o.Target, Step: o.Step,
		Epoch: o.Epoch, BootstrapMember: o.BootstrapMember, Position: p,
	}
}

func recordedLoss(c *v1alpha1.GaleraCluster) time.Time {
	if since := c.Status.NoPrimarySince; since != nil {
		return since.Time
	}
	return time.Time{}
}

// abandoned is the recorded memory of an operation that was given up because of a member.
func abandoned(a *v1alpha1.AbandonedOperation) *galera.Abandoned {
	if a == nil {
		return nil
	}
	return &galera.Abandoned{Type: galera.OperationType(a.Type), Step: a.Step, Goal: a.Goal, Member: a.Node,
		PodUID: a.PodUID, Attempts: int(a.Attempts), Message: a.Message}
}

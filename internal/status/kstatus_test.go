package status

import (
	"testing"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// kstate is a situation, and what tools and people are informed of it: kstatus's word, and the conditions Available,
// Ready and Stalled.
type kstate struct {
	change    func(*Input)
	want      kstatus.Status
	available string
	ready     string
	stalled   string
}

// kstates are the situations a cluster can be in, as the operator records them.
var kstates = map[string]kstate{
	"creating": {func(in *Input) {
		in.Published = nil
		away(in, 0, 1, 2)
		decides(in, plan.ReasonFirstStart, "the first node is initialised")
	}, kstatus.InProgressStatus, "False FirstStart", "False CertificatePending", "False Healthy"},
	"ready": {func(*Input) {}, kstatus.CurrentStatus, "True Available", "True Ready", "False Healthy"},
	"ready, and a node gives a backup": {func(in *Input) {
		m := &in.Snapshot.Members[2]
		m.Backup, m.Server.State, m.Pod.Ready = "b1", galera.NodeDonor, false
	}, kstatus.CurrentStatus, "True Available", "True Ready", "False Healthy"},
	"rolling restart": {func(in *Input) {
		in.Snapshot.Operation = &galera.Operation{Type: galera.OpRestart, Target: "n-1"}
		away(in, 1)
		decides(in, plan.ReasonRestarting, "waiting for n-1")
	}, kstatus.InProgressStatus, "True Available", "False Restarting", "False Healthy"},
	"switching encryption": {func(in *Input) {
		in.Snapshot.Operation = &galera.Operation{Type: galera.OpSwitchTLS, Step: "Rolling"}
		in.Config.TLS.Replication = galera.SocketDynamic
		decides(in, plan.ReasonSwitching, "publishing Dynamic sockets to the nodes")
	}, kstatus.InProgressStatus, "True Available", "False Switching", "False Healthy"},
	"scaling": {func(in *Input) {
		in.Snapshot.Replicas = 5
		decides(in, plan.ReasonScaling, "adding the member number 4")
	}, kstatus.InProgressStatus, "True Available", "False Scaling", "False Healthy"},
	"a member is down, the others serve": {func(in *Input) {
		away(in, 2)
		decides(in, plan.ReasonJoining, "waiting for n-2")
	}, kstatus.InProgressStatus, "True Available", "False Joining", "False Healthy"},
	"the primary gives a copy": {func(in *Input) {
		in.Snapshot.Members[0].Server.State = galera.NodeDonor
		away(in, 2)
		decides(in, plan.ReasonJoining, "waiting for n-2")
	}, kstatus.InProgressStatus, "True Available", "False Joining", "False Healthy"},
	"the primary is down, its role has not moved yet": {func(in *Input) {
		away(in, 0)
		in.Decision = plan.Decision{Action: plan.AssignRoles{Primary: "n-1"}, Reason: plan.ReasonJoining,
			Message: "n-1 becomes the primary"}
	}, kstatus.InProgressStatus, "False PrimaryNotServing", "False Joining", "False Healthy"},
	"the primary's pod goes": {func(in *Input) {
		in.Snapshot.Members[0].Pod.Terminating = true
		decides(in, plan.ReasonJoining, "waiting for n-0")
	}, kstatus.InProgressStatus, "False PrimaryNotServing", "False Joining", "False Healthy"},
	"no pod has the primary's role": {func(in *Input) {
		in.Snapshot.Members[0].Pod.Role = v1alpha1.RoleReplica
		decides(in, plan.ReasonJoining, "n-0 becomes the primary")
		in.Decision.Action = plan.AssignRoles{Primary: "n-0"}
	}, kstatus.InProgressStatus, "False PrimaryNotServing", "False Joining", "False Healthy"},
	"the primary's agent is silent": {func(in *Input) {
		m := &in.Snapshot.Members[0]
		m.Known, m.Server, m.Phase = false, nil, ""
		delete(in.Seen, m.Name)
		decides(in, plan.ReasonJoining, "waiting for n-0")
	}, kstatus.InProgressStatus, "Unknown AgentUnreachable", "False AgentUnreachable", "False Healthy"},
	"no Primary component": {func(in *Input) {
		away(in, 0, 1, 2)
		decides(in, plan.ReasonWaitingForMembers, "waiting for n-2")
	}, kstatus.InProgressStatus, "False WaitingForMembers", "False Joining", "False Healthy"},
	"recovering": {func(in *Input) {
		away(in, 0, 1, 2)
		in.Snapshot.Operation = &galera.Operation{Type: galera.OpRecover, BootstrapMember: "n-0"}
		decides(in, plan.ReasonRecovering, "bootstrapping n-0")
	}, kstatus.InProgressStatus, "False Recovering", "False Recovering", "False Healthy"},
	"waiting for an approval": {func(in *Input) {
		away(in, 0, 1, 2)
		in.Decision = plan.Decision{Reason: plan.ReasonDataLost, Message: "approve", Blocked: true}
	}, kstatus.FailedStatus, "False DataLost", "False DataLost", "True DataLost"},
	"invalid spec": {func(in *Input) {
		in.Facts.Cluster.Spec.MariaDB.Config = map[string]v1alpha1.Setting{"wsrep_on": {Text: "OFF"}}
	}, kstatus.FailedStatus, "True Available", "False ForbiddenSetting", "True ForbiddenSetting"},
	"refused renewal": {func(in *Input) { in.Refused = blocking(v1alpha1.ReasonCertificateRefused, "bad") },
		kstatus.FailedStatus, "True Available", "True Ready", "True CertificateRefused"},
	"a member cannot run without help": {func(in *Input) { fails(in, agentapi.FailureForeignUUID) },
		kstatus.FailedStatus, "True Available", "False ForeignData", "True ForeignData"},

	"hibernating": {func(in *Input) {
		in.Snapshot.Hibernate, in.Snapshot.Operation = true, &galera.Operation{Type: galera.OpHibernate}
		away(in, 1, 2)
		decides(in, plan.ReasonHibernating, "stopping n-0, 1 node left to stop")
	}, kstatus.InProgressStatus, "True Available", "False Hibernating", "False Healthy"},
	"hibernated": {hibernated, kstatus.CurrentStatus, "False Hibernated", "True Hibernated", "False Healthy"},
	"hibernated, and a volume waits for its pod to grow": {func(in *Input) {
		hibernated(in)
		claim(in, "1Gi", "2Gi", "2Gi")
	}, kstatus.CurrentStatus, "False Hibernated", "True Hibernated", "False Healthy"},
	"hibernated, with an invalid spec": {func(in *Input) {
		hibernated(in)
		in.Facts.Cluster.Spec.MariaDB.Config = map[string]v1alpha1.Setting{"wsrep_on": {Text: "OFF"}}
	}, kstatus.FailedStatus, "False Hibernated", "False ForbiddenSetting", "True ForbiddenSetting"},
	"hibernated, and the arbitrator is started by an earlier leader": {func(in *Input) {
		hibernated(in)
		in.Decision.Action = plan.ApplyArbitrator{}
	}, kstatus.InProgressStatus, "False Hibernated", "False Hibernating", "False Healthy"},
	"waking up": {func(in *Input) {
		hibernated(in)
		in.Snapshot.Hibernate = false
		decides(in, plan.ReasonRecovering, "bootstrapping n-0")
	}, kstatus.InProgressStatus, "False Recovering", "False Joining", "False Healthy"},

	"paused, with nothing to do": {pause, kstatus.CurrentStatus, "True Available", "True Ready", "False Healthy"},
	"paused, a member joins by itself": {func(in *Input) {
		pause(in)
		away(in, 2)
		decides(in, plan.ReasonJoining, "waiting for n-2")
	}, kstatus.InProgressStatus, "True Available", "False Joining", "False Healthy"},
	"paused, with something to do": {func(in *Input) {
		pause(in)
		away(in, 0)
		in.Decision = plan.Decision{Action: plan.AssignRoles{Primary: "n-1"}, Reason: plan.ReasonJoining,
			Message: "n-1 becomes the primary"}
	}, kstatus.FailedStatus, "False PrimaryNotServing", "False Paused", "True Paused"},
	"paused in the middle of a hibernation": {func(in *Input) {
		pause(in)
		in.Snapshot.Hibernate, in.Snapshot.Operation = true, &galera.Operation{Type: galera.OpHibernate}
		in.Decision = plan.Decision{Action: plan.SendOrder{Member: "n-2"}, Reason: plan.ReasonHibernating,
			Message: "stopping n-2"}
	}, kstatus.FailedStatus, "True Available", "False Paused", "True Paused"},
	"paused, and the spec was changed": {func(in *Input) {
		pause(in)
		in.Facts.Cluster.Generation++
	}, kstatus.InProgressStatus, "True Available", "True Ready", "True Paused"},
	"hibernated and paused": {func(in *Input) { hibernated(in); pause(in) }, kstatus.CurrentStatus, "False Hibernated",
		"True Hibernated", "False Healthy"},

	"deleting": {func(in *Input) { in.Facts.Cluster.DeletionTimestamp = new(metav1.NewTime(noon)) },
		kstatus.TerminatingStatus, "True Available", "True Ready", "False Healthy"},
}

// TestKstatus: tools that know kstatus (Flux, Helm, kpt) wait for the right thing, and only as long as there is
// something to wait for.
func TestKstatus(t *testing.T) {
	for name, tc := range kstates {
		t.Run(name, func(t *testing.T) {
			c := record(tc)
			if got := compute(t, c); got != tc.want {
				t.Errorf("kstatus says %s, want %s", got, tc.want)
			}
			for kind, want := range map[string]string{
				v1alpha1.ConditionAvailable: tc.available, v1alpha1.ConditionReady: tc.ready, v1alpha1.ConditionStalled: tc.stalled,
			} {
				if got := conditionOf(c, kind); got != want {
					t.Errorf("%s is %q, want %q", kind, got, want)
				}
			}
			if conditionOf(c, v1alpha1.ConditionStalled)[:4] == "True" &&
				conditionOf(c, v1alpha1.ConditionReconciling)[:4] == "True" {
				t.Error("Reconciling and Stalled at once")
			}
		})
	}
}

// TestKstatusBeforeTheOperator: what no operator has seen is in progress. The API server fills in -1.
func TestKstatusBeforeTheOperator(t *testing.T) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Generation: 1},
		Status: v1alpha1.GaleraClusterStatus{ObservedGeneration: -1}}
	if got := compute(t, c); got != kstatus.InProgressStatus {
		t.Errorf("kstatus says %s of a cluster that was never seen", got)
	}
}

// record is the cluster with the status that is written in a situation.
func record(s kstate) *v1alpha1.GaleraCluster {
	in := healthy()
	c := in.Facts.Cluster
	c.Name, c.Namespace, c.Generation, c.Status.ObservedGeneration = "n", "default", 3, 3
	in.Decision = plan.Decision{Reason: plan.ReasonHealthy, Message: "all 3 nodes are Synced"}
	for i := range in.Snapshot.Members {
		in.Snapshot.Members[i].Pod.Role = v1alpha1.RoleReplica
	}
	in.Snapshot.Members[0].Pod.Role = v1alpha1.RolePrimary
	s.change(&in)
	in.Withhold()
	Update(&c.Status, in)
	return c
}

func compute(t *testing.T, c *v1alpha1.GaleraCluster) kstatus.Status {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("GaleraCluster"))
	result, err := kstatus.Compute(u)
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

func conditionOf(c *v1alpha1.GaleraCluster, kind string) string {
	for _, cond := range c.Status.Conditions {
		if cond.Type == kind {
			return string(cond.Status) + " " + cond.Reason
		}
	}
	return "no condition"
}

// away makes members' pods go.
func away(in *Input, members ...int) {
	for _, i := range members {
		m := &in.Snapshot.Members[i]
		m.Known, m.Server, m.Phase = false, nil, ""
		m.Pod.Exists, m.Pod.Ready = false, false
		delete(in.Seen, m.Name)
	}
}

// decides makes the planner wait.
func decides(in *Input, reason, message string) {
	in.Decision = plan.Decision{Reason: reason, Message: message}
}

func hibernated(in *Input) {
	away(in, 0, 1, 2)
	in.Snapshot.Hibernate, in.Snapshot.Hibernated = true, true
	decides(in, plan.ReasonHibernated, "the cluster is hibernated")
}

func pause(in *Input) {
	in.Facts.Cluster.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
}

// TestPause: nothing but "true" pauses a cluster.
func TestPause(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "True": false, "yes": false, "": false, "false": false,
		"yes, true": false} {
		in := healthy()
		in.Facts.Cluster.Annotations = map[string]string{v1alpha1.AnnotationPause: value}
		in.Decision.Action = plan.DeletePod{Member: "n-1"}
		in.Withhold()
		if got := in.Decision.Action == nil; got != want || in.Withheld != want || in.Facts.Cluster.Paused() != want {
			t.Errorf("%q: withheld %t, want %t", value, got, want)
		}
	}
	// A switch that was not begun has not begun.
	in := healthy()
	pause(&in)
	in.Decision.Action = plan.Begin{Operation: galera.Operation{Type: galera.OpSwitchTLS}}
	in.Withhold()
	var s v1alpha1.GaleraClusterStatus
	Update(&s, in)
	if s.TLS.Switch != nil {
		t.Errorf("a paused cluster's status describes the switch %v", s.TLS.Switch)
	}
}
